/* simd/avx512.h: a block of blocked in one vector of 64 bytes; otherwise as simd/avx2.h. */
#ifndef KITHI_SIMD_AVX512_H
#define KITHI_SIMD_AVX512_H

#include <immintrin.h>

#include "core/batch.h"
#include "core/cpu.h"
#include "core/mix.h"

/* The bits of a key: one in each of 4, 8 or 16 lanes. */
KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_bits(uint64_t digest, unsigned lanes) {
    long long word = (long long)kithi_word(digest, 0);
    if (lanes == 16) {
        __m128i bytes = _mm_set_epi64x((long long)kithi_word(digest, 1), word);
        return _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(_mm512_cvtepu8_epi32(bytes), 3));
    }
    __m512i one = _mm512_set1_epi64(1), bytes = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(word));
    if (lanes == 8)
        return _mm512_sllv_epi64(one, _mm512_srli_epi64(bytes, 2));
    __m512i twice = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0), odd = _mm512_set_epi64(64, 0, 64, 0, 64, 0, 64, 0);
    __m512i bit = _mm512_srli_epi64(_mm512_permutexvar_epi64(twice, bytes), 1);
    return _mm512_sllv_epi64(one, _mm512_sub_epi64(bit, odd));
}

KITHI_TARGET_AVX512 KITHI_INLINE bool kithi_avx512_block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    __m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(block), kithi_avx512_bits(digest, lanes));
    return _mm512_test_epi64_mask(missing, missing) == 0;
}

/* Sets the key's bits; answers how many were 0. */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_block_add(uint8_t *block, uint64_t digest, unsigned lanes) {
    __m512i bits = kithi_avx512_bits(digest, lanes), before = _mm512_loadu_si512(block);
    __m512i missing = _mm512_andnot_si512(before, bits);
    _mm512_storeu_si512(block, _mm512_or_si512(before, bits));
    /* A lane holds one new bit at most: so many lanes are not 0. */
    return kithi_popcount(lanes == 16 ? _mm512_test_epi32_mask(missing, missing)
                                      : _mm512_test_epi64_mask(missing, missing));
}

#endif
