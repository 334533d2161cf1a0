/* format/format.h: the block of bytes that holds a filter or a table. docs/format.md is the specification, this is its
 * implementation.
 *
 *     0            192                                 192 + body_bytes
 *     | header     | body (a multiple of 64 bytes)     | one checksum for each 64 KiB of body | notes, if any |
 */
#ifndef KITHI_FORMAT_FORMAT_H
#define KITHI_FORMAT_FORMAT_H

#include <kith/hash.h>

#include "core/part.h"

#define KITHI_HEADER_BYTES 192
#define KITHI_BODY_ALIGNMENT 64
#define KITHI_CHECKED_BYTES 65536
#define KITHI_FORMAT_VERSION 1
#define KITHI_PARAMS 8
#define KITHI_STORE_ID_BYTES 16
#define KITHI_SEQUENCE_MAX (UINT64_C(1) << 62)

/* Says that a file is the snapshot of a store (kith/store.h): the newest operations may be in its journal. */
typedef struct kithi_store_mark {
    bool is_store; /* if false, the other fields are 0 */
    uint8_t id[KITHI_STORE_ID_BYTES];
    uint64_t sequence; /* of the last journal record that the file includes */
} kithi_store_mark;

/* The header, decoded. */
typedef struct kithi_head {
    uint16_t kind_id;
    kith_hash hash;
    uint64_t capacity;
    double rate;
    uint64_t count;
    /* Not next to `count`: gcc would update both by one vector addition, which takes longer than two. */
    uint64_t body_bytes;
    uint64_t fill; /* number of nonzero cells; 0 for kinds that do not count them */
    uint64_t params[KITHI_PARAMS];
    uint64_t recipe;      /* how a program turned its input into keys; at most KITHI_RECIPE_MAX */
    uint64_t notes_bytes; /* size of the notes after the checksums (notes.h); 0: no notes */
    kithi_store_mark store;
} kithi_head;

#define KITHI_RECIPE_MAX ((UINT64_C(1) << 48) - 1)

/* Computes the size of header, body and checksums, without notes. Returns false if body_bytes is more than 2^62. */
bool kithi_block_bytes(uint64_t body_bytes, uint64_t *block_bytes);

/* Writes the header and the checksums around the body, which is already in the block. Does not touch the notes. */
void kithi_block_seal(uint8_t *block, const kithi_head *head);

/* The same for a body that consists of several pieces of memory, `body`, with head->body_bytes bytes in total. The
 * header is written to `header` and the checksums to `checksums`. */
void kithi_parts_seal(uint8_t *header, const kithi_part *body, uint8_t *checksums, const kithi_head *head);

/* Changes the mark in a sealed header, and the header's checksum. */
void kithi_header_set_mark(uint8_t *header, const kithi_store_mark *mark);

/* Reads and verifies the header: signature, version, reserved bytes, checksum, hash. `byte_count` is the size of
 * the file, which may differ from what the header says.
 *
 * If the header says that notes follow, head->notes_bytes is their size as they state it, or the smallest possible size
 * if `bytes` ends before them. The caller must verify the fields whose meaning depends on the kind: capacity, rate,
 * parameters, body size.
 *
 * Fails with KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_TRUNCATED, KITH_E_VERSION or KITH_E_CORRUPT. */
kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);

/* Verifies the checksums of a body whose header has been read and whose size has been checked. Fails with
 * KITH_E_CORRUPT. */
kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head);

#endif
