/* tables/shared/record.h: reads and writes records. table_kind.h describes their layout. */
#ifndef KITHI_TABLES_RECORD_H
#define KITHI_TABLES_RECORD_H

#include <string.h>

#include "core/bits.h"
#include "tables/table_kind.h"

/* Returns a key of 4 or 8 bytes, read as a little-endian integer. */
static inline uint64_t kithi_key_word(const kithi_key *key) {
    uint8_t word[8] = {0};
    memcpy(word, key->bytes, key->byte_count);
    return kithi_load64(word);
}

static inline uint64_t kithi_record_value(const kith_table *t, const uint8_t *record) {
    return kithi_load64(record + t->record_bytes - 8);
}

static inline void kithi_record_set_value(const kith_table *t, uint8_t *record, uint64_t value) {
    kithi_store64(record + t->record_bytes - 8, value);
}

/* Returns the key of a record; its bytes are in the record itself or in the arena. */
static inline kithi_key kithi_record_key(const kith_table *t, const uint8_t *record) {
    if (t->key_bytes != 0)
        return (kithi_key){record, t->key_bytes};
    const uint8_t *bytes;
    uint64_t length;
    memcpy(&bytes, record, sizeof bytes);
    memcpy(&length, record + 8, sizeof length);
    /* The empty key has no bytes in the arena, but memcmp and memcpy need a pointer that is not NULL. */
    return (kithi_key){length != 0 ? bytes : record, (size_t)length};
}

static inline bool kithi_record_has_key(const kith_table *t, const uint8_t *record, const kithi_key *key) {
    if (t->key_bytes == 8) /* memcmp with a constant size is inlined */
        return memcmp(record, key->bytes, 8) == 0;
    if (t->key_bytes == 16)
        return memcmp(record, key->bytes, 16) == 0;
    kithi_key own = kithi_record_key(t, record);
    return own.byte_count == key->byte_count &&
           (own.byte_count == 0 || memcmp(own.bytes, key->bytes, own.byte_count) == 0);
}

/* Copies a record of 16 or 24 bytes. Each memcpy has a constant size, so that it is inlined. */
static inline void kithi_record_copy(const kith_table *t, uint8_t *to, const uint8_t *from) {
    if (t->record_bytes == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, KITHI_TABLE_RECORD_BYTES_MAX);
}

/* Writes a record. If the key is a byte string, copies it into the arena. Returns false if there is no memory. */
static inline bool kithi_record_make(kith_table *t, const kithi_key *key, uint64_t value, uint8_t *record) {
    if (t->key_bytes == 8) {
        memcpy(record, key->bytes, 8);
        kithi_store64(record + 8, value);
        return true;
    }
    memset(record, 0, 16); /* a key of 4 bytes is followed by 4 bytes of 0 */
    if (t->key_bytes == 4) {
        memcpy(record, key->bytes, 4);
    } else if (t->key_bytes == 16) {
        memcpy(record, key->bytes, 16);
    } else {
        uint8_t *bytes = NULL;
        uint64_t length = key->byte_count;
        if (length != 0) {
            bytes = kithi_arena_take(&t->arena, length);
            if (bytes == NULL)
                return false;
            memcpy(bytes, key->bytes, key->byte_count);
        }
        memcpy(record, &bytes, sizeof bytes);
        memcpy(record + 8, &length, sizeof length);
    }
    kithi_record_set_value(t, record, value);
    return true;
}

/* If the key of the record is a byte string, frees its bytes in the arena. */
static inline void kithi_record_drop(kith_table *t, const uint8_t *record) {
    kithi_key key = kithi_record_key(t, record);
    if (t->key_bytes == 0 && key.byte_count != 0)
        kithi_arena_give(&t->arena, (void *)(uintptr_t)key.bytes, key.byte_count);
}

#endif
