/* kith/hash.h: hashes keys to 64-bit digests.
 *
 * A key is any byte string, and its digest is its 64-bit hash. Filters work on digests only. Either the caller
 * computes them, or calls that take a key do. The hash and its seed or secret key are part of a filter and of
 * its file. Two filters can be merged only if they have the same hash and the same seed or secret key.
 *
 * Use the default, XXH3, if nobody else chooses the keys: row ids, names of your own files, measurements. Use SipHash
 * if an attacker may choose keys. With a known hash, an attacker can choose keys that fill a filter, or keys that are
 * false positives. SipHash does not protect against everything. A key that was found to be a false positive remains one
 * as long as the keys that cause it are in the filter; only a rebuild with another secret key changes that. And whoever
 * can read the file can read the secret key. */
#ifndef KITH_HASH_H
#define KITH_HASH_H

#include <kith/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kith_hash_id {
    KITH_HASH_XXH3 = 0,    /* XXH3-64 with a 64-bit seed: fastest; for keys that you control */
    KITH_HASH_SIPHASH = 1, /* SipHash-2-4 with a 128-bit secret key: for keys that an attacker may choose */
} kith_hash_id;

#define KITH_HASH_KEY_BYTES 16 /* size of the secret key of SipHash */

/* A hash with its seed or secret key. A struct of zeros is the default, XXH3 with seed 0. All filters with the default
 * have the same hash, so filters that were built by different programs can be merged. */
typedef struct kith_hash {
    kith_hash_id id;
    uint64_t seed;                    /* XXH3 only; must be 0 for SipHash */
    uint8_t key[KITH_HASH_KEY_BYTES]; /* SipHash only; must be all 0 for XXH3 */
} kith_hash;

/* Sets *hash to SipHash with a new random secret key from the system. KITH_E_RANDOM: the system has no random bytes. */
KITH_API KITH_MUST_USE kith_status kith_hash_untrusted(kith_hash *hash);

/* Returns the digest of a key. The empty key is valid; `key` may be NULL if `key_bytes` is 0. With the same hash, the
 * same bytes have the same digest on every machine. */
KITH_API uint64_t kith_digest(const kith_hash *hash, const void *key, size_t key_bytes);

/* A reference to a key in the caller's memory. */
typedef struct kith_key {
    const void *bytes;
    size_t byte_count;
} kith_key;

/* Compute the digests of n keys, the same as kith_digest() returns. kith_digest_many() takes references to keys,
 * kith_digest_packed() keys of key_bytes bytes each, stored without gaps. Both take less time than n calls of
 * kith_digest(). With XXH3 they save the overhead of the calls. With SipHash, on a processor with AVX2, they hash eight
 * keys in parallel: keys of 16 bytes take about 0.6 times as long as in single calls. */
KITH_API void kith_digest_many(const kith_hash *hash, const kith_key *keys, size_t n, uint64_t *digests);
KITH_API void kith_digest_packed(const kith_hash *hash, const void *keys, size_t key_bytes, size_t n,
                                 uint64_t *digests);

/* ---- keys in pieces: for keys that are too large for memory ---- */

/* The digest of a key of which the first pieces are known. It is plain bytes without pointers: it needs no cleanup, may
 * be stored at any address, and may be copied, to continue one beginning in several ways. Do not store it in files:
 * its layout depends on the version of the library. With SipHash it contains the secret key in part, so it is as
 * secret. */
typedef struct kith_digest_state {
    uint64_t words[80];
} kith_digest_state;

/* Compute the digest of a key whose bytes come in pieces. kith_digest_begin() starts a key, kith_digest_update()
 * appends a piece of any size (`piece` may be NULL if piece_bytes is 0), and kith_digest_end() returns the same as
 * kith_digest() of all pieces joined, however the key was cut. kith_digest_end() does not change the state, so more
 * pieces may follow; the result is that of the key so far. A key may have up to 2^64 - 1 bytes.
 *
 * Nothing can fail, and nothing is allocated. A call of kith_digest_update() costs about 50 ns beyond the hashing
 * itself, so use pieces of some kilobytes, and kith_digest() for keys that are in memory as a whole. Different threads
 * may use different states. */
KITH_API void kith_digest_begin(kith_digest_state *state, const kith_hash *hash);
KITH_API void kith_digest_update(kith_digest_state *state, const void *piece, size_t piece_bytes);
KITH_API uint64_t kith_digest_end(const kith_digest_state *state);

/* ---- families of hash functions: for tables and experiments ----
 *
 * A family is a set of functions from 64-bit words to 64-bit words, from which one function is drawn at random. It is
 * k-wise independent if the values of any k different words are independent and uniform. This holds for any words that
 * were chosen before the function was drawn: the drawing is random, the words need not be.
 *
 *     family           independence                                         state      work per word
 *     xxh3             none proved; behaves as random                       8 bytes    XXH3 of 8 bytes
 *     siphash          random to anyone who does not know the seed          16 bytes   SipHash-2-4 of 8 bytes
 *     polynomial       k-wise over words below 2^61 - 1                     8k bytes   k - 1 multiplications
 *     tabulation       3-wise (and better than that in practice)            16 KiB     8 loads from the state
 *     multiply_shift   2-wise (strongly universal)                          32 bytes   two multiplications
 *
 * A polynomial of k coefficients is evaluated modulo the prime p = 2^61 - 1. Its value, which has 61 bits, is shifted
 * left by 3 bits, so that the high bits of the result are the random ones, as in the other families. If values are
 * mapped to m slots, the probability that k words fall into k given slots is at most (1/m + 1/p)^k, not exactly 1/m^k.
 *
 * How a key becomes a value. In every family, kith_function_draw() also draws a seed, with which "XXH3 of the key" is
 * computed:
 *
 *     family                       key of 4 or 8 bytes, as an integer w          key of another size
 *     xxh3                         f(w), where f is the function                 XXH3 of the key is the value itself
 *     siphash                      f(w)                                          SipHash-2-4 of the whole key
 *     polynomial                   f(w), or f(XXH3 of the key) if w >= p         f(XXH3 of the key)
 *     tabulation, multiply_shift   f(w)                                          f(XXH3 of the key)
 *
 * Where f is applied to the XXH3 of the key, two keys get the same word with probability 2^-64. The independence holds
 * for keys with different words. kith_function_draw() expands a 64-bit seed to the state: the independence holds as far
 * as this expansion is random, and siphash has 64 bits of secret. */
typedef enum kith_family_id {
    KITH_FAMILY_XXH3 = 0,
    KITH_FAMILY_SIPHASH = 1,
    KITH_FAMILY_POLYNOMIAL = 2,
    KITH_FAMILY_TABULATION = 3,
    KITH_FAMILY_MULTIPLY_SHIFT = 4,
} kith_family_id;

#define KITH_FAMILY_COUNT 5

/* Returns the name of a family ("xxh3", "siphash", …), or NULL if the number is not a family. */
KITH_API const char *kith_family_name(kith_family_id family);

/* A hash function that was drawn from a family. */
typedef struct kith_function kith_function;

/* Draws a function. Free it with kith_function_free(). The same family, independence and seed give the same function on
 * every machine. `independence` is k of the polynomial family, 2 … 64, and 0 means 2; it must be 0 for the other
 * families. KITH_E_HASH: an unknown family or an invalid independence. KITH_E_MEMORY: out of memory. */
KITH_API KITH_MUST_USE kith_status kith_function_draw(kith_family_id family, unsigned independence, uint64_t seed,
                                                      const kith_allocator *allocator, kith_function **function);

/* Frees the function. Does nothing if `function` is NULL. */
KITH_API void kith_function_free(kith_function *function);

/* Return the function's value for a word and for a key. A key of 4 or 8 bytes is a little-endian word. A polynomial has
 * the same value for a word w and for w + p, where p = 2^61 - 1. Therefore, in the polynomial family only,
 * kith_function_key() first hashes 8-byte keys of p or more to a word, like keys of other sizes; kith_function_word()
 * does not. Use the high bits of the value: to choose one of m slots, take the high 64 bits of the 128-bit product
 * value * m. */
KITH_API uint64_t kith_function_word(const kith_function *function, uint64_t word);
KITH_API uint64_t kith_function_key(const kith_function *function, const void *key, size_t key_bytes);

#ifdef __cplusplus
}
#endif
#endif
