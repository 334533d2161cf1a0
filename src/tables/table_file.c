/* Saves tables to files and opens them. Table files have the same header and checksums as filter files
 * (format/head.h). The id of the table's kind is the parameter KITHI_PARAM_TABLE_KIND. The kind id in the header says
 * which of two forms the file has:
 *
 *     image     The body is a copy of the table's memory. Opening maps the file or, with KITH_OPEN_COPY, reads it into
 *               memory. Used for tables whose keys have a fixed size, if their kind has `image` and `attach`.
 *     entries   The body is the values of the options, then each key with its value. Opening creates a table and puts
 *               the keys into it. Used for all other tables.
 *
 *               | 8 option values, u64 each | entry | entry | … | zeros to a multiple of 64 bytes |
 *               entry   | key length, LEB128 | key | value, LEB128 |     (no key length if keys have a fixed size)
 *
 * A file may come from an attacker. Every length is checked against the size of the file before it is used, and no file
 * may take much longer to open than an honest one of the same size:
 *
 *   - Whoever wrote the file knows the state of the random number generator in its header, and may have chosen keys
 *     that all collide under the hash functions drawn from it. So a table that is built from entries draws its hash
 *     functions from a new random seed.
 *   - Even with random hash functions a put may have to compare the key with every other key: in a list, or in a chain
 *     table that was created with too few slots and does not grow. Such kinds have `append`, which does not compare.
 *     Repeated keys are then found with a hash set of all keys, under SipHash with a random key. */
#include <assert.h>
#include <string.h>

#include <kith/filter.h>

#include "core/bits.h"
#include "core/hash.h"
#include "os/map.h"
#include "os/replace.h"
#include "tables/table_kind.h"

/* The kind id in the header. No filter kind has these ids. */
#define IMAGE_ID 32
#define ENTRIES_ID 33

enum { PARAM_ENTRIES_BYTES = KITHI_PARAM_TABLE_FIRST_FREE, PARAMS_USED_BY_ENTRIES };
enum { OPTIONS_BYTES = 8 * KITHI_OPTIONS_MAX };

/* Byte strings are stored as pointers, which mean nothing in a file. */
static bool saved_as_image(const kith_table *t) {
    return t->kind->image != NULL && t->key_bytes != 0;
}

static kithi_head head_of(const kith_table *t) {
    kithi_head head = {.capacity = t->capacity, .count = t->count};
    head.params[KITHI_PARAM_TABLE_KEY_BYTES] = t->key_bytes;
    head.params[KITHI_PARAM_TABLE_FAMILY] = (uint64_t)t->family;
    head.params[KITHI_PARAM_TABLE_INDEPENDENCE] = t->independence;
    head.params[KITHI_PARAM_TABLE_GENERATOR] = t->prng.state;
    head.params[KITHI_PARAM_TABLE_KIND] = t->kind->id;
    return head;
}

/* ---- LEB128 ---- */

static unsigned leb_bytes(uint64_t x) {
    unsigned n = 1;
    while (x >>= 7)
        n++;
    return n;
}

static uint8_t *leb_write(uint8_t *to, uint64_t x) {
    for (; x >= 0x80; x >>= 7)
        *to++ = (uint8_t)(x | 0x80);
    *to++ = (uint8_t)x;
    return to;
}

/* Returns false if the number is truncated, has more than 64 bits, or is not in its shortest form. */
static bool leb_read(const uint8_t **at, const uint8_t *end, uint64_t *x) {
    *x = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        if ((shift == 63 && byte > 1) || (shift > 0 && byte == 0))
            return false;
        *x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* ---- saving ---- */

static uint64_t entry_bytes(const kith_table *t, const kithi_key *key, uint64_t value) {
    return key->byte_count + leb_bytes(value) + (t->key_bytes == 0 ? leb_bytes(key->byte_count) : 0);
}

static uint8_t *entry_write(const kith_table *t, uint8_t *to, const kithi_key *key, uint64_t value) {
    if (t->key_bytes == 0)
        to = leb_write(to, key->byte_count);
    memcpy(to, key->bytes, key->byte_count);
    return leb_write(to + key->byte_count, value);
}

static kith_status save_entries(const kith_table *t, kithi_head *head, const char *path, bool secret) {
    kith_cursor cursor = {{0}};
    kithi_key key;
    uint64_t value, entries_bytes = 0, block_bytes;
    while (t->kind->next(t, &cursor, &key, &value))
        entries_bytes += entry_bytes(t, &key, value);
    head->kind_id = ENTRIES_ID;
    head->params[PARAM_ENTRIES_BYTES] = entries_bytes;
    head->body_bytes =
        (OPTIONS_BYTES + entries_bytes + KITHI_BODY_ALIGNMENT - 1) / KITHI_BODY_ALIGNMENT * KITHI_BODY_ALIGNMENT;
    if (!kithi_block_bytes(head->body_bytes, &block_bytes))
        return KITH_E_ADDRESS;
    uint8_t *block = kithi_allocate(&t->allocator, block_bytes);
    if (block == NULL)
        return KITH_E_MEMORY;
    uint8_t *to = block + KITHI_HEADER_BYTES;
    for (unsigned i = 0; i < t->kind->info.option_count; i++)
        kithi_store64(to + 8 * i, t->options[i]);
    to += OPTIONS_BYTES;
    cursor = (kith_cursor){{0}};
    while (t->kind->next(t, &cursor, &key, &value))
        to = entry_write(t, to, &key, value);
    kithi_block_seal(block, head);
    kith_status status = kithi_replace_file(path, block, (size_t)block_bytes, secret);
    kithi_release(&t->allocator, block, block_bytes);
    return status;
}

kith_status kith_table_save(kith_table *t, const char *path) {
    assert(t != NULL && path != NULL);
    bool secret = t->family == KITH_FAMILY_SIPHASH; /* the file has the seed of the secret key */
    if (t->readonly)                                /* unchanged since it was opened */
        return kithi_replace_file(path, t->map, t->map_bytes, secret);
    kithi_head head = head_of(t);
    if (!saved_as_image(t))
        return save_entries(t, &head, path, secret);
    uint64_t block_bytes;
    head.kind_id = IMAGE_ID;
    uint8_t *block = t->kind->image(t, &head);
    if (!kithi_block_bytes(head.body_bytes, &block_bytes))
        return KITH_E_ADDRESS;
    kithi_block_seal(block, &head);
    return kithi_replace_file(path, block, (size_t)block_bytes, secret);
}

/* ---- opening ---- */

/* Checks the fields of a header that have the same meaning in both forms, and sets up *t from them, without the kind's
 * state. */
static kith_status read_head(const kithi_head *head, const kith_allocator *allocator, kith_table *t) {
    const uint64_t *params = head->params;
    const kithi_table_kind *kind = kithi_table_kind_by_id(params[KITHI_PARAM_TABLE_KIND]);
    if (kind == NULL)
        return KITH_E_KIND;
    if (params[KITHI_PARAM_TABLE_KEY_BYTES] > 16 || params[KITHI_PARAM_TABLE_FAMILY] >= KITH_FAMILY_COUNT ||
        params[KITHI_PARAM_TABLE_INDEPENDENCE] > 64 || head->rate != 0 || head->fill != 0 || head->hash.id != 0 ||
        head->hash.seed != 0)
        return KITH_E_CORRUPT;
    *t = (kith_table){
        .kind = kind,
        .allocator = *allocator,
        .key_bytes = (unsigned)params[KITHI_PARAM_TABLE_KEY_BYTES],
        .record_bytes = kithi_table_record_bytes((unsigned)params[KITHI_PARAM_TABLE_KEY_BYTES]),
        .family = (kith_family_id)params[KITHI_PARAM_TABLE_FAMILY],
        .independence = (unsigned)params[KITHI_PARAM_TABLE_INDEPENDENCE],
        .prng = {params[KITHI_PARAM_TABLE_GENERATOR]},
        .capacity = head->capacity,
    };
    return kithi_table_key_bytes_valid(kind, t->key_bytes) && kithi_table_family_valid(t->family, t->independence)
               ? KITH_OK
               : KITH_E_CORRUPT;
}

/* If `readonly` is true, `block` is a mapped file, and on success the caller stores it in the table. Otherwise `block`
 * is allocated memory, which belongs to the table on success. On failure `block` still belongs to the caller. */
static kith_status open_image(const kithi_head *head, uint8_t *block, bool readonly, bool lazy,
                              const kith_allocator *allocator, kith_table **table) {
    kith_table shell, *t;
    kith_status status = read_head(head, allocator, &shell);
    if (status == KITH_OK && !saved_as_image(&shell))
        status = KITH_E_CORRUPT;
    shell.readonly = readonly;
    shell.count = head->count;
    if (status == KITH_OK)
        status = kithi_table_new(&shell, &t);
    if (status != KITH_OK)
        return status;
    status = t->kind->attach(t, head, block);
    if (status != KITH_OK) {
        kithi_table_drop(t);
        return status;
    }
    if (!lazy && t->kind->check(t) != NULL) {
        t->readonly = true; /* so that destroy does not free the block, which the caller frees */
        t->kind->destroy(t);
        kithi_table_drop(t);
        return KITH_E_CORRUPT;
    }
    *table = t;
    return KITH_OK;
}

/* Reads the entry at *at and advances *at past it. Returns false if it is not a valid entry. */
static bool entry_read(const kith_table *t, const uint8_t **at, const uint8_t *end, kithi_key *key, uint64_t *value) {
    uint64_t key_bytes = t->key_bytes;
    if (t->key_bytes == 0 && (!leb_read(at, end, &key_bytes) || key_bytes > KITHI_TABLE_KEY_BYTES_MAX))
        return false;
    if (key_bytes > (uint64_t)(end - *at))
        return false;
    *key = (kithi_key){*at, (size_t)key_bytes};
    *at += key_bytes;
    return leb_read(at, end, value);
}

/* The set of keys that were read from the file so far: open addressing with linear probing, at most two thirds full. It
 * points to the keys in the file. The hash has a secret key, so nobody can choose keys that share a slot. */
typedef struct seen_key {
    uint64_t digest;
    kithi_key key; /* bytes is NULL if the slot is empty */
} seen_key;

typedef struct seen_keys {
    kith_hash hash;
    seen_key *slots;
    uint64_t slot_count;
} seen_keys;

static kith_status seen_keys_new(const kith_table *t, uint64_t keys, seen_keys *seen) {
    uint64_t bytes;
    seen->slot_count = keys + keys / 2 + 1; /* no overflow: there are at most as many keys as bytes in the file */
    if (!kithi_checked_mul(seen->slot_count, sizeof *seen->slots, &bytes))
        return KITH_E_ADDRESS;
    kith_status status = kith_hash_untrusted(&seen->hash);
    if (status != KITH_OK)
        return status;
    seen->slots = kithi_allocate(&t->allocator, bytes);
    return seen->slots != NULL ? KITH_OK : KITH_E_MEMORY;
}

static void seen_keys_free(const kith_table *t, seen_keys *seen) {
    kithi_release(&t->allocator, seen->slots, seen->slot_count * sizeof *seen->slots);
}

/* Adds a key. Returns false if it is already in the set. */
static bool seen_keys_add(seen_keys *seen, const kithi_key *key) {
    uint64_t digest = kith_digest(&seen->hash, key->bytes, key->byte_count);
    uint64_t slot = kithi_mulhi(digest, seen->slot_count);
    for (; seen->slots[slot].key.bytes != NULL; slot = slot + 1 < seen->slot_count ? slot + 1 : 0) {
        const seen_key *other = &seen->slots[slot];
        if (other->digest == digest && other->key.byte_count == key->byte_count &&
            memcmp(other->key.bytes, key->bytes, key->byte_count) == 0)
            return false;
    }
    seen->slots[slot] = (seen_key){digest, *key};
    return true;
}

/* Puts an entry into the table. Sets *was_new to whether this is the first entry with its key. `seen` is used only for
 * kinds that have `append`. */
static kith_status put_entry(kith_table *t, seen_keys *seen, const kithi_key *key, uint64_t value, bool *was_new) {
    if (t->kind->append == NULL)
        return kith_table_put(t, key->bytes, key->byte_count, value, was_new);
    assert(seen->slots != NULL); /* put_entries() has allocated them, as the kind has `append` */
    *was_new = seen_keys_add(seen, key);
    return *was_new ? t->kind->append(t, key, value) : KITH_OK;
}

static kith_status put_entries(kith_table *t, const kithi_head *head, const uint8_t *at, const uint8_t *end) {
    seen_keys seen = {.slots = NULL};
    if (head->count > (uint64_t)(end - at)) /* an entry has at least one byte, for its value */
        return KITH_E_CORRUPT;
    kith_status status = t->kind->append != NULL ? seen_keys_new(t, head->count, &seen) : KITH_OK;
    for (uint64_t i = 0; i < head->count && status == KITH_OK; i++) {
        kithi_key key;
        uint64_t value;
        bool was_new = false;
        if (!entry_read(t, &at, end, &key, &value)) {
            status = KITH_E_CORRUPT;
            break;
        }
        status = put_entry(t, &seen, &key, value, &was_new);
        if ((status == KITH_OK && !was_new) || status == KITH_E_FULL || status == KITH_E_KEY)
            status = KITH_E_CORRUPT;
    }
    if (seen.slots != NULL)
        seen_keys_free(t, &seen);
    return status == KITH_OK && at != end ? KITH_E_CORRUPT : status;
}

/* Returns the capacity to create the table with. A table that can grow is created for at most as many keys as its file
 * has bytes, so that a short file with a huge capacity in its header does not allocate much. */
static uint64_t initial_capacity(const kith_table *t, const kithi_head *head) {
    if (t->kind->keeps_size != NULL && t->kind->keeps_size(t))
        return head->capacity;
    uint64_t keys_max = head->body_bytes; /* an entry has at least one byte */
    return head->capacity < keys_max ? head->capacity : keys_max;
}

static kith_status open_entries(const kithi_head *head, const uint8_t *block, const kith_allocator *allocator,
                                kith_table **table) {
    kith_table shell, *t;
    kith_status status = read_head(head, allocator, &shell);
    if (status != KITH_OK)
        return status;
    const uint8_t *body = block + KITHI_HEADER_BYTES;
    uint64_t entries_bytes = head->params[PARAM_ENTRIES_BYTES];
    if (head->body_bytes < OPTIONS_BYTES || entries_bytes > head->body_bytes - OPTIONS_BYTES ||
        head->body_bytes - OPTIONS_BYTES - entries_bytes >= KITHI_BODY_ALIGNMENT || saved_as_image(&shell))
        return KITH_E_CORRUPT;
    for (unsigned i = PARAMS_USED_BY_ENTRIES; i < KITHI_PARAM_COUNT; i++)
        if (head->params[i] != 0)
            return KITH_E_CORRUPT;
    for (unsigned i = 0; i < KITHI_OPTIONS_MAX; i++)
        shell.options[i] = kithi_load64(body + 8 * i);
    const kith_kind_info *info = &shell.kind->info;
    if (!kithi_options_valid(info->options, info->option_count, shell.options))
        return KITH_E_CORRUPT;
    for (size_t i = info->option_count; i < KITHI_OPTIONS_MAX; i++)
        if (shell.options[i] != 0)
            return KITH_E_CORRUPT;
    for (uint64_t i = OPTIONS_BYTES + entries_bytes; i < head->body_bytes; i++)
        if (body[i] != 0)
            return KITH_E_CORRUPT;
    kith_hash random;
    status = kith_hash_untrusted(&random);
    if (status != KITH_OK)
        return status;
    shell.prng.state = kithi_load64(random.key);
    status = kithi_table_new(&shell, &t);
    if (status != KITH_OK)
        return status;
    status = t->kind->create(t, initial_capacity(t, head));
    if (status != KITH_OK) {
        kithi_table_drop(t);
        /* A table that this machine cannot address may come from a 64-bit one. */
        bool may_exist = status == KITH_E_MEMORY || (status == KITH_E_ADDRESS && SIZE_MAX < UINT64_MAX);
        return may_exist ? status : KITH_E_CORRUPT;
    }
    status = put_entries(t, head, body + OPTIONS_BYTES, body + OPTIONS_BYTES + entries_bytes);
    if (status != KITH_OK) {
        kith_table_free(t);
        return status;
    }
    t->growths = t->rehashes = 0;
    *table = t;
    return KITH_OK;
}

/* Checks the sizes and checksums of a file. If `lazy` is true, skips the checksums of an image's body. */
static kith_status verify_file(const uint8_t *bytes, size_t byte_count, bool lazy, kithi_head *head) {
    kith_status status = kithi_header_read(bytes, byte_count, head);
    if (status != KITH_OK)
        return status;
    if (head->kind_id != IMAGE_ID && head->kind_id != ENTRIES_ID)
        return KITH_E_KIND;
    uint64_t block_bytes;
    if (head->recipe != 0 || head->notes_bytes != 0 || head->store.is_store ||
        head->body_bytes < KITHI_BODY_ALIGNMENT || head->body_bytes % KITHI_BODY_ALIGNMENT != 0 ||
        !kithi_block_bytes(head->body_bytes, &block_bytes))
        return KITH_E_CORRUPT;
    if (byte_count != block_bytes)
        return byte_count < block_bytes ? KITH_E_TRUNCATED : KITH_E_TRAILING;
    return lazy && head->kind_id == IMAGE_ID ? KITH_OK : kithi_body_verify(bytes, head);
}

static kith_status open_mapped(const char *path, bool lazy, const kith_allocator *allocator, kith_table **table) {
    const uint8_t *bytes;
    size_t byte_count;
    kith_status status = kithi_map_file(path, &bytes, &byte_count);
    if (status != KITH_OK)
        return status;
    kithi_head head;
    status = verify_file(bytes, byte_count, lazy, &head);
    bool is_image = status == KITH_OK && head.kind_id == IMAGE_ID;
    if (is_image) /* the cast is safe: nothing writes to a read-only table */
        status = open_image(&head, (uint8_t *)(uintptr_t)bytes, true, lazy, allocator, table);
    else if (status == KITH_OK)
        status = open_entries(&head, bytes, allocator, table);
    if (status == KITH_OK && is_image) {
        (*table)->map = bytes;
        (*table)->map_bytes = byte_count;
        return KITH_OK;
    }
    kithi_unmap_file(bytes, byte_count);
    return status;
}

static kith_status open_copy(const char *path, const kith_allocator *allocator, kith_table **table) {
    uint8_t *block;
    size_t byte_count;
    kith_status status = kithi_read_block(path, allocator, &block, &byte_count);
    if (status != KITH_OK)
        return status;
    kithi_head head;
    status = verify_file(block, byte_count, false, &head);
    bool is_image = status == KITH_OK && head.kind_id == IMAGE_ID;
    if (is_image)
        status = open_image(&head, block, false, false, allocator, table);
    else if (status == KITH_OK)
        status = open_entries(&head, block, allocator, table);
    if (status != KITH_OK || !is_image) /* entries have been copied into the table */
        kithi_release(allocator, block, byte_count);
    return status;
}

kith_status kith_table_open(const char *path, unsigned flags, const kith_allocator *given, kith_table **table) {
    assert(path != NULL && table != NULL);
    if ((flags & ~(unsigned)(KITH_OPEN_LAZY | KITH_OPEN_COPY)) != 0)
        return KITH_E_ARGUMENT;
    kith_allocator allocator = kithi_allocator_or_default(given);
    if ((flags & KITH_OPEN_COPY) != 0)
        return open_copy(path, &allocator, table);
    return open_mapped(path, (flags & KITH_OPEN_LAZY) != 0, &allocator, table);
}

bool kith_table_readonly(const kith_table *t) {
    assert(t != NULL);
    return t->readonly;
}
