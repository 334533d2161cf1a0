/* walks.h: small cuckoo tables (two halves, one slot per bucket, insertion by displacement), with a record of every
 * step of an insertion, taken from the library's trace alone.
 *
 * The two candidate slots of a key are read from a second table with the same seed, and therefore with the same hash
 * functions. In that table all first slots are occupied by blockers. So a key that is inserted there goes to its second
 * slot, and a lookup reads both of its slots. */
#ifndef LAB_CUCKOO_HASHING_WALKS_H
#define LAB_CUCKOO_HASHING_WALKS_H

#include <lab/experiment.h>

#define WALK_EMPTY UINT32_MAX

enum { WALK_SLOTS_MAX = 512, WALK_LOOKS_MAX = 2 * WALK_SLOTS_MAX };

/* The slots that one call read, and the moves that it made, up to the rebuild if there was one. */
typedef struct walk_log {
    uint64_t looks[WALK_LOOKS_MAX];
    struct {
        uint64_t from, to;
    } moves[2 * WALK_LOOKS_MAX];
    unsigned look_count, move_count;
    bool rebuilt;
} walk_log;

typedef struct walks {
    kith_table *table, *blocked;
    uint64_t slots, seed;
    walk_log log, blocked_log; /* of the last call on each of the two tables */
    uint64_t keys[WALK_SLOTS_MAX];
    uint64_t first[WALK_SLOTS_MAX], second[WALK_SLOTS_MAX]; /* the candidate slots of key i */
    uint32_t count;
    uint32_t at[WALK_SLOTS_MAX]; /* the key in a slot, or WALK_EMPTY */
} walks;

/* What the insertion of one key did. */
typedef struct walk_path {
    bool walked;    /* both candidate slots were occupied */
    bool failed;    /* … and the table was rebuilt; it cannot be used any more */
    unsigned steps; /* the number of keys x_1, x_2, … that looked for a slot; x_1 is the new key */
    uint32_t keys[WALK_LOOKS_MAX];
    uint64_t slots[WALK_LOOKS_MAX]; /* the slot that each of them took */
} walk_path;

/* Creates an empty table of about `slots` slots. */
walks *walks_begin(lab *l, uint64_t slots);
void walks_end(lab *l, walks *w);

/* Empties the table. The hash functions and the keys that walks_key() drew stay as they are. */
void walks_empty(lab *l, walks *w);

/* Draws the next key and finds its candidate slots. It is not inserted yet. */
uint32_t walks_key(lab *l, walks *w);

/* Inserts a key that walks_key returned. Requires that the trace describes a path: each displaced key moves from one of
 * its candidate slots to the other. */
void walks_put(lab *l, walks *w, uint32_t key, walk_path *path);

/* Returns the other candidate slot of the key that is in `slot`. */
uint64_t walks_other(const walks *w, uint64_t slot);

#endif
