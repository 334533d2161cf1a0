/* drawing.h: a cuckoo table with a trace, and the drawing of it.
 *
 * The drawing is made from a copy of the table, `at`, which repeats the moves in the trace. At the end of each example
 * every key is looked up and must be found where the copy has it (list_keys).
 *
 * The candidate slots of a key are read from a second table, which was made with the same seed and the same insertions,
 * and therefore has the same hash functions. Then it is cleared, and all of its first slots are occupied. So a key that
 * is inserted there goes to its second slot, and a lookup reads both of its slots. */
#ifndef LAB_TRACE_DRAWING_H
#define LAB_TRACE_DRAWING_H

#include "example.h"

enum {
    DRAWING_NAME_BYTES = 16,
    DRAWING_STEPS_MAX = 1024,
    DRAWING_KEYS_MAX = 64,
    DRAWING_SLOTS_MAX = 256,
    DRAWING_TRIES = 100000, /* the most numbers or seeds to try until one fits */
    NO_KEY = -1,
};

typedef struct drawn_key {
    char name[DRAWING_NAME_BYTES];
    uint64_t first, second; /* the first slots of its two buckets */
} drawn_key;

typedef struct drawn_step {
    kith_step what;
    uint64_t slot, to;
} drawn_step;

typedef struct drawing {
    example *x;
    kith_table *table;
    const char *options;
    unsigned b;
    uint64_t seed, slots, slots_at_first;
    drawn_key keys[DRAWING_KEYS_MAX];
    int count;
    int at[DRAWING_SLOTS_MAX]; /* the key in a slot, or NO_KEY */
    drawn_step steps[DRAWING_STEPS_MAX];
    unsigned step_count;
    bool rebuilt;
    int sequence[DRAWING_STEPS_MAX]; /* the keys that the last walk had without a slot: x1, x2, … */
    unsigned sequence_length;
} drawing;

/* Creates the table. `options` must be a constant. Returns false if that failed; call drawing_end() in any case. */
bool drawing_begin(drawing *d, example *x, const char *options, unsigned b, uint64_t slots, uint64_t seed);
void drawing_end(drawing *d);

/* Insert a key, and look a key up, and record the steps. */
void drawing_put(drawing *d, const char *name);
bool drawing_look_up(drawing *d, const char *name);

unsigned drawing_moves(const drawing *d);
const drawn_step *drawing_move(const drawing *d, unsigned number);

/* ---- the candidate slots of keys ---- */

/* Begins a table with the hash functions that *d has now, in which the candidate slots of keys can be found. */
bool drawing_begin_blocked(drawing *blocked, const drawing *d);
void drawing_find_candidates(drawing *blocked, drawn_key *k);

/* Finds the candidate slots of the keys from, from + 1, … of *d. */
void drawing_learn(drawing *d, int from);

void print_key(const drawing *d, const drawn_key *k);

/* ---- drawing ---- */

typedef char slot_text[64];

/* Numbers count from 1, as in the figures: "slot 4", or "bucket 2 slot 4". */
const char *slot_name(const drawing *d, uint64_t slot, slot_text text);

/* Draws the table, with a star at the slot that has changed (UINT64_MAX: none). */
void draw_table(const drawing *d, uint64_t changed);

/* Draws the cuckoo graph: an edge leads from the slot of a key to its other slot. */
void draw_graph(const drawing *d, const char *title);

/* ---- steps ---- */

enum { WALK_TABLES = 1 }; /* draw the table after every move */

/* Follows the walk of the last insertion, of key `new_key`, which found both of its slots occupied: prints the moves,
 * and records the sequence of keys. If the walk failed, its moves are not yet undone in `at`: follow_undo() does that.
 * Returns the slot of the last move. */
uint64_t follow_walk(drawing *d, int new_key, unsigned flags);
void follow_undo(drawing *d, int new_key, uint64_t slot);

/* Puts the last key into `at`, which was inserted without a move. Returns its slot. */
uint64_t place_without_moves(drawing *d, int new_key);

/* After a rebuild: finds the candidate slots of all keys again, and where they are, and draws the table. */
void draw_after_rebuild(drawing *d);

/* Checks that lookups find every key where the drawing has it, and prints where that is. */
void list_keys(drawing *d);

#endif
