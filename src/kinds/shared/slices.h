/* kinds/shared/slices.h: the code that bloom and counting share. A key has k cells, one for each of its hashes.
 *
 *     layout=slices   the cells are divided into k slices of equal length, and cell i of a key is in slice i
 *     layout=whole    all k hashes share one array of m cells, and may select the same cell
 *
 *     cell i of digest d  =  i * stride + high half of (slice * probe word i of d)
 *
 * Here `slice` is the number of cells in a slice, `stride` the number of cells from the beginning of one slice to that
 * of the next, and probe words are 64-bit words that core/mix.h computes from the digest. One array is treated as a
 * slice of m cells with a stride of 0, so the same code serves both layouts.
 *
 * In a large filter, the k cells of a key are usually in k different cache lines. So a batch is limited by memory
 * latency unless it prefetches. If the body is not in the core's own caches, batches therefore prefetch the cells of a
 * whole group of keys before they read the first one:
 *
 *     has_many               works in rounds. Round i prefetches cell i of all keys of the group that are left, then
 *                            reads these cells and drops the keys whose cell is not in use. If half of the cells are in
 *                            use, an absent key costs two cache lines on average. A present key always costs k. The
 *                            cache misses of a round overlap.
 *     add_many, remove_many  prefetch all k cells of each key of the group, then add or remove one key after the
 *                            other. */
#ifndef KITHI_FILTERS_SLICES_H
#define KITHI_FILTERS_SLICES_H

#include <assert.h>

#include "core/batch.h"
#include "core/mix.h"
#include "plan/sizing.h"
#include "kinds/shared/bit_cells.h"
#include "kinds/shared/slices_lookup.h"
#include "kinds/kind.h"

/* Sets the parameters of a filter for `capacity` keys. */
static inline void kithi_slices_encode(unsigned k, uint64_t slice, kithi_cells_layout layout, uint64_t capacity,
                                       kithi_head *head) {
    head->params[KITHI_PARAM_K] = k;
    head->params[KITHI_PARAM_SLICE] = slice;
    head->params[KITHI_PARAM_LAYOUT] = layout;
    head->params[KITHI_PARAM_FILL_LIMIT] = kithi_bloom_fill_limit(k, slice, capacity, layout);
}

static inline kithi_cells_layout kithi_slices_layout(const kithi_slices_geometry *g) {
    return g->layout == KITHI_WHOLE ? KITHI_WHOLE : KITHI_SLICES;
}

/* Writes the k cells of a key to `cells`. */
KITHI_INLINE void kithi_slices_key_cells(const kith_filter *f, uint64_t digest, uint64_t *cells) {
    uint64_t k = f->geometry.slices.k, slice = f->geometry.slices.slice, stride = f->geometry.slices.stride;
    kithi_probe probe = kithi_probe_start(digest);
    for (uint64_t i = 0; i < k; i++)
        cells[i] = kithi_probe_cell(&probe, slice, stride);
}

/* As kithi_kind.look: like has(), but calls `report` for each cell that it reads. `value` returns the value of a
 * cell. */
KITHI_INLINE bool kithi_slices_look(const kith_filter *f, uint64_t digest, kith_look report, void *context,
                                    uint64_t (*value)(const kith_filter *f, uint64_t cell)) {
    kithi_slices_geometry g = f->geometry.slices;
    kithi_probe probe = kithi_probe_start(digest);
    for (uint64_t i = 0; i < g.k; i++) {
        uint64_t cell = kithi_probe_cell(&probe, g.slice, g.stride), holds = value(f, cell);
        report(context, cell, holds, 1);
        if (holds == 0)
            return false;
    }
    return true;
}

/* The number of digests in a group of add_cells and of bloom's add_many: their cells are prefetched together. (For the
 * usual k, bloom.c has groups of another size.) */
#define KITHI_SLICES_ADD_GROUP 32
/* The number of digests in a group of has_many. Each round leaves fewer of them. The number is so large that even those
 * that are left after a few rounds cause as many cache misses at a time as the processor can handle. */
#define KITHI_SLICES_HAS_GROUP 256

/* A body of at most this many bytes stays in the core's own caches, so a batch does not prefetch. */
#define KITHI_SLICES_CACHED_BYTES (512 << 10)

KITHI_INLINE bool kithi_slices_in_cache(const kith_filter *f) {
    return f->head.body_bytes <= KITHI_SLICES_CACHED_BYTES;
}

/* has_many for one group, in rounds. `is_used` tests a cell. */
KITHI_INLINE size_t kithi_slices_has_group(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                           kithi_slices_is_used *is_used, unsigned cell_bits) {
    uint64_t k = f->geometry.slices.k, slice = f->geometry.slices.slice, stride = f->geometry.slices.stride;
    uint16_t left[KITHI_SLICES_HAS_GROUP]; /* indices of the digests whose cells were all in use so far */
    /* Element i of these belongs to digest left[i]: its cell in this round, and the last probe word computed for it. */
    uint64_t cells[KITHI_SLICES_HAS_GROUP], probe_words[KITHI_SLICES_HAS_GROUP];
    size_t count = n; /* number of digests in `left` */
    for (size_t i = 0; i < n; i++) {
        left[i] = (uint16_t)i;
        probe_words[i] = digests[i];
    }
    for (uint64_t round = 0; round < k && count > 0; round++) {
        for (size_t i = 0; i < count; i++) {
            kithi_probe probe = {.word = probe_words[i], .first = round * stride};
            cells[i] = kithi_probe_cell(&probe, slice, stride);
            probe_words[i] = probe.word;
            __builtin_prefetch(f->body + cells[i] * cell_bits / 8);
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            left[kept] = left[i];
            probe_words[kept] = probe_words[i];
            kept += is_used(f->body, cells[i], cell_bits);
        }
        assert(kept <= count); /* so the first `kept` elements of left and probe_words are set */
        count = kept;
    }
    if (maybe != NULL)
        memset(maybe, 0, (n + 63) / 64 * sizeof *maybe);
    for (size_t i = 0; i < count; i++)
        kithi_bitmap_set(maybe, left[i], true);
    return count;
}

/* has_many for a body in the core's own caches. Reads the first two cells of each of 64 keys, and the other cells only
 * of keys that have both in use. If half of the cells are in use, the first two cells are enough for three of four
 * absent keys. No branch depends on these two cells. */
KITHI_INLINE size_t kithi_slices_has_many_in_cache(const kith_filter *f, const uint64_t *digests, size_t n,
                                                   uint64_t *maybe, kithi_slices_is_used *is_used, unsigned cell_bits) {
    kithi_slices_geometry g = f->geometry.slices;
    const uint8_t *body = f->body;
    size_t yes = 0;
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t found = 0, probe_words[64];
        for (size_t i = 0; i < count; i++) {
            kithi_probe probe = kithi_probe_start(digests[from + i]);
            found |= (uint64_t)(g.k > 1 ? kithi_slices_has_next_few_cells(body, &probe, g, is_used, cell_bits, 2)
                                        : kithi_slices_has_next_few_cells(body, &probe, g, is_used, cell_bits, 1))
                     << i;
            probe_words[i] = probe.word;
        }
        for (uint64_t left = g.k > 2 ? found : 0; left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            /* cppcheck-suppress uninitvar ; bit i of `found` is set only if probe_words[i] is */
            kithi_probe probe = {.word = probe_words[i], .first = 2 * g.stride};
            found &= ~((uint64_t)!kithi_slices_has_next_cells(body, &probe, g, is_used, cell_bits, g.k - 2) << i);
        }
        if (maybe != NULL)
            maybe[from / 64] = found;
        yes += kithi_popcount(found);
    }
    return yes;
}

KITHI_INLINE size_t kithi_slices_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                          kithi_slices_is_used *is_used, unsigned cell_bits) {
    if (kithi_slices_in_cache(f))
        return kithi_slices_has_many_in_cache(f, digests, n, maybe, is_used, cell_bits);
    size_t yes = 0;
    for (size_t from = 0; from < n; from += KITHI_SLICES_HAS_GROUP) {
        size_t group_size = n - from < KITHI_SLICES_HAS_GROUP ? n - from : KITHI_SLICES_HAS_GROUP;
        kithi_prefetch_digests(digests + from, KITHI_SLICES_HAS_GROUP, n - from);
        yes += kithi_slices_has_group(f, digests + from, group_size, maybe == NULL ? NULL : maybe + from / 64, is_used,
                                      cell_bits);
    }
    return yes;
}

/* Calls `change` with the cells of one digest after the other, until it fails. */
KITHI_INLINE kith_status kithi_slices_change_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                                  size_t *done,
                                                  kith_status (*change)(kith_filter *f, const uint64_t *cells,
                                                                        bool *was_new, unsigned cell_bits),
                                                  unsigned cell_bits) {
    enum { CELLS = 512, GROUP_MAX = 64 }; /* the most cells and the most digests that are prefetched together */
    static_assert(CELLS >= KITHI_BLOOM_K_MAX, "a group has at least one digest");
    uint64_t k = f->geometry.slices.k;
    size_t group_max = (size_t)(CELLS / k < GROUP_MAX ? CELLS / k : GROUP_MAX);
    uint64_t cells[CELLS];
    bool in_cache = kithi_slices_in_cache(f);
    for (size_t from = 0; from < n; from += group_max) {
        size_t group_size = n - from < group_max ? n - from : group_max;
        for (size_t i = 0; i < group_size; i++) {
            kithi_slices_key_cells(f, digests[from + i], cells + i * k);
            for (uint64_t j = 0; j < k && !in_cache; j++)
                __builtin_prefetch(f->body + cells[i * k + j] * cell_bits / 8, 1);
        }
        for (size_t i = 0; i < group_size; i++) {
            bool is_new = false;
            kith_status status = change(f, cells + i * k, &is_new, cell_bits);
            if (status != KITH_OK)
                return status;
            kithi_bitmap_set(was_new, from + i, is_new);
            ++*done;
        }
    }
    return KITH_OK;
}

/* Returns whether cell j of a key is the same as one of its cells `first` … j - 1. In slices it never is. */
KITHI_INLINE bool kithi_slices_is_duplicate(const uint64_t *cells, uint64_t stride, uint64_t first, uint64_t j) {
    if (stride != 0)
        return false;
    uint64_t i = first;
    while (i < j && cells[i] != cells[j])
        i++;
    return i < j;
}

/* As kithi_kind.add_cells. For each digest, calls `change` once for every one of its cells that is in the range.
 * `change` sets the bit or increments the counter, and returns whether the cell was 0. It also sets *accepted to true
 * if the old value of the cell is enough to accept the digest (add_cells in kind.h). It never sets *accepted to
 * false. */
KITHI_INLINE uint64_t kithi_slices_add_cells(
    kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests, size_t n, uint64_t *accepted,
    bool (*change)(uint8_t *body, uint64_t cell, bool *accepted, unsigned cell_bits), unsigned cell_bits) {
    uint64_t slice = f->geometry.slices.slice, stride = f->geometry.slices.stride, k = f->geometry.slices.k, fill = 0;
    if (from >= to)
        return 0;
    uint64_t first = stride == 0 ? 0 : from / slice, last = stride == 0 ? k - 1 : (to - 1) / slice;
    for (size_t at = 0; at < n; at += KITHI_SLICES_ADD_GROUP) {
        uint64_t cells[KITHI_SLICES_ADD_GROUP][KITHI_BLOOM_K_MAX];
        size_t group_size = n - at < KITHI_SLICES_ADD_GROUP ? n - at : KITHI_SLICES_ADD_GROUP;
        for (size_t i = 0; i < group_size; i++) {
            kithi_probe probe = kithi_probe_start(digests[at + i]);
            for (uint64_t j = 0; j <= last; j++)
                cells[i][j] = kithi_probe_cell(&probe, slice, stride);
            for (uint64_t j = first; j <= last; j++)
                __builtin_prefetch(f->body + cells[i][j] * cell_bits / 8, 1);
        }
        for (size_t i = 0; i < group_size; i++) {
            bool is_accepted = false;
            for (uint64_t j = first; j <= last; j++)
                if (cells[i][j] >= from && cells[i][j] < to && !kithi_slices_is_duplicate(cells[i], stride, first, j))
                    fill += change(f->body, cells[i][j], &is_accepted, cell_bits);
            accepted[(at + i) / 64] |= (uint64_t)is_accepted << ((at + i) % 64);
        }
    }
    return fill;
}

#endif
