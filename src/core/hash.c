/* Hashes keys to digests, and blocks to checksums, with the functions of xxHash and of core/siphash.h. */
#include "core/hash.h"

#include <errno.h>
#include <sys/random.h>

#include "core/digest.h"

/* When gcc 12 inlines XXH3 for AVX-512, it warns that a short key would be read as if it were a long one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t kithi_checksum(const void *bytes, size_t byte_count) {
    return XXH3_64bits_withSeed(bytes, byte_count, 0);
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

/* XXH3 of a key of at most 16 bytes: a copy of the code without the parts for longer keys, which would need a stack
 * frame. */
__attribute__((flatten)) static inline uint64_t xxh3_of_short_key(const void *key, size_t key_bytes, uint64_t seed) {
    if (key_bytes > 16)
        __builtin_unreachable();
    return XXH3_64bits_withSeed(key, key_bytes, seed);
}

uint64_t kith_digest(const kith_hash *hash, const void *key, size_t key_bytes) {
    if (hash->id == KITH_HASH_XXH3 && key_bytes <= 16)
        return xxh3_of_short_key(key, key_bytes, hash->seed);
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

bool kithi_hash_valid(const kith_hash *hash) {
    return kithi_hash_valid_inline(hash);
}

bool kithi_hash_equal(const kith_hash *a, const kith_hash *b) {
    return kithi_hash_equal_inline(a, b);
}
