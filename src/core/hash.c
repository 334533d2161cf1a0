/* Hashes keys to digests, with XXH3 (from xxHash, inlined) or SipHash-2-4 (Aumasson, Bernstein, "SipHash: a fast
 * short-input PRF", 2012). SipHash is implemented here so that it can be inlined and can hash several keys in parallel
 * (digests.c). tests/unit/siphash.c checks it against the paper's test vectors. */
#include "core/hash.h"

#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/bits.h"

static inline uint64_t rotate_left(uint64_t x, unsigned by) {
    return (x << by) | (x >> (64 - by));
}

typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static inline void sip_round(sip_state *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate_left(s->v1, 13) ^ s->v0;
    s->v3 = rotate_left(s->v3, 16) ^ s->v2;
    s->v0 = rotate_left(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate_left(s->v1, 17) ^ s->v2;
    s->v3 = rotate_left(s->v3, 21) ^ s->v0;
    s->v2 = rotate_left(s->v2, 32);
}

static inline void sip_absorb(sip_state *s, uint64_t word) {
    s->v3 ^= word;
    sip_round(s);
    sip_round(s);
    s->v0 ^= word;
}

uint64_t kithi_siphash(const uint8_t key[16], const uint8_t *bytes, size_t byte_count) {
    uint64_t k0 = kithi_load64(key), k1 = kithi_load64(key + 8);
    sip_state s = {k0 ^ KITHI_SIP_V0, k1 ^ KITHI_SIP_V1, k0 ^ KITHI_SIP_V2, k1 ^ KITHI_SIP_V3};
    size_t whole = byte_count & ~(size_t)7;
    for (size_t i = 0; i < whole; i += 8)
        sip_absorb(&s, kithi_load64(bytes + i));
    sip_absorb(&s, kithi_sip_last(bytes, byte_count));
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t kithi_checksum(const void *bytes, size_t byte_count) {
    return XXH3_64bits(bytes, byte_count);
}

uint64_t kithi_checksum_next(kithi_parts_cursor *at, size_t byte_count) {
    XXH3_state_t state;
    bool streaming = false;
    for (;;) {
        const uint8_t *bytes = (const uint8_t *)at->part->bytes + at->offset;
        size_t left = at->part->byte_count - at->offset;
        if (!streaming && byte_count <= left) {
            at->offset += byte_count;
            return kithi_checksum(bytes, byte_count);
        }
        if (!streaming)
            (void)XXH3_64bits_reset(&state);
        streaming = true;
        size_t taken = byte_count < left ? byte_count : left;
        (void)XXH3_64bits_update(&state, bytes, taken);
        byte_count -= taken;
        at->offset += taken;
        if (byte_count == 0)
            return XXH3_64bits_digest(&state);
        at->part++;
        at->offset = 0;
    }
}

uint64_t kith_digest(const kith_hash *hash, const void *key, size_t key_bytes) {
    if (hash->id == KITH_HASH_SIPHASH)
        return kithi_siphash(hash->key, key, key_bytes);
    return XXH3_64bits_withSeed(key, key_bytes, hash->seed);
}

kith_status kith_hash_untrusted(kith_hash *hash) {
    kith_hash fresh = {KITH_HASH_SIPHASH, 0, {0}};
    ssize_t got;
    do {
        got = getrandom(fresh.key, sizeof fresh.key, 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof fresh.key)
        return KITH_E_RANDOM;
    *hash = fresh;
    return KITH_OK;
}

static bool all_zero(const uint8_t *bytes, size_t n) {
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= bytes[i];
    return any == 0;
}

bool kithi_hash_valid(const kith_hash *hash) {
    switch (hash->id) {
    case KITH_HASH_XXH3:
        return all_zero(hash->key, sizeof hash->key);
    case KITH_HASH_SIPHASH:
        return hash->seed == 0;
    }
    return false;
}

bool kithi_hash_equal(const kith_hash *a, const kith_hash *b) {
    return a->id == b->id && a->seed == b->seed && memcmp(a->key, b->key, sizeof a->key) == 0;
}
