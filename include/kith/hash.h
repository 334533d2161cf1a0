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

#ifdef __cplusplus
}
#endif
#endif
