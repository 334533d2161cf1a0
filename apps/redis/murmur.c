/* MurmurHash2 in its two variants of 2008, which Austin Appleby placed in the public domain.
 *
 * Both take the key in words, mix each word with a multiplication, a shift and a multiplication, and combine it with
 * the state. The bytes after the last whole word are combined without being mixed first. The multipliers are part of
 * the definition. */
#include "murmur.h"

#include "redisbloom_bytes.h"

#define MULTIPLIER_64 UINT64_C(0xc6a4a7935bd1e995)
#define MULTIPLIER_32 UINT32_C(0x5bd1e995)

uint64_t murmur64(const void *key, size_t bytes, uint64_t seed) {
    const unsigned char *next = key;
    uint64_t h = seed ^ ((uint64_t)bytes * MULTIPLIER_64);
    size_t left = bytes;
    for (; left >= 8; left -= 8, next += 8) {
        uint64_t word = get_u64(next) * MULTIPLIER_64;
        word ^= word >> 47;
        h = (h ^ word * MULTIPLIER_64) * MULTIPLIER_64;
    }
    if (left > 0) {
        uint64_t word = 0;
        while (left-- > 0)
            word = word << 8 | next[left];
        h = (h ^ word) * MULTIPLIER_64;
    }
    h = (h ^ h >> 47) * MULTIPLIER_64;
    return h ^ h >> 47;
}

uint32_t murmur32(const void *key, size_t bytes, uint32_t seed) {
    const unsigned char *next = key;
    uint32_t h = seed ^ (uint32_t)bytes;
    size_t left = bytes;
    for (; left >= 4; left -= 4, next += 4) {
        uint32_t word = get_u32(next) * MULTIPLIER_32;
        word ^= word >> 24;
        h = h * MULTIPLIER_32 ^ word * MULTIPLIER_32;
    }
    if (left > 0) {
        uint32_t word = 0;
        while (left-- > 0)
            word = word << 8 | next[left];
        h = (h ^ word) * MULTIPLIER_32;
    }
    h = (h ^ h >> 13) * MULTIPLIER_32;
    return h ^ h >> 15;
}
