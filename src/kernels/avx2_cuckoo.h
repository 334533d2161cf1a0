/* kernels/avx2_cuckoo.h: lookups of the cuckoo kinds with AVX2, in groups of digests.
 *
 * kithi_avx2_cf_locate does for four digests at a time what kithi_place_of, kithi_fingerprint and kithi_partner of
 * core/mix.h do for one. Every number is in a word of 64 bits. The factors of all products have at most 32 bits. (A
 * multiplication ignores the upper half of each word, which may hold other bits.)
 *
 * Then the slots of each place are compared with the key's code:
 *
 *     kithi_avx2_cf_match_words       places of one word that is not long. (A long word extends over nine bytes:
 *                                     plan/geometry.h.) The places of four keys fill a vector, one in each word, and
 *                                     kithi_zero_slots of kinds/shared/cf_lookup.h is computed in all words at once
 *     kithi_avx2_cf_match_long_words  the same for long words
 *     kithi_avx2_cf_match_buckets     buckets of four slots of 17 to 32 bits. The two buckets of one key are loaded,
 *                                     and a shuffle moves the bytes of each slot into a separate lane of a vector
 *
 * The four words of a vector are loaded one by one: on Zen 3 a gather takes longer. */
#ifndef KITHI_SIMD_AVX2_CUCKOO_H
#define KITHI_SIMD_AVX2_CUCKOO_H

#include <immintrin.h>

#include "core/batch.h"
#include "core/cpu.h"
#include "core/mix.h"
#include "plan/geometry.h"
#include "kernels/cuckoo_lanes.h"

KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_broadcast(uint64_t x) {
    return _mm256_set1_epi64x((long long)x);
}

/* Returns for each place the number of the bit in its region at which it begins. Windows with even numbers are in the
 * left half of the region, those with odd numbers in the right one: see kithi_overlap_first_slot(). */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_cf_first_bits(const kithi_cf_geometry *g, __m256i place,
                                                                bool windows) {
    if (!windows)
        return _mm256_mul_epu32(place, kithi_avx2_broadcast(g->place_bits));
    __m256i is_right = _mm256_sub_epi64(_mm256_setzero_si256(), _mm256_and_si256(place, kithi_avx2_broadcast(1)));
    __m256i right_half = _mm256_and_si256(is_right, kithi_avx2_broadcast(g->half + 1));
    __m256i slot = _mm256_add_epi64(_mm256_srli_epi64(place, 1), right_half);
    return _mm256_mul_epu32(slot, kithi_avx2_broadcast(g->slot_bits));
}

/* Returns a word per key. Each of its slots holds the code that the key has in that slot of a place: kithi_cf_code of
 * kinds/shared/cf_lookup.h. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_cf_codes(const kithi_cf_geometry *g, __m256i fingerprint,
                                                           bool windows) {
    __m256i code = windows ? _mm256_slli_epi64(fingerprint, 1) : fingerprint;
    __m256i low = _mm256_mul_epu32(code, kithi_avx2_broadcast(g->low_bits));
    __m256i high = _mm256_slli_epi64(_mm256_mul_epu32(code, kithi_avx2_broadcast(g->low_bits >> 32)), 32);
    __m256i codes = _mm256_add_epi64(low, high);
    return windows ? _mm256_add_epi64(codes, kithi_avx2_broadcast(g->code_steps)) : codes;
}

/* Finds the places and codes of KITHI_PAIRS digests. */
KITHI_TARGET_AVX2 KITHI_INLINE void kithi_avx2_cf_locate(const kithi_cf_geometry *g, const uint64_t *digests,
                                                         kithi_pairs *pairs, kithi_place_type type) {
    bool windows = type == KITHI_CF_WINDOWS;
    __m256i regions = kithi_avx2_broadcast(g->regions), places = kithi_avx2_broadcast(g->places);
    __m256i one = kithi_avx2_broadcast(1), seven = kithi_avx2_broadcast(7);
    __m128i rest_shift = _mm_cvtsi32_si128((int)g->rest_shift);
    for (size_t i = 0; i < KITHI_PAIRS; i += 4) {
        __m256i digest = _mm256_loadu_si256((const __m256i *)(const void *)(digests + i));
        __m256i low = digest, high = _mm256_srli_epi64(digest, 32), region_at = _mm256_setzero_si256();
        if (g->regions > 1) { /* `high` becomes bits 32 … 95 of digest * regions; bits 64 … 95 are the region */
            low = _mm256_mul_epu32(digest, regions);
            high = _mm256_add_epi64(_mm256_mul_epu32(high, regions), _mm256_srli_epi64(low, 32));
            region_at = _mm256_mul_epu32(_mm256_srli_epi64(high, 32), kithi_avx2_broadcast(g->stride));
        }
        __m256i place = _mm256_srli_epi64(_mm256_mul_epu32(high, places), 32);
        __m256i rest = _mm256_xor_si256(low, _mm256_sll_epi64(high, rest_shift));
        __m256i scaled = _mm256_mul_epu32(rest, kithi_avx2_broadcast(g->fingerprint_max));
        __m256i fingerprint = _mm256_add_epi64(_mm256_srli_epi64(scaled, 32), one);

        __m256i spread = _mm256_xor_si256(_mm256_mul_epu32(fingerprint, kithi_avx2_broadcast(KITHI_SPREAD_A)),
                                          _mm256_mul_epu32(fingerprint, kithi_avx2_broadcast(KITHI_SPREAD_B)));
        __m256i sum = _mm256_or_si256(_mm256_srli_epi64(_mm256_mul_epu32(spread, places), 32), one);
        __m256i other = _mm256_sub_epi64(sum, place);
        /* The result is sum - place or, if that is negative, sum - place + places. As unsigned numbers, the result is
         * always the smaller of the two, because a negative number is then a large one. AVX2 has no minimum of 64-bit
         * words, but the minimum of each half is the same here, because places < 2^31. If sum - place is not negative,
         * both numbers are below 2^32, so their upper halves are 0. If it is negative, it is above -2^31: both its
         * halves are above 2^31, and both halves of the other number are below. */
        other = _mm256_min_epu32(other, _mm256_add_epi64(other, places));

        if (type == KITHI_CF_WIDE_BUCKETS && g->place_bits % 8 != 0) {       /* the bucket with the even number first */
            __m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(place, 63)); /* blendv looks at the sign */
            __m256d a = _mm256_castsi256_pd(place), b = _mm256_castsi256_pd(other);
            place = _mm256_castpd_si256(_mm256_blendv_pd(a, b, odd));
            other = _mm256_castpd_si256(_mm256_blendv_pd(b, a, odd));
        }
        __m256i bit[2] = {kithi_avx2_cf_first_bits(g, place, windows), kithi_avx2_cf_first_bits(g, other, windows)};
        for (unsigned j = 0; j < 2; j++) {
            __m256i at = _mm256_add_epi64(region_at, _mm256_srli_epi64(bit[j], 3));
            _mm256_store_si256((__m256i *)(void *)(pairs->at[j] + i), at);
            if (type != KITHI_CF_WIDE_BUCKETS)
                _mm256_store_si256((__m256i *)(void *)(pairs->shift[j] + i), _mm256_and_si256(bit[j], seven));
        }
        if (type != KITHI_CF_WIDE_BUCKETS)
            fingerprint = kithi_avx2_cf_codes(g, fingerprint, windows);
        _mm256_store_si256((__m256i *)(void *)(pairs->codes + i), fingerprint);
    }
}

/* Loads the 8 bytes at each of four offsets in the body. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_load_words(const uint8_t *body, const uint64_t *at) {
    __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(body + at[0]));
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(body + at[2]));
    low = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(low), (const double *)(const void *)(body + at[1])));
    high = _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(high), (const double *)(const void *)(body + at[3])));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Returns a mask of the digests of the group for which a slot holds the key's code. Each place has one word. If
 * `is_long` is true, the last bits of the word may be in a ninth byte, so a second load begins one byte later. */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_one_word(const kithi_cf_geometry *g, const uint8_t *body,
                                                                     const kithi_pairs *pairs, bool is_long) {
    __m256i low_bits = kithi_avx2_broadcast(g->low_bits), high_bits = kithi_avx2_broadcast(g->high_bits);
    uint32_t missing = 0;
    for (unsigned i = KITHI_PAIRS; i > 0; i -= 4) {
        __m256i codes = _mm256_load_si256((const __m256i *)(const void *)(pairs->codes + i - 4));
        __m256i zero = _mm256_setzero_si256();
        for (unsigned j = 0; j < 2; j++) {
            __m256i shift = _mm256_load_si256((const __m256i *)(const void *)(pairs->shift[j] + i - 4));
            __m256i slots = _mm256_srlv_epi64(kithi_avx2_load_words(body, pairs->at[j] + i - 4), shift);
            if (is_long) {
                __m256i later = kithi_avx2_load_words(body + 1, pairs->at[j] + i - 4);
                slots =
                    _mm256_or_si256(slots, _mm256_sllv_epi64(later, _mm256_sub_epi64(kithi_avx2_broadcast(8), shift)));
            }
            __m256i x = _mm256_xor_si256(slots, codes);
            zero = _mm256_or_si256(zero, _mm256_andnot_si256(x, _mm256_sub_epi64(x, low_bits)));
        }
        zero = _mm256_and_si256(zero, high_bits);
        __m256i none = _mm256_cmpeq_epi64(zero, _mm256_setzero_si256());
        missing = missing << 4 | (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(none));
    }
    return ~missing;
}

KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                                  const kithi_pairs *pairs) {
    return kithi_avx2_cf_match_one_word(g, body, pairs, false);
}

KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_long_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                                       const kithi_pairs *pairs) {
    return kithi_avx2_cf_match_one_word(g, body, pairs, true);
}

/* Returns a mask with a bit for each of 32 bytes: 1 if the byte is not 0. */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_nonzero_bytes(const uint8_t *bytes) {
    __m256i x = _mm256_load_si256((const __m256i *)(const void *)bytes);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_setzero_si256()));
}

KITHI_TARGET_AVX2 KITHI_INLINE __m128i kithi_avx2_load_16_bytes(const uint8_t *from) {
    return _mm_loadu_si128((const __m128i *)(const void *)from);
}

/* Returns the shuffle that moves the bytes of slots to the lanes of a vector. `first_bits` has for each slot the number
 * of the bit at which it begins, counted from bit 0 of the byte in which its bucket begins. `byte_of_slot` has for each
 * byte of a lane its distance from the first byte of the slot. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_cf_shuffle(__m256i first_bits, __m256i byte_of_slot) {
    __m256i first_bytes = _mm256_mullo_epi32(_mm256_srli_epi32(first_bits, 3), _mm256_set1_epi32(0x01010101));
    return _mm256_add_epi32(first_bytes, byte_of_slot);
}

/* Compares both buckets of a key in one vector, a slot in each lane of 32 bits. A lane gets the byte in which its slot
 * begins and the next three, so this is only for widths of slots at which every slot ends in one of these four bytes. A
 * bucket with an even number begins at bit 0 of a byte, and one with an odd number at bit place_bits % 8. */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_lanes32(const kithi_cf_geometry *g, const uint8_t *body,
                                                                    const kithi_pairs *pairs) {
    int bits = (int)g->slot_bits, odd = (int)(g->place_bits % 8);
    __m256i first = _mm256_setr_epi32(0, bits, 2 * bits, 3 * bits, odd, odd + bits, odd + 2 * bits, odd + 3 * bits);
    __m256i shuffle = kithi_avx2_cf_shuffle(first, _mm256_set1_epi32(0x03020100));
    __m256i shift = _mm256_and_si256(first, _mm256_set1_epi32(7));
    __m256i mask = _mm256_set1_epi32((int)g->fingerprint_max);
    _Alignas(32) uint8_t found[KITHI_PAIRS];
    for (unsigned i = 0; i < KITHI_PAIRS; i++) {
        __m128i even = kithi_avx2_load_16_bytes(body + pairs->at[0][i]);
        __m256i x =
            _mm256_inserti128_si256(_mm256_castsi128_si256(even), kithi_avx2_load_16_bytes(body + pairs->at[1][i]), 1);
        x = _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(x, shuffle), shift), mask);
        __m256i equal = _mm256_cmpeq_epi32(x, _mm256_set1_epi32((int)pairs->codes[i]));
        found[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
    }
    return kithi_avx2_nonzero_bytes(found);
}

/* Loads a bucket, moves each slot to a lane of 64 bits and shifts it left, to the highest bits of the lane. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256 kithi_avx2_cf_slots64(const uint8_t *bucket, __m256i shuffle, __m256i shift) {
    __m256i x = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(kithi_avx2_load_16_bytes(bucket)), shuffle);
    return _mm256_castsi256_ps(_mm256_sllv_epi64(x, shift));
}

/* Like kithi_avx2_cf_match_lanes32, for slots of any width. Each slot is first moved to the highest bits of a lane of
 * 64 bits. It has at most 32 bits, so it is then in the upper half of that lane. The upper halves of the lanes of both
 * buckets fill one vector. */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_lanes64(const kithi_cf_geometry *g, const uint8_t *body,
                                                                    const kithi_pairs *pairs) {
    int bits = (int)g->slot_bits;
    __m256i byte_of_slot = _mm256_set1_epi64x(0x0706050403020100), to_end = kithi_avx2_broadcast(64 - g->slot_bits);
    __m256i shuffle[2], shift[2];
    for (unsigned j = 0; j < 2; j++) {
        __m256i first = _mm256_setr_epi32(0, 0, bits, bits, 2 * bits, 2 * bits, 3 * bits, 3 * bits);
        first = _mm256_add_epi32(first, _mm256_set1_epi32(j == 0 ? 0 : (int)(g->place_bits % 8)));
        shuffle[j] = kithi_avx2_cf_shuffle(first, byte_of_slot);
        shift[j] = _mm256_sub_epi64(to_end, _mm256_and_si256(first, kithi_avx2_broadcast(7)));
    }
    __m128i to_low = _mm_cvtsi32_si128(32 - bits);
    _Alignas(32) uint8_t found[KITHI_PAIRS];
    for (unsigned i = 0; i < KITHI_PAIRS; i++) {
        __m256 even = kithi_avx2_cf_slots64(body + pairs->at[0][i], shuffle[0], shift[0]);
        __m256 odd = kithi_avx2_cf_slots64(body + pairs->at[1][i], shuffle[1], shift[1]);
        __m256i x = _mm256_castps_si256(_mm256_shuffle_ps(even, odd, _MM_SHUFFLE(3, 1, 3, 1)));
        __m256i equal = _mm256_cmpeq_epi32(_mm256_srl_epi32(x, to_low), _mm256_set1_epi32((int)pairs->codes[i]));
        found[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal));
    }
    return kithi_avx2_nonzero_bytes(found);
}

/* Like kithi_avx2_cf_match_words, for KITHI_CF_WIDE_BUCKETS (core/batch.h). */
KITHI_TARGET_AVX2 KITHI_INLINE uint32_t kithi_avx2_cf_match_buckets(const kithi_cf_geometry *g, const uint8_t *body,
                                                                    const kithi_pairs *pairs) {
    return kithi_cf_fits_lanes32(g) ? kithi_avx2_cf_match_lanes32(g, body, pairs)
                                    : kithi_avx2_cf_match_lanes64(g, body, pairs);
}

#endif
