/* kith/hash.h: from a key to a 64-bit digest.
 *
 * A key is any string of bytes. It is hashed once, at the door; filters see digests only. Which hash, and with which
 * seed or secret key, is part of a filter and of its file: filters can be merged only when both are equal.
 *
 * Take the default (xxh3) for keys that are yours: log lines, a crawler's URLs, rows of a table. Take siphash where a
 * stranger chooses keys: whoever knows the hash can otherwise choose keys that fill a filter or answer yes at will.
 * What the key does not give: a false positive that was found stays one until the filter is rebuilt with another key,
 * and whoever reads the file reads the key. */
#ifndef KITH_HASH_H
#define KITH_HASH_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kith_hash_id {
    KITH_HASH_XXH3 = 0,    /* XXH3-64 with a 64-bit seed: fastest, for keys that you own */
    KITH_HASH_SIPHASH = 1, /* SipHash-2-4 with a 128-bit secret key: for keys that a stranger may choose */
} kith_hash_id;

#define KITH_KEY_BYTES 16

/* All zero bytes are a valid kith_hash: XXH3 with seed 0, the default, so that two filters built apart can merge. */
typedef struct kith_hash {
    kith_hash_id id;
    uint64_t seed;               /* XXH3 only; must be 0 for SipHash */
    uint8_t key[KITH_KEY_BYTES]; /* SipHash only; must be 0 for XXH3 */
} kith_hash;

/* A SipHash with a fresh key from the system's random source. KITH_E_RANDOM where there is none. */
KITH_API KITH_MUST_USE kith_status kith_hash_untrusted(kith_hash *hash);

/* The digest of a key. `key` may be NULL when `key_bytes` is 0: the empty key is a key like any other.
 * The same bytes give the same digest on every machine. */
KITH_API uint64_t kith_digest(const kith_hash *hash, const void *key, size_t key_bytes);

/* A key by reference. */
typedef struct kith_key {
    const void *bytes;
    size_t byte_count;
} kith_key;

/* The digests of n keys, those that kith_digest gives: `keys` each, or `key_bytes` bytes each, one key behind the other.
 * Takes less time than n calls: with XXH3 what the calls cost, with SipHash of keys of up to 127 bytes a third to a half
 * where there is AVX2. */
KITH_API void kith_digest_many(const kith_hash *hash, const kith_key *keys, size_t n, uint64_t *digests);
KITH_API void kith_digest_packed(const kith_hash *hash, const void *keys, size_t key_bytes, size_t n,
                                 uint64_t *digests);

/* ---- families of functions: for tables and experiments ----
 *
 * A family is a set of functions from 64-bit words to 64-bit words of which one is drawn at random. What is random is the
 * draw: whatever the keys are, as long as they were not chosen after the draw, the stated independence holds.
 *
 *     family           independence                                         state      work for a word
 *     xxh3             none proved; behaves as random                       8 bytes    XXH3 of 8 bytes
 *     siphash          random to who does not know the seed                 16 bytes   SipHash-2-4 of 8 bytes
 *     polynomial       k-wise over words below 2^61 - 1                     8k bytes   k multiplications
 *     tabulation       3-wise (and better than that in practice)            16 KiB     8 loads from it
 *     multiply_shift   2-wise (strongly universal)                          32 bytes   three multiplications
 *
 * A polynomial takes its word modulo the prime p = 2^61 - 1 and its value, below p, is spread over 64 bits; mapped to m
 * places, k words fall into k given places with at most (1/m + 1/p)^k, not 1/m^k exactly. Keys that are not of 4 or 8
 * bytes are first made a word by XXH3 with a seed of the function's own (siphash reads them whole), so two of them are one word with
 * probability 2^-64, and the independence holds for those that are not. */
typedef enum kith_family_id {
    KITH_FAMILY_XXH3 = 0,
    KITH_FAMILY_SIPHASH = 1,
    KITH_FAMILY_POLYNOMIAL = 2,
    KITH_FAMILY_TABULATION = 3,
    KITH_FAMILY_MULTIPLY_SHIFT = 4,
} kith_family_id;

#define KITH_FAMILY_COUNT 5

/* "xxh3", "siphash", …; NULL for a number that is no family. */
KITH_API const char *kith_family_name(kith_family_id family);

typedef struct kith_function kith_function;

/* Draws a function: the same family, independence and seed give the same function on every machine. `independence` is k
 * of the polynomial family, 2 … 64 or 0 for 2; it must be 0 for the others.
 * KITH_E_ARGUMENT, KITH_E_MEMORY. */
KITH_API KITH_MUST_USE kith_status kith_function_draw(kith_family_id family, unsigned independence, uint64_t seed,
                                                      const kith_allocator *allocator, kith_function **function);

/* NULL is fine. */
KITH_API void kith_function_free(kith_function *function);

/* The function's value for a word, or for a key: one of 4 or 8 bytes is a little-endian word, but for polynomials a word of
 * 2^61 - 1 and above, which they could not part from others, is hashed first, as keys of other sizes are. The high bits are the good
 * ones: a place among m is the high half of value * m. */
KITH_API uint64_t kith_function_word(const kith_function *function, uint64_t word);
KITH_API uint64_t kith_function_key(const kith_function *function, const void *key, size_t key_bytes);

#ifdef __cplusplus
}
#endif
#endif
