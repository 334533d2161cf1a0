/* Plants faults in the library, so that tests can show that each check detects them. The method is that of
 * fault/faults.c: library functions are replaced at link time (--wrap, see wrap.txt). For a fault in a kind, a table
 * that is created gets a copy of its kind's record in which one function is faulty; the faulty function calls the
 * original one. At most one fault is armed, and none before fault_arm(). */
#include "table_fault/faults.h"

#include <assert.h>
#include <string.h>

#include "core/mix.h"
#include "tables/table_kind.h"

enum { KINDS_MAX = 64 };

typedef struct fault {
    const char *name;
    bool fixed;                        /* has an effect only in tables of fixed size */
    void (*plant)(kithi_table_kind *); /* NULL for a fault in a wrapped function */
} fault;

static const fault *armed;

static bool is_armed(const char *name) {
    return armed != NULL && strcmp(armed->name, name) == 0;
}

/* ---- faults in a kind's record ---- */

static const kithi_table_kind *original_kinds[KINDS_MAX];
static kithi_table_kind faulty_kinds[KINDS_MAX];

static void plant_in(kith_table *t) {
    if (armed == NULL || armed->plant == NULL)
        return;
    size_t i = 0;
    while (original_kinds[i] != NULL && original_kinds[i] != t->kind)
        i++;
    assert(i + 1 < KINDS_MAX);
    if (original_kinds[i] == NULL) {
        original_kinds[i] = t->kind;
        faulty_kinds[i] = *t->kind;
        armed->plant(&faulty_kinds[i]);
    }
    t->kind = &faulty_kinds[i];
    t->words = t->words_8 = NULL; /* so that all calls go to the functions of the kind */
}

/* Returns the original record of a faulty one. */
static const kithi_table_kind *original(const kith_table *t) {
    return original_kinds[t->kind - faulty_kinds];
}

/* Returns true for one in `share` keys, chosen by a hash of the key. */
static bool affected(const kithi_key *key, uint64_t share) {
    uint64_t print = key->byte_count;
    for (size_t i = 0; i < key->byte_count; i++)
        print = kithi_mix(print ^ key->bytes[i]);
    return print % share == 0;
}

#define GET(fault_name, body)                                                                                          \
    static bool faulty_##fault_name(const kith_table *t, const kithi_key *key, uint64_t *value)                        \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->get = faulty_##fault_name;                                                                               \
        kind->get_group = NULL;                                                                                        \
    }
#define PUT(fault_name, body)                                                                                          \
    static kith_status faulty_##fault_name(kith_table *t, const kithi_key *key, uint64_t value, bool *was_new)         \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->put = faulty_##fault_name;                                                                               \
    }
#define NEXT(fault_name, body)                                                                                         \
    static bool faulty_##fault_name(const kith_table *t, kith_cursor *cursor, kithi_key *key, uint64_t *value)         \
        body static void plant_##fault_name(kithi_table_kind *kind) {                                                  \
        kind->next = faulty_##fault_name;                                                                              \
    }

GET(get_forgets_some, { return original(t)->get(t, key, value) && !affected(key, 256); })
GET(get_allocates, {
    void *scratch = kithi_allocate(&t->allocator, 64);
    bool found = original(t)->get(t, key, value);
    kithi_release(&t->allocator, scratch, 64);
    return found;
})

PUT(put_keeps_the_old_value, {
    uint64_t old;
    bool keep = affected(key, 64) && original(t)->get(t, key, &old);
    return original(t)->put(t, key, keep ? old : value, was_new);
})
PUT(count_drifts, {
    t->count += affected(key, 64);
    return original(t)->put(t, key, value, was_new);
})
PUT(was_new_is_always_true, {
    kith_status status = original(t)->put(t, key, value, was_new);
    *was_new = true;
    return status;
})

static void drop_first(kith_table *t) {
    kith_cursor cursor = {{0}};
    kithi_key key;
    uint64_t value;
    if (!original(t)->next(t, &cursor, &key, &value))
        return;
    kith_status status = original(t)->remove(t, &key, &value);
    assert(status == KITH_OK);
    (void)status;
    t->count++;
}

PUT(no_memory_drops_a_key, {
    kith_status status = original(t)->put(t, key, value, was_new);
    if (status == KITH_E_MEMORY)
        drop_first(t);
    return status;
})
PUT(no_memory_counts_as_growth, {
    kith_status status = original(t)->put(t, key, value, was_new);
    t->growths += status == KITH_E_MEMORY;
    return status;
})
PUT(growth_loses_a_key, {
    uint64_t growths = t->growths;
    kith_status status = original(t)->put(t, key, value, was_new);
    if (t->growths > growths && t->count > 1000)
        drop_first(t);
    return status;
})
PUT(growths_are_not_counted, {
    kith_status status = original(t)->put(t, key, value, was_new);
    t->growths = 0;
    return status;
})
PUT(full_comes_early, {
    uint64_t old;
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    original(t)->stats(t, &stats);
    if (t->count + 1 == stats.slots && !original(t)->get(t, key, &old))
        return KITH_E_FULL;
    return original(t)->put(t, key, value, was_new);
})

NEXT(next_skips_some, {
    bool more;
    do
        more = original(t)->next(t, cursor, key, value);
    while (more && affected(key, 256));
    return more;
})
NEXT(next_repeats_some, {
    kith_cursor before = *cursor;
    bool more = original(t)->next(t, cursor, key, value);
    if (more && cursor->at[3] == 0 && affected(key, 64)) {
        *cursor = before;
        cursor->at[3] = 1;
    } else {
        cursor->at[3] = 0;
    }
    return more;
})

static kith_status faulty_remove_leaves_some(kith_table *t, const kithi_key *key, uint64_t *value) {
    return affected(key, 64) && original(t)->get(t, key, value) ? KITH_OK : original(t)->remove(t, key, value);
}
static void plant_remove_leaves_some(kithi_table_kind *kind) {
    kind->remove = faulty_remove_leaves_some;
}

static kith_status faulty_reserve_does_nothing(kith_table *t, uint64_t keys) {
    (void)t;
    (void)keys;
    return KITH_OK;
}
static void plant_reserve_does_nothing(kithi_table_kind *kind) {
    kind->reserve = faulty_reserve_does_nothing;
}

static void faulty_bytes_are_not_counted(const kith_table *t, kith_table_stats *stats) {
    original(t)->stats(t, stats);
    stats->bytes -= 64;
}
static void plant_bytes_are_not_counted(kithi_table_kind *kind) {
    kind->stats = faulty_bytes_are_not_counted;
}

static const char *faulty_check_finds_nothing(const kith_table *t) {
    (void)t;
    return NULL;
}
static void plant_check_finds_nothing(kithi_table_kind *kind) {
    kind->check = faulty_check_finds_nothing;
}

/* ---- faults in a wrapped function ---- */

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
    kith_status status = __real_kith_table_create(&changed, table);
    if (status == KITH_OK)
        plant_in(*table);
    return status;
}

WRAP(void, kith_table_set_trace, kith_table *t, kith_table_trace trace, void *context) {
    if (!is_armed("traces_are_dropped"))
        __real_kith_table_set_trace(t, trace, context);
}

WRAP(kith_status, kith_table_clear, kith_table *t) {
    return is_armed("clear_keeps_the_keys") ? KITH_OK : __real_kith_table_clear(t);
}

WRAP(kith_status, kith_table_put, kith_table *t, const void *key, size_t key_bytes, uint64_t value, bool *was_new) {
    kith_status status = __real_kith_table_put(t, key, key_bytes, value, was_new);
    return status == KITH_E_KEY && value == 0 && is_armed("wrong_sizes_are_accepted") ? KITH_OK : status;
}

WRAP(bool, kith_table_get, const kith_table *t, const void *key, size_t key_bytes, uint64_t *value) {
    bool cut = is_armed("long_keys_are_truncated") && t->key_bytes == 0;
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
    if (is_armed("mapped_tables_accept_keys"))
        (*table)->readonly = false;
    kith_cursor cursor = {{0}};
    kithi_key key;
    uint64_t value;
    if (is_armed("opened_tables_lose_a_key") && !(*table)->readonly &&
        (*table)->kind->next(*table, &cursor, &key, &value))
        status = (*table)->kind->remove(*table, &key, &value);
    return status;
}

WRAP(kith_status, kith_table_stats_of, const kith_table *t, kith_table_stats *stats) {
    kith_status status = __real_kith_table_stats_of(t, stats);
    if (is_armed("structs_are_written_whole") && status == KITH_OK)
        *(unsigned char *)&stats->growths ^= 1;
    return status;
}

WRAP(kith_status, kithi_body_verify, const uint8_t *block, const kithi_head *head) {
    return is_armed("body_checksums_are_not_verified") ? KITH_OK : __real_kithi_body_verify(block, head);
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

/* ---- the list of faults ---- */

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
    WRAPPED(structs_are_written_whole),
    WRAPPED(wrong_sizes_are_accepted),
    WRAPPED(long_keys_are_truncated),
    WRAPPED(batch_skips_its_last),
    WRAPPED(put_many_claims_all),
    PLANTED(no_memory_drops_a_key),
    PLANTED(no_memory_counts_as_growth),
    WRAPPED(handles_are_leaked),
    PLANTED(get_allocates),
    PLANTED(bytes_are_not_counted),
    PLANTED(check_finds_nothing),
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
    WRAPPED(mapped_tables_accept_keys),
    WRAPPED(body_checksums_are_not_verified),
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
