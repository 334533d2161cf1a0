/* The public functions of tables: they check the arguments and call the kind. table_file.c saves and opens tables. */
#include <kith/table.h>

#include <assert.h>
#include <string.h>

#include "core/bits.h"
#include "core/hash.h"
#include "core/structs.h"
#include "os/map.h"
#include "tables/table_kind.h"

/* How many keys ahead get_many and put_many prefetch, where get_group and put_group cannot be used. */
#define AHEAD 8

/* ---- the registry ---- */

#define TABLE(name) extern const kithi_table_kind kithi_table_##name;
#include "tables/tables.def"
#undef TABLE

static const kithi_table_kind *const KINDS[] = {
#define TABLE(name) &kithi_table_##name,
#include "tables/tables.def"
#undef TABLE
};

#define KIND_COUNT (sizeof KINDS / sizeof *KINDS)

size_t kith_table_kind_count(void) {
    return KIND_COUNT;
}

const kith_kind_info *kith_table_kind_at(size_t index) {
    return index < KIND_COUNT ? &KINDS[index]->info : NULL;
}

const kithi_table_kind *kithi_table_kind_by_id(uint64_t id) {
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (KINDS[i]->id == id)
            return KINDS[i];
    return NULL;
}

/* NULL means the default, which is the first kind of the registry. */
static const kithi_table_kind *kind_named(const char *name) {
    if (name == NULL)
        return KINDS[0];
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (strcmp(KINDS[i]->info.name, name) == 0)
            return KINDS[i];
    return NULL;
}

/* ---- creating and freeing ---- */

/* Sets *seed to the seed in the spec. If that is 0, draws a new secret hash key and uses its first 8 bytes, which are
 * random, as the seed. */
static kith_status seed_of(const kith_table_spec *spec, uint64_t *seed) {
    *seed = spec->seed;
    if (*seed != 0)
        return KITH_OK;
    kith_hash fresh;
    kith_status status = kith_hash_untrusted(&fresh);
    if (status == KITH_OK)
        memcpy(seed, fresh.key, sizeof *seed);
    return status;
}

bool kithi_table_family_valid(kith_family_id family, unsigned independence) {
    return kith_family_name(family) != NULL && independence != 1 && independence <= 64 &&
           (independence == 0 || family == KITH_FAMILY_POLYNOMIAL);
}

bool kithi_table_key_bytes_valid(const kithi_table_kind *kind, unsigned key_bytes) {
    return key_bytes == 4 || key_bytes == 8 || key_bytes == 16 || (key_bytes == 0 && kind->takes_strings);
}

unsigned kithi_table_record_bytes(unsigned key_bytes) {
    return key_bytes == 4 || key_bytes == 8 ? 16 : 24;
}

kith_status kithi_table_new(const kith_table *like, kith_table **table) {
    *table = kithi_allocate(&like->allocator, sizeof **table);
    if (*table == NULL)
        return KITH_E_MEMORY;
    **table = *like;
    kithi_arena_init(&(*table)->arena, &(*table)->allocator);
    return KITH_OK;
}

void kithi_table_drop(kith_table *t) {
    kithi_arena_clear(&t->arena);
    kith_allocator allocator = t->allocator;
    kithi_release(&allocator, t, sizeof *t);
}

kith_status kith_table_create(const kith_table_spec *given, kith_table **table) {
    assert(given != NULL && table != NULL);
    kith_table_spec spec;
    if (!kithi_struct_read(&spec, sizeof spec, given))
        return KITH_E_STRUCT;
    if (!kithi_table_family_valid(spec.family, spec.independence))
        return KITH_E_HASH;
    const kithi_table_kind *kind = kind_named(spec.kind);
    if (kind == NULL)
        return KITH_E_KIND;
    if (!kithi_table_key_bytes_valid(kind, spec.key_bytes))
        return KITH_E_KEY;
    kith_table t = {
        .kind = kind,
        .allocator = kithi_allocator_or_default(spec.allocator),
        .key_bytes = spec.key_bytes,
        .record_bytes = kithi_table_record_bytes(spec.key_bytes),
        .family = spec.family,
        .independence = spec.independence,
        .capacity = spec.capacity,
    };
    kith_status status = kithi_options_read(spec.options, kind->info.options, kind->info.option_count, NULL, t.options);
    if (status == KITH_OK)
        status = seed_of(&spec, &t.prng.state);
    if (status != KITH_OK)
        return status;
    kith_table *made;
    status = kithi_table_new(&t, &made);
    if (status != KITH_OK)
        return status;
    status = kind->create(made, spec.capacity);
    if (status != KITH_OK) {
        kithi_table_drop(made);
        return status;
    }
    *table = made;
    return KITH_OK;
}

void kith_table_set_trace(kith_table *t, kith_table_trace trace, void *context) {
    assert(t != NULL && trace != NULL);
    t->trace = trace;
    t->trace_context = context;
    kithi_table_use_words(t, NULL);
}

void kith_table_free(kith_table *t) {
    if (t == NULL)
        return;
    t->kind->destroy(t);
    kithi_unmap_file(t->map, t->map_bytes);
    kithi_table_drop(t);
}

kith_status kith_table_clear(kith_table *t) {
    assert(t != NULL);
    if (t->readonly)
        return KITH_E_READONLY;
    t->kind->clear(t);
    kithi_arena_clear(&t->arena);
    t->count = 0;
    return KITH_OK;
}

kith_status kith_table_reserve(kith_table *t, uint64_t keys) {
    assert(t != NULL);
    if (t->readonly)
        return KITH_E_READONLY;
    return keys > t->count ? t->kind->reserve(t, keys) : KITH_OK;
}

/* ---- one key ---- */

static bool key_fits(const kith_table *t, size_t key_bytes) {
    uint64_t bytes = key_bytes; /* 64 bits, because a 32-bit size_t cannot hold the maximum */
    return t->key_bytes != 0 ? bytes == t->key_bytes : bytes <= KITHI_TABLE_KEY_BYTES_MAX;
}

/* Returns false if the table has no functions for words, or if the key has the wrong size. Otherwise sets *word. */
static inline bool read_word(const kith_table *t, const void *key, size_t key_bytes, uint64_t *word) {
    if (t->words == NULL || key_bytes != t->key_bytes)
        return false;
    *word = key_bytes == 8 ? kithi_load64(key) : kithi_load32(key);
    return true;
}

/* kith_table_put(), kith_table_get() and kith_table_remove() begin with the most common case: the table has functions
 * for words, and its keys have 8 bytes. They pass all other cases to put_any(), get_any() and remove_any(), so that the
 * most common case needs no stack frame. */

__attribute__((noinline)) static kith_status put_any(kith_table *t, const void *key, size_t key_bytes, uint64_t value,
                                                     bool *was_new) {
    if (!key_fits(t, key_bytes) || (value != 0 && !t->kind->takes_values))
        return KITH_E_KEY;
    if (t->readonly)
        return KITH_E_READONLY;
    uint64_t word;
    if (read_word(t, key, key_bytes, &word))
        return t->words->put(t, word, value, was_new);
    kithi_key k = {key, key_bytes};
    bool is_new;
    kith_status status = t->kind->put(t, &k, value, &is_new);
    if (status == KITH_OK && was_new != NULL)
        *was_new = is_new;
    return status;
}

kith_status kith_table_put(kith_table *t, const void *key, size_t key_bytes, uint64_t value, bool *was_new) {
    assert(t != NULL && (key != NULL || key_bytes == 0));
    if (key_bytes == 8 && t->words_8 != NULL && !t->readonly)
        return t->words_8->put(t, kithi_load64(key), value, was_new);
    return put_any(t, key, key_bytes, value, was_new);
}

__attribute__((noinline)) static bool get_any(const kith_table *t, const void *key, size_t key_bytes, uint64_t *value) {
    uint64_t word, found;
    if (read_word(t, key, key_bytes, &word))
        return t->words->get(t, word, value);
    kithi_key k = {key, key_bytes};
    if (!key_fits(t, key_bytes) || !t->kind->get(t, &k, &found))
        return false;
    if (value != NULL)
        *value = found;
    return true;
}

bool kith_table_get(const kith_table *t, const void *key, size_t key_bytes, uint64_t *value) {
    assert(t != NULL && (key != NULL || key_bytes == 0));
    if (key_bytes == 8 && t->words_8 != NULL)
        return t->words_8->get(t, kithi_load64(key), value);
    return get_any(t, key, key_bytes, value);
}

bool kith_table_has(const kith_table *t, const void *key, size_t key_bytes) {
    return kith_table_get(t, key, key_bytes, NULL);
}

__attribute__((noinline)) static kith_status remove_any(kith_table *t, const void *key, size_t key_bytes,
                                                        uint64_t *value) {
    if (t->readonly)
        return KITH_E_READONLY;
    if (!key_fits(t, key_bytes))
        return KITH_E_ABSENT;
    uint64_t word, found;
    if (read_word(t, key, key_bytes, &word))
        return t->words->remove(t, word, value);
    kithi_key k = {key, key_bytes};
    kith_status status = t->kind->remove(t, &k, &found);
    if (status == KITH_OK && value != NULL)
        *value = found;
    return status;
}

kith_status kith_table_remove(kith_table *t, const void *key, size_t key_bytes, uint64_t *value) {
    assert(t != NULL && (key != NULL || key_bytes == 0));
    if (key_bytes == 8 && t->words_8 != NULL && !t->readonly)
        return t->words_8->remove(t, kithi_load64(key), value);
    return remove_any(t, key, key_bytes, value);
}

kith_status kith_table_find(const kith_table *t, const void *key, size_t key_bytes, kith_find_outcome *outcome,
                            uint64_t *index) {
    assert(t != NULL && (key != NULL || key_bytes == 0) && outcome != NULL && index != NULL);
    if (t->kind->find == NULL)
        return KITH_E_UNSUPPORTED;
    if (!key_fits(t, key_bytes))
        return KITH_E_KEY;
    kithi_key k = {key, key_bytes};
    *outcome = t->kind->find(t, &k, index);
    return KITH_OK;
}

/* ---- many keys ---- */

static inline kithi_key key_at(const kith_table *t, const kith_keys *keys, size_t i) {
    if (keys->each != NULL)
        return (kithi_key){keys->each[i].bytes, keys->each[i].byte_count};
    return (kithi_key){(const uint8_t *)keys->packed + i * t->key_bytes, t->key_bytes};
}

static inline void prefetch(const kith_table *t, const kithi_key *key) {
    if (t->kind->prefetch != NULL && key_fits(t, key->byte_count))
        t->kind->prefetch(t, key);
}

/* Unused if assertions are off. */
__attribute__((unused)) static bool keys_valid(const kith_table *t, const kith_keys *keys) {
    return keys->n == 0 || (keys->each != NULL) != (keys->packed != NULL && t->key_bytes != 0);
}

/* Does what kithi_table_kind.get_group does, one key after the other, and prefetches AHEAD keys ahead. */
static uint64_t get_one_by_one(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values) {
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch(t, &keys[i + AHEAD]);
        uint64_t value;
        if (!key_fits(t, keys[i].byte_count) || !t->kind->get(t, &keys[i], &value))
            continue;
        found |= UINT64_C(1) << i;
        if (values != NULL)
            values[i] = value;
    }
    return found;
}

/* Reads n keys from index `from` on as words. Returns false if this table has no functions for words, or if one of the
 * keys has the wrong size. */
static bool read_words(const kith_table *t, const kith_keys *keys, size_t from, size_t n, uint64_t *words) {
    for (size_t i = 0; i < n; i++) {
        kithi_key key = key_at(t, keys, from + i);
        if (!read_word(t, key.bytes, key.byte_count, &words[i]))
            return false;
    }
    return true;
}

/* Does what kithi_table_kind.get_group does, for keys of any size and any kind. */
static uint64_t get_keys(const kith_table *t, const kith_keys *keys, size_t from, size_t n, uint64_t *values) {
    kithi_key group[KITHI_GROUP_KEYS];
    bool fit = true;
    for (size_t i = 0; i < n; i++) {
        group[i] = key_at(t, keys, from + i);
        fit = fit && key_fits(t, group[i].byte_count);
    }
    bool grouped = fit && t->kind->get_group != NULL && t->trace == NULL;
    return grouped ? t->kind->get_group(t, group, n, values) : get_one_by_one(t, group, n, values);
}

size_t kith_table_get_many(const kith_table *t, const kith_keys *keys, uint64_t *values, uint64_t *found) {
    assert(t != NULL && keys != NULL && keys_valid(t, keys));
    size_t hits = 0;
    for (size_t from = 0; from < keys->n; from += KITHI_GROUP_KEYS) {
        uint64_t words[KITHI_GROUP_KEYS];
        size_t n = keys->n - from < KITHI_GROUP_KEYS ? keys->n - from : KITHI_GROUP_KEYS;
        uint64_t *group_values = values != NULL ? values + from : NULL;
        uint64_t present = read_words(t, keys, from, n, words) ? t->words->get_group(t, words, n, group_values)
                                                               : get_keys(t, keys, from, n, group_values);
        if (found != NULL)
            found[from / KITHI_GROUP_KEYS] = present;
        hits += kithi_popcount(present);
    }
    return hits;
}

size_t kith_table_has_many(const kith_table *t, const kith_keys *keys, uint64_t *found) {
    return kith_table_get_many(t, keys, NULL, found);
}

/* Does what kithi_table_words.put_group does, for keys of any size and any kind, and prefetches AHEAD keys ahead. */
static kith_status put_keys(kith_table *t, const kith_keys *keys, size_t from, size_t n, const uint64_t *values,
                            size_t *done) {
    for (size_t i = 0; i < n; i++) {
        if (keys->n - from - i > AHEAD) {
            kithi_key ahead = key_at(t, keys, from + i + AHEAD);
            prefetch(t, &ahead);
        }
        kithi_key key = key_at(t, keys, from + i);
        kith_status status = kith_table_put(t, key.bytes, key.byte_count, values != NULL ? values[i] : 0, NULL);
        if (status != KITH_OK) {
            *done = i;
            return status;
        }
    }
    *done = n;
    return KITH_OK;
}

kith_status kith_table_put_many(kith_table *t, const kith_keys *keys, const uint64_t *values, size_t *done) {
    assert(t != NULL && keys != NULL && keys_valid(t, keys));
    kith_status status = KITH_OK;
    size_t from = 0;
    while (from < keys->n && status == KITH_OK) {
        uint64_t words[KITHI_GROUP_KEYS];
        size_t n = keys->n - from < KITHI_GROUP_KEYS ? keys->n - from : KITHI_GROUP_KEYS, put_count;
        const uint64_t *group_values = values != NULL ? values + from : NULL;
        if (!t->readonly && read_words(t, keys, from, n, words))
            status = t->words->put_group(t, words, group_values, n, &put_count);
        else
            status = put_keys(t, keys, from, n, group_values, &put_count);
        from += put_count;
    }
    if (done != NULL)
        *done = from;
    return status;
}

/* ---- iteration and statistics ---- */

uint64_t kith_table_count(const kith_table *t) {
    assert(t != NULL);
    return t->count;
}

bool kith_table_next(const kith_table *t, kith_cursor *cursor, const void **key, size_t *key_bytes, uint64_t *value) {
    assert(t != NULL && cursor != NULL);
    kithi_key found;
    uint64_t found_value;
    if (!t->kind->next(t, cursor, &found, &found_value))
        return false;
    if (key != NULL)
        *key = found.bytes;
    if (key_bytes != NULL)
        *key_bytes = found.byte_count;
    if (value != NULL)
        *value = found_value;
    return true;
}

kith_status kith_table_stats_of(const kith_table *t, kith_table_stats *stats) {
    assert(t != NULL && stats != NULL);
    if (!kithi_struct_valid(stats, sizeof *stats))
        return KITH_E_STRUCT;
    kith_table_stats made;
    memset(&made, 0, sizeof made); /* padding as well: callers may compare structs */
    made.count = t->count;
    made.bytes = sizeof *t + t->arena.held_bytes;
    made.rehashes = t->rehashes;
    made.growths = t->growths;
    t->kind->stats(t, &made);
    if (t->count == 0)
        made.longest = 0; /* some kinds return an upper bound, which need not be 0 for an empty table */
    made.load = made.slots != 0 ? (double)t->count / (double)made.slots : 0;
    kithi_struct_write(stats, &made);
    return KITH_OK;
}

kith_status kith_table_check(const kith_table *t, const char **reason) {
    assert(t != NULL);
    const char *broken = t->kind->check(t);
    if (reason != NULL)
        *reason = broken;
    return broken == NULL ? KITH_OK : KITH_E_CORRUPT;
}

const char *kith_table_kind_name(const kith_table *t) {
    assert(t != NULL);
    return t->kind->info.name;
}
