/* Writes and reads the header and the checksums around a body. Both directions use the same list of header offsets.
 *
 * Checksums detect accidental damage, not attackers: anyone who can write the file can compute valid checksums. No
 * value that is read here is therefore trusted for memory safety. The kind recomputes all sizes from the parameters and
 * checks the body.
 *
 * The body has one checksum per 64 KiB, so that damage can be located. The header holds the checksum of those
 * checksums, so its 192 bytes identify the content of the whole block except the notes. */
#include "format/format.h"

#include <assert.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/read.h"

static void write_header(uint8_t *block, const kithi_head *head, uint64_t body_checksum) {
    memset(block, 0, KITHI_HEADER_BYTES);
    memcpy(block + KITHI_AT_SIGNATURE, KITHI_SIGNATURE, sizeof KITHI_SIGNATURE);
    kithi_store16(block + KITHI_AT_VERSION, KITHI_FORMAT_VERSION);
    kithi_store16(block + KITHI_AT_KIND, head->kind_id);
    kithi_store16(block + KITHI_AT_HEADER_BYTES, KITHI_HEADER_BYTES);
    kithi_store16(block + KITHI_AT_FLAGS, (uint16_t)((head->notes_bytes != 0 ? KITHI_FLAG_NOTES : 0) |
                                                     (head->store.is_store ? KITHI_FLAG_STORE : 0)));
    memcpy(block + KITHI_AT_STORE_ID, head->store.id, sizeof head->store.id);
    kithi_store16(block + KITHI_AT_HASH, (uint16_t)head->hash.id);
    for (unsigned i = 0; i < KITHI_AT_SEED - KITHI_AT_RECIPE; i++)
        block[KITHI_AT_RECIPE + i] = (uint8_t)(head->recipe >> (8 * i));
    kithi_store64(block + KITHI_AT_SEED, head->hash.seed);
    memcpy(block + KITHI_AT_KEY, head->hash.key, sizeof head->hash.key);
    kithi_store64(block + KITHI_AT_CAPACITY, head->capacity);
    uint64_t rate_bits;
    memcpy(&rate_bits, &head->rate, sizeof rate_bits);
    kithi_store64(block + KITHI_AT_RATE, rate_bits);
    kithi_store64(block + KITHI_AT_COUNT, head->count);
    kithi_store64(block + KITHI_AT_FILL, head->fill);
    kithi_store64(block + KITHI_AT_BODY_BYTES, head->body_bytes);
    for (size_t i = 0; i < KITHI_PARAM_COUNT; i++)
        kithi_store64(block + KITHI_AT_PARAMS + 8 * i, head->params[i]);
    kithi_store64(block + KITHI_AT_SEQUENCE, head->store.sequence);
    kithi_store64(block + KITHI_AT_BODY_CHECKSUM, body_checksum);
    kithi_store64(block + KITHI_AT_HEADER_CHECKSUM, kithi_checksum(block, KITHI_AT_HEADER_CHECKSUM));
}

void kithi_header_set_mark(uint8_t *header, const kithi_store_mark *mark) {
    uint16_t other_flags = kithi_load16(header + KITHI_AT_FLAGS) & (uint16_t)~KITHI_FLAG_STORE;
    kithi_store16(header + KITHI_AT_FLAGS, (uint16_t)(other_flags | (mark->is_store ? KITHI_FLAG_STORE : 0)));
    memcpy(header + KITHI_AT_STORE_ID, mark->id, sizeof mark->id);
    kithi_store64(header + KITHI_AT_SEQUENCE, mark->sequence);
    kithi_store64(header + KITHI_AT_HEADER_CHECKSUM, kithi_checksum(header, KITHI_AT_HEADER_CHECKSUM));
}

void kithi_parts_seal(uint8_t *header, const kithi_part *body, uint8_t *checksums, const kithi_head *head) {
    uint64_t count = kithi_checksum_count(head->body_bytes);
    kithi_parts_cursor at = {body, 0};
    for (uint64_t i = 0; i < count; i++)
        kithi_store64(checksums + 8 * i, kithi_checksum_next(&at, kithi_page_bytes(head->body_bytes, i)));
    write_header(header, head, kithi_checksum(checksums, (size_t)(8 * count)));
}

void kithi_block_seal(uint8_t *block, const kithi_head *head) {
    uint8_t *body = block + KITHI_HEADER_BYTES;
    kithi_part whole = {body, (size_t)head->body_bytes};
    kithi_parts_seal(block, &whole, body + head->body_bytes, head);
}

kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    return kithi_header_read_inline(bytes, byte_count, head);
}

kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head) {
    return kithi_body_verify_inline(block, head->body_bytes);
}
