/* Digests of many keys at once.
 *
 * XXH3 of a short key is a few products: what a batch saves is the call and the choice by length for each key, so
 * packed keys of 4, 8 and 16 bytes have loops of their own, with the length a constant.
 *
 * SipHash is a long chain of additions and rotations, the same for all keys with the same number of 8-byte words. Eight
 * keys go through it side by side, a lane of a vector each:
 *
 *     v0  | key 0 | key 1 | … | key 7 |      v1, v2, v3 likewise: two registers each with AVX2, one with AVX-512
 *
 * Keys of a batch come in any order of lengths. A window of them is sorted by their number of words, eight of one number
 * go through the lanes, and what is left over goes one by one, as do long keys: beyond 15 words, whose batches would be
 * few. Without 256-bit vectors lanes gain nothing, as a rotation is one instruction on a word and three on a vector. */
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

enum { WINDOW = 256 }; /* keys that are sorted at once: their numbers fit in a byte, and most lengths make a few lots */

#ifdef KITHI_HAVE_X86

enum {
    LANES = 8,
    WORDS_MAX = 15, /* whole words of a key that goes through the lanes */
};

/* Whole words of a key; all that are too many alike. */
KITHI_INLINE size_t whole_words(const kith_key *key) {
    return key->byte_count / 8 <= WORDS_MAX ? key->byte_count / 8 : WORDS_MAX + 1;
}

typedef void sip_lot(const uint8_t secret[16], const kith_key *keys, const uint8_t lot[LANES], size_t whole_words,
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

/* At most WINDOW keys. */
static void sip_window(sip_lot *lot, const uint8_t secret[16], const kith_key *keys, size_t n, uint64_t *digests) {
    size_t ends[WORDS_MAX + 2] = {0}; /* of the keys of each number of words, in `order`; long ones come last */
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
            lot(secret, keys, order + at, words, digests);
        for (; at < ends[words]; at++)
            digests[order[at]] = kithi_siphash(secret, keys[order[at]].bytes, keys[order[at]].byte_count);
    }
    for (; at < n; at++)
        digests[order[at]] = kithi_siphash(secret, keys[order[at]].bytes, keys[order[at]].byte_count);
}

#endif

/* ---- */

static void sip_some(const uint8_t secret[16], const kith_key *keys, size_t n, uint64_t *digests) {
    switch (kithi_cpu_now()) {
#ifdef KITHI_HAVE_X86
    case KITHI_CPU_AVX512:
        sip_window(sip_lot_avx512, secret, keys, n, digests);
        break;
    case KITHI_CPU_AVX2:
        sip_window(sip_lot_avx2, secret, keys, n, digests);
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
        sip_some(hash->key, keys + from, n - from < WINDOW ? n - from : WINDOW, digests + from);
}

void kith_digest_packed(const kith_hash *hash, const void *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    if (key_bytes == 0)
        keys = ""; /* NULL is fine then */
    if (hash->id != KITH_HASH_SIPHASH) {
        xxh3_packed_any(hash->seed, keys, key_bytes, n, digests);
        return;
    }
    kith_key some[WINDOW];
    for (size_t from = 0; from < n; from += WINDOW) {
        size_t count = n - from < WINDOW ? n - from : WINDOW;
        for (size_t i = 0; i < count; i++)
            some[i] = (kith_key){(const uint8_t *)keys + (from + i) * key_bytes, key_bytes};
        sip_some(hash->key, some, count, digests + from);
    }
}
