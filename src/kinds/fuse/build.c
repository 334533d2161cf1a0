/* Construction of one shard of a fuse filter, by peeling.
 *
 *     sort    The hashes are sorted by their highest bits, that is roughly by the segment of their first cell. All
 *             cells of a key are within a few segments, so the next step moves through memory in one direction and
 *             stays in cache.
 *     count   The position of a cell in a key is i if it is cell i of that key (i = 0, 1, 2 or 3). For each cell, the
 *             number of its keys, the XOR of their hashes and the XOR of its positions in them are computed.
 *     peel    In a cell that has only one key, the two XORs are the hash of that key and the position of the cell in
 *             it. The key is removed from all its cells and appended to the list of peeled keys. This may leave other
 *             cells with only one key, whose keys are peeled in turn. Cells that have one key wait in a queue. (With a
 *             stack, each step would depend on the result of the one before it, and peeling would take 1.5 times as
 *             long.) The array is searched for such cells in windows of a few segments. After each window, the keys of
 *             all queued cells are peeled, so the queue is short and stays in cache.
 *     assign  If all keys were peeled, they are processed in reverse order. Each sets the cell from which it was peeled
 *             such that the XOR of its cells is its fingerprint. No key that was processed before has this cell, so
 *             none of them is affected.
 *
 * Peeling may end with some keys left: each cell of these keys has two or more of them. The shard is then tried again
 * with another seed. Equal digests can never be peeled, so a shard that was built has none, and it is enough to look
 * for them after a failure.
 *
 * In attempt 0 (see fuse.c), the first seed is always the same, so whoever chooses the digests can make the first try
 * fail. All other seeds depend on all digests of the shard (core/late_seeds.h), so these tries fail only by chance.
 *
 * How often a try fails was measured for the segments that choose_segments() in fuse.c chooses, with the largest number
 * of keys for each number of segments, which has the fewest cells per key:
 *
 *     keys             tries    3 cells per key            4 cells per key
 *     up to 10,000     64       19% (6,457 keys)           48% (14 keys)
 *     up to 100,000    16       3.6% (20,085 keys)         1.3% (20,187 keys)
 *     up to 300,000    7        2.5% (222,290 keys)        0.4% (215,736 keys)
 *     more             4        1.4% (1,405,383 keys)      0.6% (500,479 keys)
 *
 * A list for which all tries fail must not take much longer than another: that is why large shards have few tries. They
 * have another attempt instead, with more space, where only keys with the same cells make a try fail. With 3 cells per
 * key, that is at most 0.04% of the lists (computed), and fewer with 4. There are 3 tries, or 2 for 300,000 keys and
 * more.
 *
 * So all tries fail with a probability below 10^-14, and below 10^-20 for up to 300,000 keys. Attempt 0, and with it
 * the planned size, fails with a probability below 10^-7.
 *
 * The result does not depend on the order of the digests: the XORs do not, and the queue is filled in the order of the
 * cells.
 *
 * Memory: about 24 bytes per key while it runs. */
#include "kinds/fuse/fuse.h"

#include <string.h>

#include "core/late_seeds.h"

/* A byte holds the number of keys of a cell and the XOR of its positions in them: keys * ONE_KEY + XOR. POSITION_MASK
 * is the mask of the XOR. */
#define ONE_KEY 4
#define POSITION_MASK 3

#define SORT_MIN 4096     /* fewer hashes are in cache anyway */
#define BUCKETS_MAX 2048  /* ranges of hashes that sort_hashes() sorts into */
#define WINDOW_SEGMENTS 4 /* segments that peel() searches at a time */

typedef struct workspace {
    uint64_t *hashes; /* of all keys; peeling overwrites them with those of the peeled keys, in the order of peeling */
    uint64_t *xors;   /* of each cell: the XOR of the hashes of its keys */
    /* Cells that had one key when they were queued. A cell is written behind the last entry before it is known whether
     * it has one key, so there is space for one more than all cells. */
    uint32_t *queue;
    uint64_t queued;    /* cells in the queue */
    uint8_t *counts;    /* of each cell: the byte with its number of keys, see ONE_KEY */
    uint8_t *positions; /* of each peeled key: which of its cells it was peeled from */
    uint64_t cells;     /* in the shard */
    void *memory;       /* the allocation for all these arrays */
    uint64_t bytes;     /* its size */
} workspace;

uint64_t kithi_fuse_build_bytes(const kithi_geometry *g, size_t n) {
    uint64_t cells = kithi_fuse_shard_cells(&g->fuse);
    return 8 * cells + 8 * (uint64_t)n + 4 * (cells + 1) + cells + n;
}

static bool workspace_open(const kith_filter *f, size_t n, workspace *w) {
    uint64_t cells = kithi_fuse_shard_cells(&f->geometry.fuse);
    w->cells = cells;
    w->bytes = kithi_fuse_build_bytes(&f->geometry, n);
    uint8_t *at = w->memory = kithi_allocate(&f->allocator, w->bytes);
    if (at == NULL)
        return false;
    w->xors = (uint64_t *)(void *)at;
    w->hashes = w->xors + cells;
    w->queue = (uint32_t *)(void *)(w->hashes + n);
    w->counts = (uint8_t *)(w->queue + cells + 1);
    w->positions = w->counts + cells;
    return true;
}

static void sort_hashes(const kithi_fuse_geometry *g, const uint64_t *digests, size_t n, uint64_t seed,
                        uint64_t *hashes) {
    if (n < SORT_MIN) {
        for (size_t i = 0; i < n; i++)
            hashes[i] = kithi_fuse_hash(digests[i], seed);
        return;
    }
    unsigned shift = 63; /* at least two buckets */
    while (UINT64_C(1) << (64 - shift) < g->segments && UINT64_C(1) << (64 - shift) < BUCKETS_MAX)
        shift--;
    size_t next[BUCKETS_MAX + 1] = {0};
    for (size_t i = 0; i < n; i++)
        next[(kithi_fuse_hash(digests[i], seed) >> shift) + 1]++;
    for (size_t bucket = 1; bucket <= BUCKETS_MAX; bucket++)
        next[bucket] += next[bucket - 1];
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = kithi_fuse_hash(digests[i], seed);
        hashes[next[hash >> shift]++] = hash;
    }
}

/* The cell_bits that kithi_fuse_cells() gets while keys are counted and peeled. The fingerprint that it returns is not
 * used there, so any width will do. */
#define UNUSED_BITS 8

/* Counts the keys of each cell and computes the XORs. Returns false if a cell has more than 63 keys, the most that a
 * count can hold. */
KITHI_INLINE bool count_keys(const kithi_fuse_geometry *g, workspace *w, size_t n, unsigned arity) {
    uint8_t *counts = w->counts;
    uint64_t *xors = w->xors;
    bool overflow = false;
    for (size_t i = 0; i < n; i++) {
        uint64_t at[KITHI_FUSE_ARITY_MAX], hash = w->hashes[i];
        (void)kithi_fuse_cells(g, hash, arity, UNUSED_BITS, at);
        for (unsigned j = 0; j < arity; j++) {
            counts[at[j]] = (uint8_t)((counts[at[j]] + ONE_KEY) ^ j);
            overflow |= counts[at[j]] < ONE_KEY;
            xors[at[j]] ^= hash;
        }
    }
    return !overflow;
}

/* Peels the keys of the cells in the queue, and of the cells that are queued meanwhile. `peeled` is the number of keys
 * that were peeled before; returns the number after. */
KITHI_INLINE size_t peel_queue(const kithi_fuse_geometry *g, workspace *w, size_t peeled, unsigned arity) {
    uint8_t *counts = w->counts;
    uint64_t *xors = w->xors;
    uint32_t *queue = w->queue;
    uint64_t queued = w->queued;
    for (uint64_t next = 0; next < queued; next++) {
        uint32_t cell = queue[next];
        if (counts[cell] / ONE_KEY != 1) /* its key has been peeled from another cell */
            continue;
        uint64_t at[KITHI_FUSE_ARITY_MAX], hash = xors[cell];
        unsigned position = counts[cell] & POSITION_MASK;
        w->hashes[peeled] = hash;
        w->positions[peeled++] = (uint8_t)position;
        (void)kithi_fuse_cells(g, hash, arity, UNUSED_BITS, at);
        for (unsigned j = 0; j < arity; j++) { /* including `cell`, because a branch would cost more */
            uint64_t c = at[j];
            queue[queued] = (uint32_t)c;
            queued += counts[c] / ONE_KEY == 2;
            counts[c] = (uint8_t)((counts[c] - ONE_KEY) ^ j);
            xors[c] ^= hash;
        }
    }
    return peeled;
}

/* Returns the number of keys that could be peeled. */
KITHI_INLINE size_t peel(const kithi_fuse_geometry *g, workspace *w, unsigned arity) {
    size_t peeled = 0;
    uint64_t window = WINDOW_SEGMENTS * g->segment_cells;
    for (uint64_t from = 0; from < w->cells; from += window) {
        uint64_t to = from + window < w->cells ? from + window : w->cells;
        w->queued = 0;
        for (uint64_t cell = from; cell < to; cell++) {
            w->queue[w->queued] = (uint32_t)cell;
            w->queued += w->counts[cell] / ONE_KEY == 1;
        }
        peeled = peel_queue(g, w, peeled, arity);
    }
    return peeled;
}

KITHI_INLINE void put(uint8_t *cells, uint64_t index, unsigned cell_bits, uint64_t value) {
    if (cell_bits == 8)
        cells[index] = (uint8_t)value;
    else if (cell_bits == 16)
        kithi_store16(cells + 2 * index, (uint16_t)value);
    else
        kithi_field_set(cells, index, cell_bits, value);
}

KITHI_INLINE void assign(const kithi_fuse_geometry *g, const workspace *w, size_t n, uint8_t *cells, unsigned arity,
                         unsigned cell_bits) {
    for (size_t i = n; i-- > 0;) {
        uint64_t at[KITHI_FUSE_ARITY_MAX];
        uint64_t value = kithi_fuse_cells(g, w->hashes[i], arity, cell_bits, at);
        for (unsigned j = 0; j < arity; j++) /* the cell that is set below is still 0 */
            value ^= kithi_fuse_get(cells, at[j], cell_bits);
        put(cells, at[w->positions[i]], cell_bits, value);
    }
}

KITHI_INLINE bool peel_and_assign(const kithi_fuse_geometry *g, workspace *w, size_t n, uint8_t *cells,
                                  unsigned arity) {
    if (!count_keys(g, w, n, arity) || peel(g, w, arity) != n)
        return false;
    if (g->cell_bits == 8)
        assign(g, w, n, cells, arity, 8);
    else if (g->cell_bits == 16)
        assign(g, w, n, cells, arity, 16);
    else
        assign(g, w, n, cells, arity, (unsigned)g->cell_bits);
    return true;
}

/* The arrays of the workspace that are indexed by cell must be 0. */
static bool try_seed(const kithi_fuse_geometry *g, workspace *w, const uint64_t *digests, size_t n, uint64_t seed,
                     uint8_t *cells) {
    sort_hashes(g, digests, n, seed, w->hashes);
    return g->arity == 3 ? peel_and_assign(g, w, n, cells, 3) : peel_and_assign(g, w, n, cells, 4);
}

/* How often a shard of n keys is tried: see the table above. */
static unsigned tries_of(size_t n, unsigned attempt) {
    if (n < KITHI_FUSE_SMALL_KEYS)
        return 64;
    if (n < KITHI_FUSE_LARGE_KEYS)
        return 16;
    if (n < KITHI_FUSE_HUGE_KEYS)
        return KITHI_FUSE_IS_RETRY(attempt) ? 3 : 7;
    return KITHI_FUSE_IS_RETRY(attempt) ? 2 : 4;
}

kith_status kithi_fuse_build(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    workspace w;
    if (!workspace_open(f, n, &w))
        return KITH_E_MEMORY;
    uint8_t *shard = f->body + region * g->shard_bytes, *cells = shard + KITHI_FUSE_SEED_BYTES;
    kithi_late_seeds late;
    uint64_t seed = kithi_fuse_first_seed();
    bool fits = n <= w.cells; /* otherwise no seed can succeed */
    bool built = fits && attempt == 0 && try_seed(g, &w, digests, n, seed, cells);
    bool distinct = built || kithi_late_seeds_of(digests, n, w.hashes, w.xors, w.cells, &late);
    for (unsigned try = attempt == 0 ? 2 : 1; fits && distinct && !built && try <= tries_of(n, attempt); try++) {
        memset(w.xors, 0, (size_t)w.cells * sizeof *w.xors);
        memset(w.counts, 0, (size_t)w.cells);
        seed = kithi_late_seed(&late, attempt, try);
        built = try_seed(g, &w, digests, n, seed, cells);
    }
    if (built)
        kithi_store64(shard, seed);
    kithi_release(&f->allocator, w.memory, w.bytes);
    return built ? KITH_OK : distinct ? KITH_E_FULL : KITH_E_COPIES;
}
