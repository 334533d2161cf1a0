/* kernels/avx2.h: operations on a block of the blocked kinds with AVX2, and parities for ribbon.
 *
 * A key has one cell in each of the 4, 8 or 16 lanes of its block (kinds/shared/lanes.h). A block is two vectors of
 * 32 bytes. They consist of words of 32 bits if there are 16 lanes, and otherwise of 64 bits. So a lane is one word, or
 * two words if there are 4 lanes. Each word can be shifted by its own amount, which comes from one byte of the key's
 * lane words (64-bit hashes of the digest: core/mix.h).
 *
 * If the cells are counters, a 1 is shifted left to the lowest bit of the key's counter. If they are bits, the word of
 * the block is shifted left until the key's bit is its highest. If there are 4 lanes, everything is shifted out of one
 * of the two words of a lane, which leaves 0 there. */
#ifndef KITHI_SIMD_AVX2_H
#define KITHI_SIMD_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "core/compiler.h"
#include "core/mix.h"

typedef struct kithi_avx2_block {
    __m256i low, high;
} kithi_avx2_block;

/* Which shifts kithi_avx2_shifts() returns, and so from which end of a word they are counted. */
typedef enum kithi_avx2_end {
    KITHI_AVX2_LOWEST,  /* those that move a 1 from bit 0 of a word to the lowest bit of the key's cell */
    KITHI_AVX2_HIGHEST, /* those that move the key's cell, which is one bit, to the highest bit of its word */
} kithi_avx2_end;

/* For 8 lanes of 64 bits: returns the shift of each lane, one byte per lane. A byte of the lane word, divided by 4, is
 * the number of a bit of the lane. The mask rounds it down to the first bit of a cell, and clears the two bits that the
 * shift of the whole word has moved in from the next byte. */
KITHI_TARGET_AVX2 KITHI_INLINE __m128i kithi_avx2_shifts_8(uint64_t digest, int cell_shift, kithi_avx2_end end) {
    uint64_t byte_mask = 64 - (UINT64_C(1) << cell_shift), mask = UINT64_C(0x0101010101010101) * byte_mask;
    uint64_t word = kithi_lane_word(digest, 0) >> 2;
    return _mm_cvtsi64_si128((long long)(end == KITHI_AVX2_HIGHEST ? ~word & mask : word & mask));
}

/* Returns the shift of each word. The number of the key's cell in a lane is byte * cells / 256, where `byte` is the
 * byte of the lane words that belongs to the lane, and `cells` is how many cells a lane has. A cell has 1 << cell_shift
 * bits. Counted from the other end, the number of the cell is what the same formula gives for the byte with all its
 * bits inverted. */
KITHI_TARGET_AVX2 KITHI_INLINE kithi_avx2_block kithi_avx2_shifts(uint64_t digest, unsigned lanes, int cell_shift,
                                                                  kithi_avx2_end end) {
    if (lanes == 8) {
        __m256i bytes = _mm256_broadcastq_epi64(kithi_avx2_shifts_8(digest, cell_shift, end));
        /* Byte j goes to the lowest byte of word j: the lowest byte of j - 256 is the index j. Its other bytes are
         * negative indices, which give 0. */
        return KITHI_VALUE(kithi_avx2_block, _mm256_shuffle_epi8(bytes, _mm256_setr_epi64x(-256, -255, -254, -253)),
                           _mm256_shuffle_epi8(bytes, _mm256_setr_epi64x(-252, -251, -250, -249)));
    }
    uint64_t invert = end == KITHI_AVX2_HIGHEST ? UINT64_MAX : 0;
    __m128i bytes = _mm_cvtsi64_si128((long long)(kithi_lane_word(digest, 0) ^ invert));
    if (lanes == 16) {
        __m128i more = _mm_cvtsi64_si128((long long)(kithi_lane_word(digest, 1) ^ invert));
        return KITHI_VALUE(
            kithi_avx2_block,
            _mm256_slli_epi32(_mm256_srli_epi32(_mm256_cvtepu8_epi32(bytes), 3 + cell_shift), cell_shift),
            _mm256_slli_epi32(_mm256_srli_epi32(_mm256_cvtepu8_epi32(more), 3 + cell_shift), cell_shift));
    }
    __m256i first = _mm256_cvtepu8_epi64(bytes);
    __m256i shift = _mm256_slli_epi64(_mm256_srli_epi64(first, 1 + cell_shift), cell_shift);
    /* A lane is two words. The bits of the lane that come before a word, counted from `end`, are subtracted from its
     * shift. In one of the two words the result is then negative or too large, so everything is shifted out. */
    __m256i bits_before = end == KITHI_AVX2_HIGHEST ? _mm256_set_epi64x(0, 64, 0, 64) : _mm256_set_epi64x(64, 0, 64, 0);
    return KITHI_VALUE(kithi_avx2_block, _mm256_sub_epi64(_mm256_permute4x64_epi64(shift, 0x50), bits_before),
                       _mm256_sub_epi64(_mm256_permute4x64_epi64(shift, 0xfa), bits_before));
}

/* Returns 1 << shift in each word, or 0 where the shift is negative or at least the size of a word. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_ones(__m256i shifts, unsigned lanes) {
    return lanes == 16 ? _mm256_sllv_epi32(_mm256_set1_epi32(1), shifts)
                       : _mm256_sllv_epi64(_mm256_set1_epi64x(1), shifts);
}

/* Returns how many words of the two vectors are 0. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_zero_words(__m256i low, __m256i high, unsigned lanes) {
    __m256i zero = _mm256_setzero_si256();
    if (lanes == 16) {
        unsigned in_low = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(low, zero)));
        unsigned in_high = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(high, zero)));
        return kithi_popcount(in_low | in_high << 8);
    }
    unsigned in_low = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, zero)));
    unsigned in_high = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, zero)));
    return kithi_popcount(in_low | in_high << 4);
}

/* Returns the number of words in a block. */
KITHI_INLINE unsigned kithi_avx2_word_count(unsigned lanes) {
    return lanes == 16 ? 16 : 8;
}

/* Returns the product of the numbers of cells in use in all lanes of a block. It must be below 2^64. `low` and `high`
 * have the number of such cells that begin in each byte. If the product may be above 2^64 (wide), it is divided by
 * 2^36 and rounded down. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_lane_product(__m256i low, __m256i high, unsigned lanes, bool wide) {
    if (lanes == 16) { /* adds the bytes of each word of 32 bits, and multiplies neighbouring words */
        __m256i bytes = _mm256_set1_epi8(1), pairs = _mm256_set1_epi16(1);
        low = _mm256_madd_epi16(_mm256_maddubs_epi16(low, bytes), pairs);
        high = _mm256_madd_epi16(_mm256_maddubs_epi16(high, bytes), pairs);
        low = _mm256_mul_epu32(low, _mm256_srli_epi64(low, 32));
        high = _mm256_mul_epu32(high, _mm256_srli_epi64(high, 32));
    } else {
        low = _mm256_sad_epu8(low, _mm256_setzero_si256());
        high = _mm256_sad_epu8(high, _mm256_setzero_si256());
        if (lanes == 4) { /* a lane is two words */
            low = _mm256_add_epi64(low, _mm256_shuffle_epi32(low, _MM_SHUFFLE(1, 0, 3, 2)));
            high = _mm256_add_epi64(high, _mm256_shuffle_epi32(high, _MM_SHUFFLE(1, 0, 3, 2)));
        }
    }
    __m256i four = _mm256_mul_epu32(low, high);
    __m128i two = _mm_mul_epu32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    if (lanes == 4) /* both are the product of all lanes */
        return (uint64_t)_mm_cvtsi128_si64(two);
    if (wide)
        return kithi_mulhi((uint64_t)_mm_cvtsi128_si64(two) << 20, (uint64_t)_mm_extract_epi64(two, 1) << 8);
    return (uint64_t)_mm_cvtsi128_si64(_mm_mul_epu32(two, _mm_unpackhi_epi64(two, two)));
}

/* ---- blocked ---- */

/* Returns how many bits of each byte are set. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_bits_in_bytes(__m256i x) {
    __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2,
                                      3, 2, 3, 3, 4);
    __m256i mask = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(counts, _mm256_and_si256(x, mask)),
                           _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(x, 4), mask)));
}

/* Returns the product of the numbers of bits that are set in each lane; with 16 lanes, as with `wide` above. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_bits_product(const uint8_t *block, unsigned lanes) {
    const __m256i *at = (const __m256i *)(const void *)block;
    return kithi_avx2_lane_product(kithi_avx2_bits_in_bytes(_mm256_loadu_si256(at)),
                                   kithi_avx2_bits_in_bytes(_mm256_loadu_si256(at + 1)), lanes, lanes == 16);
}

/* Returns one of the two vectors of a block with the key's bits set: the highest bit of each word, shifted right by
 * `shifts`. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_bits_or(__m256i block, __m256i shifts, unsigned lanes) {
    /* As a floating-point number, a word in which only the highest bit is set is -0.0. gcc makes this constant in one
     * instruction. */
    __m256i highest =
        lanes == 16 ? _mm256_castps_si256(_mm256_set1_ps(-0.0f)) : _mm256_castpd_si256(_mm256_set1_pd(-0.0));
    return _mm256_or_si256(block,
                           lanes == 16 ? _mm256_srlv_epi32(highest, shifts) : _mm256_srlv_epi64(highest, shifts));
}

/* Returns which of the key's bits are set in the block, as a mask with one bit per lane, in any order. Shifted left by
 * `shifts`, the key's bit is the highest of its word, and one instruction collects the highest bits of all words. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_bits_found(kithi_avx2_block block, kithi_avx2_block shifts,
                                                              unsigned lanes) {
    if (lanes == 16) {
        __m256i low = _mm256_sllv_epi32(block.low, shifts.low), high = _mm256_sllv_epi32(block.high, shifts.high);
        return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(low)) |
               (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(high)) << 8;
    }
    __m256i low = _mm256_sllv_epi64(block.low, shifts.low), high = _mm256_sllv_epi64(block.high, shifts.high);
    if (lanes == 8) /* collects the upper halves of all words */
        return (unsigned)_mm256_movemask_ps(
            _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _MM_SHUFFLE(3, 1, 3, 1)));
    /* One of the two words of a lane was shifted by too much, which leaves 0. */
    __m256i either = _mm256_or_si256(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(either));
}

KITHI_TARGET_AVX2 KITHI_INLINE kithi_avx2_block kithi_avx2_load(const uint8_t *block) {
    return KITHI_VALUE(kithi_avx2_block, _mm256_loadu_si256((const __m256i *)(const void *)block),
                       _mm256_loadu_si256((const __m256i *)(const void *)(block + 32)));
}

KITHI_TARGET_AVX2 KITHI_INLINE bool kithi_avx2_bits_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx2_block shifts = kithi_avx2_shifts(digest, lanes, 0, KITHI_AVX2_HIGHEST);
    return kithi_avx2_bits_found(kithi_avx2_load(block), shifts, lanes) == (1u << lanes) - 1;
}

/* Sets the key's bits; returns which of them were set before, as kithi_avx2_bits_found(). */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_bits_find_and_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx2_block shifts = kithi_avx2_shifts(digest, lanes, 0, KITHI_AVX2_HIGHEST), before = kithi_avx2_load(block);
    _mm256_storeu_si256((__m256i *)(void *)block, kithi_avx2_bits_or(before.low, shifts.low, lanes));
    _mm256_storeu_si256((__m256i *)(void *)(block + 32), kithi_avx2_bits_or(before.high, shifts.high, lanes));
    return kithi_avx2_bits_found(before, shifts, lanes);
}

/* Sets the key's bits; returns how many of them were 0. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_bits_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    return lanes - kithi_popcount(kithi_avx2_bits_find_and_set(block, digest, lanes));
}

/* Sets the key's bits; returns which of them were set before, as kithi_avx2_bits_found(). Sets *products to what
 * kithi_avx2_bits_product() returns for the block before that, and after. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_bits_set_products(uint8_t *block, uint64_t digest, unsigned lanes,
                                                                     __m128i *products) {
    kithi_avx2_block shifts = kithi_avx2_shifts(digest, lanes, 0, KITHI_AVX2_HIGHEST), before = kithi_avx2_load(block);
    __m256i low = kithi_avx2_bits_or(before.low, shifts.low, lanes);
    __m256i high = kithi_avx2_bits_or(before.high, shifts.high, lanes);
    _mm256_storeu_si256((__m256i *)(void *)block, low);
    _mm256_storeu_si256((__m256i *)(void *)(block + 32), high);
    __m256i low_bits = kithi_avx2_bits_in_bytes(before.low), high_bits = kithi_avx2_bits_in_bytes(before.high);
    if (lanes != 8) {
        uint64_t first = kithi_avx2_lane_product(low_bits, high_bits, lanes, lanes == 16);
        uint64_t second =
            kithi_avx2_lane_product(kithi_avx2_bits_in_bytes(low), kithi_avx2_bits_in_bytes(high), lanes, lanes == 16);
        *products = _mm_set_epi64x((long long)second, (long long)first);
        return kithi_avx2_bits_found(before, shifts, lanes);
    }
    /* A lane is a word. It has one bit more than before, or is the same: then the comparison gives -1. */
    __m256i one = _mm256_set1_epi64x(1), zero = _mm256_setzero_si256();
    __m256i same_low = _mm256_cmpeq_epi64(low, before.low), same_high = _mm256_cmpeq_epi64(high, before.high);
    low_bits = _mm256_sad_epu8(low_bits, zero);
    high_bits = _mm256_sad_epu8(high_bits, zero);
    __m256i first = _mm256_mul_epu32(low_bits, high_bits);
    __m256i second = _mm256_mul_epu32(_mm256_add_epi64(low_bits, _mm256_add_epi64(one, same_low)),
                                      _mm256_add_epi64(high_bits, _mm256_add_epi64(one, same_high)));
    __m256i both = _mm256_mul_epu32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
    *products = _mm_mul_epu32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    return (unsigned)_mm256_movemask_ps(
        _mm256_shuffle_ps(_mm256_castsi256_ps(same_low), _mm256_castsi256_ps(same_high), _MM_SHUFFLE(3, 1, 3, 1)));
}

/* As kithi_lanes_block_ops.set_product. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_bits_set_product(uint8_t *block, uint64_t digest, unsigned lanes,
                                                                    uint64_t products[2]) {
    __m128i both;
    unsigned found = kithi_avx2_bits_set_products(block, digest, lanes, &both);
    _mm_storeu_si128((__m128i *)(void *)products, both);
    return lanes - kithi_popcount(found);
}

/* Returns a bitmap with a bit for each of 64 numbers: 1 if the number is not `value`. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_different(const uint16_t *numbers, uint16_t value) {
    uint64_t different = 0;
    __m256i values = _mm256_set1_epi16((short)value);
    for (unsigned i = 0; i < 64; i += 32) {
        kithi_avx2_block keys = kithi_avx2_load((const uint8_t *)(numbers + i));
        __m256i same = _mm256_packs_epi16(_mm256_cmpeq_epi16(keys.low, values), _mm256_cmpeq_epi16(keys.high, values));
        same = _mm256_permute4x64_epi64(same, _MM_SHUFFLE(3, 1, 2, 0)); /* packs has left keys 0-7 16-23 8-15 24-31 */
        different |= (uint64_t) ~(uint32_t)_mm256_movemask_epi8(same) << i;
    }
    return different;
}

/* Returns how many bits of 64 numbers are set. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_bits_in(const uint16_t *numbers) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i += 4)
        bits += kithi_popcount(kithi_load64((const uint8_t *)(numbers + i)));
    return bits;
}

/* Sets the bits of n keys, at most 64. Bit i of the result tells whether key i changed a bit. Adds the number of bits
 * that changed to *fill. If `prefetch` is not 0, there are at least n + prefetch digests, and the block of the key that
 * is `prefetch` keys ahead is prefetched. Counting at the end, for several keys at once, takes less time than counting
 * for each key. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_bits_set_many(uint8_t *body, uint64_t blocks,
                                                                 const uint64_t *digests, size_t n, size_t prefetch,
                                                                 unsigned lanes, uint64_t *fill) {
    uint16_t found[64], all_lanes = (uint16_t)((1u << lanes) - 1);
    for (size_t i = 0; i < n; i++) {
        if (prefetch != 0)
            __builtin_prefetch(body + kithi_mulhi(digests[i + prefetch], blocks) * 64);
        uint8_t *block = body + kithi_mulhi(digests[i], blocks) * 64;
        found[i] = (uint16_t)kithi_avx2_bits_find_and_set(block, digests[i], lanes);
    }
    for (size_t i = n; i < 64; i++)
        found[i] = all_lanes;
    *fill += UINT64_C(64) * lanes - kithi_avx2_bits_in(found);
    return kithi_avx2_different(found, all_lanes);
}

/* As kithi_lanes_block_ops.set_many_weighed. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_bits_set_many_weighed(uint8_t *body, uint64_t blocks,
                                                                         const uint64_t *digests, size_t n,
                                                                         size_t prefetch, unsigned lanes, int shift,
                                                                         uint8_t (*before)[64], uint64_t *fill,
                                                                         uint64_t *more) {
    uint16_t found[64], all_lanes = (uint16_t)((1u << lanes) - 1);
    __m128i weights = _mm_setzero_si128(), by = _mm_cvtsi32_si128(shift < 0 ? -shift : shift);
    for (size_t i = 0; i < n; i++) {
        if (prefetch != 0)
            __builtin_prefetch(body + kithi_mulhi(digests[i + prefetch], blocks) * 64);
        uint8_t *block = body + kithi_mulhi(digests[i], blocks) * 64;
        __m128i products;
        memcpy(before[i], block, 64);
        found[i] = (uint16_t)kithi_avx2_bits_set_products(block, digests[i], lanes, &products);
        weights = _mm_add_epi64(weights, shift < 0 ? _mm_sll_epi64(products, by) : _mm_srl_epi64(products, by));
    }
    for (size_t i = n; i < 64; i++)
        found[i] = all_lanes;
    *fill += UINT64_C(64) * lanes - kithi_avx2_bits_in(found);
    *more = (uint64_t)_mm_cvtsi128_si64(_mm_sub_epi64(_mm_unpackhi_epi64(weights, weights), weights));
    return kithi_avx2_different(found, all_lanes);
}

/* ---- blocked_counting: counters of 4 bits ----
 *
 * A counter at 15 is stuck: it never changes again. No key is added if all its counters are 14 or more
 * (kinds/shared/counter_cells.h). */

/* Returns how many counters of each byte are not 0. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_counters_in_bytes(__m256i x) {
    __m256i zero = _mm256_setzero_si256(), low = _mm256_set1_epi8(15), two = _mm256_set1_epi8(2);
    __m256i no_low = _mm256_cmpeq_epi8(_mm256_and_si256(x, low), zero);
    __m256i no_high = _mm256_cmpeq_epi8(_mm256_andnot_si256(low, x), zero);
    return _mm256_add_epi8(two, _mm256_add_epi8(no_low, no_high)); /* a comparison that holds gives -1 */
}

/* Returns the product of the numbers of counters that are not 0 in each lane. */
KITHI_TARGET_AVX2 KITHI_INLINE uint64_t kithi_avx2_counters_product(const uint8_t *block, unsigned lanes) {
    const __m256i *at = (const __m256i *)(const void *)block;
    return kithi_avx2_lane_product(kithi_avx2_counters_in_bytes(_mm256_loadu_si256(at)),
                                   kithi_avx2_counters_in_bytes(_mm256_loadu_si256(at + 1)), lanes, false);
}

typedef struct kithi_avx2_counters {
    kithi_avx2_block block;
    kithi_avx2_block ones; /* 1 at the lowest bit of each counter of the key, 0 elsewhere */
    kithi_avx2_block full; /* 15 in each counter of the key, 0 elsewhere */
} kithi_avx2_counters;

KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_times_15(__m256i ones, unsigned lanes) {
    return lanes == 16 ? _mm256_sub_epi32(_mm256_slli_epi32(ones, 4), ones)
                       : _mm256_sub_epi64(_mm256_slli_epi64(ones, 4), ones);
}

KITHI_TARGET_AVX2 KITHI_INLINE kithi_avx2_counters kithi_avx2_counters_of(const uint8_t *block, uint64_t digest,
                                                                          unsigned lanes) {
    const __m256i *at = (const __m256i *)(const void *)block;
    kithi_avx2_block shifts = kithi_avx2_shifts(digest, lanes, 2, KITHI_AVX2_LOWEST);
    __m256i low = kithi_avx2_ones(shifts.low, lanes), high = kithi_avx2_ones(shifts.high, lanes);
    return KITHI_VALUE(kithi_avx2_counters, {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)}, {low, high},
                       {kithi_avx2_times_15(low, lanes), kithi_avx2_times_15(high, lanes)});
}

/* Returns how many of the key's counters are 0. With 4 lanes, four words have no counter of the key. They count as 0,
 * too, and are subtracted. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_counters_zero(const kithi_avx2_counters *c, unsigned lanes) {
    return kithi_avx2_zero_words(_mm256_and_si256(c->block.low, c->full.low),
                                 _mm256_and_si256(c->block.high, c->full.high), lanes) -
           (kithi_avx2_word_count(lanes) - lanes);
}

KITHI_TARGET_AVX2 KITHI_INLINE bool kithi_avx2_counters_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_avx2_counters c = kithi_avx2_counters_of(block, digest, lanes);
    return kithi_avx2_counters_zero(&c, lanes) == 0;
}

/* Adds `by` (1 or -1) to the key's counters that are not stuck. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_change(__m256i block, __m256i ones, __m256i full, unsigned lanes,
                                                         int by) {
    __m256i value = _mm256_and_si256(block, full);
    __m256i stuck = lanes == 16 ? _mm256_cmpeq_epi32(value, full) : _mm256_cmpeq_epi64(value, full);
    __m256i step = _mm256_andnot_si256(stuck, ones);
    if (lanes == 16)
        return by > 0 ? _mm256_add_epi32(block, step) : _mm256_sub_epi32(block, step);
    return by > 0 ? _mm256_add_epi64(block, step) : _mm256_sub_epi64(block, step);
}

KITHI_TARGET_AVX2 KITHI_INLINE void kithi_avx2_change_all(uint8_t *block, const kithi_avx2_counters *c, unsigned lanes,
                                                          int by) {
    __m256i *at = (__m256i *)(void *)block;
    _mm256_storeu_si256(at, kithi_avx2_change(c->block.low, c->ones.low, c->full.low, lanes, by));
    _mm256_storeu_si256(at + 1, kithi_avx2_change(c->block.high, c->ones.high, c->full.high, lanes, by));
}

/* Adds 1 to the key's counters that are not stuck and sets *zeros to how many of them were 0. Returns false and changes
 * nothing if all of the key's counters are 14 or more. */
KITHI_TARGET_AVX2 KITHI_INLINE bool kithi_avx2_counters_raise(uint8_t *block, uint64_t digest, unsigned lanes,
                                                              unsigned *zeros) {
    kithi_avx2_counters c = kithi_avx2_counters_of(block, digest, lanes);
    /* below_14 is not 0 if a counter of the key is below 14: only then is one of its upper three bits 0. */
    __m256i low = _mm256_andnot_si256(c.ones.low, _mm256_andnot_si256(c.block.low, c.full.low));
    __m256i high = _mm256_andnot_si256(c.ones.high, _mm256_andnot_si256(c.block.high, c.full.high));
    __m256i below_14 = _mm256_or_si256(low, high);
    if (_mm256_testz_si256(below_14, below_14) != 0)
        return false;
    *zeros = kithi_avx2_counters_zero(&c, lanes);
    kithi_avx2_change_all(block, &c, lanes, 1);
    return true;
}

/* Subtracts 1 from the key's counters that are not stuck and sets *zeros to how many of them became 0. Returns false
 * and changes nothing if one of the key's counters is 0. */
KITHI_TARGET_AVX2 KITHI_INLINE bool kithi_avx2_counters_lower(uint8_t *block, uint64_t digest, unsigned lanes,
                                                              unsigned *zeros) {
    kithi_avx2_counters c = kithi_avx2_counters_of(block, digest, lanes);
    if (kithi_avx2_counters_zero(&c, lanes) != 0)
        return false;
    kithi_avx2_change_all(block, &c, lanes, -1);
    kithi_avx2_counters xor_one = c; /* each counter XOR 1: 0 where the counter was 1 */
    xor_one.block.low = _mm256_xor_si256(_mm256_and_si256(c.block.low, c.full.low), c.ones.low);
    xor_one.block.high = _mm256_xor_si256(_mm256_and_si256(c.block.high, c.full.high), c.ones.high);
    *zeros = kithi_avx2_counters_zero(&xor_one, lanes);
    return true;
}

/* Returns the least counter of the key. Each counter is shifted to the low bits of its word, and all other bits are
 * set. So of all groups of 16 bits in the vectors, the one with the smallest value holds the least counter. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_counters_least(const uint8_t *block, uint64_t digest,
                                                                  unsigned lanes) {
    kithi_avx2_block shifts = kithi_avx2_shifts(digest, lanes, 2, KITHI_AVX2_LOWEST), words = kithi_avx2_load(block);
    __m256i low = lanes == 16 ? _mm256_srlv_epi32(words.low, shifts.low) : _mm256_srlv_epi64(words.low, shifts.low);
    __m256i high =
        lanes == 16 ? _mm256_srlv_epi32(words.high, shifts.high) : _mm256_srlv_epi64(words.high, shifts.high);
    if (lanes == 4) /* one of the two words of a lane was shifted by too much, which leaves 0 */
        low = high = _mm256_or_si256(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    __m256i others = lanes == 16 ? _mm256_set1_epi32(~15) : _mm256_set1_epi64x(~15);
    __m256i least = _mm256_min_epu16(_mm256_or_si256(low, others), _mm256_or_si256(high, others));
    __m128i half = _mm_min_epu16(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(half)) & 15;
}

/* ---- ribbon ---- */

/* Returns 8 bits. Bit i is the parity of (word i of `first` AND low) XOR (word i of `second` AND high). After the upper
 * half of each word has been XORed into the lower, the lower halves of all 8 words fit in one vector. */
KITHI_TARGET_AVX2 KITHI_INLINE unsigned kithi_avx2_parities(const uint8_t *first, const uint8_t *second, uint64_t low,
                                                            uint64_t high) {
    __m256i half[2], mask_low = _mm256_set1_epi64x((long long)low), mask_high = _mm256_set1_epi64x((long long)high);
    for (unsigned i = 0; i < 2; i++) {
        __m256i a = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(first + 32 * i)), mask_low);
        __m256i b = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(second + 32 * i)), mask_high);
        __m256i x = _mm256_xor_si256(a, b);
        half[i] = _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
    }
    __m256i x = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(half[0]), _mm256_castsi256_ps(half[1]), _MM_SHUFFLE(2, 0, 2, 0)));
    x = _mm256_permute4x64_epi64(x, _MM_SHUFFLE(3, 1, 2, 0)); /* the shuffle has left words 0 1 4 5 2 3 6 7 */
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 16));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 8));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 4));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 2));
    x = _mm256_xor_si256(x, _mm256_slli_epi32(x, 1));
    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(x));
}

#endif
