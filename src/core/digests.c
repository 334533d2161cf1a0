/* Computes the digests of many keys in one call.
 *
 * XXH3 of a short key is only a few multiplications, so a function call and a branch on the length for each key are a
 * large part of the cost. A batch saves the call. Packed keys of 4, 8 and 16 bytes have separate loops in which the
 * length is a constant, which saves the branch.
 *
 * SipHash is a long chain of additions and rotations, the same for each 8-byte word of a key. Eight keys are hashed in
 * parallel, one per vector lane. The four words of the state of SipHash, v0 … v3, become vectors of eight lanes:
 *
 *     v0  | key 0 | key 1 | … | key 7 |    and the same for v1, v2, v3: two registers each with AVX2, one with AVX-512
 *
 * The keys of a batch have mixed lengths, and a group of eight takes as long as its longest key. Therefore the keys are
 * taken in windows of up to 256. The keys of a window are first sorted by their number of words, the longest first, so
 * that the eight keys of a group have similar lengths. If the first key of a group is much longer than the others, it
 * is hashed alone. Without 256-bit vectors the lanes gain nothing, because a rotation takes one instruction on a word
 * and three on a vector. */
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

/* The most keys in a window, that is, keys that are sorted together. With 256 their indices fit in a byte, and there
 * are enough keys of each common length to fill groups of eight. */
enum { WINDOW = 256 };

#ifdef KITHI_HAVE_X86

enum {
    LANES = 8,
    CLASSES = 64,    /* of lengths. Class c > 0: keys of 63 - c whole words; class 0: all longer keys, unsorted */
    EXTRA_STEPS = 2, /* a key takes a step per whole word, one for its last word and one for the final rounds */
    LANES_COST = 3,  /* a step of eight lanes takes as long as this many steps of a single key */
};

/* Hashes eight keys: see sip_eight in sip_lanes.h. */
typedef void sip_eight(const uint8_t secret[16], const kith_key *keys, const uint8_t chosen[LANES], bool equal_words,
                       uint64_t *digests);

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

#define SIP_SET(name) name##_avx2
#define SIP_TARGET KITHI_TARGET_AVX2
#define SIP_REGISTER_WORDS 4
#include "core/sip_lanes.h"

#define SIP_SET(name) name##_avx512
#define SIP_TARGET KITHI_TARGET_AVX512
#define SIP_REGISTER_WORDS 8
#include "core/sip_lanes.h"

/* Writes the indices of at most WINDOW keys to `order`, from the longest to the shortest. */
static void sort_by_length(const kith_key *keys, size_t n, uint8_t order[WINDOW]) {
    uint8_t classes[WINDOW], differ = 0;
    for (size_t i = 0; i < n; i++) {
        size_t words = keys[i].byte_count / 8;
        classes[i] = (uint8_t)(words < CLASSES - 1 ? CLASSES - 1 - words : 0);
        differ |= classes[i] ^ classes[0];
        order[i] = (uint8_t)i;
    }
    /* If all keys are in one class, as packed keys always are, there is nothing to sort. Counting them would also be
     * slow: each increment of the same counter waits for the previous one. */
    if (differ == 0)
        return;
    size_t starts[CLASSES] = {0}; /* by class: where its keys start in `order` */
    for (size_t i = 0; i < n; i++)
        starts[classes[i]]++;
    for (size_t c = 0, start = 0; c < CLASSES; c++) {
        size_t count = starts[c];
        starts[c] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++)
        order[starts[classes[i]]++] = (uint8_t)i;
}

/* Returns whether hashing these keys, at most LANES, together is faster than one by one. */
static bool lanes_are_faster(const kith_key *keys, const uint8_t *chosen, size_t count) {
    size_t sum = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t steps = keys[chosen[i]].byte_count / 8 + EXTRA_STEPS;
        sum += steps;
        most = steps > most ? steps : most;
    }
    return sum / LANES_COST >= most;
}

/* Hashes the keys of a window in groups of eight. */
static void sip_window_in_lanes(sip_eight *hash_eight, const uint8_t secret[16], const kith_key *keys, size_t n,
                                uint64_t *digests) {
    uint8_t order[WINDOW + LANES];
    if (n == 0)
        return;
    sort_by_length(keys, n, order);
    memset(order + n, order[n - 1], LANES); /* repeats the last key, so that the last group has eight, too */
    for (size_t at = 0; at < n;) {
        const kith_key *first = &keys[order[at]], *last = &keys[order[at + LANES - 1]];
        size_t count = n - at < LANES ? n - at : LANES, words = first->byte_count / 8;
        /* The keys are sorted by whole words, except those of class 0. So if the first and the last of a group have
         * equally many, all have. */
        bool equal_words = words == last->byte_count / 8 && words < CLASSES - 1;
        if ((equal_words && count >= LANES_COST) || lanes_are_faster(keys, order + at, count)) {
            hash_eight(secret, keys, order + at, equal_words, digests);
            at += count;
        } else {
            digests[order[at]] = kithi_siphash(secret, first->bytes, first->byte_count);
            at++;
        }
    }
}

#endif

/* ---- any hash ---- */

/* Hashes at most WINDOW keys. */
static void sip_window(const uint8_t secret[16], const kith_key *keys, size_t n, uint64_t *digests) {
    switch (kithi_cpu_now()) {
#ifdef KITHI_HAVE_X86
    case KITHI_CPU_AVX512:
        sip_window_in_lanes(sip_eight_avx512, secret, keys, n, digests);
        break;
    case KITHI_CPU_AVX2:
        sip_window_in_lanes(sip_eight_avx2, secret, keys, n, digests);
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
        sip_window(hash->key, keys + from, n - from < WINDOW ? n - from : WINDOW, digests + from);
}

void kith_digest_packed(const kith_hash *hash, const void *keys, size_t key_bytes, size_t n, uint64_t *digests) {
    if (key_bytes == 0)
        keys = ""; /* `keys` may be NULL then */
    if (hash->id != KITH_HASH_SIPHASH) {
        xxh3_packed_any(hash->seed, keys, key_bytes, n, digests);
        return;
    }
    kith_key window[WINDOW];
    for (size_t from = 0; from < n; from += WINDOW) {
        size_t count = n - from < WINDOW ? n - from : WINDOW;
        for (size_t i = 0; i < count; i++)
            window[i] = (kith_key){(const uint8_t *)keys + (from + i) * key_bytes, key_bytes};
        sip_window(hash->key, window, count, digests + from);
    }
}
