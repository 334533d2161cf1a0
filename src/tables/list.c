/* list: an unsorted array of records, the baseline that the other kinds are compared with.
 *
 *     records   | record 0 | record 1 | … | record count-1 | free records |
 *
 * A lookup compares the key with that of each record, from the first on. A new key is appended. A removed record is
 * replaced by the last one. When the array is full, its size doubles. */
#include "tables/shared/record.h"

#define SLOTS_MIN 8

typedef struct list {
    uint8_t *records;
    uint64_t slots;
} list;

static list *list_of(const kith_table *t) {
    return t->state;
}

static inline uint8_t *record_at(const kith_table *t, uint64_t i) {
    return list_of(t)->records + i * t->record_bytes;
}

static kith_status resize(kith_table *t, uint64_t slots) {
    list *l = list_of(t);
    uint64_t bytes;
    if (!kithi_checked_mul(slots, t->record_bytes, &bytes))
        return KITH_E_ADDRESS;
    uint8_t *records = kithi_allocate(&t->allocator, bytes);
    if (records == NULL)
        return KITH_E_MEMORY;
    if (t->count != 0)
        memcpy(records, l->records, (size_t)(t->count * t->record_bytes));
    kithi_release(&t->allocator, l->records, l->slots * t->record_bytes);
    l->records = records;
    l->slots = slots;
    return KITH_OK;
}

static kith_status create(kith_table *t, uint64_t capacity) {
    t->state = kithi_allocate(&t->allocator, sizeof(list));
    if (t->state == NULL)
        return KITH_E_MEMORY;
    kith_status status = resize(t, capacity > SLOTS_MIN ? capacity : SLOTS_MIN);
    if (status != KITH_OK)
        kithi_release(&t->allocator, t->state, sizeof(list));
    return status;
}

static void destroy(kith_table *t) {
    kithi_release(&t->allocator, list_of(t)->records, list_of(t)->slots * t->record_bytes);
    kithi_release(&t->allocator, t->state, sizeof(list));
}

static void clear(kith_table *t) {
    (void)t; /* the caller sets the count to 0, which frees all records */
}

static kith_status grow_to(kith_table *t, uint64_t slots) {
    uint64_t before = list_of(t)->slots;
    kith_status status = resize(t, slots);
    if (status == KITH_OK)
        kithi_table_grown(t, before, slots);
    return status;
}

static kith_status reserve(kith_table *t, uint64_t keys) {
    return keys > list_of(t)->slots ? grow_to(t, keys) : KITH_OK;
}

/* Returns the index of the key's record, or t->count if there is none. */
static uint64_t find(const kith_table *t, const kithi_key *key) {
    uint64_t i = 0;
    for (; i < t->count; i++) {
        kithi_trace(t, KITH_STEP_LOOK, i, 0);
        if (kithi_record_has_key(t, record_at(t, i), key))
            break;
    }
    return i;
}

static bool get(const kith_table *t, const kithi_key *key, uint64_t *value) {
    uint64_t i = find(t, key);
    if (i == t->count)
        return false;
    *value = kithi_record_value(t, record_at(t, i));
    return true;
}

static kith_status append(kith_table *t, const kithi_key *key, uint64_t value) {
    uint8_t record[KITHI_TABLE_RECORD_BYTES_MAX];
    if (!kithi_record_make(t, key, value, record))
        return KITH_E_MEMORY;
    if (t->count == list_of(t)->slots) {
        kith_status status = grow_to(t, 2 * t->count);
        if (status != KITH_OK) {
            kithi_record_drop(t, record);
            return status;
        }
    }
    memcpy(record_at(t, t->count), record, t->record_bytes);
    t->count++;
    return KITH_OK;
}

static kith_status put(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new) {
    uint64_t i = find(t, key);
    *was_new = i == t->count;
    if (*was_new)
        return append(t, key, value);
    kithi_record_set_value(t, record_at(t, i), value);
    return KITH_OK;
}

static kith_status remove_one(kith_table *t, const kithi_key *key, uint64_t *value) {
    uint64_t i = find(t, key);
    if (i == t->count)
        return KITH_E_ABSENT;
    *value = kithi_record_value(t, record_at(t, i));
    kithi_record_drop(t, record_at(t, i));
    t->count--;
    memmove(record_at(t, i), record_at(t, t->count), t->record_bytes);
    return KITH_OK;
}

static bool next(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value) {
    if (cursor->at[0] >= t->count)
        return false;
    const uint8_t *record = record_at(t, cursor->at[0]++);
    *key = kithi_record_key(t, record);
    *value = kithi_record_value(t, record);
    return true;
}

static void stats(const kith_table *t, kith_table_stats *stats) {
    stats->slots = list_of(t)->slots;
    stats->bytes += sizeof(list) + list_of(t)->slots * t->record_bytes;
    stats->longest = t->count;
}

static const char *check(const kith_table *t) {
    if (t->count > list_of(t)->slots)
        return "the list has more keys than slots";
    for (uint64_t i = 0; i < t->count; i++) {
        kithi_key key = kithi_record_key(t, record_at(t, i));
        for (uint64_t j = 0; j < i; j++)
            if (kithi_record_has_key(t, record_at(t, j), &key))
                return "a key is stored twice";
    }
    return NULL;
}

const kithi_table_kind kithi_table_list = {
    .id = 5,
    .info = {.name = "list", .summary = "an unsorted array: the baseline"},
    .takes_strings = true,
    .takes_values = true,
    .create = create,
    .destroy = destroy,
    .clear = clear,
    .reserve = reserve,
    .get = get,
    .put = put,
    .remove = remove_one,
    .append = append,
    .next = next,
    .stats = stats,
    .check = check,
};
