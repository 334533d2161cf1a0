/* kinds/shared/lanes.h: the code that the blocked kinds share. A key has one cell in each of 4, 8 or 16 lanes of
 * one block, which is the 64 bytes of a cache line.
 *
 *     body     | block 0 | block 1 |  …  |  block B-1  |        block of digest d = high half of (d * B)
 *     block    | lane 0 | lane 1 |  …  | lane L-1 |             lane j = cells j * w … (j + 1) * w - 1
 *
 *     cell in lane j  =  top log2(w) bits of byte j % 8 of lane word j / 8 of d
 *
 * w (`lane_cells`) is the number of cells in a lane. Lane words 0 and 1 are 64-bit words that core/mix.h computes from
 * the digest. Cells are numbered from the least significant bits of byte 0, bytes of a word from its least significant
 * byte. Each lane uses a whole byte of a lane word, although it needs only log2(w) bits. Thus few vector instructions
 * turn a lane word into the numbers of the key's cells in all lanes: they widen bytes to lanes and shift by a constant
 * (simd/).
 *
 * Operations are compiled once for each number of lanes (kithi_by_lanes), so that loops over lanes can be unrolled. */
#ifndef KITHI_FILTERS_LANES_H
#define KITHI_FILTERS_LANES_H

#include "core/batch.h"
#include "core/mix.h"
#include "plan/sizing.h"
#include "kinds/shared/bit_cells.h"
#include "kinds/shared/crowding.h"
#include "kinds/shared/lanes_lookup.h"

/* As kithi_planning.option. The value of the option "lanes" is the index of the number of lanes in "auto|4|8|16". */
static inline uint64_t kithi_lanes_option(const kithi_head *head, unsigned index) {
    (void)index;
    uint64_t lanes = kithi_lanes_decode(head).lanes.lanes;
    return lanes == 4 ? 1 : lanes == 8 ? 2 : 3;
}

/* ---- sizes ---- */

/* Chooses parameters that keep `rate`, for blocks of `block_cells` cells. Value i + 1 of the option "lanes" means
 * KITHI_LANE_COUNTS[i], and 0 (auto) means the number of lanes that needs the fewest blocks. `counts` says which keys
 * count towards the capacity (plan/sizing.h). */
static inline kith_status kithi_lanes_choose(const kithi_request *request, double rate, unsigned block_cells,
                                             kithi_counts counts, kithi_head *head) {
    uint64_t given = request->options[0], capacity = request->capacity;
    uint64_t (*blocks_for)(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts,
                           uint64_t most) = request->is_public ? kithi_blocked_public_blocks : kithi_blocked_blocks;
    /* KITHI_LANE_COUNTS[first] is the number of lanes that is tried first. For this rate it is usually the one that
     * needs the fewest blocks. It then takes little time to find out that the others need more (kithi_blocked_blocks).
     * If several need equally many blocks, the fewest lanes are used. */
    bool bits = block_cells == KITHI_LANES_BLOCK_BITS; /* the cells are bits; otherwise counters, a quarter as many */
    size_t expected = rate > (bits ? 0.018 : 0.009) ? 0 : rate > (bits ? 0.00015 : 4e-6) ? 1 : 2;
    size_t first = given != 0 ? (size_t)given - 1 : expected;
    unsigned best_lanes = KITHI_LANE_COUNTS[first];
    uint64_t best_blocks = blocks_for(best_lanes, block_cells / best_lanes, capacity, rate, counts, KITHI_BLOCKS_MAX);
    for (size_t i = 0; i < KITHI_LANE_COUNTS_COUNT && given == 0; i++) {
        unsigned lanes = KITHI_LANE_COUNTS[i];
        uint64_t most = best_blocks == 0 ? KITHI_BLOCKS_MAX : best_blocks - (lanes > best_lanes);
        uint64_t blocks = i == first ? 0 : blocks_for(lanes, block_cells / lanes, capacity, rate, counts, most);
        if (blocks != 0) {
            best_blocks = blocks;
            best_lanes = lanes;
        }
    }
    if (best_blocks == 0)
        return KITH_E_ADDRESS;
    head->params[KITHI_PARAM_LANES] = best_lanes;
    head->params[KITHI_PARAM_BLOCKS] = best_blocks;
    head->params[KITHI_PARAM_FILL_LIMIT] =
        kithi_fill_limit(best_lanes, block_cells / best_lanes, best_blocks, capacity);
    return KITH_OK;
}

/* Estimates the number of keys from the number of cells in use. Take lane j of every block: together they have
 * blocks * lane_cells cells, and each of these is equally likely to be the cell of a key. So the estimate is that of a
 * Bloom filter with one slice of this length per lane. Blocking only increases the variance of the estimate. */
static inline double kithi_lanes_keys(const kith_filter *f, uint64_t fill) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes;
    return kithi_bloom_keys(lanes, f->shape.cells / lanes, fill, KITHI_SLICES);
}

/* ---- a key in its block ---- */

KITHI_INLINE uint8_t *kithi_lanes_block_of(const kith_filter *f, uint64_t digest) {
    return f->body + kithi_mulhi(digest, f->geometry.lanes.blocks) * KITHI_LANES_BLOCK_BYTES;
}

/* As kithi_kind.look: like has(), but calls `report` for each cell that it reads. `value` returns the value of a
 * cell. */
KITHI_INLINE bool kithi_lanes_look(const kith_filter *f, uint64_t digest, kith_look report, void *context,
                                   uint64_t (*value)(const kith_filter *f, uint64_t cell)) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes, block_cells = KITHI_LANES_BLOCK_BITS / f->shape.cell_bits;
    uint64_t first = kithi_mulhi(digest, f->geometry.lanes.blocks) * block_cells;
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    for (unsigned j = 0; j < lanes; j++) {
        uint64_t cell = first + kithi_lane_cell(words, block_cells / lanes, j), holds = value(f, cell);
        report(context, cell, holds, 1);
        if (holds == 0)
            return false;
    }
    return true;
}

/* ---- operations ---- */

/* What a blocked kind does to one block, with the instructions of one instruction set. A kind fills in the functions
 * that it needs. `lanes` is a constant in every call. */
typedef struct kithi_lanes_block_ops {
    kithi_lanes_block_has *has;
    /* For blocked: sets the key's bits; returns how many of them were 0. */
    unsigned (*set)(uint8_t *block, uint64_t digest, unsigned lanes);
    /* For blocked: sets the bits of n keys, at most 64. Bit i of the result tells whether key i changed a bit. Adds the
     * number of bits that changed to *fill. `prefetch` means the same as in kithi_lanes_has_up_to_64(). If set_many is
     * NULL, blocked calls `set` for each key. */
    uint64_t (*set_many)(uint8_t *body, uint64_t blocks, const uint64_t *digests, size_t n, size_t prefetch,
                         unsigned lanes, uint64_t *fill);
    /* For blocked_counting. `raise` adds 1 to each of the key's counters and sets *zeros to how many of them were 0.
     * `lower` subtracts 1 and sets *zeros to how many of them became 0. Neither changes a counter that is 15. They
     * return false and change nothing if they cannot succeed: `raise` if no further copy of the key may be added (all
     * its counters are 14 or more), `lower` if one of its counters is 0. */
    bool (*raise)(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros);
    bool (*lower)(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros);
    unsigned (*least)(const uint8_t *block, uint64_t digest, unsigned lanes); /* the least counter of the key */
    /* The product of the numbers of cells in use in all lanes; if a full block has 2^80, divided by 2^36 and rounded
     * down. */
    uint64_t (*product)(const uint8_t *block, unsigned lanes);
    /* For blocked, both may be NULL. `set_product` is `set`, and writes the products of the block before and after.
     * `set_many_weighed` is `set_many`; it copies each block to before[i] first, and sets *more to what the weights of
     * all keys have risen by. A weight is a product shifted right by `shift` (kithi_lanes_weight_shift). */
    unsigned (*set_product)(uint8_t *block, uint64_t digest, unsigned lanes, uint64_t products[2]);
    uint64_t (*set_many_weighed)(uint8_t *body, uint64_t blocks, const uint64_t *digests, size_t n, size_t prefetch,
                                 unsigned lanes, int shift, uint8_t (*before)[KITHI_LANES_BLOCK_BYTES], uint64_t *fill,
                                 uint64_t *more);
} kithi_lanes_block_ops;

/* The arguments of an operation. Each operation reads only those that it needs. */
typedef struct kithi_lanes_args {
    const kith_filter *f;
    kith_filter *writable; /* f; only set for operations that change its header */
    uint64_t digest;       /* operations on one key */
    bool *was_new;
    bool commit;             /* of shared adds (kind.h) */
    const uint64_t *digests; /* operations on a batch */
    size_t n;
    uint64_t *bitmap; /* maybe or was_new; may be NULL */
    size_t *done;
} kithi_lanes_args;

typedef uint64_t kithi_lanes_operation(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes);

/* Returns by how many bits a product (kithi_lanes_block_ops) is shifted right to give the weight of a block
 * (kinds/shared/crowding.h); negative: left. The product of a full block is lane_cells^lanes. */
KITHI_INLINE int kithi_lanes_weight_shift(unsigned cell_bits, unsigned lanes) {
    unsigned full_log2 = lanes * (lanes == 4 ? 7 : lanes == 8 ? 6 : 5) - (cell_bits == 4 ? 2 * lanes : 0);
    return full_log2 == 80 ? 0 /* the product was divided by 2^36 already */ : (int)full_log2 - KITHI_WEIGHT_BITS;
}

KITHI_INLINE uint64_t kithi_lanes_weight_of(uint64_t product, unsigned cell_bits, unsigned lanes) {
    int shift = kithi_lanes_weight_shift(cell_bits, lanes);
    return shift < 0 ? product << -shift : product >> shift;
}

/* Returns the weight of a block. `product` is as in kithi_lanes_block_ops. */
KITHI_INLINE uint64_t kithi_lanes_weight(const uint8_t *block,
                                         uint64_t (*product)(const uint8_t *block, unsigned lanes), unsigned cell_bits,
                                         unsigned lanes) {
    return kithi_lanes_weight_of(product(block, lanes), cell_bits, lanes);
}

/* ---- the cells in use of a block ----
 *
 * A lane is two words (4 lanes), one word (8) or half a word (16). `used` returns the number of cells in use in a
 * word. */

typedef unsigned kithi_lanes_used(uint64_t word);

/* Returns the number of cells in use. */
KITHI_INLINE unsigned kithi_lanes_block_used(const uint8_t *block, kithi_lanes_used *used) {
    unsigned sum = 0;
    for (unsigned i = 0; i < KITHI_LANES_BLOCK_BYTES; i += 8)
        sum += used(kithi_load64(block + i));
    return sum;
}

/* Returns the number of cells in use in the lane that begins at word *i or, with 16 lanes, the product of those of the
 * two lanes in this word. Sets *i to the last word. */
KITHI_INLINE unsigned kithi_lanes_used_at(const uint8_t *block, unsigned *i, unsigned lanes, kithi_lanes_used *used) {
    uint64_t word = kithi_load64(block + 8 * *i);
    unsigned here = used(word);
    if (lanes == 16) {
        unsigned upper = used(word >> 32);
        return (here - upper) * upper;
    }
    return lanes == 4 ? here + used(kithi_load64(block + 8 * ++*i)) : here;
}

/* As kithi_lanes_block_ops.product. */
KITHI_INLINE uint64_t kithi_lanes_product(const uint8_t *block, unsigned cell_bits, unsigned lanes,
                                          kithi_lanes_used *used) {
    uint64_t products[2] = {1, 1}; /* of the first and of the last four words */
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
        unsigned half = i / 4;
        products[half] *= kithi_lanes_used_at(block, &i, lanes, used);
    }
    return cell_bits == 1 && lanes == 16 ? kithi_mulhi(products[0] << 20, products[1] << 8) : products[0] * products[1];
}

/* Returns the false-positive rate of keys that select this block: the product of the shares of cells in use in each
 * lane. `share` is lane_cells^-lanes. */
KITHI_INLINE double kithi_lanes_block_rate(const uint8_t *block, unsigned lanes, double share, kithi_lanes_used *used) {
    double product = 1;
    for (unsigned i = 0; i < 8; i++)
        product *= (double)kithi_lanes_used_at(block, &i, lanes, used);
    return product * share;
}

/* Calls `operation` with the filter's number of lanes as a constant, so that it is compiled three times. The usual
 * number, 8, is tested first and takes no jump: an operation on one key is so short that each jump taken counts. */
KITHI_INLINE uint64_t kithi_by_lanes(kithi_lanes_operation *operation, const kithi_lanes_block_ops *ops,
                                     kithi_lanes_args args) {
    uint64_t lanes = args.f->geometry.lanes.lanes;
    if (__builtin_expect(lanes == 8, 1))
        return operation(ops, &args, 8);
    return lanes == 4 ? operation(ops, &args, 4) : operation(ops, &args, 16);
}

/* As kithi_shared_adds.prefetch. */
KITHI_INLINE void kithi_lanes_prefetch(const void *f, uint64_t digest) {
    __builtin_prefetch(kithi_lanes_block_of(f, digest));
}

/* A body of at most this many bytes stays in the core's own caches. Prefetching its blocks would make a lookup a sixth
 * slower. */
#define KITHI_LANES_CACHED_BYTES (256 << 10)

KITHI_INLINE bool kithi_lanes_in_cache(const kith_filter *f) {
    return f->head.body_bytes <= KITHI_LANES_CACHED_BYTES;
}

/* Prefetches the blocks of the first digests of a batch. */
KITHI_INLINE void kithi_lanes_prefetch_first(const kith_filter *f, const uint64_t *digests, size_t n) {
    for (size_t i = 0; i < n && i < KITHI_AHEAD; i++)
        kithi_lanes_prefetch(f, digests[i]);
}

/* Looks up n digests, at most 64. Bit i of the result tells whether digest i may be in the set. If `prefetch` is not 0,
 * it is a distance: before digest i is looked up, the block of digest i + prefetch is prefetched. The array must then
 * have at least n + prefetch digests. */
KITHI_INLINE uint64_t kithi_lanes_has_up_to_64(const kithi_lanes_block_ops *ops, const uint8_t *body, uint64_t blocks,
                                               const uint64_t *digests, size_t n, size_t prefetch, unsigned lanes) {
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        if (prefetch != 0)
            __builtin_prefetch(body + kithi_mulhi(digests[i + prefetch], blocks) * KITHI_LANES_BLOCK_BYTES);
        const uint8_t *block = body + kithi_mulhi(digests[i], blocks) * KITHI_LANES_BLOCK_BYTES;
        word |= (uint64_t)ops->has(block, digests[i], lanes) << i;
    }
    return word;
}

/* has_many for one number of lanes: kithi_by_lanes() compiles it for each. */
KITHI_INLINE uint64_t kithi_lanes_has_many_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                                     unsigned lanes) {
    const kith_filter *f = args->f;
    const uint8_t *body = f->body;
    uint64_t blocks = f->geometry.lanes.blocks;
    size_t n = args->n, yes = 0;
    bool in_cache = kithi_lanes_in_cache(f);
    if (!in_cache)
        kithi_lanes_prefetch_first(f, args->digests, n);
    for (size_t from = 0; from < n; from += 64) {
        const uint64_t *digests = args->digests + from;
        size_t left = n - from, count = left < 64 ? left : 64;
        bool ahead = !in_cache && left >= 64 + KITHI_AHEAD;
        uint64_t word = ahead ? kithi_lanes_has_up_to_64(ops, body, blocks, digests, 64, KITHI_AHEAD, lanes)
                              : kithi_lanes_has_up_to_64(ops, body, blocks, digests, count, 0, lanes);
        if (args->bitmap != NULL)
            args->bitmap[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

KITHI_INLINE size_t kithi_lanes_has_many(const kithi_lanes_block_ops *ops, const kith_filter *f,
                                         const uint64_t *digests, size_t n, uint64_t *maybe) {
    return (size_t)kithi_by_lanes(kithi_lanes_has_many_for_lanes, ops,
                                  (kithi_lanes_args){.f = f, .digests = digests, .n = n, .bitmap = maybe});
}

#endif
