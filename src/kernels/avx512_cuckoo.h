/* kernels/avx512_cuckoo.h: lookups of the cuckoo kinds with AVX-512: the methods of kernels/avx2_cuckoo.h, with twice
 * as many digests per vector. There is no code for places of one long word (plan/geometry.h) here: that of AVX2 is
 * used. */
#ifndef KITHI_SIMD_AVX512_CUCKOO_H
#define KITHI_SIMD_AVX512_CUCKOO_H

#include <immintrin.h>

#include "core/batch.h"
#include "core/cpu.h"
#include "core/mix.h"
#include "plan/geometry.h"
#include "kernels/avx2_cuckoo.h"
#include "kernels/cuckoo_lanes.h"

KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_broadcast(uint64_t x) {
    return _mm512_set1_epi64((long long)x);
}

/* Like kithi_avx2_cf_first_bits(). */
KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_cf_first_bits(const kithi_cf_geometry *g, __m512i place,
                                                                    bool windows) {
    if (!windows)
        return _mm512_mul_epu32(place, kithi_avx512_broadcast(g->place_bits));
    __mmask8 is_right = _mm512_test_epi64_mask(place, kithi_avx512_broadcast(1));
    __m512i slot = _mm512_srli_epi64(place, 1);
    slot = _mm512_mask_add_epi64(slot, is_right, slot, kithi_avx512_broadcast(g->half + 1));
    return _mm512_mul_epu32(slot, kithi_avx512_broadcast(g->slot_bits));
}

/* Finds the places and codes of KITHI_PAIRS digests. */
KITHI_TARGET_AVX512 KITHI_INLINE void kithi_avx512_cf_locate(const kithi_cf_geometry *g, const uint64_t *digests,
                                                             kithi_pairs *pairs, kithi_place_type type) {
    bool windows = type == KITHI_CF_WINDOWS;
    __m512i regions = kithi_avx512_broadcast(g->regions), places = kithi_avx512_broadcast(g->places);
    __m512i one = kithi_avx512_broadcast(1), seven = kithi_avx512_broadcast(7);
    __m128i rest_shift = _mm_cvtsi32_si128((int)g->rest_shift);
    for (size_t i = 0; i < KITHI_PAIRS; i += 8) {
        __m512i digest = _mm512_loadu_si512(digests + i);
        __m512i low = digest, high = _mm512_srli_epi64(digest, 32), region_at = _mm512_setzero_si512();
        if (g->regions > 1) {
            low = _mm512_mul_epu32(digest, regions);
            high = _mm512_add_epi64(_mm512_mul_epu32(high, regions), _mm512_srli_epi64(low, 32));
            region_at = _mm512_mul_epu32(_mm512_srli_epi64(high, 32), kithi_avx512_broadcast(g->stride));
        }
        __m512i place = _mm512_srli_epi64(_mm512_mul_epu32(high, places), 32);
        __m512i rest = _mm512_xor_si512(low, _mm512_sll_epi64(high, rest_shift));
        __m512i scaled = _mm512_mul_epu32(rest, kithi_avx512_broadcast(g->fingerprint_max));
        __m512i fingerprint = _mm512_add_epi64(_mm512_srli_epi64(scaled, 32), one);

        __m512i spread = _mm512_xor_si512(_mm512_mul_epu32(fingerprint, kithi_avx512_broadcast(KITHI_SPREAD_A)),
                                          _mm512_mul_epu32(fingerprint, kithi_avx512_broadcast(KITHI_SPREAD_B)));
        __m512i sum = _mm512_or_si512(_mm512_srli_epi64(_mm512_mul_epu32(spread, places), 32), one);
        __m512i other = _mm512_sub_epi64(sum, place);
        /* sum - place or, if that is negative, sum - place + places: see kernels/avx2_cuckoo.h */
        other = _mm512_min_epu64(other, _mm512_add_epi64(other, places));

        if (type == KITHI_CF_WIDE_BUCKETS) { /* the bucket with the even number first */
            __mmask8 odd = g->place_bits % 8 != 0 ? _mm512_test_epi64_mask(place, one) : 0;
            __m512i even_place = _mm512_mask_mov_epi64(place, odd, other);
            other = _mm512_mask_mov_epi64(other, odd, place);
            place = even_place;
        }
        __m512i bit[2] = {kithi_avx512_cf_first_bits(g, place, windows), kithi_avx512_cf_first_bits(g, other, windows)};
        for (unsigned j = 0; j < 2; j++) {
            _mm512_store_si512(pairs->at[j] + i, _mm512_add_epi64(region_at, _mm512_srli_epi64(bit[j], 3)));
            if (type != KITHI_CF_WIDE_BUCKETS)
                _mm512_store_si512(pairs->shift[j] + i, _mm512_and_si512(bit[j], seven));
        }
        if (type == KITHI_CF_WIDE_BUCKETS) {
            _mm512_store_si512(pairs->codes + i, fingerprint);
            continue;
        }
        __m512i code = windows ? _mm512_slli_epi64(fingerprint, 1) : fingerprint;
        __m512i low_part = _mm512_mul_epu32(code, kithi_avx512_broadcast(g->low_bits));
        __m512i high_part = _mm512_slli_epi64(_mm512_mul_epu32(code, kithi_avx512_broadcast(g->low_bits >> 32)), 32);
        __m512i codes = _mm512_add_epi64(low_part, high_part);
        _mm512_store_si512(pairs->codes + i,
                           windows ? _mm512_add_epi64(codes, kithi_avx512_broadcast(g->code_steps)) : codes);
    }
}

/* Loads the 8 bytes at each of eight offsets in the body. */
KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_load_words(const uint8_t *body, const uint64_t *at) {
    __m128i words[4];
    for (unsigned i = 0; i < 4; i++) {
        __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(body + at[2 * i]));
        const double *high = (const double *)(const void *)(body + at[2 * i + 1]);
        words[i] = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(low), high));
    }
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(words[0]), words[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(words[2]), words[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Returns a mask of the digests of the group for which a slot holds the key's code. */
KITHI_TARGET_AVX512 KITHI_INLINE uint32_t kithi_avx512_cf_match_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                                      const kithi_pairs *pairs) {
    __m512i low_bits = kithi_avx512_broadcast(g->low_bits), high_bits = kithi_avx512_broadcast(g->high_bits);
    uint32_t found = 0;
    for (unsigned i = KITHI_PAIRS; i > 0; i -= 8) {
        __m512i codes = _mm512_load_si512(pairs->codes + i - 8), zero = _mm512_setzero_si512();
        for (unsigned j = 0; j < 2; j++) {
            __m512i shift = _mm512_load_si512(pairs->shift[j] + i - 8);
            __m512i slots = _mm512_srlv_epi64(kithi_avx512_load_words(body, pairs->at[j] + i - 8), shift);
            __m512i x = _mm512_xor_si512(slots, codes);
            zero = _mm512_or_si512(zero, _mm512_andnot_si512(x, _mm512_sub_epi64(x, low_bits)));
        }
        found = found << 8 | (uint32_t)_mm512_test_epi64_mask(zero, high_bits);
    }
    return found;
}

KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_join(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Loads the two buckets of a key. */
KITHI_TARGET_AVX512 KITHI_INLINE __m256i kithi_avx512_cf_buckets(const uint8_t *body, const kithi_pairs *pairs,
                                                                 unsigned i) {
    __m256i even = _mm256_castsi128_si256(kithi_avx2_load_16_bytes(body + pairs->at[0][i]));
    return _mm256_inserti128_si256(even, kithi_avx2_load_16_bytes(body + pairs->at[1][i]), 1);
}

/* Like kithi_avx2_cf_match_lanes32(), with two keys in a vector. */
KITHI_TARGET_AVX512 KITHI_INLINE uint32_t kithi_avx512_cf_match_lanes32(const kithi_cf_geometry *g, const uint8_t *body,
                                                                        const kithi_pairs *pairs) {
    int bits = (int)g->slot_bits, odd = (int)(g->place_bits % 8);
    __m256i first = _mm256_setr_epi32(0, bits, 2 * bits, 3 * bits, odd, odd + bits, odd + 2 * bits, odd + 3 * bits);
    __m256i bytes = kithi_avx2_cf_shuffle(first, _mm256_set1_epi32(0x03020100));
    __m512i shuffle = kithi_avx512_join(bytes, bytes);
    __m512i shift = _mm512_and_si512(kithi_avx512_join(first, first), _mm512_set1_epi32(7));
    __m512i mask = _mm512_set1_epi32((int)g->fingerprint_max);
    _Alignas(32) uint16_t found[KITHI_PAIRS / 2]; /* a byte per key */
    for (unsigned i = 0; i < KITHI_PAIRS; i += 2) {
        __m512i x =
            kithi_avx512_join(kithi_avx512_cf_buckets(body, pairs, i), kithi_avx512_cf_buckets(body, pairs, i + 1));
        __m512i codes =
            kithi_avx512_join(_mm256_set1_epi32((int)pairs->codes[i]), _mm256_set1_epi32((int)pairs->codes[i + 1]));
        x = _mm512_and_si512(_mm512_srlv_epi32(_mm512_shuffle_epi8(x, shuffle), shift), mask);
        found[i / 2] = (uint16_t)_mm512_cmpeq_epi32_mask(x, codes);
    }
    return kithi_avx2_nonzero_bytes((const uint8_t *)found);
}

/* Like kithi_avx2_cf_match_lanes64(), with both buckets of a key in a vector. */
KITHI_TARGET_AVX512 KITHI_INLINE uint32_t kithi_avx512_cf_match_lanes64(const kithi_cf_geometry *g, const uint8_t *body,
                                                                        const kithi_pairs *pairs) {
    long long bits = (long long)g->slot_bits, odd = (long long)(g->place_bits % 8);
    __m512i first = _mm512_setr_epi64(0, bits, 2 * bits, 3 * bits, odd, odd + bits, odd + 2 * bits, odd + 3 * bits);
    /* The number of the byte in which a slot begins, in each of the 8 bytes of its lane. */
    __m512i first_byte =
        _mm512_shuffle_epi8(_mm512_srli_epi64(first, 3), _mm512_set4_epi32(0x08080808, 0x08080808, 0, 0));
    __m512i shuffle = _mm512_add_epi64(first_byte, _mm512_set1_epi64(0x0706050403020100));
    __m512i shift = _mm512_and_si512(first, kithi_avx512_broadcast(7)),
            mask = kithi_avx512_broadcast(g->fingerprint_max);
    _Alignas(32) uint8_t found[KITHI_PAIRS];
    for (unsigned i = 0; i < KITHI_PAIRS; i++) {
        __m512i x = kithi_avx512_join(_mm256_broadcastsi128_si256(kithi_avx2_load_16_bytes(body + pairs->at[0][i])),
                                      _mm256_broadcastsi128_si256(kithi_avx2_load_16_bytes(body + pairs->at[1][i])));
        x = _mm512_and_si512(_mm512_srlv_epi64(_mm512_shuffle_epi8(x, shuffle), shift), mask);
        found[i] = (uint8_t)_mm512_cmpeq_epi64_mask(x, kithi_avx512_broadcast(pairs->codes[i]));
    }
    return kithi_avx2_nonzero_bytes(found);
}

/* Like kithi_avx2_cf_match_buckets(). */
KITHI_TARGET_AVX512 KITHI_INLINE uint32_t kithi_avx512_cf_match_buckets(const kithi_cf_geometry *g, const uint8_t *body,
                                                                        const kithi_pairs *pairs) {
    return kithi_cf_fits_lanes32(g) ? kithi_avx512_cf_match_lanes32(g, body, pairs)
                                    : kithi_avx512_cf_match_lanes64(g, body, pairs);
}

#endif
