/* core/digest.h: XXH3, the digest of a key and checks of a kith_hash, as inline functions: for hash.c and for the
 * headers that become part of kith/reader.h. With KITH_READER_NO_HASH, which only programs that include kith/reader.h
 * define, XXH3 and the digest are left out. */
#ifndef KITHI_CORE_DIGEST_H
#define KITHI_CORE_DIGEST_H

#include <kith/hash.h>

#include "core/siphash.h"

#ifndef KITH_READER_NO_HASH
#include "core/xxh3.h"

static inline uint64_t kithi_hash_digest(const kith_hash *hash, const void *bytes, size_t byte_count) {
    if (hash->id == KITH_HASH_SIPHASH)
        return kithi_siphash(hash->key, (const uint8_t *)bytes, byte_count);
    return kithi_xxh3(bytes, byte_count, hash->seed);
}
#endif

/* Returns whether the id is known and the field that this id does not use is zero. */
static inline bool kithi_hash_valid_inline(const kith_hash *hash) {
    switch (hash->id) {
    case KITH_HASH_XXH3:
        return kithi_is_zero(hash->key, sizeof hash->key);
    case KITH_HASH_SIPHASH:
        return hash->seed == 0;
    }
    return false;
}

static inline bool kithi_hash_equal_inline(const kith_hash *a, const kith_hash *b) {
    return a->id == b->id && a->seed == b->seed && memcmp(a->key, b->key, sizeof a->key) == 0;
}

#endif
