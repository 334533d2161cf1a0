/* simd/neon.h: a block of blocked in four vectors of 16 bytes; otherwise as simd/avx2.h. */
#ifndef KITHI_SIMD_NEON_H
#define KITHI_SIMD_NEON_H

#include <arm_neon.h>

#include "core/batch.h"
#include "core/mix.h"

typedef struct kithi_neon_block {
    uint64x2_t part[4];
} kithi_neon_block;

/* The bits of a key: one in each of 4, 8 or 16 lanes. */
KITHI_INLINE kithi_neon_block kithi_neon_bits_of(uint64_t digest, unsigned lanes) {
    kithi_neon_block bits;
    uint16x8_t bytes = vmovl_u8(vcreate_u8(kithi_word(digest, 0)));
    if (lanes == 16) {
        uint16x8_t more = vmovl_u8(vcreate_u8(kithi_word(digest, 1)));
        uint32x4_t one = vdupq_n_u32(1);
        uint32x4_t bit[4] = {vmovl_u16(vget_low_u16(bytes)), vmovl_u16(vget_high_u16(bytes)),
                             vmovl_u16(vget_low_u16(more)), vmovl_u16(vget_high_u16(more))};
        for (unsigned i = 0; i < 4; i++)
            bits.part[i] = vreinterpretq_u64_u32(vshlq_u32(one, vreinterpretq_s32_u32(vshrq_n_u32(bit[i], 3))));
        return bits;
    }
    uint64x2_t one = vdupq_n_u64(1);
    uint32x4_t low = vmovl_u16(vget_low_u16(bytes)), high = vmovl_u16(vget_high_u16(bytes));
    if (lanes == 8) {
        uint64x2_t bit[4] = {vmovl_u32(vget_low_u32(low)), vmovl_u32(vget_high_u32(low)), vmovl_u32(vget_low_u32(high)),
                             vmovl_u32(vget_high_u32(high))};
        for (unsigned i = 0; i < 4; i++)
            bits.part[i] = vshlq_u64(one, vreinterpretq_s64_u64(vshrq_n_u64(bit[i], 2)));
        return bits;
    }
    uint64x2_t pair[2] = {vmovl_u32(vget_low_u32(low)), vmovl_u32(vget_high_u32(low))};
    int64x2_t odd = vcombine_s64(vcreate_s64(0), vcreate_s64(64));
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t byte = i % 2 == 0 ? vdupq_laneq_u64(pair[i / 2], 0) : vdupq_laneq_u64(pair[i / 2], 1);
        /* A shift of 64 and more leaves 0; one by less than 0 is a shift to the right and leaves 0 as well. */
        bits.part[i] = vshlq_u64(one, vsubq_s64(vreinterpretq_s64_u64(vshrq_n_u64(byte, 1)), odd));
    }
    return bits;
}

KITHI_INLINE uint64x2_t kithi_neon_load(const uint8_t *block, unsigned i) {
    return vreinterpretq_u64_u8(vld1q_u8(block + 16 * i));
}

KITHI_INLINE bool kithi_neon_bits_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_block bits = kithi_neon_bits_of(digest, lanes);
    uint64x2_t missing = vdupq_n_u64(0);
    for (unsigned i = 0; i < 4; i++)
        missing = vorrq_u64(missing, vbicq_u64(bits.part[i], kithi_neon_load(block, i)));
    return (vgetq_lane_u64(missing, 0) | vgetq_lane_u64(missing, 1)) == 0;
}

/* Sets the key's bits; answers how many were 0. */
KITHI_INLINE unsigned kithi_neon_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_neon_block bits = kithi_neon_bits_of(digest, lanes);
    unsigned set_bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint64x2_t before = kithi_neon_load(block, i);
        set_bits += vaddvq_u8(vcntq_u8(vreinterpretq_u8_u64(vbicq_u64(bits.part[i], before))));
        vst1q_u8(block + 16 * i, vreinterpretq_u8_u64(vorrq_u64(before, bits.part[i])));
    }
    return set_bits;
}

#endif
