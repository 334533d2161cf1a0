/* A tape of operations on a table of any kind, compared with an exact dictionary.
 *
 *     0 … 5   the kind, an option of it, the size of keys, the family of hash functions, the capacity, the seed
 *     6 …     operations of two bytes, the operation and its key; some read more */
#include "fuzz/tables.h"

enum { OPERATIONS_MAX = 40, BATCH_MAX = 40 };

typedef struct model {
    kith_table *table;
    unsigned key_bytes;
    table_key keys[TABLE_KEYS];
    bool in[TABLE_KEYS];
    uint64_t values[TABLE_KEYS];
    uint64_t count;
} model;

static void check_key(const model *m, size_t i) {
    const table_key *k = &m->keys[i];
    uint64_t value = 12345;
    HOLD(kith_table_has(m->table, k->bytes, k->n) == m->in[i]);
    HOLD(kith_table_get(m->table, k->bytes, k->n, &value) == m->in[i]);
    HOLD(value == (m->in[i] ? m->values[i] : 12345));
}

static size_t number_of(const model *m, const void *key, size_t key_bytes) {
    size_t i = 0;
    while (i < TABLE_KEYS &&
           (m->keys[i].n != key_bytes || (key_bytes > 0 && memcmp(m->keys[i].bytes, key, key_bytes) != 0)))
        i++;
    HOLD(i < TABLE_KEYS);
    return i;
}

/* Looks up every key, one by one and all at once, and iterates over the table. */
static void check_all(const model *m) {
    kith_key each[TABLE_KEYS];
    uint64_t values[TABLE_KEYS], found;
    const char *reason = NULL;
    for (size_t i = 0; i < TABLE_KEYS; i++) {
        check_key(m, i);
        each[i] = (kith_key){m->keys[i].bytes, m->keys[i].n};
    }
    kith_keys keys = {each, NULL, TABLE_KEYS};
    HOLD(kith_table_has_many(m->table, &keys, &found) == m->count);
    for (size_t i = 0; i < TABLE_KEYS; i++)
        HOLD(kith_bitmap_get(&found, i) == m->in[i]);
    HOLD(kith_table_get_many(m->table, &keys, values, &found) == m->count);
    for (size_t i = 0; i < TABLE_KEYS; i++)
        HOLD(kith_bitmap_get(&found, i) == m->in[i] && (!m->in[i] || values[i] == m->values[i]));
    bool met[TABLE_KEYS] = {false};
    kith_cursor cursor = {{0}};
    const void *key;
    size_t key_bytes;
    uint64_t value, visited = 0;
    while (kith_table_next(m->table, &cursor, &key, &key_bytes, &value)) {
        size_t i = number_of(m, key, key_bytes);
        HOLD(m->in[i] && !met[i] && value == m->values[i]);
        met[i] = true;
        visited++;
    }
    HOLD(visited == m->count && kith_table_count(m->table) == m->count);
    HOLD(kith_table_check(m->table, &reason) == KITH_OK);
}

static void note_put(model *m, size_t i, uint64_t value) {
    m->count += !m->in[i];
    m->in[i] = true;
    m->values[i] = value;
}

/* KITH_E_KEY: a bitset has no values, and only integers below a bound. */
static void check_refusal(const model *m, kith_status status) {
    HOLD(status == KITH_E_KEY || status == KITH_E_FULL || status == KITH_E_MEMORY);
    HOLD(status == KITH_E_KEY || m->count > 0);
}

static void put(model *m, size_t i, uint64_t value) {
    bool was_new = !m->in[i];
    kith_status status = kith_table_put(m->table, m->keys[i].bytes, m->keys[i].n, value, &was_new);
    if (status == KITH_OK) {
        HOLD(was_new == !m->in[i]);
        note_put(m, i, value);
    } else {
        check_refusal(m, status);
        HOLD(i != 0 || value != 0 || m->count > 0); /* every table has a place for the first key, without a value */
    }
    check_key(m, i);
}

static void take_away(model *m, size_t i) {
    uint64_t value = 12345;
    kith_status status = kith_table_remove(m->table, m->keys[i].bytes, m->keys[i].n, &value);
    HOLD(status == (m->in[i] ? KITH_OK : KITH_E_ABSENT));
    HOLD(value == (m->in[i] ? m->values[i] : 12345));
    m->count -= m->in[i];
    m->in[i] = false;
    check_key(m, i);
}

/* Puts keys from `i` on, some of them twice. */
static void put_many(model *m, size_t i, uint8_t choice, uint8_t value) {
    kith_key each[BATCH_MAX];
    uint64_t values[BATCH_MAX];
    size_t n = choice % BATCH_MAX, step = 1 + choice / BATCH_MAX, done = 0, at;
    for (size_t j = 0; j < n; j++) {
        at = (i + j * step) % TABLE_KEYS;
        each[j] = (kith_key){m->keys[at].bytes, m->keys[at].n};
        values[j] = value == 0 ? 0 : value + j;
    }
    kith_keys keys = {each, NULL, n};
    kith_status status = kith_table_put_many(m->table, &keys, value == 0 ? NULL : values, &done);
    HOLD(done <= n && (status == KITH_OK) == (done == n));
    for (size_t j = 0; j < done; j++)
        note_put(m, (i + j * step) % TABLE_KEYS, values[j]);
    if (status != KITH_OK)
        check_refusal(m, status);
    for (size_t j = 0; j < n; j++)
        check_key(m, (i + j * step) % TABLE_KEYS);
}

static void clear(model *m) {
    HOLD(kith_table_clear(m->table) == KITH_OK);
    memset(m->in, 0, sizeof m->in);
    m->count = 0;
    HOLD(kith_table_count(m->table) == 0);
}

static void reserve(model *m, uint8_t keys) {
    kith_status status = kith_table_reserve(m->table, keys);
    HOLD(status == KITH_OK || status == KITH_E_FULL || status == KITH_E_MEMORY);
    check_key(m, keys % TABLE_KEYS);
}

/* Saves the table, and continues with the one that is opened from the file. */
static void reopen(model *m, uint8_t choice) {
    kith_table *opened = NULL;
    unsigned flags = choice & (KITH_OPEN_LAZY | KITH_OPEN_COPY);
    kith_status status = kith_table_save(m->table, "x");
    HOLD(status == KITH_OK || (status == KITH_E_NO_SPACE && kith_table_count(m->table) == m->count));
    if (status != KITH_OK)
        return;
    HOLD(kith_table_open("x", flags, &FUZZ_ALLOCATOR, &opened) == KITH_OK);
    kith_table_free(m->table);
    m->table = opened;
    HOLD(kith_table_count(opened) == m->count);
    if (!kith_table_readonly(opened))
        return;
    HOLD((flags & KITH_OPEN_COPY) == 0);
    HOLD(kith_table_put(opened, m->keys[0].bytes, m->keys[0].n, 0, NULL) == KITH_E_READONLY);
    HOLD(kith_table_remove(opened, m->keys[0].bytes, m->keys[0].n, NULL) == KITH_E_READONLY);
    HOLD(kith_table_clear(opened) == KITH_E_READONLY && kith_table_reserve(opened, 1) == KITH_E_READONLY);
    HOLD(kith_table_open("x", KITH_OPEN_COPY, &FUZZ_ALLOCATOR, &m->table) == KITH_OK);
    kith_table_free(opened);
}

static void inspect(const model *m, size_t i) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    HOLD(kith_table_stats_of(m->table, &stats) == KITH_OK);
    HOLD(stats.count == m->count && (stats.longest > 0) == (m->count > 0));
    kith_find_outcome outcome;
    uint64_t index = 0;
    kith_status status = kith_table_find(m->table, m->keys[i].bytes, m->keys[i].n, &outcome, &index);
    HOLD(status == KITH_OK || status == KITH_E_UNSUPPORTED);
    if (status == KITH_OK) {
        HOLD((outcome == KITH_FIND_FOUND) == m->in[i]);
        HOLD(outcome == KITH_FIND_FULL || index < stats.slots);
    }
}

static void operate(model *m, tape *t) {
    uint8_t operation = tape_byte(t), choice;
    size_t i = tape_byte(t) % TABLE_KEYS;
    switch (operation % 16) {
    default: /* 0 … 5 */
        put(m, i, operation < 128 ? operation >> 4 : (uint64_t)operation << 56);
        break;
    case 6:
    case 7:
    case 8:
        take_away(m, i);
        break;
    case 9:
        check_key(m, i);
        break;
    case 10:
        choice = tape_byte(t);
        put_many(m, i, choice, tape_byte(t));
        break;
    case 11:
        if (i < TABLE_KEYS / 4)
            clear(m);
        else
            check_all(m);
        break;
    case 12:
        reserve(m, tape_byte(t));
        break;
    case 13:
    case 14:
        reopen(m, tape_byte(t));
        break;
    case 15:
        inspect(m, i);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static model m;
    tape t = tape_of(data, size);
    m = (model){.table = NULL};
    if (table_of(&t, &m.table, &m.key_bytes)) {
        for (size_t i = 0; i < TABLE_KEYS; i++)
            m.keys[i] = table_key_at(m.key_bytes, i);
        for (unsigned i = 0; i < OPERATIONS_MAX && !tape_ended(&t); i++)
            operate(&m, &t);
        check_all(&m);
    }
    kith_table_free(m.table);
    HOLD(fuzz_live_bytes == 0);
    return 0;
}
