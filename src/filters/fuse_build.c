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
 * with the next seed. Equal digests can never be peeled, so a shard that was built has none, and it is enough to look
 * for them after a failure.
 *
 * How often a second seed is needed was measured for the segments that choose_segments() in fuse.c chooses, with the
 * largest number of keys for each number of segments. With 3 cells per key, at most a fifth of the sets of keys need
 * it; the worst cases are sets of 2,124 and of 6,457 keys. With 4 cells per key, up to 48% of the sets of 3 to 42 keys
 * need it; the worst case is sets of 14 keys. Sets of 10^6 keys rarely need it. TRIES seeds in a row fail with a
 * probability below 10^-20.
 *
 * The result does not depend on the order of the digests: the XORs do not, and the queue is filled in the order of the
 * cells.
 *
 * Memory: about 24 bytes per key while it runs. */
#include "filters/fuse.h"

#include <string.h>

#include "core/sort.h"

enum { TRIES = 64 };

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

KITHI_INLINE bool try_seed(const kithi_fuse_geometry *g, workspace *w, size_t n, uint8_t *cells, unsigned arity) {
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

static bool has_repeats(const uint64_t *digests, size_t n, uint64_t *sorted) {
    memcpy(sorted, digests, n * sizeof *sorted);
    kithi_sort(sorted, n);
    for (size_t i = 1; i < n; i++)
        if (sorted[i - 1] == sorted[i])
            return true;
    return false;
}

kith_status kithi_fuse_build(kith_filter *f, uint64_t region, const uint64_t *digests, size_t n) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    workspace w;
    if (!workspace_open(f, n, &w))
        return KITH_E_MEMORY;
    uint8_t *shard = f->body + region * g->shard_bytes;
    kith_status status = KITH_E_FULL;
    for (unsigned try = 1; try <= TRIES && status == KITH_E_FULL; try++) {
        if (try == 2 && has_repeats(digests, n, w.hashes))
            status = KITH_E_COPIES;
        if (status == KITH_E_COPIES || (try > 1 && n > w.cells)) /* no seed can succeed */
            break;
        if (try > 1) {
            memset(w.xors, 0, (size_t)w.cells * sizeof *w.xors);
            memset(w.counts, 0, (size_t)w.cells);
        }
        uint64_t seed = kithi_fuse_seed(try);
        sort_hashes(g, digests, n, seed, w.hashes);
        uint8_t *cells = shard + KITHI_FUSE_SEED_BYTES;
        if (g->arity == 3 ? try_seed(g, &w, n, cells, 3) : try_seed(g, &w, n, cells, 4)) {
            kithi_store64(shard, seed);
            status = KITH_OK;
        }
    }
    kithi_release(&f->allocator, w.memory, w.bytes);
    return status;
}

bool kithi_fuse_seed_valid(uint64_t seed) {
    bool valid = false;
    for (unsigned try = 1; try <= TRIES; try++)
        valid |= seed == kithi_fuse_seed(try);
    return valid;
}
