/* simd/avx2.h: a block of blocked in two vectors of 32 bytes, whose lanes can be shifted each by its own amount.
 *
 * The key's bytes, spread to the lanes, say by how much a 1 is shifted in each. A lane of 128 bits is two of 64: the 1 of
 * the key is shifted out of one of them, which leaves 0. */
#ifndef KITHI_SIMD_AVX2_H
#define KITHI_SIMD_AVX2_H

#include <immintrin.h>

#include "core/batch.h"
#include "core/cpu.h"
#include "core/mix.h"

typedef struct kithi_avx2_block {
    __m256i low, high;
} kithi_avx2_block;

/* The bits of a key: one in each of 4, 8 or 16 lanes. */
KITHI_TARGET_AVX2 KITHI_INLINE kithi_avx2_block kithi_avx2_bits(uint64_t digest, unsigned lanes) {
    __m128i bytes = _mm_cvtsi64_si128((long long)kithi_word(digest, 0));
    if (lanes == 16) {
        __m128i more = _mm_cvtsi64_si128((long long)kithi_word(digest, 1));
        __m256i one = _mm256_set1_epi32(1);
        return (kithi_avx2_block){_mm256_sllv_epi32(one, _mm256_srli_epi32(_mm256_cvtepu8_epi32(bytes), 3)),
                                  _mm256_sllv_epi32(one, _mm256_srli_epi32(_mm256_cvtepu8_epi32(more), 3))};
    }
    __m256i one = _mm256_set1_epi64x(1), first = _mm256_cvtepu8_epi64(bytes);
    if (lanes == 8) {
        __m256i second = _mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4));
        return (kithi_avx2_block){_mm256_sllv_epi64(one, _mm256_srli_epi64(first, 2)),
                                  _mm256_sllv_epi64(one, _mm256_srli_epi64(second, 2))};
    }
    __m256i bit = _mm256_srli_epi64(first, 1), odd = _mm256_set_epi64x(64, 0, 64, 0);
    return (kithi_avx2_block){
        _mm256_sllv_epi64(one, _mm256_sub_epi64(_mm256_permute4x64_epi64(bit, 0x50), odd)),
        _mm256_sllv_epi64(one, _mm256_sub_epi64(_mm256_permute4x64_epi64(bit, 0xfa), odd)),
    };
}

KITHI_TARGET_AVX2 KITHI_INLINE bool kithi_avx2_block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx2_block bits = kithi_avx2_bits(digest, lanes);
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
    __m256i missing = _mm256_or_si256(_mm256_andnot_si256(low, bits.low), _mm256_andnot_si256(high, bits.high));
    return _mm256_testz_si256(missing, missing) != 0;
}

/* Sets the key's bits; answers how many were 0. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_block_add(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx2_block bits = kithi_avx2_bits(digest, lanes);
    __m256i *at = (__m256i *)(void *)block, zero = _mm256_setzero_si256();
    __m256i low = _mm256_loadu_si256(at), high = _mm256_loadu_si256(at + 1);
    __m256i new_low = _mm256_andnot_si256(low, bits.low), new_high = _mm256_andnot_si256(high, bits.high);
    _mm256_storeu_si256(at, _mm256_or_si256(low, bits.low));
    _mm256_storeu_si256(at + 1, _mm256_or_si256(high, bits.high));
    /* A lane holds one new bit at most: so many lanes are not 0. */
    if (lanes == 16) {
        unsigned old_low = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(new_low, zero)));
        unsigned old_high = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(new_high, zero)));
        return 16 - kithi_popcount(old_low | old_high << 8);
    }
    unsigned old_low = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(new_low, zero)));
    unsigned old_high = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(new_high, zero)));
    return 8 - kithi_popcount(old_low | old_high << 4);
}

#endif
