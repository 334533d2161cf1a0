/* walks.h: small cuckoo tables (two halves, one slot a bucket, insertion by displacement) with all that an insertion does,
 * from the library's trace alone.
 *
 * Both places of a key are told by a second table of the same seed, so of the same functions, all of whose first places are
 * taken by blockers. A key that is put in there goes to its second place, and a look-up then looks at both. */
#ifndef LAB_CUCKOO_HASHING_WALKS_H
#define LAB_CUCKOO_HASHING_WALKS_H

#include <lab/experiment.h>

#define WALK_NOBODY UINT32_MAX

enum { WALK_SLOTS_MAX = 512, WALK_LOOKS_MAX = 2 * WALK_SLOTS_MAX };

/* The looks and moves of one call, up to the rebuild if there is one. */
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
    uint64_t slots;
    walk_log log, places;
    uint64_t keys[WALK_SLOTS_MAX];
    uint64_t first[WALK_SLOTS_MAX], second[WALK_SLOTS_MAX]; /* places of key i */
    uint32_t count;
    uint32_t at[WALK_SLOTS_MAX]; /* the key in a slot, or WALK_NOBODY */
} walks;

/* What putting one more key did. */
typedef struct walk_path {
    bool walked;    /* both places were taken */
    bool failed;    /* … and the table was rebuilt: it can't be used any more */
    unsigned steps; /* keys x_1, x_2, … that looked for a place, the new one first */
    uint32_t keys[WALK_LOOKS_MAX];
    uint64_t places[WALK_LOOKS_MAX]; /* where they looked */
} walk_path;

/* An empty table of about so many slots. */
walks *walks_begin(lab *l, uint64_t slots);
void walks_end(lab *l, walks *w);

/* The next key: its places are known from here on, but it is not in yet. */
uint32_t walks_key(lab *l, walks *w);

/* Puts it in. What the trace tells must be a path: each key goes from its place to its other one. */
void walks_put(lab *l, walks *w, uint32_t key, walk_path *path);

/* The other place of the key that is in a slot. */
uint64_t walks_other(const walks *w, uint64_t slot);

#endif
