/* Families of hash functions from 64-bit words to 64-bit words.
 *
 * The theorems about hash tables assume a function drawn at random from a family, and require of the family that the
 * values of any k different words are independent and uniform: k-wise independence. How large k must be depends on the
 * table: chaining needs 2, linear probing 5, cuckoo hashing O(log n). Each family here is the simplest of its kind:
 *
 *   polynomial (Wegman, Carter, 1981). The value of a word x is c[0] x^(k-1) + … + c[k-1] modulo p = 2^61 - 1. Every
 *   coefficient is uniform in [0, p), including the leading one, which may be 0. Exactly one such polynomial passes
 *   through k points with different x, so the values of k words that differ modulo p are exactly uniform over [0, p)^k.
 *   p is the largest Mersenne prime below 2^64. A product is reduced modulo such a prime without a division
 *   (kithi_mersenne_reduce). The words w and w + p always have the same value, but words below p are all different
 *   modulo p. The function returns the value shifted left by 3, so that the high bits of the result are random, as for
 *   every family. To choose one of m slots, a table takes the high half of result * m, which is floor(v m / 2^61) for
 *   the value v. At most ceil((p + 1)/m) <= p/m + 1 values give the same slot, so k words fall into k given slots with
 *   probability at most (1/m + 1/p)^k. It cannot be exactly 1/m^k, because m does not divide p.
 *
 *   tabulation (Zobrist, 1970; Patrascu, Thorup, "The Power of Simple Tabulation Hashing", 2011). There is a table
 *   with a random word for each value of each of the 8 bytes. The value of a word is the XOR of the 8 entries that its
 *   bytes select. The family is 3-wise independent but not 4-wise. Take four words that differ only in two bytes: one
 *   byte is a or b, the other is c or d. Together they read every table entry an even number of times, so the XOR of
 *   their values is 0. Even so, the bounds of linear probing hold, and those of cuckoo hashing nearly do.
 *
 *   multiply_shift (Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic
 *   without primes", 1996). The value of a word x of u bits is the high l bits of a x + b mod 2^w, where a and b are
 *   uniform in [0, 2^w). The values are 2-wise independent and uniform if w >= u + l - 1. Here u = 64, w = 128 and
 *   l = 64, so this holds for all 64 bits of the value and therefore for the high bits that choose a slot. a need not
 *   be odd. The family is not 3-wise independent: for the words x, x + d and x + 2d, the second difference of the
 *   values is -1, 0 or 1.
 *
 *   xxh3 and siphash have no such theorem. xxh3 is XXH3-64 of the word's 8 bytes with a random seed. siphash is
 *   SipHash-2-4 of these bytes with a random key. No attack is known that distinguishes SipHash-2-4 from a random
 *   function if the key is secret.
 *
 * Keys of 4 and 8 bytes are used as words directly. Keys of other sizes are first hashed to a word by XXH3 with the
 * function's key_seed, and the function is applied to that word. For polynomials the same is done with keys of 8 bytes
 * whose word is p or more. There are two exceptions. For xxh3 the word from key_seed is already the value, because
 * hashing it again would add nothing. siphash hashes the whole key, because an adversary could find many keys with the
 * same XXH3 word, and no function applied afterwards could separate them.
 *
 * All state comes from SplitMix64 started at the seed, key_seed first: the same seed gives the same function on every
 * machine. A seed has 64 bits, so at most 2^64 functions of a family can be drawn, and siphash has 64 bits of secret
 * instead of 128. */
#include "core/function.h"

#include <assert.h>

#include "core/alloc.h"
#include "core/prng.h"

/* The limits of k. The theorems about tables need at most O(log n), and log2 n is at most 64. */
#define POLYNOMIAL_K_MIN 2
#define POLYNOMIAL_K_MAX 64

typedef struct family {
    const char *name;
    unsigned state_words; /* for a polynomial: the default of k */
} family;

static const family FAMILIES[] = {
    [KITH_FAMILY_XXH3] = {"xxh3", 1},
    [KITH_FAMILY_SIPHASH] = {"siphash", 2},
    [KITH_FAMILY_POLYNOMIAL] = {"polynomial", POLYNOMIAL_K_MIN},
    [KITH_FAMILY_TABULATION] = {"tabulation", KITHI_TABULATION_WORDS},
    [KITH_FAMILY_MULTIPLY_SHIFT] = {"multiply_shift", 4},
};

static_assert(sizeof FAMILIES / sizeof *FAMILIES == KITH_FAMILY_COUNT, "one line per family");

const char *kith_family_name(kith_family_id id) {
    return (unsigned)id < KITH_FAMILY_COUNT ? FAMILIES[id].name : NULL;
}

static uint64_t bytes_of(unsigned state_words) {
    return sizeof(kith_function) + state_words * sizeof(uint64_t);
}

uint64_t kithi_function_bytes(const kith_function *f) {
    return bytes_of(f->state_words);
}

/* Returns a uniform number in [0, p). Of the 2^61 values of the high bits only p itself is rejected. */
static uint64_t coefficient(kithi_prng *prng) {
    uint64_t p = (UINT64_C(1) << KITHI_POLYNOMIAL_BITS) - 1, c;
    do {
        c = kithi_prng_next(prng) >> (64 - KITHI_POLYNOMIAL_BITS);
    } while (c == p);
    return c;
}

kith_status kith_function_draw(kith_family_id id, unsigned independence, uint64_t seed, const kith_allocator *allocator,
                               kith_function **function) {
    assert(function != NULL);
    if (kith_family_name(id) == NULL)
        return KITH_E_HASH;
    unsigned state_words = FAMILIES[id].state_words;
    if (independence != 0) {
        if (id != KITH_FAMILY_POLYNOMIAL || independence < POLYNOMIAL_K_MIN || independence > POLYNOMIAL_K_MAX)
            return KITH_E_HASH;
        state_words = independence;
    }
    kith_allocator own = kithi_allocator_or_default(allocator);
    kith_function *f = kithi_allocate(&own, bytes_of(state_words));
    if (f == NULL)
        return KITH_E_MEMORY;
    kithi_prng prng = {seed};
    f->family = id;
    f->state_words = state_words;
    f->allocator = own;
    f->key_seed = kithi_prng_next(&prng);
    for (unsigned i = 0; i < state_words; i++)
        f->state[i] = id == KITH_FAMILY_POLYNOMIAL ? coefficient(&prng) : kithi_prng_next(&prng);
    if (id == KITH_FAMILY_XXH3)
        f->flip = kithi_xxh3_flip(f->state[0]);
    if (id == KITH_FAMILY_SIPHASH)
        for (unsigned i = 0; i < state_words; i++)
            kithi_store64((uint8_t *)&f->state[i], f->state[i]);
    *function = f;
    return KITH_OK;
}

void kith_function_free(kith_function *f) {
    if (f == NULL)
        return;
    kith_allocator allocator = f->allocator;
    kithi_release(&allocator, f, kithi_function_bytes(f));
}

uint64_t kith_function_word(const kith_function *f, uint64_t word) {
    assert(f != NULL);
    return kithi_function_word(f, word);
}

uint64_t kith_function_key(const kith_function *f, const void *key, size_t key_bytes) {
    assert(f != NULL && (key != NULL || key_bytes == 0));
    return kithi_function_key(f, key, key_bytes);
}
