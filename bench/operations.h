/* operations.h: the operations that are timed, in the order of the printed table. */
#ifndef KITH_BENCH_OPERATIONS_H
#define KITH_BENCH_OPERATIONS_H

/* The limit that an operation is compared with: reading the lines of a present key, of an absent key, the mean of the
 * two, or changing lines. */
typedef enum floor_kind { FLOOR_PRESENT, FLOOR_ABSENT, FLOOR_HALF, FLOOR_CHANGE } floor_kind;

/* The groups of operations that --only selects; values can be combined. */
typedef enum op_group { GROUP_ADD = 1, GROUP_BUILD = 2, GROUP_HAS = 4, GROUP_REMOVE = 8, GROUP_ALL = 15 } op_group;

/* X(id, name, threads, group, floor, the peer's operation). Peers have no batch calls, so batches are compared with
 * their single calls. */
#define OPERATIONS(X)                                                                                                  \
    X(ADD, "add", 1, GROUP_ADD, FLOOR_CHANGE, "add")                                                                   \
    X(ADD_MANY, "add_many", 1, GROUP_ADD, FLOOR_CHANGE, "add")                                                         \
    X(ADD_MANY_2, "add_many", 2, GROUP_ADD, FLOOR_CHANGE, "add")                                                       \
    X(BUILD, "build", 1, GROUP_BUILD, FLOOR_CHANGE, "add")                                                             \
    X(BUILD_2, "build", 2, GROUP_BUILD, FLOOR_CHANGE, "add")                                                           \
    X(HAS_PRESENT, "has present", 1, GROUP_HAS, FLOOR_PRESENT, "has present")                                          \
    X(HAS_ABSENT, "has absent", 1, GROUP_HAS, FLOOR_ABSENT, "has absent")                                              \
    X(HAS_HALF, "has half", 1, GROUP_HAS, FLOOR_HALF, "has half")                                                      \
    X(HAS_MANY_PRESENT, "has_many present", 1, GROUP_HAS, FLOOR_PRESENT, "has present")                                \
    X(HAS_MANY_ABSENT, "has_many absent", 1, GROUP_HAS, FLOOR_ABSENT, "has absent")                                    \
    X(HAS_MANY_HALF, "has_many half", 1, GROUP_HAS, FLOOR_HALF, "has half")                                            \
    X(HAS_MANY_PRESENT_2, "has_many present", 2, GROUP_HAS, FLOOR_PRESENT, "has present")                              \
    X(HAS_MANY_ABSENT_2, "has_many absent", 2, GROUP_HAS, FLOOR_ABSENT, "has absent")                                  \
    X(HAS_MANY_HALF_2, "has_many half", 2, GROUP_HAS, FLOOR_HALF, "has half")                                          \
    X(REMOVE, "remove", 1, GROUP_REMOVE, FLOOR_CHANGE, "")                                                             \
    X(REMOVE_MANY, "remove_many", 1, GROUP_REMOVE, FLOOR_CHANGE, "")

#define OPERATION_ID(id, name, threads, group, floor, peer) OP_##id,
typedef enum operation_id { OPERATIONS(OPERATION_ID) OPERATION_COUNT } operation_id;
#undef OPERATION_ID

typedef struct operation {
    const char *name;
    unsigned threads;
    op_group group;
    floor_kind floor;
    const char *peer;
} operation;

extern const operation operations[OPERATION_COUNT];

/* With fewer keys than this, 2 threads are not measured: starting a thread would take most of the time. */
#define THREADS_FROM 100000

#endif
