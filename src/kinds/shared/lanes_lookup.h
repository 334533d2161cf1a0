/* kinds/shared/lanes_lookup.h: the parameters of the blocked kinds, and lookups. See kinds/shared/lanes.h for the
 * layout, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_LANES_LOOKUP_H
#define KITHI_FILTERS_LANES_LOOKUP_H

#include "core/mix.h"
#include "kinds/shared/cells_lookup.h"

/* Indices of the parameters of every blocked kind, in addition to KITHI_PARAM_FILL_LIMIT. */
enum { KITHI_PARAM_LANES, KITHI_PARAM_BLOCKS };
#define KITHI_LANES_PARAMS_MASK (1 << KITHI_PARAM_LANES | 1 << KITHI_PARAM_BLOCKS | 1 << KITHI_PARAM_FILL_LIMIT)

#define KITHI_LANES_BLOCK_BITS 512
#define KITHI_LANES_BLOCK_BYTES (KITHI_LANES_BLOCK_BITS / 8)

static_assert(KITHI_LANES_BLOCK_BYTES == KITHI_BODY_ALIGNMENT,
              "a block is exactly one cache line, because the body begins at one");

static const unsigned KITHI_LANE_COUNTS[] = {4, 8, 16};
#define KITHI_LANE_COUNTS_COUNT (sizeof KITHI_LANE_COUNTS / sizeof *KITHI_LANE_COUNTS)

static inline kithi_geometry kithi_lanes_decode(const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.fill_limit = head->params[KITHI_PARAM_FILL_LIMIT];
    geometry.lanes.lanes = head->params[KITHI_PARAM_LANES];
    geometry.lanes.blocks = head->params[KITHI_PARAM_BLOCKS];
    return geometry;
}

/* Returns whether a block can have this many lanes. */
static inline bool kithi_lane_count_is_valid(uint64_t lanes) {
    for (size_t i = 0; i < KITHI_LANE_COUNTS_COUNT; i++)
        if (KITHI_LANE_COUNTS[i] == lanes)
            return true;
    return false;
}

static inline kith_status kithi_lanes_shape(const kithi_head *head, unsigned cell_bits, kithi_shape *shape) {
    kithi_geometry g = kithi_lanes_decode(head);
    uint64_t lanes = g.lanes.lanes, blocks = g.lanes.blocks;
    unsigned block_cells = KITHI_LANES_BLOCK_BITS / cell_bits;
    memset(shape, 0, sizeof *shape);
    if (!kithi_lane_count_is_valid(lanes) || blocks == 0 || blocks > KITHI_BLOCKS_MAX ||
        g.fill_limit > blocks * block_cells)
        return KITH_E_CORRUPT;
    shape->body_bytes = blocks * KITHI_LANES_BLOCK_BYTES;
    shape->regions = blocks;
    shape->cells = blocks * block_cells;
    shape->cell_bits = cell_bits;
    shape->hashes = (unsigned)lanes;
    shape->lines = 1;
    shape->lookup_cells = (unsigned)lanes;
    return KITH_OK;
}

/* ---- a key in its block ---- */

typedef struct kithi_lane_words {
    uint64_t at[2];
} kithi_lane_words;

KITHI_INLINE kithi_lane_words kithi_lane_words_of(uint64_t digest, unsigned lanes) {
    return KITHI_VALUE(kithi_lane_words, {kithi_lane_word(digest, 0), lanes > 8 ? kithi_lane_word(digest, 1) : 0});
}

/* The index in its block of the key's cell in lane j. A lane has `lane_cells` cells. */
KITHI_INLINE unsigned kithi_lane_cell(kithi_lane_words words, unsigned lane_cells, unsigned j) {
    unsigned byte = (unsigned)(words.at[j / 8] >> (j % 8 * 8)) & 0xff;
    return j * lane_cells + byte * lane_cells / 256;
}

/* Returns whether all cells of a key are in use. `block` is the key's block. `lanes` is a constant in every call. */
typedef bool kithi_lanes_block_has(const uint8_t *block, uint64_t digest, unsigned lanes);

/* Looks a key up with `has`, which is compiled into this function once for each number of lanes. */
KITHI_INLINE bool kithi_lanes_has(kithi_lanes_block_has *has, const kithi_geometry *g, const uint8_t *body,
                                  uint64_t digest) {
    const uint8_t *block = body + kithi_mulhi(digest, g->lanes.blocks) * KITHI_LANES_BLOCK_BYTES;
    if (__builtin_expect(g->lanes.lanes == 8, 1))
        return has(block, digest, 8);
    return g->lanes.lanes == 4 ? has(block, digest, 4) : has(block, digest, 16);
}

#endif
