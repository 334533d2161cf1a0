/* kernels/neon_cuckoo.h: lookups of the cuckoo kinds with NEON: the methods of kernels/avx2_cuckoo.h, with vectors of
 * 16 bytes.
 *
 * kithi_neon_cf_locate computes with four digests at a time, in lanes of 32 bits. NEON multiplies the lanes of two such
 * vectors with two instructions, which give four products of 64 bits. A third instruction collects their upper halves.
 * Only offsets in the body and codes have more than 32 bits. They are in words of 64 bits, two per vector.
 *
 * Then the slots of each place are compared with the key's code:
 *
 *     kithi_neon_cf_match_words       places of one word that is not long, two keys per vector. (A long word extends
 *                                     over nine bytes: plan/geometry.h)
 *     kithi_neon_cf_match_long_words  the same for long words
 *     kithi_neon_cf_match_buckets     buckets of four slots of 17 to 32 bits, one per vector, with a slot in each lane
 *
 * NEON has no instruction that collects one bit of each lane in a register. So these three functions narrow their
 * results to lanes of 16 bits, one per key, and add up a different power of two for each of eight keys.
 *
 * The compiler cannot know that stores to the pairs do not change the geometry. So kithi_neon_cf_locate reads the
 * fields of the geometry before its loop over the digests. */
#ifndef KITHI_SIMD_NEON_CUCKOO_H
#define KITHI_SIMD_NEON_CUCKOO_H

#include <arm_neon.h>

#include "core/batch.h"
#include "core/compiler.h"
#include "core/mix.h"
#include "plan/geometry.h"
#include "kernels/cuckoo_lanes.h"

/* Four words of 64 bits. */
typedef struct kithi_neon_words {
    uint64x2_t part[2];
} kithi_neon_words;

/* Returns the products of lanes of 32 bits. */
KITHI_INLINE kithi_neon_words kithi_neon_multiply(uint32x4_t a, uint32x4_t b) {
    kithi_neon_words products = {{vmull_u32(vget_low_u32(a), vget_low_u32(b)), vmull_high_u32(a, b)}};
    return products;
}

/* Returns the lower half of each word of two vectors. */
KITHI_INLINE uint32x4_t kithi_neon_lower(uint64x2_t a, uint64x2_t b) {
    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

KITHI_INLINE uint32x4_t kithi_neon_upper(uint64x2_t a, uint64x2_t b) {
    return vuzp2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

/* Returns the upper halves of the products of lanes of 32 bits. */
KITHI_INLINE uint32x4_t kithi_neon_scale(uint32x4_t a, uint32x4_t b) {
    kithi_neon_words products = kithi_neon_multiply(a, b);
    return kithi_neon_upper(products.part[0], products.part[1]);
}

KITHI_INLINE void kithi_neon_store_words(uint64_t *to, kithi_neon_words words) {
    vst1q_u64(to, words.part[0]);
    vst1q_u64(to + 2, words.part[1]);
}

/* What kithi_neon_cf_locate needs of the geometry, the same number in each lane. */
typedef struct kithi_neon_cf_constants {
    uint32x4_t regions, stride, places, fingerprint_max;
    int32x4_t rest_shift;
    uint32x4_t unit_bits;   /* bits of a bucket or, for windows, of a slot */
    uint32x4_t right_half;  /* the number of the first slot of the right half of a region; windows only */
    uint32x4_t low_bits[2]; /* the lower and the upper half of g->low_bits */
    uint64x2_t code_steps;  /* windows only */
} kithi_neon_cf_constants;

KITHI_INLINE kithi_neon_cf_constants kithi_neon_cf_constants_of(const kithi_cf_geometry *g, bool windows) {
    kithi_neon_cf_constants c;
    c.regions = vdupq_n_u32((uint32_t)g->regions);
    c.stride = vdupq_n_u32((uint32_t)g->stride);
    c.places = vdupq_n_u32((uint32_t)g->places);
    c.fingerprint_max = vdupq_n_u32((uint32_t)g->fingerprint_max);
    c.rest_shift = vdupq_n_s32((int32_t)g->rest_shift);
    c.unit_bits = vdupq_n_u32((uint32_t)(windows ? g->slot_bits : g->place_bits));
    c.right_half = vdupq_n_u32((uint32_t)g->half + 1);
    c.low_bits[0] = vdupq_n_u32((uint32_t)g->low_bits);
    c.low_bits[1] = vdupq_n_u32((uint32_t)(g->low_bits >> 32));
    c.code_steps = vdupq_n_u64(g->code_steps);
    return c;
}

/* Stores where four places are. In its region, a bucket begins at the bit that is its number times unit_bits, and a
 * window at the bit that is the number of its first slot times unit_bits. Windows with even numbers are in the left
 * half of the region, those with odd numbers in the right one: see kithi_overlap_first_slot(). */
KITHI_INLINE void kithi_neon_cf_put_places(const kithi_neon_cf_constants *c, uint32x4_t place,
                                           kithi_neon_words region_at, uint64_t *at, uint64_t *shift,
                                           kithi_place_type type) {
    uint32x4_t unit = place;
    if (type == KITHI_CF_WINDOWS)
        unit = vsraq_n_u32(vandq_u32(vtstq_u32(place, vdupq_n_u32(1)), c->right_half), place, 1);
    kithi_neon_words bit = kithi_neon_multiply(unit, c->unit_bits);
    for (unsigned i = 0; i < 2; i++) {
        vst1q_u64(at + 2 * i, vsraq_n_u64(region_at.part[i], bit.part[i], 3));
        if (type != KITHI_CF_WIDE_BUCKETS)
            vst1q_u64(shift + 2 * i, vandq_u64(bit.part[i], vdupq_n_u64(7)));
    }
}

/* Returns a word per key. Each of its slots holds the code that the key has in that slot of a place: kithi_cf_code of
 * kinds/shared/cf_lookup.h. For wide buckets the word is the fingerprint. */
KITHI_INLINE kithi_neon_words kithi_neon_cf_codes(const kithi_neon_cf_constants *c, uint32x4_t fingerprint,
                                                  kithi_place_type type) {
    kithi_neon_words codes;
    if (type == KITHI_CF_WIDE_BUCKETS) {
        codes.part[0] = vmovl_u32(vget_low_u32(fingerprint));
        codes.part[1] = vmovl_high_u32(fingerprint);
        return codes;
    }
    uint32x4_t code = type == KITHI_CF_WINDOWS ? vaddq_u32(fingerprint, fingerprint) : fingerprint;
    uint32x4_t zero = vdupq_n_u32(0), high = vmulq_u32(code, c->low_bits[1]);
    uint64x2_t high0 = vreinterpretq_u64_u32(vzip1q_u32(zero, high));
    uint64x2_t high1 = vreinterpretq_u64_u32(vzip2q_u32(zero, high));
    codes.part[0] = vmlal_u32(high0, vget_low_u32(code), vget_low_u32(c->low_bits[0]));
    codes.part[1] = vmlal_high_u32(high1, code, c->low_bits[0]);
    for (unsigned i = 0; i < 2 && type == KITHI_CF_WINDOWS; i++)
        codes.part[i] = vaddq_u64(codes.part[i], c->code_steps);
    return codes;
}

/* Finds the places and codes of KITHI_PAIRS digests. */
KITHI_INLINE void kithi_neon_cf_locate(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs,
                                       kithi_place_type type) {
    const kithi_neon_cf_constants c = kithi_neon_cf_constants_of(g, type == KITHI_CF_WINDOWS);
    const uint32x4_t one = vdupq_n_u32(1);
    const bool has_regions = g->regions > 1, even_first = type == KITHI_CF_WIDE_BUCKETS && g->place_bits % 8 != 0;
    for (size_t i = 0; i < KITHI_PAIRS; i += 4) {
        uint64x2_t first = vld1q_u64(digests + i), second = vld1q_u64(digests + i + 2);
        uint32x4_t low = kithi_neon_lower(first, second), high = kithi_neon_upper(first, second);
        kithi_neon_words region_at = {{vdupq_n_u64(0), vdupq_n_u64(0)}};
        if (has_regions) {
            kithi_neon_words lows = kithi_neon_multiply(low, c.regions);
            uint64x2_t high0 = vmlal_u32(vshrq_n_u64(lows.part[0], 32), vget_low_u32(high), vget_low_u32(c.regions));
            uint64x2_t high1 = vmlal_high_u32(vshrq_n_u64(lows.part[1], 32), high, c.regions);
            low = kithi_neon_lower(lows.part[0], lows.part[1]);
            high = kithi_neon_lower(high0, high1);
            region_at = kithi_neon_multiply(kithi_neon_upper(high0, high1), c.stride);
        }
        uint32x4_t place = kithi_neon_scale(high, c.places);
        uint32x4_t rest = veorq_u32(low, vshlq_u32(high, c.rest_shift));
        uint32x4_t fingerprint = vaddq_u32(kithi_neon_scale(rest, c.fingerprint_max), one);

        uint32x4_t spread = veorq_u32(vmulq_u32(fingerprint, vdupq_n_u32(KITHI_SPREAD_A)),
                                      vmulq_u32(fingerprint, vdupq_n_u32(KITHI_SPREAD_B)));
        uint32x4_t other = vsubq_u32(vorrq_u32(kithi_neon_scale(spread, c.places), one), place);
        /* The partner is `other` or, if that is negative, other + places. It is always the smaller of the two unsigned
         * numbers, because places < 2^31: a negative number is above 2^31, and the partner is below. */
        other = vminq_u32(other, vaddq_u32(other, c.places));

        if (even_first) { /* the bucket with the even number first */
            uint32x4_t odd = vtstq_u32(place, one), even_place = vbslq_u32(odd, other, place);
            other = vbslq_u32(odd, place, other);
            place = even_place;
        }
        kithi_neon_cf_put_places(&c, place, region_at, pairs->at[0] + i, pairs->shift[0] + i, type);
        kithi_neon_cf_put_places(&c, other, region_at, pairs->at[1] + i, pairs->shift[1] + i, type);
        kithi_neon_store_words(pairs->codes + i, kithi_neon_cf_codes(&c, fingerprint, type));
    }
}

/* Each of the eight lanes must be all ones or 0. Returns a mask with a bit per lane: 1 if the lane is all ones. */
KITHI_INLINE uint32_t kithi_neon_mask8(uint16x8_t lanes) {
    static const uint16_t BITS[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(lanes, vld1q_u16(BITS)));
}

/* Returns the lower half of each lane of two vectors. */
KITHI_INLINE uint16x8_t kithi_neon_narrow(uint32x4_t a, uint32x4_t b) {
    return vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
}

/* Loads the 8 bytes at each of two offsets in the body. */
KITHI_INLINE uint64x2_t kithi_neon_load_words(const uint8_t *body, const uint64_t *at) {
    return vreinterpretq_u64_u8(vcombine_u8(vld1_u8(body + at[0]), vld1_u8(body + at[1])));
}

/* For a place of each of two keys: loads its word and XORs it with the key's codes. Returns kithi_zero_slots() of
 * kinds/shared/cf_lookup.h, except that the caller must still AND the result with g->high_bits. */
KITHI_INLINE uint64x2_t kithi_neon_cf_zero_slots(const uint8_t *body, const uint64_t *at, const uint64_t *shifts,
                                                 uint64x2_t codes, uint64x2_t low_bits, bool is_long) {
    int64x2_t shift = vreinterpretq_s64_u64(vld1q_u64(shifts));
    uint64x2_t slots = vshlq_u64(kithi_neon_load_words(body, at), vnegq_s64(shift)); /* to the right */
    if (is_long) { /* the last bits of the word may be in a ninth byte, so a second load begins one byte later */
        uint64x2_t later = kithi_neon_load_words(body + 1, at);
        slots = vorrq_u64(slots, vshlq_u64(later, vsubq_s64(vdupq_n_s64(8), shift)));
    }
    uint64x2_t x = veorq_u64(slots, codes);
    return vbicq_u64(vsubq_u64(x, low_bits), x);
}

/* Returns all ones for each of two keys, i and i + 1, for which a slot holds the key's code, and 0 for the others. */
KITHI_INLINE uint64x2_t kithi_neon_cf_match2(const uint8_t *body, const kithi_pairs *pairs, size_t i,
                                             uint64x2_t low_bits, uint64x2_t high_bits, bool is_long) {
    uint64x2_t codes = vld1q_u64(pairs->codes + i);
    uint64x2_t first = kithi_neon_cf_zero_slots(body, pairs->at[0] + i, pairs->shift[0] + i, codes, low_bits, is_long);
    uint64x2_t second = kithi_neon_cf_zero_slots(body, pairs->at[1] + i, pairs->shift[1] + i, codes, low_bits, is_long);
    return vtstq_u64(vorrq_u64(first, second), high_bits);
}

/* Returns a mask of the digests of the group for which a slot holds the key's code. Each place has one word. */
KITHI_INLINE uint32_t kithi_neon_cf_match_one_word(const kithi_cf_geometry *g, const uint8_t *body,
                                                   const kithi_pairs *pairs, bool is_long) {
    uint64x2_t low_bits = vdupq_n_u64(g->low_bits), high_bits = vdupq_n_u64(g->high_bits);
    uint32_t found = 0;
    for (size_t i = 0; i < KITHI_PAIRS; i += 8) {
        uint32x4_t low = kithi_neon_lower(kithi_neon_cf_match2(body, pairs, i, low_bits, high_bits, is_long),
                                          kithi_neon_cf_match2(body, pairs, i + 2, low_bits, high_bits, is_long));
        uint32x4_t high = kithi_neon_lower(kithi_neon_cf_match2(body, pairs, i + 4, low_bits, high_bits, is_long),
                                           kithi_neon_cf_match2(body, pairs, i + 6, low_bits, high_bits, is_long));
        found |= kithi_neon_mask8(kithi_neon_narrow(low, high)) << i;
    }
    return found;
}

KITHI_INLINE uint32_t kithi_neon_cf_match_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                const kithi_pairs *pairs) {
    return kithi_neon_cf_match_one_word(g, body, pairs, false);
}

KITHI_INLINE uint32_t kithi_neon_cf_match_long_words(const kithi_cf_geometry *g, const uint8_t *body,
                                                     const kithi_pairs *pairs) {
    return kithi_neon_cf_match_one_word(g, body, pairs, true);
}

/* How the slots of a wide bucket get into the lanes of a vector. */
typedef struct kithi_neon_cf_lanes {
    /* Which bytes of the bucket each lane gets: the one in which its slot begins, and the next three. */
    uint8x16_t bytes;
    /* The bit of the first of these bytes at which the slot begins, times -1: a negative shift is one to the right. */
    int32x4_t shift;
} kithi_neon_cf_lanes;

/* `first` is the bit at which the bucket begins in its first byte. */
KITHI_INLINE kithi_neon_cf_lanes kithi_neon_cf_lanes_of(const kithi_cf_geometry *g, uint32_t first) {
    static const uint32_t NUMBERS[4] = {0, 1, 2, 3};
    uint32x4_t slot_bits = vdupq_n_u32((uint32_t)g->slot_bits);
    uint32x4_t bit = vmlaq_u32(vdupq_n_u32(first), vld1q_u32(NUMBERS), slot_bits);
    uint32x4_t bytes = vmlaq_u32(vdupq_n_u32(0x03020100), vshrq_n_u32(bit, 3), vdupq_n_u32(0x01010101));
    kithi_neon_cf_lanes lanes;
    lanes.bytes = vreinterpretq_u8_u32(bytes);
    lanes.shift = vnegq_s32(vreinterpretq_s32_u32(vandq_u32(bit, vdupq_n_u32(7))));
    return lanes;
}

/* Returns all ones in the lanes of the slots that hold `code`, and 0 in the others. If `is_long` is true, the last bits
 * of a slot may be in a fifth byte, so a second vector has the bytes that are one further. */
KITHI_INLINE uint32x4_t kithi_neon_cf_equal_slots(const uint8_t *bucket, const kithi_neon_cf_lanes *lanes,
                                                  uint32x4_t mask, uint32x4_t code, bool is_long) {
    uint8x16_t bytes = vld1q_u8(bucket);
    uint32x4_t slots = vshlq_u32(vreinterpretq_u32_u8(vqtbl1q_u8(bytes, lanes->bytes)), lanes->shift);
    if (is_long) {
        uint32x4_t later = vreinterpretq_u32_u8(vqtbl1q_u8(bytes, vaddq_u8(lanes->bytes, vdupq_n_u8(1))));
        slots = vorrq_u32(slots, vshlq_u32(later, vaddq_s32(lanes->shift, vdupq_n_s32(8))));
    }
    return vceqq_u32(vandq_u32(slots, mask), code);
}

/* What the comparison of wide buckets needs of the geometry. The bucket with the even number begins at bit 0 of a byte,
 * and the one with the odd number at bit place_bits % 8. */
typedef struct kithi_neon_cf_wide {
    kithi_neon_cf_lanes even, odd;
    uint32x4_t mask; /* the bits of a slot */
} kithi_neon_cf_wide;

/* Returns four lanes: two for key i, then two for key i + 1. If a slot holds a key's code, at least one of the key's
 * two lanes is all ones. All other lanes are 0. */
KITHI_INLINE uint32x4_t kithi_neon_cf_match_wide2(const uint8_t *body, const kithi_pairs *pairs, size_t i,
                                                  const kithi_neon_cf_wide *wide, bool is_long) {
    uint32x4_t codes = vreinterpretq_u32_u64(vld1q_u64(pairs->codes + i));
    uint32x4_t code[2] = {vdupq_laneq_u32(codes, 0), vdupq_laneq_u32(codes, 2)}, equal[2];
    for (unsigned k = 0; k < 2; k++) {
        const uint8_t *even = body + pairs->at[0][i + k], *odd = body + pairs->at[1][i + k];
        equal[k] = vorrq_u32(kithi_neon_cf_equal_slots(even, &wide->even, wide->mask, code[k], is_long),
                             kithi_neon_cf_equal_slots(odd, &wide->odd, wide->mask, code[k], is_long));
    }
    return vpmaxq_u32(equal[0], equal[1]);
}

KITHI_INLINE uint32_t kithi_neon_cf_match_wide(const kithi_cf_geometry *g, const uint8_t *body,
                                               const kithi_pairs *pairs, bool is_long) {
    const kithi_neon_cf_wide wide = {
        kithi_neon_cf_lanes_of(g, 0),
        kithi_neon_cf_lanes_of(g, (uint32_t)(g->place_bits % 8)),
        vdupq_n_u32((uint32_t)g->fingerprint_max),
    };
    uint32_t found = 0;
    for (size_t i = 0; i < KITHI_PAIRS; i += 8) {
        uint32x4_t low = vpmaxq_u32(kithi_neon_cf_match_wide2(body, pairs, i, &wide, is_long),
                                    kithi_neon_cf_match_wide2(body, pairs, i + 2, &wide, is_long));
        uint32x4_t high = vpmaxq_u32(kithi_neon_cf_match_wide2(body, pairs, i + 4, &wide, is_long),
                                     kithi_neon_cf_match_wide2(body, pairs, i + 6, &wide, is_long));
        found |= kithi_neon_mask8(kithi_neon_narrow(low, high)) << i;
    }
    return found;
}

/* Like kithi_neon_cf_match_words, for KITHI_CF_WIDE_BUCKETS (core/batch.h). */
KITHI_INLINE uint32_t kithi_neon_cf_match_buckets(const kithi_cf_geometry *g, const uint8_t *body,
                                                  const kithi_pairs *pairs) {
    return kithi_cf_fits_lanes32(g) ? kithi_neon_cf_match_wide(g, body, pairs, false)
                                    : kithi_neon_cf_match_wide(g, body, pairs, true);
}

#endif
