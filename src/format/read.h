/* format/read.h: reads and checks the header, the checksums and the notes of a block, as inline functions: for
 * format.c, notes.c, handle.c and salvage.c, and for kith/reader.h. It is in the common subset of C11 and C++17.
 *
 * With KITH_READER_NO_HASH, which only programs that include kith/reader.h define, there is no XXH3: checksums are not
 * compared. */
#ifndef KITHI_FORMAT_READ_H
#define KITHI_FORMAT_READ_H

#include "core/bits.h"
#include "core/digest.h"
#include "format/head.h"

/* Returns whether `checksum` is that of the bytes. */
static inline bool kithi_checksum_holds(uint64_t checksum, const uint8_t *bytes, size_t byte_count) {
#ifdef KITH_READER_NO_HASH
    (void)checksum, (void)bytes, (void)byte_count;
    return true;
#else
    return checksum == kithi_xxh3(bytes, byte_count, 0);
#endif
}

/* ---- notes ---- */

static inline uint64_t kithi_notes_bytes_for(uint64_t content_bytes) {
    return KITHI_NOTES_AT_CONTENT + (content_bytes + 7) / 8 * 8;
}

/* Returns the size of a section of notes according to its first KITHI_NOTES_HEADER_BYTES bytes, or 0 if that size is
 * not valid. */
static inline uint64_t kithi_notes_claimed_bytes(const uint8_t *section) {
    uint64_t content_bytes = kithi_load64(section + KITHI_NOTES_AT_CONTENT_BYTES);
    if (content_bytes == 0 || content_bytes > KITHI_NOTES_CONTENT_MAX)
        return 0;
    return kithi_notes_bytes_for(content_bytes);
}

/* Returns a pointer to the byte after the string, or NULL if the string does not end before `end`. */
static inline const char *kithi_after_string(const char *at, const char *end) {
    const char *nul = (const char *)memchr(at, '\0', (size_t)(end - at));
    return nul == NULL ? NULL : nul + 1;
}

static inline bool kithi_notes_strings_are_valid(const char *content, const char *end) {
    unsigned count = 0;
    for (const char *at = content; at < end;) {
        const char *name = at, *value = kithi_after_string(at, end);
        if (value == NULL || *name == '\0' || value == end || ++count > KITHI_NOTES_MAX)
            return false;
        at = kithi_after_string(value, end);
        if (at == NULL)
            return false;
        for (const char *earlier = content; earlier < name;) {
            if (strcmp(earlier, name) == 0)
                return false;
            earlier += strlen(earlier) + 1; /* skips its name; all strings before `at` are known to end */
            earlier += strlen(earlier) + 1; /* skips its value */
        }
    }
    return true;
}

/* Checks the checksum, strings and padding of a section of exactly this many bytes, which may be hostile. */
static inline kith_status kithi_notes_verify_inline(const uint8_t *section, uint64_t section_bytes) {
    if (section_bytes < KITHI_NOTES_HEADER_BYTES || kithi_notes_claimed_bytes(section) != section_bytes)
        return KITH_E_CORRUPT;
    if (!kithi_checksum_holds(kithi_load64(section + KITHI_NOTES_AT_CHECKSUM), section + KITHI_NOTES_AT_CONTENT_BYTES,
                              (size_t)section_bytes - KITHI_NOTES_AT_CONTENT_BYTES))
        return KITH_E_CORRUPT;
    const uint8_t *content = section + KITHI_NOTES_AT_CONTENT;
    const uint8_t *end = content + kithi_load64(section + KITHI_NOTES_AT_CONTENT_BYTES);
    if (!kithi_is_zero(end, (uint64_t)(section + section_bytes - end)))
        return KITH_E_CORRUPT;
    return kithi_notes_strings_are_valid((const char *)content, (const char *)end) ? KITH_OK : KITH_E_CORRUPT;
}

/* ---- header ---- */

static inline uint64_t kithi_recipe_read(const uint8_t *bytes) {
    uint64_t recipe = 0;
    for (unsigned i = 0; i < KITHI_AT_SEED - KITHI_AT_RECIPE; i++)
        recipe |= (uint64_t)bytes[KITHI_AT_RECIPE + i] << (8 * i);
    return recipe;
}

/* Sets head->notes_bytes to the size of the notes, which follow the checksums. If the file ends before the header of
 * the notes does, this is the size of that header. Fails with KITH_E_CORRUPT if the size is not valid. */
static inline kith_status kithi_notes_bytes_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    uint64_t notes_at;
    if (!kithi_block_bytes(head->body_bytes, &notes_at))
        return KITH_E_CORRUPT;
    head->notes_bytes = KITHI_NOTES_HEADER_BYTES;
    if (byte_count < notes_at || byte_count - notes_at < KITHI_NOTES_HEADER_BYTES)
        return KITH_OK;
    head->notes_bytes = kithi_notes_claimed_bytes(bytes + notes_at);
    return head->notes_bytes != 0 ? KITH_OK : KITH_E_CORRUPT;
}

/* Implements kithi_header_read(): see format/format.h. */
static inline kith_status kithi_header_read_inline(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    if (byte_count == 0)
        return KITH_E_EMPTY;
    size_t seen = byte_count < sizeof KITHI_SIGNATURE ? (size_t)byte_count : sizeof KITHI_SIGNATURE;
    if (memcmp(bytes, KITHI_SIGNATURE, seen) != 0)
        return KITH_E_NOT_KITH;
    if (byte_count < KITHI_AT_KIND)
        return KITH_E_TRUNCATED;
    /* The version is checked before the checksum, because another version may store the checksum elsewhere. */
    if (kithi_load16(bytes + KITHI_AT_VERSION) != KITHI_FORMAT_VERSION)
        return KITH_E_VERSION;
    if (byte_count < KITHI_HEADER_BYTES)
        return KITH_E_TRUNCATED;
    if (!kithi_checksum_holds(kithi_load64(bytes + KITHI_AT_HEADER_CHECKSUM), bytes, KITHI_AT_HEADER_CHECKSUM) ||
        kithi_load16(bytes + KITHI_AT_HEADER_BYTES) != KITHI_HEADER_BYTES)
        return KITH_E_CORRUPT;
    uint16_t flags = kithi_load16(bytes + KITHI_AT_FLAGS);
    bool is_store = (flags & KITHI_FLAG_STORE) != 0;
    bool has_id = !kithi_is_zero(bytes + KITHI_AT_STORE_ID, KITHI_STORE_ID_BYTES);
    if ((flags & ~(KITHI_FLAG_NOTES | KITHI_FLAG_STORE)) != 0 || is_store != has_id ||
        kithi_load64(bytes + KITHI_AT_SEQUENCE) > (is_store ? KITHI_SEQUENCE_MAX : 0))
        return KITH_E_CORRUPT;

    uint16_t hash_id = kithi_load16(bytes + KITHI_AT_HASH);
    if (hash_id > KITH_HASH_SIPHASH)
        return KITH_E_CORRUPT;
    memset(head, 0, sizeof *head);
    head->kind_id = kithi_load16(bytes + KITHI_AT_KIND);
    head->hash.id = (kith_hash_id)hash_id;
    head->hash.seed = kithi_load64(bytes + KITHI_AT_SEED);
    memcpy(head->hash.key, bytes + KITHI_AT_KEY, sizeof head->hash.key);
    head->capacity = kithi_load64(bytes + KITHI_AT_CAPACITY);
    head->count = kithi_load64(bytes + KITHI_AT_COUNT);
    head->fill = kithi_load64(bytes + KITHI_AT_FILL);
    head->body_bytes = kithi_load64(bytes + KITHI_AT_BODY_BYTES);
    head->recipe = kithi_recipe_read(bytes);
    head->store.is_store = is_store;
    head->store.sequence = kithi_load64(bytes + KITHI_AT_SEQUENCE);
    memcpy(head->store.id, bytes + KITHI_AT_STORE_ID, sizeof head->store.id);
    uint64_t rate_bits = kithi_load64(bytes + KITHI_AT_RATE);
    memcpy(&head->rate, &rate_bits, sizeof head->rate);
    for (size_t i = 0; i < KITHI_PARAM_COUNT; i++)
        head->params[i] = kithi_load64(bytes + KITHI_AT_PARAMS + 8 * i);
    if (!kithi_hash_valid_inline(&head->hash))
        return KITH_E_CORRUPT;
    return (flags & KITHI_FLAG_NOTES) != 0 ? kithi_notes_bytes_read(bytes, byte_count, head) : KITH_OK;
}

/* Checks the fields that every kind has in common. Bit i of `params` is set if the kind uses parameter i. */
static inline kith_status kithi_head_check(const kithi_head *head, unsigned params) {
    bool rate_valid = head->rate > 0 && head->rate < 1; /* false for NaN */
    if (!rate_valid || head->capacity == 0)
        return KITH_E_CORRUPT;
    for (unsigned i = 0; i < KITHI_PARAM_COUNT; i++)
        if ((params >> i & 1) == 0 && head->params[i] != 0)
            return KITH_E_CORRUPT;
    return KITH_OK;
}

/* Compares the sizes in the header with `body_bytes`, which follows from the parameters, and with the size of the whole
 * block, which is `block_bytes`. */
static inline kith_status kithi_sizes_check(const kithi_head *head, uint64_t body_bytes, uint64_t block_bytes) {
    uint64_t expected_bytes;
    if (body_bytes != head->body_bytes || !kithi_block_bytes(head->body_bytes, &expected_bytes))
        return KITH_E_CORRUPT;
    expected_bytes += head->notes_bytes;
    if (block_bytes != expected_bytes)
        return block_bytes < expected_bytes ? KITH_E_TRUNCATED : KITH_E_TRAILING;
    return KITH_OK;
}

#ifndef KITH_READER_NO_HASH
/* Implements kithi_body_verify(): see format/format.h. */
static inline kith_status kithi_body_verify_inline(const uint8_t *block, uint64_t body_bytes) {
    const uint8_t *body = block + KITHI_HEADER_BYTES;
    const uint8_t *checksums = body + body_bytes;
    uint64_t count = kithi_checksum_count(body_bytes);
    if (!kithi_checksum_holds(kithi_load64(block + KITHI_AT_BODY_CHECKSUM), checksums, (size_t)(8 * count)))
        return KITH_E_CORRUPT;
    for (uint64_t i = 0; i < count; i++)
        if (!kithi_checksum_holds(kithi_load64(checksums + 8 * i), body + i * KITHI_PAGE_BYTES,
                                  kithi_page_bytes(body_bytes, i)))
            return KITH_E_CORRUPT;
    return KITH_OK;
}
#endif

#endif
