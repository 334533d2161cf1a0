/* core/hash.h: the digest functions and the checksum behind <kith/hash.h>. */
#ifndef KITHI_CORE_HASH_H
#define KITHI_CORE_HASH_H

#include <kith/hash.h>

#include "core/bits.h"
#include "core/part.h"

/* SipHash-2-4 with 64 bits of output. */
uint64_t kithi_siphash(const uint8_t key[16], const uint8_t *bytes, size_t byte_count);

/* The initial state of SipHash, before the key is XORed in. */
#define KITHI_SIP_V0 UINT64_C(0x736f6d6570736575)
#define KITHI_SIP_V1 UINT64_C(0x646f72616e646f6d)
#define KITHI_SIP_V2 UINT64_C(0x6c7967656e657261)
#define KITHI_SIP_V3 UINT64_C(0x7465646279746573)

/* Returns the last word of SipHash's input: the bytes after the last whole word, and the length in the top byte. Reads
 * no byte outside the key. */
static inline uint64_t kithi_sip_last(const uint8_t *bytes, size_t byte_count) {
    size_t rest = byte_count & 7;
    uint64_t last = (uint64_t)byte_count << 56;
    if (rest == 0)
        return last;
    if (byte_count > 8)
        return last | kithi_load64(bytes + byte_count - 8) >> (64 - 8 * rest);
    if (rest >= 4)
        return last | kithi_load32(bytes) | (uint64_t)kithi_load32(bytes + rest - 4) << (8 * rest - 32);
    return last | bytes[0] | (uint64_t)bytes[rest / 2] << (8 * (rest / 2)) |
           (uint64_t)bytes[rest - 1] << (8 * rest - 8);
}

/* The checksum of the file format: XXH3-64, seed 0. */
uint64_t kithi_checksum(const void *bytes, size_t byte_count);

/* A position in a sequence of parts. */
typedef struct kithi_parts_cursor {
    const kithi_part *part;
    size_t offset;
} kithi_parts_cursor;

/* Returns the checksum of the next `byte_count` bytes of the parts and moves the cursor past them. There must be that
 * many bytes left. */
uint64_t kithi_checksum_next(kithi_parts_cursor *at, size_t byte_count);

/* Returns whether the id is known and the field that this id does not use is zero. */
bool kithi_hash_valid(const kith_hash *hash);

bool kithi_hash_equal(const kith_hash *a, const kith_hash *b);

#endif
