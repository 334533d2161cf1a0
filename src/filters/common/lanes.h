/* filters/common/lanes.h: what the blocked kinds have in common: a key has one cell in each of 4, 8 or 16 lanes of one block, the
 * 64 bytes of a cache line.
 *
 *     body     | block 0 | block 1 |  …  |  block B-1  |        block of digest d = high half of (d * B)
 *     block    | lane 0 | lane 1 |  …  | lane L-1 |             lane j = cells j * width … of the block
 *
 *     cell in lane j  =  top log2(width) bits of byte j % 8 of word_(j / 8)(d)
 *
 * Cells are numbered from the least significant bits of byte 0, bytes of a word from its least significant. A byte for
 * each lane, rather than bits cut tightly out of the word, so that a vector unit makes the mask of a block in three
 * steps: widen bytes to lanes, shift right by a constant, shift 1 left by the result.
 *
 * Inlined with `lanes` a constant (KITHI_BY_LANES), every index but the cell's own is one too. */
#ifndef KITHI_FILTERS_LANES_H
#define KITHI_FILTERS_LANES_H

#include <assert.h>

#include "core/mix.h"
#include "plan/sizing.h"
#include "filters/common/bit_cells.h"
#include "kernels.h"

/* Parameters that every blocked kind has in these places, beside KITHI_FILL_LIMIT. */
enum { KITHI_LANES, KITHI_BLOCKS };
#define KITHI_LANES_PARAMS (1 << KITHI_LANES | 1 << KITHI_BLOCKS | 1 << KITHI_FILL_LIMIT)

#define KITHI_BLOCK_BITS 512
#define KITHI_BLOCK_BYTES (KITHI_BLOCK_BITS / 8)
#define KITHI_BLOCKS_MAX (UINT64_C(1) << 53) /* what kithi_blocked_blocks finds; a double counts them exactly */

static_assert(KITHI_BLOCK_BYTES == KITHI_BODY_ALIGNMENT, "a block is a line because the body is aligned to one");

static const unsigned KITHI_LANE_COUNTS[] = {4, 8, 16};
#define KITHI_LANE_COUNTS_COUNT (sizeof KITHI_LANE_COUNTS / sizeof *KITHI_LANE_COUNTS)

/* The option that chooses among them: its value is 0 for auto, else a place in KITHI_LANE_COUNTS, counted from 1. */
#define KITHI_LANES_OPTION(help)                                                                                       \
    { "lanes", "auto|4|8|16", "auto", help }

/* The value of that option: the place of the number of lanes in "auto|4|8|16". */
static inline uint64_t kithi_lanes_option(const kithi_head *head, unsigned index) {
    (void)index;
    return head->params[KITHI_LANES] == 4 ? 1 : head->params[KITHI_LANES] == 8 ? 2 : 3;
}

/* ---- sizes ---- */

/* Parameters that keep the rate in blocks of `block_cells` cells; of several lane counts the one that needs the fewest
 * blocks. */
static inline kith_status kithi_lanes_choose(uint64_t given, unsigned block_cells, uint64_t capacity, double rate,
                                             kithi_counts counts, kithi_head *head) {
    uint64_t best_blocks = UINT64_MAX;
    for (uint64_t i = 0; i < KITHI_LANE_COUNTS_COUNT; i++) {
        unsigned lanes = KITHI_LANE_COUNTS[i];
        if (given != 0 && given != i + 1)
            continue;
        uint64_t blocks = kithi_blocked_blocks(lanes, block_cells / lanes, capacity, rate, counts);
        if (blocks != 0 && blocks < best_blocks) {
            best_blocks = blocks;
            head->params[KITHI_LANES] = lanes;
        }
    }
    if (best_blocks == UINT64_MAX)
        return KITH_E_TOO_LARGE;
    head->params[KITHI_BLOCKS] = best_blocks;
    unsigned lanes = (unsigned)head->params[KITHI_LANES];
    head->params[KITHI_FILL_LIMIT] = kithi_fill_limit(lanes, block_cells / lanes, best_blocks, capacity);
    return KITH_OK;
}

static inline bool kithi_lanes_known(uint64_t lanes) {
    for (size_t i = 0; i < KITHI_LANE_COUNTS_COUNT; i++)
        if (KITHI_LANE_COUNTS[i] == lanes)
            return true;
    return false;
}

/* max_copies and capabilities are the kind's to add. */
static inline kith_status kithi_lanes_shape(const kithi_head *head, unsigned cell_bits, kithi_shape *shape) {
    uint64_t lanes = head->params[KITHI_LANES], blocks = head->params[KITHI_BLOCKS];
    unsigned block_cells = KITHI_BLOCK_BITS / cell_bits;
    if (!kithi_lanes_known(lanes) || blocks == 0 || blocks > KITHI_BLOCKS_MAX ||
        head->params[KITHI_FILL_LIMIT] > blocks * block_cells)
        return KITH_E_CORRUPT;
    *shape = (kithi_shape){
        .body_bytes = blocks * KITHI_BLOCK_BYTES,
        .cells = blocks * block_cells,
        .cell_bits = cell_bits,
        .hashes = (unsigned)lanes,
        .lines = 1,
    };
    return KITH_OK;
}

static inline uint64_t kithi_lanes_regions(const kithi_head *head) {
    return head->params[KITHI_BLOCKS];
}

/* Keys that leave so many cells in use. A key hits each of the blocks * width cells of lane number j with the same
 * probability: Bloom's estimate, with slices of that length, whatever the blocks do to the spread. */
static inline double kithi_lanes_keys(const kith_filter *f, uint64_t fill) {
    unsigned lanes = (unsigned)f->head.params[KITHI_LANES];
    return kithi_bloom_keys(lanes, f->shape.cells / lanes, fill);
}

/* ---- a key in its block ---- */

KITHI_INLINE uint8_t *kithi_block_of(const kith_filter *f, uint64_t digest) {
    return f->body + kithi_mulhi(digest, f->head.params[KITHI_BLOCKS]) * KITHI_BLOCK_BYTES;
}

typedef struct kithi_lane_words {
    uint64_t at[2];
} kithi_lane_words;

KITHI_INLINE kithi_lane_words kithi_lane_words_of(uint64_t digest, unsigned lanes) {
    return (kithi_lane_words){{kithi_word(digest, 0), lanes > 8 ? kithi_word(digest, 1) : 0}};
}

/* The cell of lane j, counted from the start of the block. */
KITHI_INLINE unsigned kithi_lane_cell(kithi_lane_words words, unsigned width, unsigned j) {
    unsigned byte = (unsigned)(words.at[j / 8] >> (j % 8 * 8)) & 0xff;
    return j * width + byte * width / 256;
}

KITHI_INLINE bool kithi_lanes_look(const kith_filter *f, uint64_t digest, kith_look look, void *context,
                                   uint64_t (*value)(const kith_filter *f, uint64_t cell)) {
    unsigned lanes = (unsigned)f->head.params[KITHI_LANES], block_cells = KITHI_BLOCK_BITS / f->shape.cell_bits;
    uint64_t first = kithi_mulhi(digest, f->head.params[KITHI_BLOCKS]) * block_cells;
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    for (unsigned j = 0; j < lanes; j++) {
        uint64_t cell = first + kithi_lane_cell(words, block_cells / lanes, j), holds = value(f, cell);
        look(context, cell, holds, 1);
        if (holds == 0)
            return false;
    }
    return true;
}

/* ---- verbs ---- */

/* result = verb(…, lanes) with the filter's number of lanes as a constant: three versions of one body. (A switch: of a
 * chain of conditions gcc shares the loads of the last two, and add of blocked takes 12% longer.) */
#define KITHI_BY_LANES(f, result, verb, ...)                                                                           \
    do {                                                                                                               \
        switch ((f)->head.params[KITHI_LANES]) {                                                                       \
        case 4:                                                                                                        \
            (result) = verb(__VA_ARGS__, 4);                                                                           \
            break;                                                                                                     \
        case 8:                                                                                                        \
            (result) = verb(__VA_ARGS__, 8);                                                                           \
            break;                                                                                                     \
        default:                                                                                                       \
            (result) = verb(__VA_ARGS__, 16);                                                                          \
        }                                                                                                              \
    } while (0)

/* A has() of block_has(block, digest, lanes). */
#define KITHI_LANES_HAS(has, TARGET, block_has)                                                                        \
    TARGET static bool has(const kith_filter *f, uint64_t digest) {                                                    \
        const uint8_t *block = kithi_block_of(f, digest);                                                              \
        bool present;                                                                                                  \
        KITHI_BY_LANES(f, present, block_has, block, digest);                                                          \
        return present;                                                                                                \
    }

KITHI_INLINE void kithi_lanes_prefetch(const void *f, uint64_t digest) {
    __builtin_prefetch(kithi_block_of(f, digest));
}

/* has_<set> and has_many_<set> of has_of(block, digest, lanes), which may be a function of that set. */
#define KITHI_LANES_HAS_MANY(set, TARGET, has_of)                                                                      \
    KITHI_LANES_HAS(has_##set, TARGET, has_of)                                                                         \
    KITHI_LANES_HAS_IN(set, TARGET, has_of, 4)                                                                         \
    KITHI_LANES_HAS_IN(set, TARGET, has_of, 8)                                                                         \
    KITHI_LANES_HAS_IN(set, TARGET, has_of, 16)                                                                        \
    TARGET static size_t has_many_##set(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {    \
        bool near = f->head.body_bytes <= KITHI_NEAR_BYTES;                                                            \
        switch (f->head.params[KITHI_LANES]) {                                                                         \
        case 4:                                                                                                        \
            return kithi_has_many(f, digests, n, maybe, near, has_##set##_4, kithi_lanes_prefetch);                    \
        case 8:                                                                                                        \
            return kithi_has_many(f, digests, n, maybe, near, has_##set##_8, kithi_lanes_prefetch);                    \
        default:                                                                                                       \
            return kithi_has_many(f, digests, n, maybe, near, has_##set##_16, kithi_lanes_prefetch);                   \
        }                                                                                                              \
    }
#define KITHI_LANES_HAS_IN(set, TARGET, has_of, lanes)                                                                 \
    TARGET static bool has_##set##_##lanes(const void *f, uint64_t digest) {                                           \
        return has_of(kithi_block_of(f, digest), digest, lanes);                                                       \
    }

#endif
