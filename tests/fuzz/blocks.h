/* fuzz/blocks.h: turns the input of a fuzzer into the bytes of a file.
 *
 * The first byte of the input says how. Bits 0 and 1 are the flags of opening. Bits 2 and 3:
 *
 *     0   the rest is the file as it is
 *     1   the rest is 16 words of header fields and a body; both are sealed, so that checksums do not stop the fuzzer
 *     2   likewise, and the length of the body that the header states is the input's, too
 *     3   a good filter of a kind, capacity and number of keys that the input chooses, then edits of it (two bytes of
 *         offset, one of XOR), then sealed: what an attacker who knows the format would do */
#ifndef KITH_TESTS_FUZZ_BLOCKS_H
#define KITH_TESTS_FUZZ_BLOCKS_H

#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/format.h"

enum { FUZZ_PLAIN, FUZZ_SEALED, FUZZ_LYING, FUZZ_EDITED };
enum { FUZZ_FIELDS = 16 };

/* Offsets in the header: docs/format.md. */
enum { FUZZ_AT_BODY_BYTES = 96, FUZZ_AT_BODY_CHECKSUM = 176, FUZZ_AT_CHECKSUM = 184 };

/* What a target does with the bytes. `flags` are two bits of kith_open_flags. */
typedef void (*fuzz_use)(const uint8_t *bytes, size_t byte_count, unsigned flags);

static inline void fuzz_ignore(kith_status status) {
    (void)status;
}

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
    kithi_store64(block + FUZZ_AT_CHECKSUM, kithi_checksum(block, FUZZ_AT_CHECKSUM));
}

static inline void fuzz_sealed(const uint8_t *input, size_t byte_count, unsigned flags, bool lying, fuzz_use use) {
    kithi_head head = fuzz_head(input, byte_count);
    size_t used = byte_count < 8 * FUZZ_FIELDS ? byte_count : 8 * FUZZ_FIELDS;
    uint64_t stated_bytes = head.body_bytes, block_bytes = 0;
    head.body_bytes = (byte_count - used) & ~(uint64_t)63;
    if (!kithi_block_bytes(head.body_bytes, &block_bytes))
        return;
    uint8_t *block = calloc(1, (size_t)block_bytes);
    if (block == NULL)
        return;
    if (head.body_bytes != 0)
        memcpy(block + KITHI_HEADER_BYTES, input + used, (size_t)head.body_bytes);
    kithi_block_seal(block, &head);
    if (lying) {
        kithi_store64(block + FUZZ_AT_BODY_BYTES, stated_bytes);
        fuzz_seal_header(block);
    }
    use(block, (size_t)block_bytes, flags);
    free(block);
}

static inline void fuzz_edited(const uint8_t *input, size_t byte_count, unsigned flags, fuzz_use use) {
    enum { CHOICES = 4, EDIT_BYTES = 3 };
    static const char *const INNER[] = {"inner=blocked", "inner=overlap", "inner=counting growth=1", "inner=bloom",
                                        "inner=blocked_counting"};
    if (byte_count < CHOICES)
        return;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter = NULL;
    const void *bytes;
    size_t block_bytes;
    spec.kind = kith_filter_kind_at(input[0] % kith_filter_kind_count())->name;
    spec.capacity = 1 + input[1] % 64u;
    spec.rate = 0.5 / (1 + input[2]);
    static const kith_note notes[] = {{"note", "text"}, {"field", "3"}};
    spec.notes = notes;
    spec.note_count = input[1] >> 6 & 2;
    spec.recipe = input[1];
    if (strcmp(spec.kind, "layers") == 0)
        spec.options = INNER[input[2] % (sizeof INNER / sizeof *INNER)];
    kith_status status = kith_filter_create(&spec, &filter);
    if (status == KITH_E_UNSUPPORTED) { /* a static kind */
        uint64_t digests[64];
        for (uint64_t key = 0; key < spec.capacity; key++)
            digests[key] = kith_digest(&spec.hash, &key, sizeof key);
        size_t n = input[3] < spec.capacity ? input[3] : (size_t)spec.capacity;
        status = kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, &filter);
    } else if (status == KITH_OK) {
        for (uint64_t key = 0; key < input[3]; key++)
            fuzz_ignore(kith_filter_add(filter, &key, sizeof key, NULL));
    }
    if (status != KITH_OK)
        return;
    if (kith_filter_bytes(filter, &bytes, &block_bytes) != KITH_OK)
        abort();
    uint8_t *block = malloc(block_bytes);
    if (block == NULL)
        abort();
    memcpy(block, bytes, block_bytes);
    kith_filter_free(filter);

    uint64_t body_bytes = kithi_load64(block + FUZZ_AT_BODY_BYTES);
    for (size_t at = CHOICES; at + EDIT_BYTES <= byte_count; at += EDIT_BYTES) {
        size_t offset = kithi_load16(input + at);
        if (offset < block_bytes)
            block[offset] ^= input[at + 2];
    }
    uint8_t *checksums = block + KITHI_HEADER_BYTES + body_bytes;
    if (body_bytes <= KITHI_CHECKED_BYTES) { /* else only the header is sealed */
        kithi_store64(checksums, kithi_checksum(block + KITHI_HEADER_BYTES, (size_t)body_bytes));
        kithi_store64(block + FUZZ_AT_BODY_CHECKSUM, kithi_checksum(checksums, 8));
    }
    fuzz_seal_header(block);
    use(block, block_bytes, flags);
    free(block);
}

static inline void fuzz_block(const uint8_t *data, size_t size, fuzz_use use) {
    if (size == 0)
        return;
    unsigned flags = data[0] & 3;
    switch (data[0] >> 2 & 3) {
    case FUZZ_PLAIN:
        use(data + 1, size - 1, flags);
        break;
    case FUZZ_SEALED:
        fuzz_sealed(data + 1, size - 1, flags, false, use);
        break;
    case FUZZ_LYING:
        fuzz_sealed(data + 1, size - 1, flags, true, use);
        break;
    case FUZZ_EDITED:
        fuzz_edited(data + 1, size - 1, flags, use);
        break;
    }
}

#endif
