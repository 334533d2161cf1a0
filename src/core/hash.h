/* core/hash.h: the digests and the checksum behind <kith/hash.h>. */
#ifndef KITHI_CORE_HASH_H
#define KITHI_CORE_HASH_H

#include <kith/hash.h>

/* SipHash-2-4 with 64 bits of output. */
uint64_t kithi_siphash(const uint8_t key[16], const uint8_t *bytes, size_t byte_count);

/* The checksum of the file format: XXH3-64, seed 0. */
uint64_t kithi_checksum(const void *bytes, size_t byte_count);

/* A known id, and nothing in the field that the id does not use. */
bool kithi_hash_valid(const kith_hash *hash);

bool kithi_hash_equal(const kith_hash *a, const kith_hash *b);

#endif
