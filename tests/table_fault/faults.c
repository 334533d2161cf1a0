/* Planted faults of tables, as those of filters are planted (fault/faults.c): one call in the library is replaced at link
 * time (--wrap, see wrap.txt). A table that is created gets a copy of its kind's record in which one verb is faulty; the
 * faulty verb calls the true one. One fault is armed at a time; none is, until fault_arm(). */
#include "table_fault/faults.h"

#include <assert.h>
#include <string.h>

#include "core/mix.h"
#include "table_kind.h"

enum { KINDS_MAX = 64 };

typedef struct fault {
    const char *name;
    bool fixed;                        /* shows in tables of fixed size only */
    void (*plant)(kithi_table_kind *); /* NULL for a fault in a wrapped function */
} fault;

static const fault *armed;

static bool is_armed(const char *name) {
    return armed != NULL && strcmp(armed->name, name) == 0;
}

/* ---- faults in a kind's record ---- */

static const kithi_table_kind *true_kinds[KINDS_MAX];
static kithi_table_kind faulty_kinds[KINDS_MAX];

static void plant_in(kith_table *t) {
    if (armed == NULL || armed->plant == NULL)
        return;
    size_t i = 0;
    while (true_kinds[i] != NULL && true_kinds[i] != t->kind)
        i++;
    assert(i + 1 < KINDS_MAX);
    if (true_kinds[i] == NULL) {
        true_kinds[i] = t->kind;
        faulty_kinds[i] = *t->kind;
        armed->plant(&faulty_kinds[i]);
    }
    t->kind = &faulty_kinds[i];
    t->has_words = false; /* all look-ups go through get */
}

/* The record under the faulty one. */
static const kithi_table_kind *truth(const kith_table *t) {
    return true_kinds[t->kind - faulty_kinds];
}

/* One key in `share` is struck. */
static bool struck(const kithi_key *key, uint64_t share) {
    uint64_t print = key->byte_count;
    for (size_t i = 0; i < key->byte_count; i++)
        print = kithi_mix(print ^ key->bytes[i]);
    return print % share == 0;
}

#define GET(fault_name, body)                                                                                          \
    static bool verb_##fault_name(const kith_table *t, const kithi_key *key, uint64_t *value)                          \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->get = verb_##fault_name;                                                                                 \
        kind->get_group = NULL;                                                                                        \
    }
#define PUT(fault_name, body)                                                                                          \
    static kith_status verb_##fault_name(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new)           \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->put = verb_##fault_name;                                                                                 \
    }
#define NEXT(fault_name, body)                                                                                         \
    static bool verb_##fault_name(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value)           \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->next = verb_##fault_name;                                                                                \
    }

GET(get_forgets_some, { return truth(t)->get(t, key, value) && !struck(key, 256); })
GET(get_allocates, {
    void *scratch = kithi_allocate(&t->allocator, 64);
    bool answer = truth(t)->get(t, key, value);
    kithi_release(&t->allocator, scratch, 64);
    return answer;
})

PUT(put_keeps_the_old_value, {
    uint64_t old;
    bool keep = struck(key, 64) && truth(t)->get(t, key, &old);
    return truth(t)->put(t, key, keep ? old : value, was_new);
})
PUT(count_drifts, {
    t->count += struck(key, 64);
    return truth(t)->put(t, key, value, was_new);
})
PUT(was_new_is_always_true, {
    kith_status status = truth(t)->put(t, key, value, was_new);
    *was_new = true;
    return status;
})

static void drop_first(kith_table *t) {
    kith_cursor cursor = {{0}};
    kithi_key key;
    uint64_t value;
    if (!truth(t)->next(t, &cursor, &key, &value))
        return;
    kith_status status = truth(t)->remove(t, &key, &value);
    assert(status == KITH_OK);
    (void)status;
    t->count++;
}

PUT(no_memory_drops_a_key, {
    kith_status status = truth(t)->put(t, key, value, was_new);
    if (status == KITH_E_MEMORY)
        drop_first(t);
    return status;
})
PUT(no_memory_counts_as_growth, {
    kith_status status = truth(t)->put(t, key, value, was_new);
    t->growths += status == KITH_E_MEMORY;
    return status;
})
PUT(growth_loses_a_key, {
    uint64_t growths = t->growths;
    kith_status status = truth(t)->put(t, key, value, was_new);
    if (t->growths > growths && t->count > 1000)
        drop_first(t);
    return status;
})
PUT(growths_are_not_counted, {
    kith_status status = truth(t)->put(t, key, value, was_new);
    t->growths = 0;
    return status;
})
PUT(full_comes_early, {
    uint64_t old;
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    truth(t)->stats(t, &stats);
    if (t->count + 1 == stats.slots && !truth(t)->get(t, key, &old))
        return KITH_E_FULL;
    return truth(t)->put(t, key, value, was_new);
})

NEXT(next_skips_some, {
    bool more;
    do
        more = truth(t)->next(t, cursor, key, value);
    while (more && struck(key, 256));
    return more;
})
NEXT(next_repeats_some, {
    kith_cursor before = *cursor;
    bool more = truth(t)->next(t, cursor, key, value);
    if (more && cursor->at[3] == 0 && struck(key, 64)) {
        *cursor = before;
        cursor->at[3] = 1;
    } else {
        cursor->at[3] = 0;
    }
    return more;
})

static kith_status verb_remove_leaves_some(kith_table *t, const kithi_key *key, uint64_t *value) {
    return struck(key, 64) && truth(t)->get(t, key, value) ? KITH_OK : truth(t)->remove(t, key, value);
}
static void plant_remove_leaves_some(kithi_table_kind *kind) {
    kind->remove = verb_remove_leaves_some;
}

static kith_status verb_reserve_does_nothing(kith_table *t, uint64_t keys) {
    (void)t;
    (void)keys;
    return KITH_OK;
}
static void plant_reserve_does_nothing(kithi_table_kind *kind) {
    kind->reserve = verb_reserve_does_nothing;
}

static void verb_bytes_are_forgotten(const kith_table *t, kith_table_stats *stats) {
    truth(t)->stats(t, stats);
    stats->bytes -= 64;
}
static void plant_bytes_are_forgotten(kithi_table_kind *kind) {
    kind->stats = verb_bytes_are_forgotten;
}

static const char *verb_check_is_blind(const kith_table *t) {
    (void)t;
    return NULL;
}
static void plant_check_is_blind(kithi_table_kind *kind) {
    kind->check = verb_check_is_blind;
}

/* ---- faults in a function ---- */

#define WRAP(type, function, ...)                                                                                      \
    type __real_##function(__VA_ARGS__);                                                                               \
    type __wrap_##function(__VA_ARGS__);                                                                               \
    type __wrap_##function(__VA_ARGS__)

WRAP(kith_status, kith_table_create, const kith_table_spec *spec, kith_table **table) {
    static uint64_t turn;
    kith_table_spec changed = *spec;
    if (is_armed("seeds_are_replaced"))
        changed.seed = ++turn;
    if (is_armed("seeds_are_ignored"))
        changed.seed = 1;
    if (is_armed("traces_are_dropped"))
        changed.trace = NULL;
    kith_status status = __real_kith_table_create(&changed, table);
    if (status == KITH_OK)
        plant_in(*table);
    return status;
}

WRAP(kith_status, kith_table_clear, kith_table *t) {
    return is_armed("clear_keeps_the_keys") ? KITH_OK : __real_kith_table_clear(t);
}

WRAP(kith_status, kith_table_put, kith_table *t, const void *key, size_t key_bytes, uint64_t value, bool *was_new) {
    kith_status status = __real_kith_table_put(t, key, key_bytes, value, was_new);
    return status == KITH_E_KEY && value == 0 && is_armed("wrong_sizes_are_swallowed") ? KITH_OK : status;
}

WRAP(bool, kith_table_get, const kith_table *t, const void *key, size_t key_bytes, uint64_t *value) {
    bool cut = is_armed("long_keys_are_cut") && t->key_bytes == 0;
    return __real_kith_table_get(t, key, cut ? (uint32_t)key_bytes : key_bytes, value);
}

WRAP(size_t, kith_table_get_many, const kith_table *t, const kith_keys *keys, uint64_t *values, uint64_t *found) {
    kith_keys fewer = *keys;
    if (is_armed("batch_skips_its_last") && keys->n % 64 == 1)
        fewer.n--;
    return __real_kith_table_get_many(t, &fewer, values, found);
}

WRAP(kith_status, kith_table_put_many, kith_table *t, const kith_keys *keys, const uint64_t *values, size_t *done) {
    kith_status status = __real_kith_table_put_many(t, keys, values, done);
    if (done != NULL && is_armed("put_many_claims_all"))
        *done = keys->n;
    return status;
}

WRAP(kith_status, kith_table_open, const char *path, unsigned flags, const kith_allocator *allocator,
     kith_table **table) {
    kith_status status = __real_kith_table_open(path, flags, allocator, table);
    if (status != KITH_OK)
        return status;
    if (is_armed("mapped_tables_take_keys"))
        (*table)->readonly = false;
    kith_cursor cursor = {{0}};
    kithi_key key;
    uint64_t value;
    if (is_armed("opened_tables_lose_a_key") && !(*table)->readonly &&
        (*table)->kind->next(*table, &cursor, &key, &value))
        status = (*table)->kind->remove(*table, &key, &value);
    return status;
}

WRAP(kith_status, kithi_body_verify, const uint8_t *block, const kithi_head *head) {
    return is_armed("body_checksums_are_not_looked_at") ? KITH_OK : __real_kithi_body_verify(block, head);
}

/* Returns some kind even if the id is unknown. */
WRAP(const kithi_table_kind *, kithi_table_kind_by_id, uint64_t id) {
    const kithi_table_kind *kind = __real_kithi_table_kind_by_id(id);
    for (id = 0; kind == NULL && is_armed("unknown_kind_ids_are_accepted"); id++)
        kind = __real_kithi_table_kind_by_id(id);
    return kind;
}

WRAP(kith_status, kith_function_draw, kith_family_id family, unsigned independence, uint64_t seed,
     const kith_allocator *allocator, kith_function **function) {
    if (family == KITH_FAMILY_MULTIPLY_SHIFT && is_armed("a_family_is_refused"))
        return KITH_E_ARGUMENT;
    return __real_kith_function_draw(family, independence, seed, allocator, function);
}

WRAP(kith_status, kithi_options_read, const char *text, const kith_option *options, size_t option_count,
     kithi_kind_resolver resolve, uint64_t *values) {
    kith_status status = __real_kithi_options_read(text, options, option_count, resolve, values);
    return status != KITH_OK && is_armed("bad_options_are_ignored")
               ? __real_kithi_options_read(NULL, options, option_count, resolve, values)
               : status;
}

WRAP(void, kithi_release, const kith_allocator *allocator, void *memory, uint64_t bytes) {
    if (!is_armed("handles_are_leaked") || bytes != sizeof(kith_table))
        __real_kithi_release(allocator, memory, bytes);
}

WRAP(void, kithi_arena_give, kithi_arena *arena, void *piece, uint64_t bytes) {
    if (!is_armed("removed_keys_keep_their_bytes"))
        __real_kithi_arena_give(arena, piece, bytes);
}

/* ---- the list ---- */

#define PLANTED(name)                                                                                                  \
    { #name, false, plant_##name }
#define WRAPPED(name)                                                                                                  \
    { #name, false, NULL }
static const fault FAULTS[] = {
    PLANTED(get_forgets_some),
    PLANTED(remove_leaves_some),
    PLANTED(put_keeps_the_old_value),
    PLANTED(count_drifts),
    PLANTED(was_new_is_always_true),
    WRAPPED(clear_keeps_the_keys),
    PLANTED(next_skips_some),
    PLANTED(next_repeats_some),
    WRAPPED(bad_options_are_ignored),
    WRAPPED(wrong_sizes_are_swallowed),
    WRAPPED(long_keys_are_cut),
    WRAPPED(batch_skips_its_last),
    WRAPPED(put_many_claims_all),
    PLANTED(no_memory_drops_a_key),
    PLANTED(no_memory_counts_as_growth),
    WRAPPED(handles_are_leaked),
    PLANTED(get_allocates),
    PLANTED(bytes_are_forgotten),
    PLANTED(check_is_blind),
    PLANTED(growth_loses_a_key),
    PLANTED(reserve_does_nothing),
    {"full_comes_early", true, plant_full_comes_early},
    WRAPPED(removed_keys_keep_their_bytes),
    WRAPPED(a_family_is_refused),
    WRAPPED(seeds_are_replaced),
    WRAPPED(seeds_are_ignored),
    PLANTED(growths_are_not_counted),
    WRAPPED(traces_are_dropped),
    WRAPPED(opened_tables_lose_a_key),
    WRAPPED(mapped_tables_take_keys),
    WRAPPED(body_checksums_are_not_looked_at),
    WRAPPED(unknown_kind_ids_are_accepted),
};

static const fault *fault_named(const char *name) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++)
        if (strcmp(FAULTS[i].name, name) == 0)
            return &FAULTS[i];
    return NULL;
}

bool fault_exists(const char *name, bool *fixed) {
    const fault *found = fault_named(name);
    if (found != NULL)
        *fixed = found->fixed;
    return found != NULL;
}

void fault_arm(const char *name) {
    armed = fault_named(name);
}
