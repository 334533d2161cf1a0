/* core/mix.h: turns a digest into places (buckets or windows), fingerprints and probe words, for all kinds.
 *
 *     digest d (64 bits, uniform)
 *        |-- high half of (d * regions)                              region: sorted digests visit them in order
 *        |     '-- high half of (low half of that product * places)  place in the region
 *        |           '-- high half of (low half of that product * F) fingerprint - 1; F is their number
 *        '-- mix(d + golden), mix(d + 2 golden), …                   probe words: cells of Bloom and counting kinds
 *
 * Region, place and fingerprint are the digits of d / 2^64 in a mixed-radix system. They are independent of each other
 * and as uniform as the digest as long as the product of the bases is small compared with 2^64. The planner ensures
 * that (KITH_E_DIGEST_BITS).
 *
 * The probe words mix all 64 bits, so they are independent of the place, whatever the number of places. mix is the
 * finaliser of SplitMix64 (variant 13 of David Stafford's search): a bijection in which every input bit flips every
 * output bit with probability near 1/2. Word i of a digest is the i-th output of a SplitMix64 generator started at the
 * digest, so no two probes of a key share structure. With double hashing they would: a + i*b raises the rate by 7% at a
 * hundred keys. */
#ifndef KITHI_CORE_MIX_H
#define KITHI_CORE_MIX_H

#include "core/bits.h"

/* 2^64 / golden ratio, odd: the increment of SplitMix64. */
#define KITHI_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t kithi_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The inverse of mix: kithi_unmix(kithi_mix(x)) == x. Its factors are the inverses of those of mix, modulo 2^64. */
static inline uint64_t kithi_unmix(uint64_t x) {
    x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642b2d24d8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

/* Word i of a digest, i = 0, 1, … */
static inline uint64_t kithi_word(uint64_t digest, uint64_t i) {
    return kithi_mix(digest + (i + 1) * KITHI_GOLDEN);
}

typedef struct kithi_place {
    uint64_t region;
    uint64_t place;
    uint64_t rest; /* the rest of the digest, for the fingerprint */
} kithi_place;

static inline kithi_place kithi_place_of(uint64_t digest, uint64_t regions, uint64_t places) {
    kithi_place at;
    at.region = kithi_mul_wide(digest, regions, &at.rest);
    at.place = kithi_mul_wide(at.rest, places, &at.rest);
    return at;
}

/* Returns a fingerprint in 1 … top; `top` is F above. */
static inline uint64_t kithi_fingerprint(kithi_place at, uint64_t top) {
    return 1 + kithi_mulhi(at.rest, top);
}

/* Spreads a fingerprint over 64 bits. With a single multiplication the words of consecutive fingerprints would differ
 * by a constant, and the graph of the places would be full of short cycles. Folding the word and multiplying a second
 * time avoids that. The second factor is the best of 60 million that were tried: if there are only 7, 15 or 31
 * fingerprints, the smallest distance between two of their words is 0.65, 0.51 or 0.24 times what it would be if they
 * were evenly spaced. Filters with narrow slots are therefore not more crowded than the planner expects. */
static inline uint64_t kithi_spread(uint64_t fingerprint) {
    uint64_t spread = fingerprint * KITHI_GOLDEN;
    return (spread ^ (spread >> 32)) * UINT64_C(0x39f142ac756edbf3);
}

/* Returns the other candidate place of a fingerprint, among 2 * half places. It is always in the other half, and the
 * function is its own inverse.
 *
 *     p < half:  half + (H - p) mod half        p = half + j:  (H - j) mod half        H = H(fingerprint) < half
 *
 * Counted from the beginning of their halves, the two places add up to H, modulo half. `half` need not be a power of
 * two.
 *
 * The two places always differ (a plain (H - p) mod B has fixed points). This lets small filters reach their capacity:
 * see the failure formulas in plan/fit.h. */
static inline uint64_t kithi_partner(uint64_t place, uint64_t fingerprint, uint64_t half) {
    uint64_t h = kithi_mulhi(kithi_spread(fingerprint), half);
    uint64_t right = -(uint64_t)(place >= half); /* all ones or 0; a branch on it would be unpredictable */
    uint64_t other = h - (place - (right & half));
    other += half & -(other >> 63);
    return other + (half & ~right);
}

/* Partial-key hashing as Fan et al. describe it: the other place is place XOR H(fingerprint), among a power of two of
 * places. H is not 0, so that the two places always differ here, too. */
static inline uint64_t kithi_xor_partner(uint64_t place, uint64_t fingerprint, uint64_t places) {
    uint64_t step = kithi_mulhi(kithi_spread(fingerprint), places);
    return place ^ (step != 0 ? step : 1);
}

#endif
