/* Tests the functions of the table `cuckoo` for keys that are words (tables/cuckoo/words.c), and growth, which keeps
 * the hash function with some families. A table that has a trace never uses the functions for words, so it is the
 * model. */
#include <kith/inspect.h>

#include "check.h"
#include "core/prng.h"
#include "tables/cuckoo/rebuild.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { BATCH = 150 }; /* more than two groups, the last one incomplete */

static void ignore_step(void *context, kith_step step, uint64_t place, uint64_t to) {
    (void)context;
    (void)step;
    (void)place;
    (void)to;
}

static kith_table *create(unsigned key_bytes, kith_family_id family, const char *options, uint64_t capacity,
                          bool traced) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.key_bytes = key_bytes;
    spec.family = family;
    spec.options = options;
    spec.capacity = capacity;
    spec.seed = 5;
    kith_table *table;
    CHECK_OK(kith_table_create(&spec, &table));
    if (traced)
        kith_table_set_trace(table, ignore_step, NULL);
    return table;
}

static kith_table_stats stats_of(const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(table, &stats));
    return stats;
}

static void check_same_bytes(const kith_table *words, const kith_table *model) {
    const kithi_cuckoo_table *a = words->state, *b = model->state;
    CHECK_EQ_U64(words->count, model->count);
    CHECK_EQ_U64(a->seed, b->seed);
    CHECK_EQ_U64(a->buckets, b->buckets);
    CHECK_EQ_U64(a->stale_overflow_bits, b->stale_overflow_bits);
    CHECK(memcmp(a->records, b->records, (size_t)kithi_cuckoo_table_body_bytes(words, a)) == 0);
}

/* Key i as bytes; keys below 2^32 are the same for both sizes. */
static void key_bytes_of(uint64_t i, uint8_t key[8]) {
    kithi_store64(key, i * 0x9e3779b1u & UINT32_MAX);
}

static void put_both(kith_table *words, kith_table *model, uint64_t i, uint64_t value) {
    uint8_t key[8];
    key_bytes_of(i, key);
    bool was_new, model_was_new;
    CHECK_OK(kith_table_put(words, key, words->key_bytes, value, &was_new));
    CHECK_OK(kith_table_put(model, key, model->key_bytes, value, &model_was_new));
    CHECK(was_new == model_was_new);
}

static void remove_both(kith_table *words, kith_table *model, uint64_t i) {
    uint8_t key[8];
    key_bytes_of(i, key);
    uint64_t value = 1, model_value = 1;
    kith_status status = kith_table_remove(words, key, words->key_bytes, &value);
    CHECK_STATUS(status, kith_table_remove(model, key, model->key_bytes, &model_value));
    CHECK_EQ_U64(value, model_value);
}

static void put_many_both(kith_table *words, kith_table *model, uint64_t from) {
    uint8_t packed[BATCH * 8];
    uint64_t values[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        uint8_t key[8];
        key_bytes_of(from + i, key);
        memcpy(packed + i * words->key_bytes, key, words->key_bytes);
        values[i] = from ^ i;
    }
    kith_keys keys = {NULL, packed, BATCH};
    size_t done;
    CHECK_OK(kith_table_put_many(words, &keys, values, &done));
    CHECK_EQ_U64(done, BATCH);
    for (size_t i = 0; i < BATCH; i++)
        CHECK_OK(kith_table_put(model, packed + i * model->key_bytes, model->key_bytes, values[i], NULL));
}

static void compare_lookups(const kith_table *words, const kith_table *model, uint64_t keys) {
    for (uint64_t i = 0; i < keys; i++) {
        uint8_t key[8];
        key_bytes_of(i, key);
        uint64_t value = 1, model_value = 1;
        bool found = kith_table_get(words, key, words->key_bytes, &value);
        CHECK(found == kith_table_get(model, key, model->key_bytes, &model_value));
        CHECK_EQ_U64(value, model_value);
        CHECK(kith_table_has(words, key, words->key_bytes) == found);
    }
}

/* Replaces one key after the other: the table has keys 0 … keys - 1, later others. Returns how often a put has
 * recomputed the overflow bits, which both tables must do at the same time. */
static unsigned refreshes_of_churn(kith_table *words, kith_table *model, uint64_t keys) {
    const kithi_cuckoo_table *c = words->state, *m = model->state;
    unsigned refreshes = 0;
    for (uint64_t i = 0; i < 50 * keys; i++) {
        remove_both(words, model, i % (2 * keys));
        uint64_t stale = c->stale_overflow_bits;
        put_both(words, model, (i + keys) % (2 * keys), i);
        refreshes += c->stale_overflow_bits < stale;
        CHECK_EQ_U64(c->stale_overflow_bits, m->stale_overflow_bits);
    }
    check_same_bytes(words, model);
    return refreshes;
}

/* With load=100 a table is filled until no slot can be freed, and then draws new functions: also in the middle of a
 * batch, whose keys have been hashed with the old one. */
TEST(tables_of_words_have_the_bytes_of_other_tables) {
    static const char *const OPTIONS[] = {"", "load=100", "load=50"};
    static const kith_family_id FAMILIES[] = {KITH_FAMILY_XXH3, KITH_FAMILY_SIPHASH};
    enum { KEYS = 1500 };
    for (size_t o = 0; o < LENGTH(OPTIONS); o++) {
        for (size_t f = 0; f < LENGTH(FAMILIES); f++) {
            for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
                kith_table *words = create(key_bytes, FAMILIES[f], OPTIONS[o], 0, false);
                kith_table *model = create(key_bytes, FAMILIES[f], OPTIONS[o], 0, true);
                CHECK(words->words != NULL && model->words == NULL);
                kithi_prng prng = {o + f};
                for (uint64_t from = 0; from < KEYS; from += BATCH) {
                    put_many_both(words, model, from);
                    for (unsigned i = 0; i < BATCH; i++)
                        put_both(words, model, kithi_prng_below(&prng, from + BATCH), i);
                    check_same_bytes(words, model);
                }
                compare_lookups(words, model, 2 * KEYS);
                CHECK(stats_of(words).growths > 3);
                CHECK((stats_of(words).rehashes > 0) == (strcmp(OPTIONS[o], "load=100") == 0));
                unsigned refreshes = refreshes_of_churn(words, model, KEYS);
                CHECK(refreshes > 0 || strcmp(OPTIONS[o], "load=50") == 0);
                compare_lookups(words, model, 2 * KEYS);
                CHECK_OK(kith_table_check(words, NULL));
                kith_table_free(words);
                kith_table_free(model);
            }
        }
    }
}

TEST(growth_keeps_the_function_of_xxh3_and_siphash_only) {
    for (unsigned family = 0; family < KITH_FAMILY_COUNT; family++) {
        kith_table *table = create(8, (kith_family_id)family, "", 0, false);
        const kithi_cuckoo_table *c = table->state;
        uint64_t seed = c->seed, first = c->buckets;
        for (uint64_t i = 0; c->buckets < 4 * first; i++)
            CHECK_OK(kith_table_put(table, &i, sizeof i, i, NULL));
        CHECK_EQ_U64(stats_of(table).rehashes, 0);
        CHECK((c->seed == seed) == (family == KITH_FAMILY_XXH3 || family == KITH_FAMILY_SIPHASH));
        kith_table_free(table);
    }
}

TEST(new_functions_are_drawn_if_no_slot_can_be_freed) {
    kith_table *table = create(8, KITH_FAMILY_XXH3, "load=100", 100, false);
    const kithi_cuckoo_table *c = table->state;
    uint64_t seed = c->seed;
    for (uint64_t i = 0; stats_of(table).rehashes == 0; i++)
        CHECK_OK(kith_table_put(table, &i, sizeof i, i, NULL));
    CHECK(c->seed != seed);
    kith_table_free(table);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
