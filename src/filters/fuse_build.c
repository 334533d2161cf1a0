/* Construction of one shard of a fuse filter, by peeling.
 *
 *     sort    The hashes are sorted by the segment of their first cell, roughly. All cells of a key are within a few
 *             segments, so the next step moves through memory in one direction and stays in cache.
 *     count   Each cell gets the number of its keys, the XOR of their hashes and the XOR of the positions (0, 1, 2, …)
 *             that it has among the cells of each key.
 *     peel    A cell with one key holds, in its two XORs, exactly that key and the position. The key is taken out of
 *             all of its cells and put on the order; other cells may then have a single key, and so on. Single cells
 *             are taken first in, first out: with a stack, each step waits for the one before it, and peeling takes
 *             40% longer. New ones are looked for a few segments at a time, so that the queue stays in cache.
 *     assign  If all keys were taken out, their fingerprints are written in reverse order, each into the cell that had
 *             this key alone: no key that is written later has this cell.
 *
 * If keys are left over, each of their cells has two or more of them, and the shard is tried again with the next seed.
 * Equal digests can never be peeled, so a shard that was built has none, and it is enough to look for them after a
 * failure. Measured with the sizes of fuse.c, a second seed is needed for at most 6% of all sets with 3 cells per key,
 * for up to a third of the sets of 3 to 10 keys with 4 cells, and for none of 15 sets of 10^6 keys. TRIES seeds in a row
 * fail with a probability below 10^-30.
 *
 * The result does not depend on the order of the digests: sums do not, and cells are peeled in the order of their
 * numbers.
 *
 * Memory: about 24 bytes per key while it runs. */
#include "filters/fuse.h"

#include <string.h>

#include "core/sort.h"

enum { TRIES = 64 };

/* A count and a position in one byte: count * 4 + XOR of positions. */
#define ONE_KEY 4
#define POSITION 3

#define SORT_MIN 4096 /* fewer hashes are in cache anyway */
#define BLOCKS_MAX 2048
#define WINDOW_SEGMENTS 4

typedef struct workspace {
    uint64_t *hashes; /* n; later the order in which keys are peeled */
    uint64_t *sums;   /* by cell */
    uint32_t *single; /* a queue of cells that had one key when they were put here */
    uint64_t singles;
    uint8_t *counts; /* by cell */
    uint8_t *which;  /* by place in the order: position of the cell that gets the fingerprint */
    uint64_t cells;
    uint64_t bytes;
    void *memory;
} workspace;

static uint64_t shard_cells(const kithi_fuse_geometry *g) {
    return (g->segments + g->arity - 1) * g->segment;
}

static bool workspace_open(const kith_filter *f, size_t n, workspace *w) {
    uint64_t cells = shard_cells(&f->geometry.fuse);
    w->cells = cells;
    w->bytes = 8 * cells + 8 * (uint64_t)n + 4 * (cells + 1) + cells + n;
    uint8_t *at = w->memory = kithi_allocate(&f->allocator, w->bytes);
    if (at == NULL)
        return false;
    w->sums = (uint64_t *)(void *)at;
    w->hashes = w->sums + cells;
    w->single = (uint32_t *)(void *)(w->hashes + n);
    w->counts = (uint8_t *)(w->single + cells + 1);
    w->which = w->counts + cells;
    return true;
}

static void sort_hashes(const kithi_fuse_geometry *g, const uint64_t *digests, size_t n, uint64_t seed,
                        uint64_t *hashes) {
    if (n < SORT_MIN) {
        for (size_t i = 0; i < n; i++)
            hashes[i] = kithi_fuse_hash(digests[i], seed);
        return;
    }
    unsigned shift = 63; /* at least two blocks */
    while (UINT64_C(1) << (64 - shift) < g->segments && UINT64_C(1) << (64 - shift) < BLOCKS_MAX)
        shift--;
    size_t next[BLOCKS_MAX + 1] = {0};
    for (size_t i = 0; i < n; i++)
        next[(kithi_fuse_hash(digests[i], seed) >> shift) + 1]++;
    for (size_t block = 1; block <= BLOCKS_MAX; block++)
        next[block] += next[block - 1];
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = kithi_fuse_hash(digests[i], seed);
        hashes[next[hash >> shift]++] = hash;
    }
}

/* Returns false if a cell has more keys than a count can hold. */
KITHI_INLINE bool count_keys(const kithi_fuse_geometry *g, workspace *w, size_t n, unsigned arity) {
    uint8_t *counts = w->counts;
    uint64_t *sums = w->sums;
    bool overflow = false;
    for (size_t i = 0; i < n; i++) {
        uint64_t at[KITHI_FUSE_ARITY_MAX], hash = w->hashes[i];
        (void)kithi_fuse_cells(g, hash, arity, 8, at);
        for (unsigned j = 0; j < arity; j++) {
            counts[at[j]] = (uint8_t)((counts[at[j]] + ONE_KEY) ^ j);
            overflow |= counts[at[j]] < ONE_KEY;
            sums[at[j]] ^= hash;
        }
    }
    return !overflow;
}

/* Takes out the keys of the cells in w->single and of those that become single. Returns the new length of the order. */
KITHI_INLINE size_t peel_singles(const kithi_fuse_geometry *g, workspace *w, size_t done, unsigned arity) {
    uint8_t *counts = w->counts;
    uint64_t *sums = w->sums;
    uint32_t *single = w->single;
    uint64_t singles = w->singles;
    for (uint64_t next = 0; next < singles; next++) {
        uint32_t cell = single[next];
        if (counts[cell] / ONE_KEY != 1)
            continue;
        uint64_t at[KITHI_FUSE_ARITY_MAX], hash = sums[cell];
        unsigned position = counts[cell] & POSITION;
        w->hashes[done] = hash;
        w->which[done++] = (uint8_t)position;
        (void)kithi_fuse_cells(g, hash, arity, 8, at);
        for (unsigned j = 0; j < arity; j++) { /* its own cell, too: a branch would cost more */
            uint64_t other = at[j];
            single[singles] = (uint32_t)other;
            singles += counts[other] / ONE_KEY == 2;
            counts[other] = (uint8_t)((counts[other] - ONE_KEY) ^ j);
            sums[other] ^= hash;
        }
    }
    return done;
}

/* Returns the number of keys that could be peeled. */
KITHI_INLINE size_t peel(const kithi_fuse_geometry *g, workspace *w, unsigned arity) {
    size_t done = 0;
    uint64_t window = WINDOW_SEGMENTS * g->segment;
    for (uint64_t from = 0; from < w->cells; from += window) {
        uint64_t to = from + window < w->cells ? from + window : w->cells;
        w->singles = 0;
        for (uint64_t cell = from; cell < to; cell++) {
            w->single[w->singles] = (uint32_t)cell;
            w->singles += w->counts[cell] / ONE_KEY == 1;
        }
        done = peel_singles(g, w, done, arity);
    }
    return done;
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
        for (unsigned j = 0; j < arity; j++) /* the cell itself is still 0 */
            value ^= kithi_fuse_get(cells, at[j], cell_bits);
        put(cells, at[w->which[i]], cell_bits, value);
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
    for (unsigned attempt = 1; attempt <= TRIES && status == KITH_E_FULL; attempt++) {
        if (attempt == 2 && has_repeats(digests, n, w.hashes))
            status = KITH_E_COPIES;
        if (status == KITH_E_COPIES || (attempt > 1 && n > w.cells))
            break;
        if (attempt > 1) {
            memset(w.sums, 0, w.cells * sizeof *w.sums);
            memset(w.counts, 0, w.cells);
        }
        uint64_t seed = kithi_fuse_seed(attempt);
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
    for (unsigned attempt = 1; attempt <= TRIES; attempt++)
        valid |= seed == kithi_fuse_seed(attempt);
    return valid;
}
