/* murmur.h: MurmurHash2 by Austin Appleby, in the two widths that RedisBloom's filters use.
 *
 * Both are keyless: anyone can compute keys that collide. They are here only because the bits of existing filters were
 * chosen with them. The results are the same on machines of either byte order: words are read as little-endian. */
#ifndef KITH_REDIS_MURMUR_H
#define KITH_REDIS_MURMUR_H

#include <stddef.h>
#include <stdint.h>

/* MurmurHash64A: 64 bits. */
uint64_t murmur64(const void *key, size_t bytes, uint64_t seed);

/* MurmurHash2: 32 bits. Only the first 2^32 - 1 bytes of a key could ever be hashed by it; `bytes` is taken modulo 2^32
 * where it enters the hash, as in the original. */
uint32_t murmur32(const void *key, size_t bytes, uint32_t seed);

#endif
