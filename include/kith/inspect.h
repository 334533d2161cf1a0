/* kith/inspect.h: looks inside filters and tables, and makes filters that no plan would give. For experiments and for
 * teaching.
 *
 * These calls show how the kinds work, so they may change in any version. kith/kith.h does not include this header. */
#ifndef KITH_INSPECT_H
#define KITH_INSPECT_H

#include <kith/filter.h>
#include <kith/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- cells ---- */

/* Called for each cell that a lookup reads, in order. `cell` is its index, `holds` is its content, and `wanted` is what
 * it holds if the key is in the set:
 *   bits and counters  `wanted` is 1; a counter may also hold more. The calls end with the first cell that is 0
 *   cuckoo kinds       one call per slot of both buckets, the first bucket first. `wanted` is the fingerprint of the
 *                      key; in overlap it is fingerprint * 2, plus 1 in the second slot of a window
 *   fuse, ribbon       one call per cell of the key. `wanted` is what this cell would have to hold, with the other
 *                      cells as they are, for their XOR to be the fingerprint of the key. So `holds` equals `wanted` in
 *                      all of the calls or in none. (Exceptions are keys in the stash of a ribbon filter, a short and
 *                      usually empty list of digests that did not fit into its cells: they are in the set, but `holds`
 *                      differs from `wanted` in all calls)
 *   layers             the newest layer first, each as above, until one of them may have the key. A layer's cells are
 *                      numbered after those of all older layers */
typedef void (*kith_look)(void *context, uint64_t cell, uint64_t holds, uint64_t wanted);

/* Like kith_filter_has_digest(), and calls `look` for every cell that it reads. Slow. */
KITH_API bool kith_filter_look(const kith_filter *filter, uint64_t digest, kith_look look, void *context);

/* Returns the content of a cell, 0 … cells - 1 of kith_filter_stats, as kith_look gets it in `holds`. 0 means an empty
 * cell, except in static kinds, where 0 is a value like any other. */
KITH_API uint64_t kith_filter_cell(const kith_filter *filter, uint64_t cell);

/* Where the body begins in the bytes of a filter. */
enum { KITH_FILTER_BODY_AT = 192 };

/* ---- filters of given parameters ---- */

/* What the header of an empty filter says. */
typedef struct kith_filter_parameters {
    const char *kind;
    uint64_t values[8]; /* as docs/format.md lists them for this kind; those that it does not use are 0 */
    uint64_t capacity;  /* how many keys the filter accepts; 0: as many as it has cells */
    double rate;        /* the promise in the header, which this call does not check: 0 < rate < 1 */
    kith_hash hash;
} kith_filter_parameters;

/* Creates an empty filter of these parameters without planning it. So it may have fewer cells for its capacity than any
 * plan, or shorter fingerprints, and refuse keys long before it is full.
 *
 * Returns KITH_E_KIND for an unknown kind, KITH_E_UNSUPPORTED for a kind that is static or grows, KITH_E_PARAMETERS if
 * no filter of this kind can have these parameters, KITH_E_HASH, KITH_E_ADDRESS or KITH_E_MEMORY. `allocator` is as in
 * kith_filter_spec. */
KITH_API KITH_MUST_USE kith_status kith_filter_make(const kith_filter_parameters *parameters,
                                                    const kith_allocator *allocator, kith_filter **filter);

/* ---- random walks of cuckoo filters ---- */

/* Called for each slot that a random walk writes, in order. `cell` is the slot as in kith_filter_cell(), `stored` is
 * the entry that it holds from now on, and `displaced` is the entry that it held before, which the walk carries on to
 * its other bucket; 0: the slot was empty, and the walk ends. A walk that fails takes its entries back: it writes the
 * same slots again in reverse order, and then each has the entry that it had at first. */
typedef void (*kith_walk_trace)(void *context, uint64_t cell, uint64_t stored, uint64_t displaced);

/* Calls `trace` for every step of all later walks of this filter: additions of kind cuckoo with insert=walk that find
 * both buckets full. Other additions and other kinds have no steps. */
KITH_API void kith_filter_set_trace(kith_filter *filter, kith_walk_trace trace, void *context);

/* ---- steps of tables ---- */

/* A step of an operation on a table. */
typedef enum kith_step {
    KITH_STEP_LOOK,   /* read slot `at`, one node of chain `at` (chain), or the bucket that starts at slot `at`
                         (cuckoo) */
    KITH_STEP_MOVE,   /* cuckoo: moved the entry of slot `at` to slot `to`. If no free slot is found, entries are moved
                         back, and each of these moves is a step, too */
    KITH_STEP_REHASH, /* drew new hash functions without growing; `at` and `to` are 0 */
    KITH_STEP_GROW,   /* grew the table from `at` to `to` slots */
} kith_step;

/* Called for every step; `at` and `to` are as above, and 0 where a step does not have them. */
typedef void (*kith_table_trace)(void *context, kith_step step, uint64_t at, uint64_t to);

/* Calls `trace` for every step of all later operations on this table, which take longer from then on. */
KITH_API void kith_table_set_trace(kith_table *table, kith_table_trace trace, void *context);

#ifdef __cplusplus
}
#endif
#endif
