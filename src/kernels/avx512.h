/* kernels/avx512.h: operations on a block of the blocked kinds with AVX-512, and parities for ribbon. A block is one
 * vector of 64 bytes. Cells of 1 bit are handled like counters: a 1 is shifted to the lowest bit of each cell of the
 * key. Otherwise this is the method of kernels/avx2.h. */
#ifndef KITHI_SIMD_AVX512_H
#define KITHI_SIMD_AVX512_H

#include <immintrin.h>

#include "core/compiler.h"
#include "core/mix.h"
#include "kernels/avx2.h"

/* Returns a block with a 1 at the lowest bit of each cell of the key, 0 elsewhere. A cell has 1 << cell_shift bits. */
KITHI_TARGET_AVX512 KITHI_INLINE __m512i kithi_avx512_ones(uint64_t digest, unsigned lanes, unsigned cell_shift) {
    long long word = (long long)kithi_lane_word(digest, 0);
    if (lanes == 16) {
        __m512i bytes = _mm512_cvtepu8_epi32(_mm_set_epi64x((long long)kithi_lane_word(digest, 1), word));
        return _mm512_sllv_epi32(_mm512_set1_epi32(1),
                                 _mm512_slli_epi32(_mm512_srli_epi32(bytes, 3 + cell_shift), cell_shift));
    }
    __m512i one = _mm512_set1_epi64(1), bytes = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(word));
    if (lanes == 8)
        return _mm512_sllv_epi64(one, _mm512_slli_epi64(_mm512_srli_epi64(bytes, 2 + cell_shift), cell_shift));
    /* A lane is two words. The bits of the lane that come before a word are subtracted from its shift. In one of the
     * two words the result is then negative or too large, so the 1 is shifted out. */
    __m512i lane_of_word = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    __m512i bits_before = _mm512_set_epi64(64, 0, 64, 0, 64, 0, 64, 0);
    bytes = _mm512_permutexvar_epi64(lane_of_word, bytes);
    __m512i shift = _mm512_slli_epi64(_mm512_srli_epi64(bytes, 1 + cell_shift), cell_shift);
    return _mm512_sllv_epi64(one, _mm512_sub_epi64(shift, bits_before));
}

/* Returns a mask of the words that are not 0. */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_nonzero_words(__m512i x, unsigned lanes) {
    return lanes == 16 ? (unsigned)_mm512_test_epi32_mask(x, x) : (unsigned)_mm512_test_epi64_mask(x, x);
}

/* ---- blocked ---- */

KITHI_TARGET_AVX512 KITHI_INLINE bool kithi_avx512_bits_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    __m512i missing = _mm512_andnot_si512(_mm512_loadu_si512(block), kithi_avx512_ones(digest, lanes, 0));
    return _mm512_test_epi64_mask(missing, missing) == 0;
}

/* Sets `bits`, those of one key, in the block. Returns which of them were 0, as a mask with one bit per word: a word
 * has at most one bit of a key. */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_bits_or(uint8_t *block, __m512i bits, unsigned lanes) {
    __m512i before = _mm512_loadu_si512(block);
    _mm512_storeu_si512(block, _mm512_or_si512(before, bits));
    return kithi_avx512_nonzero_words(_mm512_andnot_si512(before, bits), lanes);
}

/* Sets the key's bits; returns how many of them were 0. */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    return kithi_popcount(kithi_avx512_bits_or(block, kithi_avx512_ones(digest, lanes, 0), lanes));
}

/* Like kithi_avx2_bits_set_many(). */
KITHI_TARGET_AVX512 KITHI_INLINE uint64_t kithi_avx512_bits_set_many(uint8_t *body, uint64_t blocks,
                                                                     const uint64_t *digests, size_t n, size_t prefetch,
                                                                     unsigned lanes, uint64_t *fill) {
    uint16_t missing[64] = {0};
    for (size_t i = 0; i < n; i++) {
        if (prefetch != 0)
            __builtin_prefetch(body + kithi_mulhi(digests[i + prefetch], blocks) * 64);
        __m512i bits = kithi_avx512_ones(digests[i], lanes, 0);
        missing[i] = (uint16_t)kithi_avx512_bits_or(body + kithi_mulhi(digests[i], blocks) * 64, bits, lanes);
    }
    *fill += kithi_avx2_bits_in(missing);
    return kithi_avx2_different(missing, 0);
}

/* ---- blocked_counting: counters of 4 bits ---- */

typedef struct kithi_avx512_counters {
    __m512i block;
    __m512i ones; /* 1 at the lowest bit of each counter of the key, 0 elsewhere */
    __m512i full; /* 15 in each counter of the key, 0 elsewhere */
} kithi_avx512_counters;

KITHI_TARGET_AVX512 KITHI_INLINE kithi_avx512_counters kithi_avx512_counters_of(const uint8_t *block, uint64_t digest,
                                                                                unsigned lanes) {
    __m512i ones = kithi_avx512_ones(digest, lanes, 2);
    __m512i full = lanes == 16 ? _mm512_sub_epi32(_mm512_slli_epi32(ones, 4), ones)
                               : _mm512_sub_epi64(_mm512_slli_epi64(ones, 4), ones);
    return KITHI_VALUE(kithi_avx512_counters, _mm512_loadu_si512(block), ones, full);
}

/* Returns how many of the key's counters equal `value`, which is 0 or 1. */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_counters_equal_to(const kithi_avx512_counters *c, unsigned lanes,
                                                                         unsigned value) {
    __m512i difference = _mm512_and_si512(c->block, c->full);
    if (value != 0)
        difference = _mm512_xor_si512(difference, c->ones);
    return lanes - kithi_popcount(kithi_avx512_nonzero_words(difference, lanes));
}

KITHI_TARGET_AVX512 KITHI_INLINE bool kithi_avx512_counters_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx512_counters c = kithi_avx512_counters_of(block, digest, lanes);
    return kithi_avx512_counters_equal_to(&c, lanes, 0) == 0;
}

/* Adds `by` (1 or -1) to the key's counters that are not stuck. */
KITHI_TARGET_AVX512 KITHI_INLINE void kithi_avx512_change_all(uint8_t *block, const kithi_avx512_counters *c,
                                                              unsigned lanes, int by) {
    /* In a word without a counter of the key, `value` and `full` are 0, so it counts as stuck and does not change. */
    __m512i value = _mm512_and_si512(c->block, c->full), after;
    if (lanes == 16) {
        __mmask16 not_stuck = _mm512_cmpneq_epi32_mask(value, c->full);
        after = by > 0 ? _mm512_mask_add_epi32(c->block, not_stuck, c->block, c->ones)
                       : _mm512_mask_sub_epi32(c->block, not_stuck, c->block, c->ones);
    } else {
        __mmask8 not_stuck = _mm512_cmpneq_epi64_mask(value, c->full);
        after = by > 0 ? _mm512_mask_add_epi64(c->block, not_stuck, c->block, c->ones)
                       : _mm512_mask_sub_epi64(c->block, not_stuck, c->block, c->ones);
    }
    _mm512_storeu_si512(block, after);
}

/* Adds 1 to the key's counters that are not stuck and sets *zeros to how many of them were 0. Returns false and changes
 * nothing if all of the key's counters are 14 or more. */
KITHI_TARGET_AVX512 KITHI_INLINE bool kithi_avx512_counters_raise(uint8_t *block, uint64_t digest, unsigned lanes,
                                                                  unsigned *zeros) {
    kithi_avx512_counters c = kithi_avx512_counters_of(block, digest, lanes);
    /* below_14 is not 0 if a counter of the key is below 14: only then is one of its upper three bits 0. */
    __m512i below_14 = _mm512_andnot_si512(c.ones, _mm512_andnot_si512(c.block, c.full));
    if (_mm512_test_epi64_mask(below_14, below_14) == 0)
        return false;
    *zeros = kithi_avx512_counters_equal_to(&c, lanes, 0);
    kithi_avx512_change_all(block, &c, lanes, 1);
    return true;
}

/* Subtracts 1 from the key's counters that are not stuck and sets *zeros to how many of them became 0. Returns false
 * and changes nothing if one of the key's counters is 0. */
KITHI_TARGET_AVX512 KITHI_INLINE bool kithi_avx512_counters_lower(uint8_t *block, uint64_t digest, unsigned lanes,
                                                                  unsigned *zeros) {
    kithi_avx512_counters c = kithi_avx512_counters_of(block, digest, lanes);
    if (kithi_avx512_counters_equal_to(&c, lanes, 0) != 0)
        return false;
    *zeros = kithi_avx512_counters_equal_to(&c, lanes, 1);
    kithi_avx512_change_all(block, &c, lanes, -1);
    return true;
}

/* ---- ribbon ---- */

/* Like kithi_avx2_parities(). */
KITHI_TARGET_AVX512 KITHI_INLINE unsigned kithi_avx512_parities(const uint8_t *first, const uint8_t *second,
                                                                uint64_t low, uint64_t high) {
    __m512i a = _mm512_and_si512(_mm512_loadu_si512(first), _mm512_set1_epi64((long long)low));
    __m512i b = _mm512_and_si512(_mm512_loadu_si512(second), _mm512_set1_epi64((long long)high));
    __m512i x = _mm512_xor_si512(a, b);
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 32));
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 16));
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 8));
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 4));
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 2));
    x = _mm512_xor_si512(x, _mm512_slli_epi64(x, 1));
    return (unsigned)_mm512_test_epi64_mask(x, _mm512_set1_epi64(INT64_MIN));
}

#endif
