/* simd/avx2_cuckoo.h: lookups of the cuckoo kinds with AVX2, in groups of digests.
 *
 * kithi_avx2_cf_locate does for four digests at a time what kithi_place_of, kithi_fingerprint and kithi_partner of
 * core/mix.h do for one. Every number is in a word of 64 bits; all products have factors of 32 bits.
 *
 * Then the slots of each place are compared with the key's code:
 *
 *     kithi_avx2_cf_match_words    places of up to 64 bits. The places of four keys fill a vector, one in each word, and
 *                                  kithi_zero_slots of filters/common/cuckoo.h is computed in all words at once
 *     kithi_avx2_cf_match_buckets  buckets of four slots of 17 to 32 bits. The two buckets of one key are loaded, and a
 *                                  shuffle moves the bytes of each slot into a lane of its own
 *
 * The words of a block are loaded one by one: on Zen 3 a gather takes longer. */
#ifndef KITHI_SIMD_AVX2_CUCKOO_H
#define KITHI_SIMD_AVX2_CUCKOO_H

#include <immintrin.h>

#include "core/batch.h"
#include "core/cpu.h"
#include "core/mix.h"
#include "plan/geometry.h"

KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_all(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}

/* Returns the bit offset of each place in its region. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_cf_bits(const kithi_cf_geometry *g, __m256i place, bool windows) {
    if (!windows)
        return _mm256_mul_epu32(place, kithi_avx2_all(g->slot_bits * g->bucket_slots));
    __m256i is_right = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_and_si256(place, kithi_avx2_all(1)));
    __m256i right_half = _mm256_and_si256(is_right, kithi_avx2_all(g->half + 1));
    __m256i slot = _mm256_add_epi64(_mm256_srli_epi64(place, 1), right_half);
    return _mm256_mul_epu32(slot, kithi_avx2_all(g->slot_bits));
}

/* Returns, in each word, the code of the key in each slot of a place: kithi_cf_code of filters/common/cuckoo.h. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_cf_codes(const kithi_cf_geometry *g, __m256i fingerprint,
                                                           bool windows) {
    __m256i code = windows ? _mm256_slli_epi64(fingerprint, 1) : fingerprint;
    __m256i low = _mm256_mul_epu32(code, kithi_avx2_all(g->low_bits));
    __m256i high = _mm256_slli_epi64(_mm256_mul_epu32(code, kithi_avx2_all(g->low_bits >> 32)), 32);
    __m256i codes = _mm256_add_epi64(low, high);
    return windows ? _mm256_add_epi64(codes, kithi_avx2_all(g->code_steps)) : codes;
}

/* Finds the places and codes of KITHI_PAIRS digests. */
KITHI_TARGET_AVX2 KITHI_INLINE void kithi_avx2_cf_locate(const kithi_cf_geometry *g, const uint64_t *digests,
                                                         kithi_pairs *pairs, bool windows) {
    __m256i regions = kithi_avx2_all(g->regions), places = kithi_avx2_all(g->places);
    __m256i one = kithi_avx2_all(1), seven = kithi_avx2_all(7);
    __m128i rest_shift = _mm_cvtsi32_si128((int)g->rest_shift);
    for (size_t i = 0; i < KITHI_PAIRS; i += 4) {
        __m256i digest = _mm256_loadu_si256((const __m256i *)(const void *)(digests + i));
        __m256i low = digest, high = _mm256_srli_epi64(digest, 32), region_at = _mm256_setzero_si256();
        if (g->regions > 1) {
            low = _mm256_mul_epu32(digest, regions);
            high = _mm256_add_epi64(_mm256_mul_epu32(high, regions), _mm256_srli_epi64(low, 32));
            region_at = _mm256_mul_epu32(_mm256_srli_epi64(high, 32), kithi_avx2_all(g->stride));
        }
        __m256i product = _mm256_mul_epu32(high, places), place = _mm256_srli_epi64(product, 32);
        __m256i rest = _mm256_xor_si256(low, _mm256_srl_epi64(product, rest_shift));
        __m256i scaled = _mm256_mul_epu32(rest, kithi_avx2_all(g->fingerprint_max));
        __m256i fingerprint = _mm256_add_epi64(_mm256_srli_epi64(scaled, 32), one);

        __m256i spread = _mm256_mul_epu32(fingerprint, kithi_avx2_all(KITHI_SPREAD_FIRST));
        spread = _mm256_xor_si256(spread, _mm256_srli_epi64(spread, KITHI_SPREAD_FOLD));
        spread = _mm256_mul_epu32(spread, kithi_avx2_all(KITHI_SPREAD_SECOND));
        __m256i sum = _mm256_or_si256(_mm256_srli_epi64(_mm256_mul_epu32(spread, places), 32), one);
        __m256i other = _mm256_sub_epi64(sum, place);
        /* Of the two the smaller is the one that is not negative, because places < 2^31. */
        other = _mm256_min_epu32(other, _mm256_add_epi64(other, places));

        __m256i bit[2] = {kithi_avx2_cf_bits(g, place, windows), kithi_avx2_cf_bits(g, other, windows)};
        for (unsigned j = 0; j < 2; j++) {
            __m256i at = _mm256_add_epi64(region_at, _mm256_srli_epi64(bit[j], 3));
            _mm256_store_si256((__m256i *)(void *)(pairs->at[j] + i), at);
            _mm256_store_si256((__m256i *)(void *)(pairs->shift[j] + i), _mm256_and_si256(bit[j], seven));
        }
        _mm256_store_si256((__m256i *)(void *)(pairs->codes + i), kithi_avx2_cf_codes(g, fingerprint, windows));
    }
}

KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_load4(const uint8_t *body, const uint64_t *at) {
    __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(body + at[0]));
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(body + at[2]));
    low = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(low), (const double *)(const void *)(body + at[1])));
    high = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(high), (const double *)(const void *)(body + at[3])));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Returns a mask of the digests of the group for which a slot holds the key's code. */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                                  const kithi_pairs *pairs) {
    __m256i low_bits = kithi_avx2_all(g->low_bits), high_bits = kithi_avx2_all(g->high_bits);
    uint32_t missing = 0;
    for (unsigned i = KITHI_PAIRS; i > 0; i -= 4) {
        __m256i codes = _mm256_load_si256((const __m256i *)(const void *)(pairs->codes + i - 4));
        __m256i zero = _mm256_setzero_si256();
        for (unsigned j = 0; j < 2; j++) {
            __m256i shift = _mm256_load_si256((const __m256i *)(const void *)(pairs->shift[j] + i - 4));
            __m256i slots = _mm256_srlv_epi64(kithi_avx2_load4(body, pairs->at[j] + i - 4), shift);
            __m256i x = _mm256_xor_si256(slots, codes);
            zero = _mm256_or_si256(zero, _mm256_andnot_si256(x, _mm256_sub_epi64(x, low_bits)));
        }
        zero = _mm256_and_si256(zero, high_bits);
        __m256i none = _mm256_cmpeq_epi64(zero, _mm256_setzero_si256());
        missing = missing << 4 | (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(none));
    }
    return ~missing;
}

#endif
