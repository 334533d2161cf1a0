/* fuzz/blocks.h: turns the input of a fuzzer into the bytes of a file.
 *
 * The first byte of the input says how. Bits 0 and 1 are the flags of opening. Bits 2 and 3:
 *
 *     0   the rest is the file as it is
 *     1   the rest is 16 words of header fields and a body; both are sealed, so that checksums do not stop the fuzzer
 *     2   likewise, and the length of the body that the header states is the input's, too
 *     3   a good filter (three bytes choose a prototype, one how many keys it has), then edits of it (two bytes of
 *         offset, one of XOR), then all checksums are made right again: what an attacker who knows the format would do.
 *         With bit 4 only the checksum of the header is */
#ifndef KITH_TESTS_FUZZ_BLOCKS_H
#define KITH_TESTS_FUZZ_BLOCKS_H

#include <kith/kith.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/format.h"
#include "fuzz/prototypes.h"

enum { FUZZ_PLAIN, FUZZ_SEALED, FUZZ_LYING, FUZZ_EDITED };
enum { FUZZ_FIELDS = 16, FUZZ_BODY_BYTES_MAX = 1 << 13 };

/* What a target does with the bytes. `flags` are two bits of kith_open_flags. */
typedef void (*fuzz_use)(const uint8_t *bytes, size_t byte_count, unsigned flags);

/* The fields of a header from the input's words; what is missing is 0. */
static inline kithi_head fuzz_head(const uint8_t *input, size_t byte_count) {
    uint64_t words[FUZZ_FIELDS] = {0};
    for (size_t i = 0; i < FUZZ_FIELDS && 8 * (i + 1) <= byte_count; i++)
        words[i] = kithi_load64(input + 8 * i);
    kithi_head head = {
        .kind_id = (uint16_t)words[0],
        .hash = {.id = (kith_hash_id)(words[1] & 1)},
        .capacity = words[2],
        .count = words[4],
        .fill = words[5],
        .body_bytes = words[6],
    };
    if (head.hash.id == KITH_HASH_XXH3)
        head.hash.seed = words[7];
    memcpy(&head.rate, &words[3], sizeof head.rate);
    memcpy(head.params, &words[8], sizeof head.params);
    return head;
}

static inline void fuzz_seal_header(uint8_t *block) {
    kithi_store64(block + KITHI_AT_HEADER_CHECKSUM, kithi_checksum(block, KITHI_AT_HEADER_CHECKSUM));
}

/* Makes the checksums of a block right, as far as the lengths that it states lie within byte_count bytes. */
static inline void fuzz_seal_block(uint8_t *block, size_t byte_count) {
    uint64_t body_bytes = kithi_load64(block + KITHI_AT_BODY_BYTES), used;
    if (kithi_block_bytes(body_bytes, &used) && used <= byte_count) {
        uint8_t *body = block + KITHI_HEADER_BYTES, *checksums = body + body_bytes;
        uint64_t count = kithi_checksum_count(body_bytes);
        for (uint64_t i = 0; i < count; i++)
            kithi_store64(checksums + 8 * i,
                          kithi_checksum(body + i * KITHI_PAGE_BYTES, kithi_page_bytes(body_bytes, i)));
        kithi_store64(block + KITHI_AT_BODY_CHECKSUM, kithi_checksum(checksums, (size_t)(8 * count)));
        if (byte_count - used > KITHI_NOTES_HEADER_BYTES) {
            uint8_t *notes = block + used;
            kithi_store64(notes + KITHI_NOTES_AT_CHECKSUM,
                          kithi_checksum(notes + KITHI_NOTES_AT_CONTENT_BYTES,
                                         byte_count - (size_t)used - KITHI_NOTES_AT_CONTENT_BYTES));
        }
    }
    fuzz_seal_header(block);
}

/* The blocks of layers first, which begin at multiples of 64 bytes; then the whole block. */
static inline void fuzz_seal(uint8_t *block, size_t byte_count) {
    for (size_t at = KITHI_BODY_ALIGNMENT; at + KITHI_HEADER_BYTES <= byte_count; at += KITHI_BODY_ALIGNMENT) {
        uint64_t inner_bytes;
        if (memcmp(block + at, KITHI_SIGNATURE, sizeof KITHI_SIGNATURE) == 0 &&
            kithi_block_bytes(kithi_load64(block + at + KITHI_AT_BODY_BYTES), &inner_bytes) &&
            inner_bytes <= byte_count - at)
            fuzz_seal_block(block + at, (size_t)inner_bytes);
    }
    fuzz_seal_block(block, byte_count);
}

/* Memory of exactly this size, so that a sanitizer finds what is read outside of it. */
static inline uint8_t *fuzz_exact(size_t byte_count) {
    uint8_t *bytes = calloc(1, byte_count + (byte_count == 0));
    HOLD(bytes != NULL);
    return bytes;
}

static inline void fuzz_plain(const uint8_t *input, size_t byte_count, unsigned flags, fuzz_use use) {
    uint8_t *bytes = fuzz_exact(byte_count);
    if (byte_count > 0)
        memcpy(bytes, input, byte_count);
    use(bytes, byte_count, flags);
    free(bytes);
}

static inline void fuzz_sealed(const uint8_t *input, size_t byte_count, unsigned flags, bool lying, fuzz_use use) {
    kithi_head head = fuzz_head(input, byte_count);
    size_t used = byte_count < 8 * FUZZ_FIELDS ? byte_count : 8 * FUZZ_FIELDS;
    uint64_t stated_bytes = head.body_bytes, block_bytes = 0;
    /* A stated length that is not too large is also the true one; what the input does not have is zero. */
    head.body_bytes = (byte_count - used) & ~(uint64_t)63;
    if (!lying && stated_bytes <= FUZZ_BODY_BYTES_MAX && stated_bytes > head.body_bytes)
        head.body_bytes = stated_bytes & ~(uint64_t)63;
    HOLD(kithi_block_bytes(head.body_bytes, &block_bytes));
    uint8_t *block = fuzz_exact((size_t)block_bytes);
    size_t given = byte_count - used < head.body_bytes ? byte_count - used : (size_t)head.body_bytes;
    if (given != 0)
        memcpy(block + KITHI_HEADER_BYTES, input + used, given);
    kithi_block_seal(block, &head);
    if (lying) {
        kithi_store64(block + KITHI_AT_BODY_BYTES, stated_bytes);
        fuzz_seal_header(block);
    }
    use(block, (size_t)block_bytes, flags);
    free(block);
}

/* Changes bytes of a good block of byte_count bytes as the tape says, and makes checksums right again. */
static inline void fuzz_edit(uint8_t *block, size_t byte_count, bool only_header, tape *t) {
    while (!tape_ended(t)) {
        size_t offset = tape_byte(t);
        offset |= (size_t)tape_byte(t) << 8;
        block[offset % byte_count] ^= tape_byte(t);
    }
    if (only_header)
        fuzz_seal_header(block);
    else
        fuzz_seal(block, byte_count);
}

static inline void fuzz_edited(const uint8_t *input, size_t byte_count, unsigned flags, bool only_header,
                               fuzz_use use) {
    tape t = tape_of(input, byte_count);
    const prototype *p = prototype_of(&t);
    size_t fill = tape_byte(&t) % PROTOTYPE_FILLS, block_bytes = p->fills[fill].n;
    uint8_t *block = fuzz_exact(block_bytes);
    memcpy(block, p->fills[fill].bytes, block_bytes);
    fuzz_edit(block, block_bytes, only_header, &t);
    use(block, block_bytes, flags);
    free(block);
}

static inline void fuzz_block(const uint8_t *data, size_t size, fuzz_use use) {
    if (size == 0)
        return;
    unsigned flags = data[0] & 3;
    switch (data[0] >> 2 & 3) {
    case FUZZ_PLAIN:
        fuzz_plain(data + 1, size - 1, flags, use);
        break;
    case FUZZ_SEALED:
        fuzz_sealed(data + 1, size - 1, flags, false, use);
        break;
    case FUZZ_LYING:
        fuzz_sealed(data + 1, size - 1, flags, true, use);
        break;
    case FUZZ_EDITED:
        fuzz_edited(data + 1, size - 1, flags, (data[0] & 16) != 0, use);
        break;
    }
}

#endif
