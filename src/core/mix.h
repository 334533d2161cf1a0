/* core/mix.h: turns a digest into places (buckets, or in overlap windows), fingerprints and further words, for all
 * kinds.
 *
 *     digest d (64 bits, uniform)
 *        |-- d * regions      128 bits: the high half is the region, so sorted digests visit the regions in order
 *        |     |-- bits 32 … 63 of the low half, * places             the high half is the place in the region
 *        |     '-- bits 0 … 31 of the low half XOR bits 32 … 63, * F  the high half is the fingerprint - 1
 *        |-- d * M, d * M^2, d * M^3, … modulo 2^64                   probe words: cells of bloom and counting
 *        |-- d * golden modulo 2^64; both halves of d * M, XORed      lane words: cells of the blocked kinds
 *        '-- mix(d + golden), mix(d + 2 golden), …                    mixed words: for ribbon, tables, random walks
 *
 * F is the number of fingerprints; M is KITHI_PROBE_FACTOR, golden is KITHI_GOLDEN and mix is kithi_mix(), all below.
 * Both factors of the products for place and fingerprint have at most 32 bits, because vector instructions multiply
 * only such numbers at full speed. The high half of such a product is its upper 32 bits.
 *
 * The XOR makes the fingerprint independent of region and place. Let r = log2(regions) and p = log2(places). Given the
 * region, only 64 - r bits of the low half are random: its lowest r bits follow from the others (if the number of
 * regions is a power of two, they are 0). The fingerprint cannot use these r bits as they are. Of bits 32 … 63, the
 * place uses only the highest p. The other 32 - p, which are bits 32 … 63 - p, are random even if the place is known.
 * The XOR combines them with bits 0 … 31 - p. If r + p <= 32, these include bits 0 … r - 1, the ones that are not
 * random. If r + p > 32, the 32 - p random bits are fewer than r. Then they are shifted left by r + p - 32
 * (kithi_rest_shift), and combine with bits r + p - 32 … r - 1: the highest of the r bits, on which the fingerprint
 * depends most.
 *
 * So region, place and fingerprint are independent and as uniform as the digest if they need at most 60 bits together.
 * Cuckoo filters that need more are not planned (KITH_E_DIGEST_BITS from kithi_cf_choose()). If the number of places in
 * a region is not a power of two, the probabilities of two places differ by a factor of up to about 1 + places / 2^32.
 * The planner gives such regions at most 2^28 places (ANY_HALF_MAX in plan/fit.c), so the factor is at most 17/16.
 *
 * Probe words and lane words are as cheap as possible, because computing them is most of the work of a lookup if the
 * filter is in cache. A digest is uniform already, so one multiplication per word is enough. The probe words are the
 * outputs of a multiplicative congruential generator started at the digest. Kinds use only the high bits of a probe
 * word. Bit j of a probe word depends on bits 0 … j of the digest, so a high bit depends on nearly all of them. Which
 * bits of the digest influence a high bit most is different in each probe word. So the cells of a key are as good as
 * independent: in filters of ten keys or more, simulated rates agree with those of independent cells to within 0.2%.
 * In double hashing, cell i comes from a + i*b for two hashes a and b of the key. Such cells are less independent: the
 * rate would be 7% higher with a hundred keys, and 59% higher with ten.
 *
 * Every bit of a mixed word (kithi_mixed_word) depends on all 64 bits of the digest, so any bits of the word may be
 * used. mix is the finaliser of SplitMix64 (variant 13 of David Stafford's search): a bijection in which every input
 * bit flips every output bit with probability near 1/2. The mixed words of a digest are the outputs of a SplitMix64
 * generator started at the digest. */
#ifndef KITHI_CORE_MIX_H
#define KITHI_CORE_MIX_H

#include "core/bits.h"

/* 2^64 / golden ratio, rounded to an odd number: the increment of SplitMix64. */
#define KITHI_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The factors of kithi_spread. */
#define KITHI_SPREAD_A UINT32_C(0x9745adbd)
#define KITHI_SPREAD_B UINT32_C(0x2b9c1451)

static inline uint64_t kithi_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The inverse of kithi_mix(): kithi_unmix(kithi_mix(x)) == x. Its factors are the inverses of the factors there, modulo
 * 2^64. */
static inline uint64_t kithi_unmix(uint64_t x) {
    x = (x ^ (x >> 31) ^ (x >> 62)) * UINT64_C(0x319642b2d24d8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

/* Mixed word i of a digest, i = 0, 1, … */
static inline uint64_t kithi_mixed_word(uint64_t digest, uint64_t i) {
    return kithi_mix(digest + (i + 1) * KITHI_GOLDEN);
}

/* M above, the factor of the probe words: the 64-bit multiplier of Steele and Vigna ("Computationally easy, spectrally
 * good multipliers for congruential pseudorandom number generators", 2022). Take two probe words of a digest as the
 * coordinates of a point in the plane. For all digests together these points form a lattice, which depends on how many
 * words the two are apart: at most 63, because a key has at most 64 cells (KITHI_BLOOM_K_MAX). The shortest vector of
 * each of these lattices is at least 2^29.5 long; about 2^32 would be ideal. */
#define KITHI_PROBE_FACTOR UINT64_C(0xf1357aea2e62a9c5)

/* Returns the probe word that follows `word`. The first probe word follows the digest. Use only the high bits of a
 * probe word, by kithi_mulhi(): the low bits of all probe words depend only on the low bits of the digest. */
static inline uint64_t kithi_next_probe(uint64_t word) {
    return word * KITHI_PROBE_FACTOR;
}

/* Returns lane word 0 or 1 of a digest. All bytes of both can be used. Word 0 takes one multiplication and is a
 * bijection of the digest. Its low byte depends only on the low byte of the digest. If the same were true of word 1,
 * the two low bytes would determine each other. So word 1 combines both halves of a 128-bit product. */
static inline uint64_t kithi_lane_word(uint64_t digest, unsigned i) {
    if (i == 0)
        return digest * KITHI_GOLDEN;
    uint64_t low, high = kithi_mul_wide(digest, KITHI_PROBE_FACTOR, &low);
    return high ^ low;
}

typedef struct kithi_place {
    uint64_t region;
    uint64_t place;
    uint64_t rest; /* 32 bits for the fingerprint */
} kithi_place;

/* Returns r + p - 32, or 0 if that is negative. r and p are as above, but rounded up, and each is at most 32. */
static inline unsigned kithi_rest_shift(uint64_t regions, uint64_t places) {
    unsigned bits = 0;
    for (unsigned r = 0; r < 32 && UINT64_C(1) << r < regions; r++)
        bits++;
    for (unsigned p = 0; p < 32 && UINT64_C(1) << p < places; p++)
        bits++;
    return bits > 32 ? bits - 32 : 0;
}

/* Returns the region, the place and the bits for the fingerprint of a digest. `places` is at most 2^32, and
 * `rest_shift` is kithi_rest_shift(regions, places). */
static inline kithi_place kithi_place_of(uint64_t digest, uint64_t regions, uint64_t places, unsigned rest_shift) {
    kithi_place at;
    uint64_t low;
    at.region = kithi_mul_wide(digest, regions, &low);
    uint64_t high = low >> 32;
    at.place = high * places >> 32;
    at.rest = (uint32_t)(low ^ high << rest_shift);
    return at;
}

/* Returns a fingerprint in 1 … fingerprint_max, which is F above. */
static inline uint64_t kithi_fingerprint(kithi_place at, uint64_t fingerprint_max) {
    return 1 + (at.rest * fingerprint_max >> 32);
}

/* Spreads a fingerprint over 32 bits. A single product would not do: the results of consecutive fingerprints would
 * differ by a constant, and so a few moves of entries would often lead back to the place where they began. The XOR of
 * two products has no such constant. The factors are the best of 30 million pairs that were tried. If there are only 7,
 * 15 or 31 fingerprints, the smallest distance between two results is 0.56, 0.41 or 0.30 times that of evenly spaced
 * results.
 *
 * It also matters that few pairs of results have nearly the same sum. Let H(a) be the result for fingerprint a, scaled
 * to the number of places, as in kithi_partner() below. If two sums are nearly equal, they may be equal after scaling:
 * H(a) + H(c) = H(b) + H(d). Then four steps lead from a place back to itself. Each step leads from a place to its
 * partner: the first for fingerprint a, the second for b, then c and d. So keys with these four fingerprints can share
 * four places. With the factors chosen here, keys do not share the same few places more often than the planner expects
 * (plan/fit.h), even if slots are narrow. */
static inline uint64_t kithi_spread(uint64_t fingerprint) {
    return (uint32_t)(fingerprint * KITHI_SPREAD_A ^ fingerprint * KITHI_SPREAD_B);
}

/* Returns the other candidate place of a fingerprint. `places` is even; one candidate is always even and the other odd,
 * and the function is its own inverse.
 *
 *     other = (H - place) mod places        H: the fingerprint's kithi_spread(), scaled to 0 … places - 1 and made odd
 *
 * So H is the sum of the two places, modulo `places`. `places` need not be a power of two. The two places always
 * differ; if H could be even, they could be the same. Small filters reach their capacity only because the places
 * differ: see the failure formulas in plan/fit.h. */
static inline uint64_t kithi_partner(uint64_t place, uint64_t fingerprint, uint64_t places) {
    uint64_t sum = kithi_spread(fingerprint) * places >> 32 | 1;
    uint64_t other = sum - place, wrapped = other + places;
    return sum < place ? wrapped : other;
}

/* Partial-key hashing as Fan et al. describe it: the other place is place XOR H(fingerprint). `places` must be a power
 * of two. H is never 0, so the two places always differ here, too. */
static inline uint64_t kithi_xor_partner(uint64_t place, uint64_t fingerprint, uint64_t places) {
    uint64_t step = kithi_spread(fingerprint) * places >> 32;
    return place ^ (step != 0 ? step : 1);
}

#endif
