/* operations.h: what is timed on a filter, in the order of the table. */
#ifndef KITH_BENCH_OPERATIONS_H
#define KITH_BENCH_OPERATIONS_H

/* What the operation is held against: lines read for a key that is in, for one that is not, half of each, or lines changed. */
typedef enum floor_kind { FLOOR_IN, FLOOR_ABSENT, FLOOR_HALF, FLOOR_CHANGE } floor_kind;

/* What --only chooses from. */
typedef enum family { FAMILY_ADD = 1, FAMILY_BUILD = 2, FAMILY_HAS = 4, FAMILY_REMOVE = 8, FAMILY_ALL = 15 } family;

/* X(id, name, threads, family, floor, the peer's operation). A peer has no batches: these are held against its single calls. */
#define OPERATIONS(X)                                                                                                  \
    X(ADD, "add", 1, FAMILY_ADD, FLOOR_CHANGE, "add")                                                                  \
    X(ADD_MANY, "add_many", 1, FAMILY_ADD, FLOOR_CHANGE, "add")                                                        \
    X(ADD_MANY_2, "add_many", 2, FAMILY_ADD, FLOOR_CHANGE, "add")                                                      \
    X(BUILD, "build", 1, FAMILY_BUILD, FLOOR_CHANGE, "add")                                                            \
    X(BUILD_2, "build", 2, FAMILY_BUILD, FLOOR_CHANGE, "add")                                                          \
    X(HAS_PRESENT, "has present", 1, FAMILY_HAS, FLOOR_IN, "has present")                                              \
    X(HAS_ABSENT, "has absent", 1, FAMILY_HAS, FLOOR_ABSENT, "has absent")                                             \
    X(HAS_HALF, "has half", 1, FAMILY_HAS, FLOOR_HALF, "has half")                                                     \
    X(HAS_MANY_PRESENT, "has_many present", 1, FAMILY_HAS, FLOOR_IN, "has present")                                    \
    X(HAS_MANY_ABSENT, "has_many absent", 1, FAMILY_HAS, FLOOR_ABSENT, "has absent")                                   \
    X(HAS_MANY_HALF, "has_many half", 1, FAMILY_HAS, FLOOR_HALF, "has half")                                           \
    X(HAS_MANY_PRESENT_2, "has_many present", 2, FAMILY_HAS, FLOOR_IN, "has present")                                  \
    X(HAS_MANY_ABSENT_2, "has_many absent", 2, FAMILY_HAS, FLOOR_ABSENT, "has absent")                                 \
    X(HAS_MANY_HALF_2, "has_many half", 2, FAMILY_HAS, FLOOR_HALF, "has half")                                         \
    X(REMOVE, "remove", 1, FAMILY_REMOVE, FLOOR_CHANGE, "")                                                            \
    X(REMOVE_MANY, "remove_many", 1, FAMILY_REMOVE, FLOOR_CHANGE, "")

#define OPERATION_ID(id, name, threads, family, floor, peer) OP_##id,
typedef enum operation_id { OPERATIONS(OPERATION_ID) OPERATION_COUNT } operation_id;
#undef OPERATION_ID

typedef struct operation {
    const char *name;
    unsigned threads;
    family family;
    floor_kind floor;
    const char *peer;
} operation;

extern const operation operations[OPERATION_COUNT];

/* Threads are measured from this many keys on: below it their start is what takes the time. */
#define THREADS_FROM 100000

#endif
