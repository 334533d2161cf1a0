/* format/format.h: the block of bytes that a filter or a table is. docs/format.md is the law; this is its code.
 *
 *     0            192                                 192 + body_bytes
 *     | header     | body (a multiple of 64 bytes)     | one checksum for each 64 KiB of body |
 */
#ifndef KITHI_FORMAT_FORMAT_H
#define KITHI_FORMAT_FORMAT_H

#include <kith/hash.h>

#define KITHI_HEADER_BYTES 192
#define KITHI_BODY_ALIGNMENT 64
#define KITHI_CHECKED_BYTES 65536
#define KITHI_FORMAT_VERSION 1
#define KITHI_PARAMS 8

/* The header, decoded. */
typedef struct kithi_head {
    uint16_t kind_id;
    kith_hash hash;
    uint64_t capacity;
    double rate;
    uint64_t count;
    uint64_t fill; /* cells that are not zero; kinds that do not keep it leave it 0 */
    uint64_t body_bytes;
    uint64_t params[KITHI_PARAMS];
} kithi_head;

/* Size of the whole block for a body; false when it passes 2^63. */
bool kithi_block_bytes(uint64_t body_bytes, uint64_t *block_bytes);

/* Writes header and checksums around the body that is in place. */
void kithi_block_seal(uint8_t *block, const kithi_head *head);

/* Reads and verifies the header: signature, version, reserved bytes, checksum, hash. What only filters and tables or their
 * kinds can know (capacity, rate, parameters, body size) is left to the caller. `byte_count` is what is really there.
 * KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_TRUNCATED, KITH_E_VERSION, KITH_E_CORRUPT. */
kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);

/* Verifies the checksums of a body whose header was read and whose size was checked. KITH_E_CORRUPT. */
kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head);

#endif
