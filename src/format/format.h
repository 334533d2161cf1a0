/* format/format.h: writes and reads the block of bytes that holds a filter or a table. format/head.h describes it. */
#ifndef KITHI_FORMAT_FORMAT_H
#define KITHI_FORMAT_FORMAT_H

#include "core/part.h"
#include "format/head.h"

/* Writes the header and the checksums around the body, which is already in the block. Does not touch the notes. */
void kithi_block_seal(uint8_t *block, const kithi_head *head);

/* The same for a body that consists of several pieces of memory, `body`, with head->body_bytes bytes in total. The
 * header is written to `header` and the checksums to `checksums`. */
void kithi_parts_seal(uint8_t *header, const kithi_part *body, uint8_t *checksums, const kithi_head *head);

/* Changes the mark of a store in a sealed header, and updates the header's checksum. */
void kithi_header_set_mark(uint8_t *header, const kithi_store_mark *mark);

/* Reads and verifies the header: signature, version, checksum, flags, mark of a store, hash. `byte_count` is the actual
 * size of the block, which may differ from what the header says.
 *
 * If the header says that there are notes, head->notes_bytes is set to the size that the header of the notes states
 * (notes.h). If the block ends before the end of that header, head->notes_bytes is set to KITHI_NOTES_HEADER_BYTES, and
 * the caller finds that the block is truncated. The caller must verify the fields whose meaning depends on the kind:
 * capacity, rate, parameters, body size.
 *
 * Fails with KITH_E_EMPTY, KITH_E_NOT_KITH, KITH_E_TRUNCATED, KITH_E_VERSION or KITH_E_CORRUPT. */
kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head);

/* Verifies the checksums of a body whose header has been read and whose size has been checked. Fails with
 * KITH_E_CORRUPT. */
kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head);

#endif
