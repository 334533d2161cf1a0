/* An exact set: a table with a filter in front of it, so that most lookups of absent keys do not read the table.
 *
 * The table is authoritative: an add and a removal change it first. A new key is added to the table, then to the
 * filter. If the filter is full, or has too many keys with the same fingerprint and place, it is rebuilt from the keys
 * in the table. Its capacity is doubled until all keys fit, and with XXH3 each attempt has another seed. If that fails,
 * for example for lack of memory, the new key is removed from the table again. A removal first removes the key from the
 * table, which knows whether the key was present, and only then from the filter. */
#include <kith/exact.h>

#include <assert.h>

#include "core/alloc.h"
#include "core/structs.h"

#define CAPACITY_FIRST 1024
#define RATE_DEFAULT 0.01

struct kith_exact {
    kith_allocator allocator;
    kith_filter_spec spec;           /* of the current filter */
    kith_allocator filter_allocator; /* spec.allocator points to this copy */
    kith_filter *filter;
    kith_table *table;
};

kith_status kith_exact_create(const kith_filter_spec *filter, const kith_table_spec *table, kith_exact **set) {
    assert(set != NULL);
    kith_filter_spec filter_spec = KITH_FILTER_SPEC_INIT;
    kith_table_spec table_spec = KITH_TABLE_SPEC_INIT;
    if ((filter != NULL && !kithi_struct_read(&filter_spec, sizeof filter_spec, filter)) ||
        (table != NULL && !kithi_struct_read(&table_spec, sizeof table_spec, table)))
        return KITH_E_STRUCT;
    filter_spec.needs |= KITH_CAN_REMOVE;
    if (filter_spec.capacity == 0 && filter_spec.bytes == 0)
        filter_spec.capacity = CAPACITY_FIRST;
    if (filter_spec.rate == 0 && filter_spec.bytes == 0)
        filter_spec.rate = RATE_DEFAULT;
    kith_allocator allocator = kithi_allocator_or_default(table_spec.allocator);
    kith_exact *s = kithi_allocate(&allocator, sizeof *s);
    if (s == NULL)
        return KITH_E_MEMORY;
    s->allocator = allocator;
    s->spec = filter_spec;
    if (filter_spec.allocator != NULL) {
        s->filter_allocator = *filter_spec.allocator;
        s->spec.allocator = &s->filter_allocator;
    }
    kith_status status = kith_filter_create(&s->spec, &s->filter);
    if (status == KITH_OK)
        status = kith_table_create(&table_spec, &s->table);
    if (status != KITH_OK) {
        kith_filter_free(s->filter);
        kithi_release(&allocator, s, sizeof *s);
        return status;
    }
    *set = s;
    return KITH_OK;
}

void kith_exact_free(kith_exact *s) {
    if (s == NULL)
        return;
    kith_filter_free(s->filter);
    kith_table_free(s->table);
    kith_allocator allocator = s->allocator;
    kithi_release(&allocator, s, sizeof *s);
}

kith_status kith_exact_clear(kith_exact *s) {
    assert(s != NULL);
    kith_status status = kith_filter_clear(s->filter);
    return status == KITH_OK ? kith_table_clear(s->table) : status;
}

/* Adds all keys of the table to the filter. */
static kith_status add_all_keys(kith_filter *filter, const kith_table *table) {
    kith_cursor cursor = {{0}};
    const void *key;
    size_t key_bytes;
    kith_status status = KITH_OK;
    while (status == KITH_OK && kith_table_next(table, &cursor, &key, &key_bytes, NULL))
        status = kith_filter_add(filter, key, key_bytes, NULL);
    return status;
}

static kith_status rebuild_filter(kith_exact *s) {
    kith_filter_spec spec = s->spec;
    uint64_t capacity = kith_filter_capacity(s->filter);
    kith_plan plan = KITH_PLAN_INIT;
    kith_status planned = kith_filter_plan_of(s->filter, &plan);
    assert(planned == KITH_OK);
    (void)planned;
    spec.bytes = 0;
    spec.rate = plan.rate;
    for (;;) {
        /* Twice as large, and with another seed, which separates keys that had the same fingerprint and place. A secret
         * hash key is not changed. */
        if (capacity > UINT64_MAX / 2)
            return KITH_E_ADDRESS;
        capacity *= 2;
        spec.capacity = capacity;
        if (spec.hash.id == KITH_HASH_XXH3)
            spec.hash.seed++;
        kith_filter *larger;
        kith_status status = kith_filter_create(&spec, &larger);
        if (status != KITH_OK)
            return status;
        status = add_all_keys(larger, s->table);
        if (status == KITH_OK) {
            kith_filter_free(s->filter);
            s->filter = larger;
            s->spec = spec;
            return KITH_OK;
        }
        kith_filter_free(larger);
        if (status != KITH_E_FULL && status != KITH_E_COPIES)
            return status;
    }
}

/* The table looks the key up before it stores it, so a lookup in the filter would save nothing. The digest is computed
 * first, because the key may be a pointer into the table itself. */
kith_status kith_exact_add(kith_exact *s, const void *key, size_t key_bytes, bool *was_new) {
    assert(s != NULL);
    uint64_t digest = kith_filter_digest(s->filter, key, key_bytes);
    bool is_new;
    kith_status status = kith_table_put(s->table, key, key_bytes, 0, &is_new);
    if (status != KITH_OK)
        return status;
    if (is_new) {
        status = kith_filter_add_many(s->filter, &digest, 1, NULL, NULL);
        if (status == KITH_E_FULL || status == KITH_E_COPIES)
            status = rebuild_filter(s);
        if (status != KITH_OK) {
            kith_status undone = kith_table_remove(s->table, key, key_bytes, NULL);
            assert(undone == KITH_OK);
            (void)undone;
            return status;
        }
    }
    if (was_new != NULL)
        *was_new = is_new;
    return KITH_OK;
}

kith_status kith_exact_remove(kith_exact *s, const void *key, size_t key_bytes) {
    assert(s != NULL);
    /* Computed first, because the key may be a pointer into the table itself. */
    uint64_t digest = kith_filter_digest(s->filter, key, key_bytes);
    if (kith_filter_has_many(s->filter, &digest, 1, NULL) == 0)
        return KITH_E_ABSENT;
    kith_status status = kith_table_remove(s->table, key, key_bytes, NULL);
    if (status != KITH_OK)
        return status;
    /* If the filter cannot determine which of its layers holds the key, the key stays in the filter: a false positive,
     * which costs a lookup in the table. */
    status = kith_filter_remove_many(s->filter, &digest, 1, NULL);
    assert(status == KITH_OK || status == KITH_E_AMBIGUOUS);
    return KITH_OK;
}

bool kith_exact_has(const kith_exact *s, const void *key, size_t key_bytes) {
    assert(s != NULL);
    return kith_filter_has(s->filter, key, key_bytes) && kith_table_has(s->table, key, key_bytes);
}

uint64_t kith_exact_count(const kith_exact *s) {
    assert(s != NULL);
    return kith_table_count(s->table);
}

const kith_filter *kith_exact_filter(const kith_exact *s) {
    assert(s != NULL);
    return s->filter;
}

const kith_table *kith_exact_table(const kith_exact *s) {
    assert(s != NULL);
    return s->table;
}

kith_status kith_exact_check(const kith_exact *s, const char **reason) {
    assert(s != NULL);
    kith_status status = kith_table_check(s->table, reason);
    if (status == KITH_OK)
        status = kith_filter_check(s->filter, reason);
    if (status != KITH_OK)
        return status;
    kith_cursor cursor = {{0}};
    const void *key;
    size_t key_bytes;
    while (kith_table_next(s->table, &cursor, &key, &key_bytes, NULL)) {
        if (!kith_filter_has(s->filter, key, key_bytes)) {
            if (reason != NULL)
                *reason = "the filter lacks a key of the table";
            return KITH_E_CORRUPT;
        }
    }
    return KITH_OK;
}
