/* Computes the digests of many keys in one call.
 *
 * XXH3 of a short key is only a few multiplications. A batch saves the function call and the branch on the length for
 * each key, so packed keys of 4, 8 and 16 bytes have separate loops in which the length is a constant.
 *
 * SipHash is a long chain of additions and rotations, the same for all keys with the same number of 8-byte words. Eight
 * keys are hashed in parallel, one per vector lane:
 *
 *     v0  | key 0 | key 1 | … | key 7 |    and the same for v1, v2, v3: two registers each with AVX2, one with AVX-512
 *
 * The keys of a batch have mixed lengths. Windows of keys are therefore sorted by their number of words, and groups of
 * eight with the same number go through the lanes. Leftover keys are hashed one by one. So are keys of more than 15
 * words, because too few of them would have the same length. Without 256-bit vectors the lanes gain nothing, because a
 * rotation takes one instruction on a word and three on a vector. */
#include <string.h>

#include "core/batch.h"
#include "core/bits.h"
#include "core/cpu.h"
#include "core/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- XXH3 ---- */

KITHI_INLINE void xxh3_packed(uint64_t seed, const uint8_t *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    for (size_t i = 0; i < n; i++)
        digests[i] = XXH3_64bits_withSeed(keys + i * key_bytes, key_bytes, seed);
}

static void xxh3_packed_any(uint64_t seed, const uint8_t *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    switch (key_bytes) {
    case 4:
        xxh3_packed(seed, keys, 4, n, digests);
        break;
    case 8:
        xxh3_packed(seed, keys, 8, n, digests);
        break;
    case 16:
        xxh3_packed(seed, keys, 16, n, digests);
        break;
    default:
        xxh3_packed(seed, keys, key_bytes, n, digests);
    }
}

static void xxh3_each(uint64_t seed, const kith_key *keys, size_t n, uint64_t *digests) {
    for (size_t i = 0; i < n; i++)
        digests[i] = XXH3_64bits_withSeed(keys[i].bytes, keys[i].byte_count, seed);
}

/* ---- SipHash, one by one ---- */

static void sip_each(const uint8_t secret[16], const kith_key *keys, size_t n, uint64_t *digests) {
    for (size_t i = 0; i < n; i++)
        digests[i] = kithi_siphash(secret, keys[i].bytes, keys[i].byte_count);
}

/* ---- SipHash in lanes ---- */

/* Keys that are sorted together. Their indices fit in a byte, and most lengths fill a few groups of eight. */
enum { WINDOW = 256 };

#ifdef KITHI_HAVE_X86

enum {
    LANES = 8,
    WORDS_MAX = 15, /* most whole words that a key in the lanes may have */
};

/* Returns the number of whole words of a key, or WORDS_MAX + 1 if it has more than WORDS_MAX. */
KITHI_INLINE size_t whole_words(const kith_key *key) {
    return key->byte_count / 8 <= WORDS_MAX ? key->byte_count / 8 : WORDS_MAX + 1;
}

typedef void sip_eight(const uint8_t secret[16], const kith_key *keys, const uint8_t chosen[LANES], size_t whole_words,
                       uint64_t *digests);

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

#define SIP_SET(name) name##_avx2
#define SIP_TARGET KITHI_TARGET_AVX2
#define SIP_WIDE 4
#include "core/sip_lanes.h"

#define SIP_SET(name) name##_avx512
#define SIP_TARGET KITHI_TARGET_AVX512
#define SIP_WIDE 8
#include "core/sip_lanes.h"

/* Hashes at most WINDOW keys. */
static void sip_window(sip_eight *hash_eight, const uint8_t secret[16], const kith_key *keys, size_t n,
                       uint64_t *digests) {
    size_t ends[WORDS_MAX + 2] = {0}; /* by number of words: where its keys end in `order`; long keys are last */
    uint8_t order[WINDOW];
    for (size_t i = 0; i < n; i++)
        ends[whole_words(&keys[i])]++;
    for (size_t words = 0, end = 0; words < WORDS_MAX + 2; words++) {
        size_t count = ends[words];
        ends[words] = end;
        end += count;
    }
    for (size_t i = 0; i < n; i++)
        order[ends[whole_words(&keys[i])]++] = (uint8_t)i;
    size_t at = 0;
    for (size_t words = 0; words <= WORDS_MAX; words++) {
        for (; ends[words] - at >= LANES; at += LANES)
            hash_eight(secret, keys, order + at, words, digests);
        for (; at < ends[words]; at++)
            digests[order[at]] = kithi_siphash(secret, keys[order[at]].bytes, keys[order[at]].byte_count);
    }
    for (; at < n; at++)
        digests[order[at]] = kithi_siphash(secret, keys[order[at]].bytes, keys[order[at]].byte_count);
}

#endif

/* ---- */

static void sip_up_to_window(const uint8_t secret[16], const kith_key *keys, size_t n, uint64_t *digests) {
    switch (kithi_cpu_now()) {
#ifdef KITHI_HAVE_X86
    case KITHI_CPU_AVX512:
        sip_window(sip_eight_avx512, secret, keys, n, digests);
        break;
    case KITHI_CPU_AVX2:
        sip_window(sip_eight_avx2, secret, keys, n, digests);
        break;
#endif
    default:
        sip_each(secret, keys, n, digests);
    }
}

void kith_digest_many(const kith_hash *hash, const kith_key *keys, size_t n, uint64_t *digests) {
    if (hash->id != KITH_HASH_SIPHASH) {
        xxh3_each(hash->seed, keys, n, digests);
        return;
    }
    for (size_t from = 0; from < n; from += WINDOW)
        sip_up_to_window(hash->key, keys + from, n - from < WINDOW ? n - from : WINDOW, digests + from);
}

void kith_digest_packed(const kith_hash *hash, const void *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    if (key_bytes == 0)
        keys = ""; /* `keys` may be NULL then */
    if (hash->id != KITH_HASH_SIPHASH) {
        xxh3_packed_any(hash->seed, keys, key_bytes, n, digests);
        return;
    }
    kith_key some[WINDOW];
    for (size_t from = 0; from < n; from += WINDOW) {
        size_t count = n - from < WINDOW ? n - from : WINDOW;
        for (size_t i = 0; i < count; i++)
            some[i] = (kith_key){(const uint8_t *)keys + (from + i) * key_bytes, key_bytes};
        sip_up_to_window(hash->key, some, count, digests + from);
    }
}
