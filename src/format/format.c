/* Writes and reads the header and the checksums around a body. Both directions use the same list of header offsets.
 *
 * Checksums detect accidental damage, not attackers: anyone who can write the file can compute valid checksums. Nothing
 * here is therefore trusted for memory safety. The kind recomputes all sizes from the parameters and checks the body.
 *
 * The body has one checksum per 64 KiB, so that damage can be located. The header holds the checksum of those
 * checksums, so its 192 bytes identify the content of the whole block except the notes. */
#include "format/format.h"

#include <assert.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "format/notes.h"

/* The first byte is above 127 and the signature contains both line endings, so a transfer in text mode breaks it
 * visibly. */
static const uint8_t SIGNATURE[8] = {0x8b, 'K', 'I', 'T', 'H', '\r', '\n', 0x1a};

enum {
    AT_SIGNATURE = 0,
    AT_VERSION = 8,
    AT_KIND = 10,
    AT_HEADER_BYTES = 12,
    AT_FLAGS = 14,
    AT_STORE_ID = 16, /* 16 bytes */
    AT_HASH = 32,
    AT_RECIPE = 34, /* 6 bytes */
    AT_SEED = 40,
    AT_KEY = 48,
    AT_CAPACITY = 64,
    AT_RATE = 72,
    AT_COUNT = 80,
    AT_FILL = 88,
    AT_BODY_BYTES = 96,
    AT_PARAMS = 104,
    AT_SEQUENCE = 168,
    AT_BODY_CHECKSUM = 176,
    AT_HEADER_CHECKSUM = 184,
};
static_assert(AT_PARAMS + 8 * KITHI_PARAMS == AT_SEQUENCE, "the sequence number follows the parameters");
static_assert(AT_STORE_ID + KITHI_STORE_ID_BYTES == AT_HASH, "the hash follows the store id");
static_assert(AT_HEADER_CHECKSUM + 8 == KITHI_HEADER_BYTES, "the header's checksum is its last field");
static_assert(KITHI_HEADER_BYTES % KITHI_BODY_ALIGNMENT == 0, "the body is aligned in the file");

enum { FLAG_NOTES = 1 << 0, FLAG_STORE = 1 << 1 };

static uint64_t checksum_count(uint64_t body_bytes) {
    return body_bytes / KITHI_CHECKED_BYTES + (body_bytes % KITHI_CHECKED_BYTES != 0);
}

bool kithi_block_bytes(uint64_t body_bytes, uint64_t *block_bytes) {
    if (body_bytes > UINT64_C(1) << 62)
        return false;
    *block_bytes = KITHI_HEADER_BYTES + body_bytes + 8 * checksum_count(body_bytes);
    return true;
}

/* How many bytes of the body checksum i covers. */
static size_t checked_bytes(uint64_t body_bytes, uint64_t i) {
    uint64_t left = body_bytes - i * KITHI_CHECKED_BYTES;
    return (size_t)(left < KITHI_CHECKED_BYTES ? left : KITHI_CHECKED_BYTES);
}

static void write_header(uint8_t *block, const kithi_head *head, uint64_t body_checksum) {
    memset(block, 0, KITHI_HEADER_BYTES);
    memcpy(block + AT_SIGNATURE, SIGNATURE, sizeof SIGNATURE);
    kithi_store16(block + AT_VERSION, KITHI_FORMAT_VERSION);
    kithi_store16(block + AT_KIND, head->kind_id);
    kithi_store16(block + AT_HEADER_BYTES, KITHI_HEADER_BYTES);
    kithi_store16(block + AT_FLAGS,
                  (uint16_t)((head->notes_bytes != 0 ? FLAG_NOTES : 0) | (head->store.is_store ? FLAG_STORE : 0)));
    memcpy(block + AT_STORE_ID, head->store.id, sizeof head->store.id);
    kithi_store16(block + AT_HASH, (uint16_t)head->hash.id);
    for (unsigned i = 0; i < AT_SEED - AT_RECIPE; i++)
        block[AT_RECIPE + i] = (uint8_t)(head->recipe >> (8 * i));
    kithi_store64(block + AT_SEED, head->hash.seed);
    memcpy(block + AT_KEY, head->hash.key, sizeof head->hash.key);
    kithi_store64(block + AT_CAPACITY, head->capacity);
    uint64_t rate_bits;
    memcpy(&rate_bits, &head->rate, sizeof rate_bits);
    kithi_store64(block + AT_RATE, rate_bits);
    kithi_store64(block + AT_COUNT, head->count);
    kithi_store64(block + AT_FILL, head->fill);
    kithi_store64(block + AT_BODY_BYTES, head->body_bytes);
    for (size_t i = 0; i < KITHI_PARAMS; i++)
        kithi_store64(block + AT_PARAMS + 8 * i, head->params[i]);
    kithi_store64(block + AT_SEQUENCE, head->store.sequence);
    kithi_store64(block + AT_BODY_CHECKSUM, body_checksum);
    kithi_store64(block + AT_HEADER_CHECKSUM, kithi_checksum(block, AT_HEADER_CHECKSUM));
}

void kithi_header_set_mark(uint8_t *header, const kithi_store_mark *mark) {
    uint16_t other_flags = kithi_load16(header + AT_FLAGS) & (uint16_t)~FLAG_STORE;
    kithi_store16(header + AT_FLAGS, (uint16_t)(other_flags | (mark->is_store ? FLAG_STORE : 0)));
    memcpy(header + AT_STORE_ID, mark->id, sizeof mark->id);
    kithi_store64(header + AT_SEQUENCE, mark->sequence);
    kithi_store64(header + AT_HEADER_CHECKSUM, kithi_checksum(header, AT_HEADER_CHECKSUM));
}

void kithi_parts_seal(uint8_t *header, const kithi_part *body, uint8_t *checksums, const kithi_head *head) {
    uint64_t count = checksum_count(head->body_bytes);
    kithi_parts_cursor at = {body, 0};
    for (uint64_t i = 0; i < count; i++)
        kithi_store64(checksums + 8 * i, kithi_checksum_next(&at, checked_bytes(head->body_bytes, i)));
    write_header(header, head, kithi_checksum(checksums, (size_t)(8 * count)));
}

void kithi_block_seal(uint8_t *block, const kithi_head *head) {
    uint8_t *body = block + KITHI_HEADER_BYTES;
    kithi_part whole = {body, (size_t)head->body_bytes};
    kithi_parts_seal(block, &whole, body + head->body_bytes, head);
}

static bool zero_between(const uint8_t *bytes, size_t from, size_t to) {
    uint8_t any = 0;
    for (size_t i = from; i < to; i++)
        any |= bytes[i];
    return any == 0;
}

static uint64_t recipe_read(const uint8_t *bytes) {
    uint64_t recipe = 0;
    for (unsigned i = 0; i < AT_SEED - AT_RECIPE; i++)
        recipe |= (uint64_t)bytes[AT_RECIPE + i] << (8 * i);
    return recipe;
}

/* Reads the size of the notes, which follow the checksums. If the file ends before them, uses the smallest possible
 * size. KITH_E_CORRUPT if the size is not valid. */
static kith_status notes_bytes_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    uint64_t notes_at;
    if (!kithi_block_bytes(head->body_bytes, &notes_at))
        return KITH_E_CORRUPT;
    head->notes_bytes = KITHI_NOTES_HEADER_BYTES;
    if (byte_count < notes_at || byte_count - notes_at < KITHI_NOTES_HEADER_BYTES)
        return KITH_OK;
    head->notes_bytes = kithi_notes_claimed_bytes(bytes + notes_at);
    return head->notes_bytes != 0 ? KITH_OK : KITH_E_CORRUPT;
}

kith_status kithi_header_read(const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    if (byte_count == 0)
        return KITH_E_EMPTY;
    size_t seen = byte_count < sizeof SIGNATURE ? (size_t)byte_count : sizeof SIGNATURE;
    if (memcmp(bytes, SIGNATURE, seen) != 0)
        return KITH_E_NOT_KITH;
    if (byte_count < AT_KIND)
        return KITH_E_TRUNCATED;
    /* The version is checked before the checksum, because another version may store the checksum elsewhere. */
    if (kithi_load16(bytes + AT_VERSION) != KITHI_FORMAT_VERSION)
        return KITH_E_VERSION;
    if (byte_count < KITHI_HEADER_BYTES)
        return KITH_E_TRUNCATED;
    if (kithi_load64(bytes + AT_HEADER_CHECKSUM) != kithi_checksum(bytes, AT_HEADER_CHECKSUM) ||
        kithi_load16(bytes + AT_HEADER_BYTES) != KITHI_HEADER_BYTES)
        return KITH_E_CORRUPT;
    uint16_t flags = kithi_load16(bytes + AT_FLAGS);
    bool is_store = (flags & FLAG_STORE) != 0, has_id = !zero_between(bytes, AT_STORE_ID, AT_HASH);
    if ((flags & ~(FLAG_NOTES | FLAG_STORE)) != 0 || is_store != has_id ||
        kithi_load64(bytes + AT_SEQUENCE) > (is_store ? KITHI_SEQUENCE_MAX : 0))
        return KITH_E_CORRUPT;

    uint16_t hash_id = kithi_load16(bytes + AT_HASH);
    if (hash_id > KITH_HASH_SIPHASH)
        return KITH_E_CORRUPT;
    *head = (kithi_head){
        .kind_id = kithi_load16(bytes + AT_KIND),
        .hash = {.id = (kith_hash_id)hash_id, .seed = kithi_load64(bytes + AT_SEED)},
        .capacity = kithi_load64(bytes + AT_CAPACITY),
        .count = kithi_load64(bytes + AT_COUNT),
        .fill = kithi_load64(bytes + AT_FILL),
        .body_bytes = kithi_load64(bytes + AT_BODY_BYTES),
        .recipe = recipe_read(bytes),
        .store = {.is_store = is_store, .sequence = kithi_load64(bytes + AT_SEQUENCE)},
    };
    memcpy(head->store.id, bytes + AT_STORE_ID, sizeof head->store.id);
    memcpy(head->hash.key, bytes + AT_KEY, sizeof head->hash.key);
    uint64_t rate_bits = kithi_load64(bytes + AT_RATE);
    memcpy(&head->rate, &rate_bits, sizeof head->rate);
    for (size_t i = 0; i < KITHI_PARAMS; i++)
        head->params[i] = kithi_load64(bytes + AT_PARAMS + 8 * i);
    if (!kithi_hash_valid(&head->hash))
        return KITH_E_CORRUPT;
    return (flags & FLAG_NOTES) != 0 ? notes_bytes_read(bytes, byte_count, head) : KITH_OK;
}

kith_status kithi_body_verify(const uint8_t *block, const kithi_head *head) {
    const uint8_t *body = block + KITHI_HEADER_BYTES;
    const uint8_t *checksums = body + head->body_bytes;
    uint64_t count = checksum_count(head->body_bytes);
    if (kithi_load64(block + AT_BODY_CHECKSUM) != kithi_checksum(checksums, (size_t)(8 * count)))
        return KITH_E_CORRUPT;
    for (uint64_t i = 0; i < count; i++)
        if (kithi_load64(checksums + 8 * i) !=
            kithi_checksum(body + i * KITHI_CHECKED_BYTES, checked_bytes(head->body_bytes, i)))
            return KITH_E_CORRUPT;
    return KITH_OK;
}
