/* core/xxh3.h: XXH3-64 with a seed (Collet, "XXH3", 2020, version 0.8), for kith/reader.h, which must not need xxHash.
 * The library itself uses xxHash (core/digest.h). tests/unit/xxh3.c compares the two. Written in the common subset of
 * C11 and C++17.
 *
 * Every length has words of a constant, the secret, mixed into its words. Keys of up to 16 bytes are one or two words,
 * which are multiplied once or twice. Those of up to 240 bytes are pieces of 16 bytes, whose products are added. Longer
 * input is absorbed by eight sums of 64 bits, 64 bytes (a stripe) at a time; the secret moves on by 8 bytes with each
 * stripe. After a block of 16 stripes the sums are scrambled. */
#ifndef KITHI_CORE_XXH3_H
#define KITHI_CORE_XXH3_H

#include "core/bits.h"
#include "core/compiler.h"

#if KITHI_HAVE_X86
#include <immintrin.h>
#endif

#define KITHI_XXH_PRIME32_1 UINT64_C(0x9e3779b1)
#define KITHI_XXH_PRIME32_2 UINT64_C(0x85ebca77)
#define KITHI_XXH_PRIME32_3 UINT64_C(0xc2b2ae3d)
#define KITHI_XXH_PRIME64_1 UINT64_C(0x9e3779b185ebca87)
#define KITHI_XXH_PRIME64_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define KITHI_XXH_PRIME64_3 UINT64_C(0x165667b19e3779f9)
#define KITHI_XXH_PRIME64_4 UINT64_C(0x85ebca77c2b2ae63)
#define KITHI_XXH_PRIME64_5 UINT64_C(0x27d4eb2f165667c5)
#define KITHI_XXH_MIX_1 UINT64_C(0x165667919e3779f9)
#define KITHI_XXH_MIX_2 UINT64_C(0x9fb21c651e98df25)

enum {
    KITHI_XXH_SECRET = 192,                                      /* bytes */
    KITHI_XXH_STRIPE = 64,                                       /* bytes */
    KITHI_XXH_STRIPES = 16,                                      /* per block */
    KITHI_XXH_AT_SCRAMBLE = KITHI_XXH_SECRET - KITHI_XXH_STRIPE, /* in the secret: what scrambles the sums */
    KITHI_XXH_AT_LAST = KITHI_XXH_AT_SCRAMBLE - 7,               /* for the last stripe */
    KITHI_XXH_AT_MERGE = 11,                                     /* for adding up the sums */
    KITHI_XXH_AT_MIDDLE_LAST = 119,                              /* for the last 16 bytes of 129 to 240 bytes */
    KITHI_XXH_AT_MIDDLE = 3,                                     /* for those after the first 128 */
};

static const uint8_t kithi_xxh_secret[KITHI_XXH_SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static inline uint64_t kithi_xxh_fold(uint64_t a, uint64_t b) {
    uint64_t low, high = kithi_mul_wide(a, b, &low);
    return low ^ high;
}

static inline uint64_t kithi_xxh_avalanche(uint64_t h) {
    h = (h ^ h >> 37) * KITHI_XXH_MIX_1;
    return h ^ h >> 32;
}

static inline uint64_t kithi_xxh_strong_avalanche(uint64_t h) {
    h = (h ^ h >> 33) * KITHI_XXH_PRIME64_2;
    h = (h ^ h >> 29) * KITHI_XXH_PRIME64_3;
    return h ^ h >> 32;
}

/* Returns the XOR of two adjacent words of the secret. */
static inline uint64_t kithi_xxh_flip(unsigned at) {
    return kithi_load64(kithi_xxh_secret + at) ^ kithi_load64(kithi_xxh_secret + at + 8);
}

/* 0 to 16 bytes. */
static inline uint64_t kithi_xxh_short(const uint8_t *bytes, size_t n, uint64_t seed) {
    if (n > 8) {
        uint64_t first = kithi_load64(bytes) ^ (kithi_xxh_flip(24) + seed);
        uint64_t last = kithi_load64(bytes + n - 8) ^ (kithi_xxh_flip(40) - seed);
        return kithi_xxh_avalanche(n + __builtin_bswap64(first) + last + kithi_xxh_fold(first, last));
    }
    if (n >= 4) {
        uint64_t first = kithi_load32(bytes), last = kithi_load32(bytes + n - 4);
        seed ^= (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
        uint64_t h = (last | first << 32) ^ (kithi_xxh_flip(8) - seed);
        h = (h ^ (h << 49 | h >> 15) ^ (h << 24 | h >> 40)) * KITHI_XXH_MIX_2;
        h = (h ^ ((h >> 35) + n)) * KITHI_XXH_MIX_2;
        return h ^ h >> 28;
    }
    if (n > 0) {
        uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[n >> 1] << 24 | bytes[n - 1] | (uint32_t)n << 8;
        uint64_t flip = kithi_load32(kithi_xxh_secret) ^ kithi_load32(kithi_xxh_secret + 4);
        return kithi_xxh_strong_avalanche(word ^ (flip + seed));
    }
    return kithi_xxh_strong_avalanche(seed ^ kithi_xxh_flip(56));
}

static inline uint64_t kithi_xxh_mix16(const uint8_t *bytes, unsigned at, uint64_t seed) {
    return kithi_xxh_fold(kithi_load64(bytes) ^ (kithi_load64(kithi_xxh_secret + at) + seed),
                          kithi_load64(bytes + 8) ^ (kithi_load64(kithi_xxh_secret + at + 8) - seed));
}

/* The i-th 16 bytes from the start and from the end. */
KITHI_INLINE uint64_t kithi_xxh_mix_ends(const uint8_t *bytes, size_t n, unsigned i, uint64_t seed) {
    return kithi_xxh_mix16(bytes + (size_t)16 * i, 32 * i, seed) +
           kithi_xxh_mix16(bytes + n - (size_t)16 * (i + 1), 32 * i + 16, seed);
}

/* 17 to 240 bytes. */
KITHI_OUTLINE uint64_t kithi_xxh_middle(const uint8_t *bytes, size_t n, uint64_t seed) {
    uint64_t sum = n * KITHI_XXH_PRIME64_1;
    if (n <= 128) {
        if (n > 96)
            sum += kithi_xxh_mix_ends(bytes, n, 3, seed);
        if (n > 64)
            sum += kithi_xxh_mix_ends(bytes, n, 2, seed);
        if (n > 32)
            sum += kithi_xxh_mix_ends(bytes, n, 1, seed);
        return kithi_xxh_avalanche(sum + kithi_xxh_mix_ends(bytes, n, 0, seed));
    }
    for (unsigned i = 0; i < 8; i++)
        sum += kithi_xxh_mix16(bytes + (size_t)16 * i, 16 * i, seed);
    uint64_t end = kithi_xxh_mix16(bytes + n - 16, KITHI_XXH_AT_MIDDLE_LAST, seed);
    for (unsigned i = 8; i < n / 16; i++)
        end += kithi_xxh_mix16(bytes + (size_t)16 * i, 16 * (i - 8) + KITHI_XXH_AT_MIDDLE, seed);
    return kithi_xxh_avalanche(kithi_xxh_avalanche(sum) + end);
}

/* The sums are in vectors where there are any. Both operations are the same for vectors of 128 and 256 bits. */
#if KITHI_HAVE_X86 && defined(__AVX2__)
typedef __m256i kithi_xxh_vector;
#define KITHI_XXH_VECTOR(operation) _mm256_##operation
#define KITHI_XXH_LOAD(from) _mm256_loadu_si256((const __m256i *)(const void *)(from))
#define KITHI_XXH_XOR _mm256_xor_si256
#elif KITHI_HAVE_X86
typedef __m128i kithi_xxh_vector;
#define KITHI_XXH_VECTOR(operation) _mm_##operation
#define KITHI_XXH_LOAD(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define KITHI_XXH_XOR _mm_xor_si128
#else
typedef uint64_t kithi_xxh_vector;
#endif

enum { KITHI_XXH_VECTORS = KITHI_XXH_STRIPE / sizeof(kithi_xxh_vector) };

/* Adds a stripe to the sums. Each word is added to the neighbour of the sum that gets the product of its halves, so
 * that a product of 0 does not lose the word. */
KITHI_INLINE void kithi_xxh_absorb(kithi_xxh_vector *sums, const uint8_t *stripe, const uint8_t *secret) {
    for (size_t i = 0; i < KITHI_XXH_VECTORS; i++) {
        size_t at = i * sizeof(kithi_xxh_vector);
#if KITHI_HAVE_X86
        kithi_xxh_vector word = KITHI_XXH_LOAD(stripe + at);
        kithi_xxh_vector key = KITHI_XXH_XOR(word, KITHI_XXH_LOAD(secret + at));
        kithi_xxh_vector product = KITHI_XXH_VECTOR(mul_epu32)(key, KITHI_XXH_VECTOR(srli_epi64)(key, 32));
        kithi_xxh_vector neighbour = KITHI_XXH_VECTOR(shuffle_epi32)(word, 0x4e);
        sums[i] = KITHI_XXH_VECTOR(add_epi64)(KITHI_XXH_VECTOR(add_epi64)(sums[i], neighbour), product);
#else
        uint64_t word = kithi_load64(stripe + at), key = word ^ kithi_load64(secret + at);
        sums[i ^ 1] += word;
        sums[i] += (uint32_t)key * (key >> 32);
#endif
    }
}

KITHI_INLINE void kithi_xxh_scramble(kithi_xxh_vector *sums, const uint8_t *secret) {
    for (size_t i = 0; i < KITHI_XXH_VECTORS; i++) {
        size_t at = i * sizeof(kithi_xxh_vector);
#if KITHI_HAVE_X86
        kithi_xxh_vector prime = KITHI_XXH_VECTOR(set1_epi64x)((long long)KITHI_XXH_PRIME32_1);
        kithi_xxh_vector sum = KITHI_XXH_XOR(sums[i], KITHI_XXH_VECTOR(srli_epi64)(sums[i], 47));
        sum = KITHI_XXH_XOR(sum, KITHI_XXH_LOAD(secret + at));
        kithi_xxh_vector high = KITHI_XXH_VECTOR(mul_epu32)(KITHI_XXH_VECTOR(srli_epi64)(sum, 32), prime);
        sums[i] = KITHI_XXH_VECTOR(add_epi64)(KITHI_XXH_VECTOR(mul_epu32)(sum, prime),
                                              KITHI_XXH_VECTOR(slli_epi64)(high, 32));
#else
        sums[i] = (sums[i] ^ sums[i] >> 47 ^ kithi_load64(secret + at)) * KITHI_XXH_PRIME32_1;
#endif
    }
}

/* More than 240 bytes. */
KITHI_OUTLINE uint64_t kithi_xxh_long(const uint8_t *bytes, size_t n, uint64_t seed) {
    uint8_t secret[KITHI_XXH_SECRET];
    for (unsigned i = 0; i < KITHI_XXH_SECRET; i += 16) {
        kithi_store64(secret + i, kithi_load64(kithi_xxh_secret + i) + seed);
        kithi_store64(secret + i + 8, kithi_load64(kithi_xxh_secret + i + 8) - seed);
    }
    uint64_t words[8] = {KITHI_XXH_PRIME32_3, KITHI_XXH_PRIME64_1, KITHI_XXH_PRIME64_2, KITHI_XXH_PRIME64_3,
                         KITHI_XXH_PRIME64_4, KITHI_XXH_PRIME32_2, KITHI_XXH_PRIME64_5, KITHI_XXH_PRIME32_1};
    kithi_xxh_vector sums[KITHI_XXH_VECTORS];
    memcpy(sums, words, sizeof words);
    size_t stripes = (n - 1) / KITHI_XXH_STRIPE; /* all but the last, which overlaps the one before it */
    const uint8_t *at = bytes;
    for (; stripes >= KITHI_XXH_STRIPES; stripes -= KITHI_XXH_STRIPES) {
        for (unsigned i = 0; i < KITHI_XXH_STRIPES; i++, at += KITHI_XXH_STRIPE)
            kithi_xxh_absorb(sums, at, secret + (size_t)8 * i);
        kithi_xxh_scramble(sums, secret + KITHI_XXH_AT_SCRAMBLE);
    }
    for (unsigned i = 0; i < stripes; i++, at += KITHI_XXH_STRIPE)
        kithi_xxh_absorb(sums, at, secret + (size_t)8 * i);
    kithi_xxh_absorb(sums, bytes + n - KITHI_XXH_STRIPE, secret + KITHI_XXH_AT_LAST);

    memcpy(words, sums, sizeof words);
    uint64_t sum = n * KITHI_XXH_PRIME64_1;
    for (unsigned i = 0; i < 8; i += 2)
        sum += kithi_xxh_fold(words[i] ^ kithi_load64(secret + KITHI_XXH_AT_MERGE + 8 * i),
                              words[i + 1] ^ kithi_load64(secret + KITHI_XXH_AT_MERGE + 8 * (i + 1)));
    return kithi_xxh_avalanche(sum);
}

/* Returns the XXH3-64 of the bytes. `bytes` may be NULL if n is 0. */
static inline uint64_t kithi_xxh3(const void *bytes, size_t n, uint64_t seed) {
    const uint8_t *at = (const uint8_t *)bytes;
    if (n <= 16)
        return kithi_xxh_short(at, n, seed);
    return n <= 240 ? kithi_xxh_middle(at, n, seed) : kithi_xxh_long(at, n, seed);
}

#endif
