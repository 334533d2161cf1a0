/* format/format.h: the block of bytes that a filter or a table is. docs/format.md is the law; this is its code.
 *
 *     0            192                                 192 + body_bytes
 *     | header     | body (a multiple of 64 bytes)     | one checksum for each 64 KiB of body | notes, if any |
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
    uint64_t recipe;      /* how a program turned its input into keys; at most KITHI_RECIPE_MAX */
    uint64_t notes_bytes; /* of the notes behind the checksums (notes.h); 0: none */
} kithi_head;

#define KITHI_RECIPE_MAX ((UINT64_C(1) << 48) - 1)

/* Size of header, body and checksums, without notes; false when it passes 2^63. */
bool kithi_block_bytes(uint64_t body_bytes, uint64_t *block_bytes);

/* Writes header and checksums around the body that is in place; notes stay as they are. */
void kithi_block_seal(uint8_t *block, const kithi_head *head);

/* Reads and verifies the header: signature, version, reserved bytes, checksum, hash. Where it says that notes follow,
 * head->notes_bytes is what they claim, or the least that they can have if `bytes` ends before them. What only filters and tables or their
 * kinds can know (capacity, rate, parameters, body size) is left to the caller. `byte_count` is what is really there.
 * KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_TRUNCATED, KITH_E_VERSION, KITH_E_CORRUPT. */
kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);

/* Verifies the checksums of a body whose header was read and whose size was checked. KITH_E_CORRUPT. */
kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head);

#endif
