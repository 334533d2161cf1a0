/* core/function.h: the families of hash functions behind <kith/hash.h>, inline for the hot paths of tables. function.c
 * explains the families.
 *
 * A table kind draws a function with kith_function_draw(t->family, t->independence, kithi_prng_next(&t->prng),
 * &t->allocator, &f). (cuckoo may need several functions, and derives their seeds from one such number.) For a
 * polynomial both 0 and 2 mean 2-wise, so a table passes its independence unchanged. */
#ifndef KITHI_CORE_FUNCTION_H
#define KITHI_CORE_FUNCTION_H

#include "core/bits.h"
#include "core/hash.h"

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

/* state, by family:
 *
 *     xxh3             | seed |
 *     siphash          | key, 16 bytes in memory order |
 *     polynomial       | c[0] | … | c[k-1] |               the coefficients, highest power first, for Horner's rule
 *     tabulation       | 256 words for byte 0 | … | for byte 7 |
 *     multiply_shift   | a low | a high | b low | b high |
 */
struct kith_function {
    kith_family_id family;
    unsigned state_words;
    uint64_t key_seed; /* seed of the XXH3 that hashes keys that are not words themselves: see kithi_function_key() */
    uint64_t flip;     /* xxh3 only: the word that the input is XORed with, kithi_xxh3_flip(seed) */
    kith_allocator allocator;
    uint64_t state[];
};

/* The prime of the polynomials is 2^KITHI_POLYNOMIAL_BITS - 1. */
#define KITHI_POLYNOMIAL_BITS 61

#define KITHI_TABULATION_WORDS (8 * 256)

/* Returns the number of bytes allocated for the function. */
uint64_t kithi_function_bytes(const kith_function *function);

/* Returns x mod p for p = 2^bits - 1 and x = high * 2^64 + low, which must be at most p * p. x has two digits to the
 * base 2^bits. Their sum is congruent to x and at most 2p - 1, so one subtraction is enough. If bits = 61, every 64-bit
 * x is below p * p, so x may be any word. */
static inline uint64_t kithi_mersenne_reduce(uint64_t high, uint64_t low, unsigned bits) {
    uint64_t p = (UINT64_C(1) << bits) - 1;
    uint64_t sum = (low & p) + (low >> bits | high << (64 - bits));
    return sum >= p ? sum - p : sum;
}

/* Returns ((c[0] x + c[1]) x + …) x + c[k-1] mod p, where p = 2^bits - 1 and x is the word mod p. `bits` is a constant:
 * 61, or a small number in tests that try all polynomials. */
static inline uint64_t kithi_polynomial(const uint64_t *c, unsigned k, uint64_t word, unsigned bits) {
    uint64_t x = kithi_mersenne_reduce(0, word, bits), value = c[0];
    for (unsigned i = 1; i < k; i++) {
        uint64_t low, high = kithi_mul_wide(value, x, &low);
        low += c[i];
        high += low < c[i];
        value = kithi_mersenne_reduce(high, low, bits);
    }
    return value;
}

static inline uint64_t kithi_tabulation(const uint64_t *tables, uint64_t word) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value ^= tables[256 * i + ((word >> (8 * i)) & 0xff)];
    return value;
}

/* Returns the high 64 of the 128 bits of a x + b. */
static inline uint64_t kithi_multiply_shift(const uint64_t *state, uint64_t word) {
    uint64_t low, high = kithi_mul_wide(state[0], word, &low);
    low += state[2];
    return state[1] * word + state[3] + high + (low < state[2]);
}

/* kithi_xxh3_word() computes the XXH3-64 of the 8 bytes of a word. It has the same result as XXH3_64bits_withSeed() but
 * takes half the instructions: when the function is drawn, kithi_xxh3_flip() computes everything that depends only on
 * the seed. The constant in kithi_xxh3_flip() is bytes 8 … 15 of XXH3's secret XORed with bytes 16 … 23. */
static inline uint64_t kithi_xxh3_flip(uint64_t seed) {
    uint64_t low = (uint32_t)seed;
    uint64_t swapped = low >> 24 | (low >> 8 & 0xff00) | (low << 8 & 0xff0000) | (low << 24 & 0xff000000);
    return UINT64_C(0xc73ab174c5ecd5a2) - (seed ^ swapped << 32);
}

static inline uint64_t kithi_xxh3_word(uint64_t flip, uint64_t word) {
    uint64_t x = kithi_rotate_left(word, 32) ^ flip;
    x ^= kithi_rotate_left(x, 49) ^ kithi_rotate_left(x, 24);
    x *= UINT64_C(0x9fb21c651e98df25);
    x ^= (x >> 35) + 8;
    x *= UINT64_C(0x9fb21c651e98df25);
    return x ^ (x >> 28);
}

static inline uint64_t kithi_function_word(const kith_function *function, uint64_t word) {
    uint8_t bytes[8];
    if (__builtin_expect(function->family == KITH_FAMILY_XXH3, 1))
        return kithi_xxh3_word(function->flip, word);
    switch (function->family) {
    case KITH_FAMILY_SIPHASH:
        kithi_store64(bytes, word);
        return kithi_siphash((const uint8_t *)function->state, bytes, sizeof bytes);
    case KITH_FAMILY_POLYNOMIAL:
        return kithi_polynomial(function->state, function->state_words, word, KITHI_POLYNOMIAL_BITS)
               << (64 - KITHI_POLYNOMIAL_BITS);
    case KITH_FAMILY_TABULATION:
        return kithi_tabulation(function->state, word);
    case KITH_FAMILY_MULTIPLY_SHIFT:
        return kithi_multiply_shift(function->state, word);
    case KITH_FAMILY_XXH3:
        break;
    }
    __builtin_unreachable(); /* kith_function_draw() rejects every other family */
}

/* Keys of 4 and 8 bytes are usually integers, so they are used as words directly. Other short keys must not simply be
 * padded with zeros: "", "\0", "\0\0" … would all be the same word, and no function could separate them. A polynomial
 * cannot separate words that are equal modulo its prime p either, so words of p and above are hashed first, too. */
static inline uint64_t kithi_function_key(const kith_function *function, const uint8_t *bytes, size_t n) {
    if (n == 8 && (function->family != KITH_FAMILY_POLYNOMIAL ||
                   kithi_load64(bytes) < (UINT64_C(1) << KITHI_POLYNOMIAL_BITS) - 1))
        return kithi_function_word(function, kithi_load64(bytes));
    if (n == 4)
        return kithi_function_word(function, kithi_load32(bytes));
    if (function->family == KITH_FAMILY_SIPHASH)
        return kithi_siphash((const uint8_t *)function->state, bytes, n);
    uint64_t word = XXH3_64bits_withSeed(bytes, n, function->key_seed);
    return function->family == KITH_FAMILY_XXH3 ? word : kithi_function_word(function, word);
}

#endif
