/* fuzz/tables.h: small tables of every kind, and their files in memory.
 *
 * Targets that include this are linked with --wrap for the functions at the end: a table is saved to `table_file` and
 * opened from it, and the hash functions of a table that is opened are the same in every run. */
#ifndef KITH_TESTS_FUZZ_TABLES_H
#define KITH_TESTS_FUZZ_TABLES_H

#include <kith/kith.h>

#include "os/map.h"
#include "os/replace.h"
#include "fuzz/target.h"

enum { TABLE_KEYS = 32, TABLE_KEY_BYTES_MAX = 24, TABLE_FILE_BYTES_MAX = 1 << 16 };

typedef struct table_key {
    uint8_t bytes[TABLE_KEY_BYTES_MAX];
    size_t n;
} table_key;

/* Key number i of a table whose keys have this size, or are byte strings (0). */
static inline table_key table_key_at(unsigned key_bytes, size_t i) {
    table_key k = {{0}, key_bytes};
    if (key_bytes != 0) {
        k.bytes[0] = (uint8_t)i;
        k.bytes[key_bytes - 1] |= (uint8_t)(i >= 24 ? i << 3 : 0); /* large integers */
        return k;
    }
    switch (i % 4) {
    case 0: /* zeros, of different lengths; the first one is empty */
        k.n = i / 4;
        break;
    case 1:
        k.n = 1;
        k.bytes[0] = (uint8_t)i;
        break;
    case 2:
        k.n = 20;
        memset(k.bytes, 'a', k.n);
        k.bytes[i / 4] = 'b';
        break;
    default:
        k.n = 3;
        k.bytes[0] = 'c';
        k.bytes[2] = (uint8_t)i;
    }
    return k;
}

/* Creates an empty table as six bytes of the tape say. Returns false if there is no such table. */
static inline bool table_of(tape *t, kith_table **table, unsigned *key_bytes) {
    static const unsigned KEY_BYTES[] = {0, 4, 8, 16};
    char options[64] = "";
    const kith_kind_info *info = kith_table_kind_at(tape_byte(t) % kith_table_kind_count());
    uint8_t variant = tape_byte(t);
    if (variant != 0 && !fuzz_variant(info, variant - 1u, options, sizeof options))
        return false;
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = info->name;
    spec.options = options;
    spec.key_bytes = *key_bytes = KEY_BYTES[tape_byte(t) % 4];
    spec.family = (kith_family_id)(tape_byte(t) % KITH_FAMILY_COUNT);
    spec.capacity = tape_byte(t) % 64;
    spec.seed = 1u + tape_byte(t);
    spec.allocator = &FUZZ_ALLOCATOR;
    return kith_table_create(&spec, table) == KITH_OK;
}

/* ---- files ---- */

static uint8_t table_file[TABLE_FILE_BYTES_MAX];
static size_t table_file_bytes;

kith_status __wrap_kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret);
kith_status __wrap_kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret) {
    (void)path, (void)secret;
    if (byte_count > sizeof table_file)
        return KITH_E_NO_SPACE;
    memmove(table_file, bytes, byte_count);
    table_file_bytes = byte_count;
    return KITH_OK;
}

/* Memory of exactly the size, and aligned as a block: a sanitizer finds what is read outside of it. */
kith_status __wrap_kithi_map_file(const char *path, const uint8_t **bytes, size_t *byte_count);
kith_status __wrap_kithi_map_file(const char *path, const uint8_t **bytes, size_t *byte_count) {
    (void)path;
    if (table_file_bytes == 0)
        return KITH_E_EMPTY;
    uint8_t *copy = fuzz_allocate(NULL, table_file_bytes, 64);
    if (copy == NULL)
        return KITH_E_MEMORY;
    memcpy(copy, table_file, table_file_bytes);
    *bytes = copy;
    *byte_count = table_file_bytes;
    return KITH_OK;
}

void __wrap_kithi_unmap_file(const uint8_t *bytes, size_t byte_count);
void __wrap_kithi_unmap_file(const uint8_t *bytes, size_t byte_count) {
    if (bytes != NULL)
        fuzz_release(NULL, (uint8_t *)(uintptr_t)bytes, byte_count);
}

kith_status __wrap_kithi_read_block(const char *path, const kith_allocator *allocator, uint8_t **bytes,
                                    size_t *byte_count);
kith_status __wrap_kithi_read_block(const char *path, const kith_allocator *allocator, uint8_t **bytes,
                                    size_t *byte_count) {
    (void)path;
    if (table_file_bytes == 0)
        return KITH_E_EMPTY;
    *bytes = allocator->allocate(allocator->context, table_file_bytes, 64);
    if (*bytes == NULL)
        return KITH_E_MEMORY;
    memcpy(*bytes, table_file, table_file_bytes);
    *byte_count = table_file_bytes;
    return KITH_OK;
}

kith_status __wrap_kith_hash_untrusted(kith_hash *hash);
kith_status __wrap_kith_hash_untrusted(kith_hash *hash) {
    *hash = (kith_hash){.id = KITH_HASH_SIPHASH, .key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    return KITH_OK;
}

#endif
