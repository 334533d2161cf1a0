/* The file of a table from anywhere, given to kith_table_open; every function is called on what opens.
 *
 * The first byte says how the file is made. Bits 0 and 1 are the flags of opening. Bits 2 and 3:
 *
 *     0      the rest is the file as it is
 *     1, 2   the rest is 16 words of header fields and a body, which are sealed; 2: the stated length is the input's
 *     3      a good table (six bytes, as in table.c, and the number of its keys), saved, then edits of the file; then
 *            all checksums are made right again, or with bit 4 only that of the header */
#include "fuzz/blocks.h"
#include "fuzz/tables.h"

enum { IMAGE_ID = 32, ENTRIES_ID = 33, VISITS_MAX = 2000 };

static volatile uint64_t sink; /* keeps the results observable: what nobody reads, a compiler leaves out */

/* With LAZY, an image may be damaged: then the results may be wrong, but no memory outside the file is read. */
static void use(kith_table *table, bool damaged, unsigned key_bytes) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    kith_cursor cursor = {{0}};
    const void *key;
    size_t n;
    uint64_t value, visited = 0, got;
    const char *reason = NULL;
    bool sound = kith_table_check(table, &reason) == KITH_OK;
    HOLD(sound || damaged);
    while (visited < VISITS_MAX && kith_table_next(table, &cursor, &key, &n, &value)) {
        bool found = kith_table_get(table, key, n, &got);
        HOLD(!sound || (found && got == value));
        visited++;
    }
    HOLD(!sound || visited == VISITS_MAX || visited == kith_table_count(table));
    HOLD(kith_table_stats_of(table, &stats) == KITH_OK);
    sink += stats.longest + stats.bytes;
    kith_find_outcome outcome;
    for (size_t i = 0; i < TABLE_KEYS; i++) {
        table_key k = table_key_at(key_bytes, i);
        sink += kith_table_has(table, k.bytes, k.n);
        sink += (uint64_t)kith_table_find(table, k.bytes, k.n, &outcome, &got);
        if (kith_table_readonly(table))
            continue;
        kith_status status = kith_table_put(table, k.bytes, k.n, 0, NULL);
        HOLD(status != KITH_OK || kith_table_has(table, k.bytes, k.n));
        if (i % 3 == 0)
            sink += (uint64_t)kith_table_remove(table, k.bytes, k.n, NULL);
    }
    if (kith_table_readonly(table))
        return;
    HOLD(kith_table_check(table, &reason) == KITH_OK);
    sink += (uint64_t)kith_table_reserve(table, 100);
    uint64_t count = kith_table_count(table);
    kith_table *again = NULL;
    if (kith_table_save(table, "x") == KITH_OK) {
        kith_status status = kith_table_open("x", KITH_OPEN_DEFAULT, &FUZZ_ALLOCATOR, &again);
        HOLD(status == KITH_E_MEMORY || (status == KITH_OK && kith_table_count(again) == count));
        kith_table_free(again);
    }
    HOLD(kith_table_clear(table) == KITH_OK && kith_table_count(table) == 0);
}

static void try_file(const uint8_t *bytes, size_t byte_count, unsigned flags) {
    kith_table *table = NULL;
    HOLD(byte_count <= sizeof table_file);
    if (byte_count > 0)
        memcpy(table_file, bytes, byte_count);
    table_file_bytes = byte_count;
    kith_status status = kith_table_open("x", flags & (KITH_OPEN_LAZY | KITH_OPEN_COPY), &FUZZ_ALLOCATOR, &table);
    HOLD((status == KITH_OK) == (table != NULL));
    if (table != NULL) {
        bool damaged = (flags & KITH_OPEN_LAZY) != 0 && kith_table_readonly(table);
        /* the size of keys, which the header states */
        use(table, damaged, (unsigned)kithi_load64(bytes + KITHI_AT_PARAMS));
        kith_table_free(table);
    }
    HOLD(fuzz_live_bytes == 0);
}

static void edited(const uint8_t *input, size_t size, unsigned flags, bool only_header) {
    tape t = tape_of(input, size);
    kith_table *table = NULL;
    unsigned key_bytes;
    if (!table_of(&t, &table, &key_bytes))
        return;
    size_t keys = tape_byte(&t) % (TABLE_KEYS + 1u);
    for (size_t i = 0; i < keys; i++) {
        table_key k = table_key_at(key_bytes, i);
        kith_status status = kith_table_put(table, k.bytes, k.n, i * i * i, NULL);
        if (status == KITH_E_KEY) /* no values */
            status = kith_table_put(table, k.bytes, k.n, 0, NULL);
        HOLD(status == KITH_OK || status == KITH_E_KEY || status == KITH_E_FULL);
    }
    kith_status saved = kith_table_save(table, "x");
    HOLD(saved == KITH_OK || saved == KITH_E_NO_SPACE);
    kith_table_free(table);
    if (saved != KITH_OK)
        return;
    size_t n = table_file_bytes;
    uint8_t *bytes = fuzz_exact(n);
    memcpy(bytes, table_file, n);
    bool changed = !tape_ended(&t);
    fuzz_edit(bytes, n, only_header, &t);
    if (!changed) {
        HOLD(memcmp(bytes, table_file, n) == 0);
        HOLD(kith_table_open("x", flags & (KITH_OPEN_LAZY | KITH_OPEN_COPY), &FUZZ_ALLOCATOR, &table) == KITH_OK);
        kith_table_free(table);
    }
    try_file(bytes, n, flags);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && (data[0] >> 2 & 3) == FUZZ_EDITED)
        edited(data + 1, size - 1, data[0] & 3, (data[0] & 16) != 0);
    else
        fuzz_block(data, size, try_file);
    return 0;
}
