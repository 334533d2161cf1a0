/* kernels/neon.h: operations on a block of the blocked kinds with NEON. A block is four vectors of 16 bytes. Cells of
 * 1 bit are handled like counters: a 1 is shifted to the lowest bit of each cell of the key. Otherwise this is the
 * method of kernels/avx2.h. */
#ifndef KITHI_SIMD_NEON_H
#define KITHI_SIMD_NEON_H

#include <arm_neon.h>

#include "core/compiler.h"
#include "core/mix.h"

typedef struct kithi_neon_block {
    uint64x2_t part[4];
} kithi_neon_block;

/* Returns a block with a 1 at the lowest bit of each cell of the key, 0 elsewhere. A cell has 1 or 4 bits. vshrq_n
 * shifts right only by a constant. So a byte of the lane word (core/mix.h) is shifted as for cells of 1 bit. This gives
 * the number of a bit in the lane, which cell_mask then rounds down to that of the first bit of a cell. For cells of 1
 * bit the compiler leaves the rounding out. */
KITHI_INLINE kithi_neon_block kithi_neon_ones(uint64_t digest, unsigned lanes, unsigned cell_bits) {
    kithi_neon_block ones;
    uint16x8_t bytes = vmovl_u8(vcreate_u8(kithi_lane_word(digest, 0)));
    if (lanes == 16) {
        uint16x8_t more = vmovl_u8(vcreate_u8(kithi_lane_word(digest, 1)));
        uint32x4_t one = vdupq_n_u32(1), cell_mask = vdupq_n_u32(0u - cell_bits);
        uint32x4_t byte[4] = {vmovl_u16(vget_low_u16(bytes)), vmovl_u16(vget_high_u16(bytes)),
                              vmovl_u16(vget_low_u16(more)), vmovl_u16(vget_high_u16(more))};
        for (unsigned i = 0; i < 4; i++) {
            uint32x4_t shift = vandq_u32(vshrq_n_u32(byte[i], 3), cell_mask);
            ones.part[i] = vreinterpretq_u64_u32(vshlq_u32(one, vreinterpretq_s32_u32(shift)));
        }
        return ones;
    }
    uint64x2_t one = vdupq_n_u64(1), cell_mask = vdupq_n_u64(0 - (uint64_t)cell_bits);
    uint32x4_t low = vmovl_u16(vget_low_u16(bytes)), high = vmovl_u16(vget_high_u16(bytes));
    if (lanes == 8) {
        uint64x2_t byte[4] = {vmovl_u32(vget_low_u32(low)), vmovl_u32(vget_high_u32(low)),
                              vmovl_u32(vget_low_u32(high)), vmovl_u32(vget_high_u32(high))};
        for (unsigned i = 0; i < 4; i++)
            ones.part[i] = vshlq_u64(one, vreinterpretq_s64_u64(vandq_u64(vshrq_n_u64(byte[i], 2), cell_mask)));
        return ones;
    }
    uint64x2_t pair[2] = {vmovl_u32(vget_low_u32(low)), vmovl_u32(vget_high_u32(low))};
    /* A lane is two words. The bits of the lane that come before a word are subtracted from its shift. */
    int64x2_t bits_before = vcombine_s64(vcreate_s64(0), vcreate_s64(64));
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t byte = i % 2 == 0 ? vdupq_laneq_u64(pair[i / 2], 0) : vdupq_laneq_u64(pair[i / 2], 1);
        uint64x2_t shift = vandq_u64(vshrq_n_u64(byte, 1), cell_mask);
        /* A shift by 64 or more gives 0; a negative shift is a shift to the right and gives 0 too. */
        ones.part[i] = vshlq_u64(one, vsubq_s64(vreinterpretq_s64_u64(shift), bits_before));
    }
    return ones;
}

KITHI_INLINE uint64x2_t kithi_neon_load(const uint8_t *block, unsigned i) {
    return vreinterpretq_u64_u8(vld1q_u8(block + 16 * i));
}

KITHI_INLINE void kithi_neon_store(uint8_t *block, unsigned i, uint64x2_t part) {
    vst1q_u8(block + 16 * i, vreinterpretq_u8_u64(part));
}

KITHI_INLINE bool kithi_neon_is_zero(uint64x2_t x) {
    return (vgetq_lane_u64(x, 0) | vgetq_lane_u64(x, 1)) == 0;
}

/* ---- blocked ---- */

KITHI_INLINE bool kithi_neon_bits_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_block bits = kithi_neon_ones(digest, lanes, 1);
    uint64x2_t missing = vdupq_n_u64(0);
    for (unsigned i = 0; i < 4; i++)
        missing = vorrq_u64(missing, vbicq_u64(bits.part[i], kithi_neon_load(block, i)));
    return kithi_neon_is_zero(missing);
}

/* Sets the key's bits; returns how many of them were 0. */
KITHI_INLINE unsigned kithi_neon_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_block bits = kithi_neon_ones(digest, lanes, 1);
    unsigned set_bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t before = kithi_neon_load(block, i);
        set_bits += vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(vbicq_u64(bits.part[i], before))));
        kithi_neon_store(block, i, vorrq_u64(before, bits.part[i]));
    }
    return set_bits;
}

/* ---- blocked_counting: counters of 4 bits ---- */

typedef struct kithi_neon_counters {
    kithi_neon_block block;
    kithi_neon_block ones; /* 1 at the lowest bit of each counter of the key, 0 elsewhere */
    kithi_neon_block full; /* 15 in each counter of the key, 0 elsewhere */
} kithi_neon_counters;

/* Adds word by word. With 16 lanes a word has 32 bits, otherwise 64. */
KITHI_INLINE uint64x2_t kithi_neon_add(uint64x2_t a, uint64x2_t b, unsigned lanes) {
    return lanes == 16 ? vreinterpretq_u64_u32(vaddq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
                       : vaddq_u64(a, b);
}

KITHI_INLINE uint64x2_t kithi_neon_sub(uint64x2_t a, uint64x2_t b, unsigned lanes) {
    return lanes == 16 ? vreinterpretq_u64_u32(vsubq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
                       : vsubq_u64(a, b);
}

/* Returns all ones in words that are equal and 0 in the others. */
KITHI_INLINE uint64x2_t kithi_neon_equal(uint64x2_t a, uint64x2_t b, unsigned lanes) {
    return lanes == 16 ? vreinterpretq_u64_u32(vceqq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)))
                       : vceqq_u64(a, b);
}

KITHI_INLINE kithi_neon_counters kithi_neon_counters_of(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_counters c;
    c.ones = kithi_neon_ones(digest, lanes, 4);
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t one = c.ones.part[i];
        uint64x2_t sixteen =
            lanes == 16 ? vreinterpretq_u64_u32(vshlq_n_u32(vreinterpretq_u32_u64(one), 4)) : vshlq_n_u64(one, 4);
        c.full.part[i] = kithi_neon_sub(sixteen, one, lanes);
        c.block.part[i] = kithi_neon_load(block, i);
    }
    return c;
}

/* Returns how many of the key's counters equal `value`, which is 0 or 1. With 4 lanes, four words have no counter of
 * the key. They compare as equal and are subtracted. */
KITHI_INLINE unsigned kithi_neon_counters_equal_to(const kithi_neon_counters *c, unsigned lanes, unsigned value) {
    uint64x2_t zero = vdupq_n_u64(0), count = zero;
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t counters = vandq_u64(c->block.part[i], c->full.part[i]);
        uint64x2_t equal = kithi_neon_equal(counters, value != 0 ? c->ones.part[i] : zero, lanes);
        count = kithi_neon_sub(count, equal, lanes); /* all ones is -1 */
    }
    return lanes == 16 ? vaddvq_u32(vreinterpretq_u32_u64(count)) : (unsigned)vaddvq_u64(count) - (8 - lanes);
}

KITHI_INLINE bool kithi_neon_counters_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_counters c = kithi_neon_counters_of(block, digest, lanes);
    return kithi_neon_counters_equal_to(&c, lanes, 0) == 0;
}

/* Adds `by` (1 or -1) to the key's counters that are not stuck. */
KITHI_INLINE void kithi_neon_change_all(uint8_t *block, const kithi_neon_counters *c, unsigned lanes, int by) {
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t before = c->block.part[i], full = c->full.part[i];
        uint64x2_t stuck = kithi_neon_equal(vandq_u64(before, full), full, lanes);
        uint64x2_t step = vbicq_u64(c->ones.part[i], stuck);
        kithi_neon_store(block, i, by > 0 ? kithi_neon_add(before, step, lanes) : kithi_neon_sub(before, step, lanes));
    }
}

/* Adds 1 to the key's counters that are not stuck and sets *zeros to how many of them were 0. Returns false and changes
 * nothing if all of the key's counters are 14 or more. */
KITHI_INLINE bool kithi_neon_counters_raise(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros) {
    kithi_neon_counters c = kithi_neon_counters_of(block, digest, lanes);
    uint64x2_t below_14 = vdupq_n_u64(0);
    /* below_14 is not 0 if a counter of the key is below 14: only then is one of its upper three bits 0. */
    for (unsigned i = 0; i < 4; i++)
        below_14 = vorrq_u64(below_14, vbicq_u64(vbicq_u64(c.full.part[i], c.block.part[i]), c.ones.part[i]));
    if (kithi_neon_is_zero(below_14))
        return false;
    *zeros = kithi_neon_counters_equal_to(&c, lanes, 0);
    kithi_neon_change_all(block, &c, lanes, 1);
    return true;
}

/* Subtracts 1 from the key's counters that are not stuck and sets *zeros to how many of them became 0. Returns false
 * and changes nothing if one of the key's counters is 0. */
KITHI_INLINE bool kithi_neon_counters_lower(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros) {
    kithi_neon_counters c = kithi_neon_counters_of(block, digest, lanes);
    if (kithi_neon_counters_equal_to(&c, lanes, 0) != 0)
        return false;
    *zeros = kithi_neon_counters_equal_to(&c, lanes, 1);
    kithi_neon_change_all(block, &c, lanes, -1);
    return true;
}

#endif
