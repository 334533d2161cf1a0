/* kinds/shared/slices_lookup.h: the parameters of bloom and counting, and lookups. See kinds/shared/slices.h for
 * the layout, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_SLICES_LOOKUP_H
#define KITHI_FILTERS_SLICES_LOOKUP_H

#include "core/mix.h"
#include "kinds/shared/cells_lookup.h"

enum { KITHI_PARAM_K, KITHI_PARAM_SLICE, KITHI_PARAM_LAYOUT };
#define KITHI_SLICES_PARAMS_MASK                                                                                       \
    (1 << KITHI_PARAM_K | 1 << KITHI_PARAM_SLICE | 1 << KITHI_PARAM_LAYOUT | 1 << KITHI_PARAM_FILL_LIMIT)

static inline kithi_geometry kithi_slices_decode(const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    kithi_slices_geometry *g = &geometry.slices;
    geometry.fill_limit = head->params[KITHI_PARAM_FILL_LIMIT];
    g->k = head->params[KITHI_PARAM_K];
    g->slice = head->params[KITHI_PARAM_SLICE];
    g->layout = head->params[KITHI_PARAM_LAYOUT];
    g->stride = g->layout == KITHI_WHOLE ? 0 : g->slice;
    return geometry;
}

/* Computes the shape of a filter with cells of `cell_bits` bits (1 to 8). At least `spare_bytes` bytes follow the last
 * cell. */
static inline kith_status kithi_slices_shape(const kithi_head *head, unsigned cell_bits, unsigned spare_bytes,
                                             kithi_shape *shape) {
    kithi_geometry g = kithi_slices_decode(head);
    uint64_t cells, k = g.slices.k;
    memset(shape, 0, sizeof *shape);
    if (k < 1 || k > KITHI_BLOOM_K_MAX || g.slices.slice == 0 || g.slices.layout > KITHI_WHOLE ||
        !kithi_checked_mul(g.slices.layout == KITHI_WHOLE ? 1 : k, g.slices.slice, &cells) ||
        cells > UINT64_C(1) << 62 || g.fill_limit > cells)
        return KITH_E_CORRUPT;
    uint64_t bytes = cells / 8 * cell_bits + (cells % 8 * cell_bits + 7) / 8 + spare_bytes;
    uint64_t lines = (bytes + 63) / 64;
    shape->body_bytes = lines * 64;
    shape->cells = cells;
    shape->cell_bits = cell_bits;
    shape->hashes = shape->lookup_cells = (unsigned)k;
    shape->lines = (unsigned)(lines < k ? lines : k);
    return KITH_OK;
}

/* The state of a loop over the cells of a key. */
typedef struct kithi_probe {
    uint64_t word;  /* probe word of the cell that was computed last; at first the digest */
    uint64_t first; /* first cell of the slice of the next cell */
} kithi_probe;

KITHI_INLINE kithi_probe kithi_probe_start(uint64_t digest) {
    return KITHI_VALUE(kithi_probe, digest, 0);
}

/* Returns the next cell. `slice` and `stride` are those of kithi_slices_geometry. */
KITHI_INLINE uint64_t kithi_probe_cell(kithi_probe *probe, uint64_t slice, uint64_t stride) {
    probe->word = kithi_next_probe(probe->word);
    uint64_t cell = probe->first + kithi_mulhi(probe->word, slice);
    probe->first += stride;
    return cell;
}

/* Returns whether a cell is in use. */
typedef bool kithi_slices_is_used(const uint8_t *body, uint64_t cell, unsigned cell_bits);

/* Returns whether all of the key's next `count` cells are in use. `count` is a constant, at most 4. */
KITHI_INLINE bool kithi_slices_has_next_few_cells(const uint8_t *body, kithi_probe *probe, kithi_slices_geometry g,
                                                  kithi_slices_is_used *is_used, unsigned cell_bits, unsigned count) {
    unsigned all = 1;
#pragma GCC unroll 4
    for (unsigned i = 0; i < count; i++)
        all &= is_used(body, kithi_probe_cell(probe, g.slice, g.stride), cell_bits);
    return all != 0;
}

/* The same for any `count`. Reads the cells in groups of four and stops after a group that has an unused cell. A loop
 * that tests after each cell whether to stop would read fewer cells. But when it stops is unpredictable, and a branch
 * misprediction costs more than reading the other cells of the group. */
KITHI_INLINE bool kithi_slices_has_next_cells(const uint8_t *body, kithi_probe *probe, kithi_slices_geometry g,
                                              kithi_slices_is_used *is_used, unsigned cell_bits, uint64_t count) {
    for (uint64_t groups = count / 4; groups > 0; groups--)
        if (!kithi_slices_has_next_few_cells(body, probe, g, is_used, cell_bits, 4))
            return false;
    bool all = true;
    if ((count & 2) != 0)
        all = kithi_slices_has_next_few_cells(body, probe, g, is_used, cell_bits, 2);
    if ((count & 1) != 0)
        all &= kithi_slices_has_next_few_cells(body, probe, g, is_used, cell_bits, 1);
    return all;
}

/* Returns whether a key has all its cells in use. */
KITHI_INLINE bool kithi_slices_has(const kithi_slices_geometry *slices, const uint8_t *body, uint64_t digest,
                                   kithi_slices_is_used *is_used, unsigned cell_bits) {
    kithi_probe probe = kithi_probe_start(digest);
    return kithi_slices_has_next_cells(body, &probe, *slices, is_used, cell_bits, slices->k);
}

#endif
