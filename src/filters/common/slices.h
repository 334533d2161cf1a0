/* filters/common/slices.h: the code that bloom and counting share. Their cells are k slices of equal length, and a
 * key has one cell in each slice.
 *
 * Each of a key's k cells is in a different cache line, so a batch is limited by memory latency unless it prefetches.
 * Batches therefore prefetch for a whole group of keys before they read the first cell:
 *
 *     has_many               in rounds. Round i prefetches the cells in slice i of all keys that are still candidates,
 *                            then reads them and keeps the keys whose cell is in use. An absent key costs two cache
 *                            lines on average, a present one k, and the cache misses of a round overlap.
 *     add_many, remove_many  prefetch all k cache lines of each key of a group, then change one key after the other. */
#ifndef KITHI_FILTERS_SLICES_H
#define KITHI_FILTERS_SLICES_H

#include <assert.h>

#include "core/batch.h"
#include "core/mix.h"
#include "plan/sizing.h"
#include "filters/common/bit_cells.h"
#include "kind.h"

enum { KITHI_K, KITHI_SLICE };

static inline kithi_geometry kithi_slices_decode(const kithi_head *head) {
    return (kithi_geometry){
        .fill_limit = head->params[KITHI_FILL_LIMIT],
        .slices = {.k = head->params[KITHI_K], .slice = head->params[KITHI_SLICE]},
    };
}

/* Parameters of k slices for `capacity` keys. */
static inline void kithi_slices_encode(unsigned k, uint64_t slice, uint64_t capacity, kithi_head *head) {
    head->params[KITHI_K] = k;
    head->params[KITHI_SLICE] = slice;
    head->params[KITHI_FILL_LIMIT] = kithi_fill_limit(k, slice, 1, capacity);
}

/* The shape of k slices of cells of `cell_bits` bits (a divisor of 512). The kind adds max_copies and capabilities. */
static inline kith_status kithi_slices_shape(const kithi_head *head, unsigned cell_bits, kithi_shape *shape) {
    kithi_geometry g = kithi_slices_decode(head);
    uint64_t cells, k = g.slices.k, line_cells = 512 / cell_bits;
    if (k < 1 || k > KITHI_BLOOM_K_MAX || g.slices.slice == 0 || !kithi_mul(k, g.slices.slice, &cells) ||
        cells > UINT64_C(1) << 62 || g.fill_limit > cells)
        return KITH_E_CORRUPT;
    uint64_t lines = (cells + line_cells - 1) / line_cells;
    *shape = (kithi_shape){
        .body_bytes = lines * 64,
        .cells = cells,
        .cell_bits = cell_bits,
        .hashes = (unsigned)k,
        .lines = (unsigned)(lines < k ? lines : k),
    };
    return KITH_OK;
}

/* The key's cell in slice i. */
static inline uint64_t kithi_slice_cell(uint64_t slice, uint64_t digest, uint64_t i) {
    return i * slice + kithi_mulhi(kithi_word(digest, i), slice);
}

/* Writes the k cells of a key to `cells`. */
KITHI_INLINE void kithi_slice_cells(const kith_filter *f, uint64_t digest, uint64_t *cells) {
    uint64_t k = f->geometry.slices.k, slice = f->geometry.slices.slice;
    for (uint64_t i = 0; i < k; i++)
        cells[i] = kithi_slice_cell(slice, digest, i);
}

KITHI_INLINE bool kithi_slices_look(const kith_filter *f, uint64_t digest, kith_look look, void *context,
                                    uint64_t (*value)(const kith_filter *f, uint64_t cell)) {
    for (uint64_t i = 0; i < f->geometry.slices.k; i++) {
        uint64_t cell = kithi_slice_cell(f->geometry.slices.slice, digest, i), holds = value(f, cell);
        look(context, cell, holds, 1);
        if (holds == 0)
            return false;
    }
    return true;
}

#define KITHI_SLICES_AHEAD 8  /* digests, with several cache lines each */
#define KITHI_SLICE_GROUP 256 /* digests: enough that the survivors of a round still keep all miss buffers busy */

KITHI_INLINE size_t kithi_slices_has_group(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                           bool (*used)(const uint8_t *body, uint64_t cell), unsigned cell_bits) {
    uint64_t k = f->geometry.slices.k, slice = f->geometry.slices.slice;
    uint64_t cells[KITHI_SLICE_GROUP];
    uint16_t left[KITHI_SLICE_GROUP]; /* indices of digests whose cells were all in use so far */
    size_t count = n;
    for (size_t i = 0; i < n; i++)
        left[i] = (uint16_t)i;
    for (uint64_t round = 0; round < k && count > 0; round++) {
        for (size_t i = 0; i < count; i++) {
            cells[i] = kithi_slice_cell(slice, digests[left[i]], round);
            __builtin_prefetch(f->body + cells[i] * cell_bits / 8);
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            left[kept] = left[i];
            kept += used(f->body, cells[i]);
        }
        count = kept;
    }
    if (maybe != NULL)
        memset(maybe, 0, (n + 63) / 64 * sizeof *maybe);
    for (size_t i = 0; i < count; i++)
        kithi_bitmap_set(maybe, left[i], true);
    return count;
}

KITHI_INLINE size_t kithi_slices_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                          bool (*used)(const uint8_t *body, uint64_t cell), unsigned cell_bits) {
    size_t yes = 0;
    for (size_t from = 0; from < n; from += KITHI_SLICE_GROUP) {
        size_t group = n - from < KITHI_SLICE_GROUP ? n - from : KITHI_SLICE_GROUP;
        yes +=
            kithi_slices_has_group(f, digests + from, group, maybe == NULL ? NULL : maybe + from / 64, used, cell_bits);
    }
    return yes;
}

/* Calls `change` for one digest after the other with its cells, up to the first that fails. */
KITHI_INLINE kith_status kithi_slices_change_many(
    kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done,
    kith_status (*change)(kith_filter *f, const uint64_t *cells, bool *was_new), unsigned cell_bits) {
    enum { CELLS = 512, GROUP_MAX = 64 }; /* cells and digests to prefetch together */
    static_assert(CELLS >= KITHI_BLOOM_K_MAX, "a group has at least one digest");
    uint64_t k = f->geometry.slices.k;
    size_t group_max = CELLS / k < GROUP_MAX ? CELLS / k : GROUP_MAX;
    uint64_t cells[CELLS];
    for (size_t from = 0; from < n; from += group_max) {
        size_t group = n - from < group_max ? n - from : group_max;
        for (size_t i = 0; i < group; i++) {
            kithi_slice_cells(f, digests[from + i], cells + i * k);
            for (uint64_t j = 0; j < k; j++)
                __builtin_prefetch(f->body + cells[i * k + j] * cell_bits / 8, 1);
        }
        for (size_t i = 0; i < group; i++) {
            bool is_new = false;
            kith_status status = change(f, cells + i * k, &is_new);
            if (status != KITH_OK)
                return status;
            kithi_bitmap_set(was_new, from + i, is_new);
            ++*done;
        }
    }
    return KITH_OK;
}

/* The loop of add_cells. Calls `change` for every cell of a digest that is in the range; it changes the cell, sets
 * *accepted if the cell makes the add count, and returns whether the cell was 0. Slices that lie outside the range are
 * skipped, and the cache lines of a later digest are prefetched. */
KITHI_INLINE uint64_t kithi_slices_add_cells(kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests,
                                             size_t n, uint64_t *accepted,
                                             bool (*change)(uint8_t *body, uint64_t cell, bool *accepted),
                                             unsigned cell_bits) {
    uint64_t slice = f->geometry.slices.slice, fill = 0;
    if (from >= to)
        return 0;
    uint64_t first = from / slice, last = (to - 1) / slice;
    for (size_t i = 0; i < n; i++) {
        bool counts = false;
        for (uint64_t j = first; j <= last; j++) {
            if (n - i > KITHI_SLICES_AHEAD)
                __builtin_prefetch(
                    f->body + kithi_slice_cell(slice, digests[i + KITHI_SLICES_AHEAD], j) * cell_bits / 8, 1);
            uint64_t cell = kithi_slice_cell(slice, digests[i], j);
            if (cell >= from && cell < to)
                fill += change(f->body, cell, &counts);
        }
        accepted[i / 64] |= (uint64_t)counts << (i % 64);
    }
    return fill;
}

#endif
