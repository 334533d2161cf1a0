/* Tests the options of a walk in the table `cuckoo`: max, start and evict. */
#include <math.h>

#include <kith/inspect.h>

#include "check.h"
#include "option_errors.h"
#include "core/prng.h"
#include "tables/cuckoo/insert.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* The moves of the current put, up to the first rebuild. */
typedef struct steps {
    uint64_t moves;
    bool rebuilt;
} steps;

static void count_steps(void *context, kith_step step, uint64_t place, uint64_t to) {
    steps *s = context;
    (void)place;
    (void)to;
    s->rebuilt |= step == KITH_STEP_REHASH || step == KITH_STEP_GROW;
    s->moves += step == KITH_STEP_MOVE && !s->rebuilt;
}

static kith_status create(const char *options, uint64_t capacity, steps *s, kith_table **table) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.options = options;
    spec.key_bytes = 8;
    spec.capacity = capacity;
    spec.seed = 1;
    kith_status status = kith_table_create(&spec, table);
    if (status == KITH_OK && s != NULL)
        kith_table_set_trace(*table, count_steps, s);
    return status;
}

static uint64_t slots_of(const kith_table *table) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    CHECK_OK(kith_table_stats_of(table, &stats));
    return stats.slots;
}

static uint64_t bucket_of(const kith_table *table, unsigned i, uint64_t word) {
    kithi_key key = {(const uint8_t *)&word, sizeof word};
    return kithi_cuckoo_table_bucket(table->state, i, &key, kithi_cuckoo_table_hash(table->state, &key));
}

/* Keys with the same bytes, and so the same buckets, on all processors. */
static uint64_t next_key(kithi_prng *prng) {
    uint64_t key;
    kithi_store64((uint8_t *)&key, kithi_prng_next(prng));
    return key;
}

/* Puts `others` keys and then three that have the same two buckets, so that the walk of the third must fail. Returns
 * its number of steps: each step but the first is a move, and each move is undone. */
static uint64_t steps_of_failed_walk(kith_table *table, steps *s, uint64_t others) {
    kithi_prng prng = {1};
    uint64_t slots = slots_of(table), first = next_key(&prng), key = first;
    for (uint64_t i = 0; i < others; i++) {
        do
            key = next_key(&prng);
        while (kithi_cuckoo_table_free_slots(table->state, bucket_of(table, 0, key)) == 0);
        CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
    }
    for (unsigned i = 0; i < 3; i++) {
        for (key = first; i > 0 && (bucket_of(table, 0, key) != bucket_of(table, 0, first) ||
                                    bucket_of(table, 1, key) != bucket_of(table, 1, first) || key == first ||
                                    kith_table_has(table, &key, sizeof key));)
            key = next_key(&prng);
        CHECK_EQ_U64(slots_of(table), slots);
        *s = (steps){0, false};
        CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
    }
    CHECK(s->rebuilt && s->moves % 2 == 0);
    return s->moves / 2 + 1;
}

TEST(a_walk_makes_as_many_steps_as_max_says_and_never_fewer) {
    static const unsigned MAX[] = {50, 500, 60000};
    for (size_t i = 0; i < LENGTH(MAX); i++) {
        char options[64];
        steps s;
        kith_table *table;
        (void)snprintf(options, sizeof options, "b=1 max=%u", MAX[i]);
        CHECK_OK(create(options, 20, &s, &table));
        CHECK_EQ_U64(steps_of_failed_walk(table, &s, 0), MAX[i]);
        kith_table_free(table);
    }
}

/* |T| = (2 + delta) n with the n and |T| at the time of the put. */
TEST(max_auto_follows_from_the_real_load) {
    static const char *const OPTIONS[] = {"b=1 max=auto", "b=1 max=auto load=49", "b=1 layout=two max=auto load=40"};
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        for (uint64_t others = 0; others <= 12; others += 4) {
            steps s;
            kith_table *table;
            CHECK_OK(create(OPTIONS[i], 20, &s, &table));
            double slots = (double)slots_of(table), delta = slots / (double)(others + 3) - 2;
            uint64_t made = steps_of_failed_walk(table, &s, others);
            printf("%s: %" PRIu64 " keys in %.0f slots, delta %.2f: a walk of %" PRIu64 " steps failed\n", OPTIONS[i],
                   others + 3, slots, delta, made);
            CHECK_EQ_U64(made, (uint64_t)ceil(6 * log(slots) / log1p(delta / 2)));
            kith_table_free(table);
        }
    }
}

/* With a load of 1%, small tables have more keys than the load allows, also after they have grown. */
TEST(max_auto_has_memory_for_walks_in_tables_that_are_above_their_load) {
    static const char *const OPTIONS[] = {"d=2 b=1 load=1 max=auto evict=first", "d=2 b=1 load=1 max=auto evict=last",
                                          "d=2 b=1 load=49 max=auto evict=first"};
    enum { SEEDS = 200, KEYS = 40 };
    for (size_t o = 0; o < LENGTH(OPTIONS); o++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            kith_table *table;
            CHECK_OK(create(OPTIONS[o], 0, NULL, &table));
            kithi_prng prng = {seed};
            for (unsigned i = 0; i < KEYS; i++) {
                uint64_t key = kithi_prng_next(&prng);
                CHECK_OK(kith_table_put(table, &key, sizeof key, i, NULL));
                CHECK(kith_table_has(table, &key, sizeof key));
            }
            CHECK_EQ_U64(kith_table_count(table), KEYS);
            CHECK_OK(kith_table_check(table, NULL));
            kith_table_free(table);
        }
}

TEST(max_auto_is_refused_where_delta_has_no_meaning) {
    static const char *const REFUSED[] = {"max=auto",
                                          "max=auto b=2",
                                          "max=auto b=1 d=3",
                                          "max=auto b=1 load=50",
                                          "max=auto b=1 load=100",
                                          "max=0",
                                          "max=49",
                                          "max=65536",
                                          "insert=search max=100",
                                          "insert=search start=second",
                                          "insert=search evict=first",
                                          "start=third"};
    for (size_t i = 0; i < LENGTH(REFUSED); i++) {
        kith_table *table;
        kith_status status = create(REFUSED[i], 100, NULL, &table);
        if (!is_option_error(status))
            CHECK_FAIL("%s: %s", REFUSED[i], kith_status_name(status));
    }
}

static bool is_in(const kith_table *table, uint64_t bucket, uint64_t word) {
    const kithi_cuckoo_table *c = table->state;
    for (unsigned slot = 0; slot < c->b; slot++)
        if ((c->tags[bucket * c->b + slot] & 0x7f) != 0 &&
            memcmp(kithi_cuckoo_table_record(table, c, bucket, slot), &word, sizeof word) == 0)
            return true;
    return false;
}

/* With evict=first the new key is always in the bucket where the walk started, unless the walk came back to it. */
TEST(evict_first_puts_the_new_key_where_the_walk_starts) {
    for (unsigned start = 0; start < 2; start++) {
        kith_table *table;
        steps s;
        CHECK_OK(create(start == 0 ? "b=1 evict=first" : "b=1 evict=first start=second", 2000, &s, &table));
        kithi_prng prng = {3};
        uint64_t evictions = 0, elsewhere = 0;
        for (unsigned i = 0; i < 1000; i++) {
            uint64_t key = kithi_prng_next(&prng);
            bool other_free = kithi_cuckoo_table_free_slots(table->state, bucket_of(table, 1 - start, key)) != 0;
            bool was_free = kithi_cuckoo_table_free_slots(table->state, bucket_of(table, start, key)) != 0;
            s = (steps){0, false};
            CHECK_OK(kith_table_put(table, &key, sizeof key, i, NULL));
            evictions += !was_free && other_free && s.moves > 0;
            elsewhere += !is_in(table, bucket_of(table, start, key), key);
            CHECK(!was_free || is_in(table, bucket_of(table, start, key), key));
            CHECK(kith_table_has(table, &key, sizeof key));
        }
        CHECK(evictions > 50 && elsewhere < 50);
        kith_table_free(table);
    }
}

/* Without evict=first, only keys whose buckets are both full start a walk, in the bucket that `start` names. */
TEST(start_names_the_bucket_in_which_the_walk_begins) {
    static const char *const OPTIONS[] = {"b=1 load=49", "b=1 load=49 start=second", "b=1 load=49 start=random"};
    for (unsigned start = 0; start < 3; start++) {
        kith_table *table;
        steps s;
        uint64_t in[2] = {0, 0};
        CHECK_OK(create(OPTIONS[start], 20000, &s, &table));
        kithi_prng prng = {5};
        for (unsigned i = 0; i < 19000; i++) {
            uint64_t key = kithi_prng_next(&prng);
            s = (steps){0, false};
            CHECK_OK(kith_table_put(table, &key, sizeof key, i, NULL));
            if (s.moves == 1 && !s.rebuilt)
                for (unsigned j = 0; j < 2; j++)
                    in[j] += is_in(table, bucket_of(table, j, key), key);
        }
        printf("%s: after one move the new key is in its first bucket %" PRIu64 " times, in its second %" PRIu64 "\n",
               OPTIONS[start], in[0], in[1]);
        CHECK(in[0] + in[1] > 300);
        CHECK(start == 2 ? in[0] > 100 && in[1] > 100 : in[1 - start] <= 2);
        kith_table_free(table);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
