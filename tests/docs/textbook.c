/* textbook.c: tests the structures of docs/textbook.md, which the build extracts to textbook.h, with each family of
 * hash functions.
 *
 * The reference is an array of flags, one for each key of a small universe. Seeds are fixed. The bounds of the random
 * quantities would be missed with a probability of at most 2 e^-14, about 2 in a million, by a right structure. */
#include "check.h"
#include "splitmix.h"

#include <lab/cuckoo_hashing/graph_probability.h>
#include <textbook.h>

enum { FUNCTIONS_MAX = 8, SEED = 1 };

static const double LN_OF_CHANCE = 14;

/* Different for different i, and never 0: splitmix_mix() is a bijection, and maps 0 to 0. */
static uint64_t key_at(uint64_t i) {
    return splitmix_mix((i + 1) * SPLITMIX_STEP);
}

static void *zeros(size_t count, size_t bytes) {
    void *array = calloc(count, bytes);
    if (array == NULL)
        abort();
    return array;
}

typedef struct functions {
    kith_function *h[FUNCTIONS_MAX];
    unsigned count;
} functions;

static functions drawn(kith_family_id family, unsigned count) {
    functions f = {.count = count};
    CHECK(draw_functions(f.h, count, family, SEED));
    return f;
}

/* Fails unless a number of successes with this mean, binomial or a sum of negatively correlated ones, is as close to it
 * as Chernoff's bounds say: P(X >= (1 + d) mean) <= exp(-mean d^2 / 3), P(X <= (1 - d) mean) <= exp(-mean d^2 / 2). */
static void check_near(const char *what, double count, double mean) {
    double d = sqrt(3 * LN_OF_CHANCE / mean);
    if (d >= 1 || fabs(count - mean) > d * mean)
        CHECK_FAIL("%s: %.0f, but %.1f are expected, at most %.1f%% off", what, count, mean, 100 * d);
}

/* ---- sets that support deletion, against the reference ---- */

typedef struct set {
    void *of;
    bool (*has)(const void *, uint64_t);
    bool (*insert)(void *, uint64_t); /* false: full; the set is unchanged */
    bool (*delete)(void *, uint64_t);
    bool is_exact; /* a table; a filter has false positives, and its reference deletes only keys that it has */
} set;

enum { UNIVERSE = 1500 };

/* Fails if a stored key is not found, or if a table finds another one. */
static void check_lookups(const set *s, const bool *stored) {
    for (unsigned i = 0; i < UNIVERSE; i++) {
        bool found = s->has(s->of, key_at(i));
        if (stored[i] || s->is_exact)
            CHECK(found == stored[i]);
    }
}

/* Inserts and deletes random ones of the first 2 * `keys` keys, so that about `keys` are stored, if there is room. Then
 * deletes all of them. Returns how often the set was full. */
static unsigned compare_with_reference(set s, unsigned keys) {
    bool stored[UNIVERSE] = {false};
    uint64_t random = SEED;
    unsigned count = 0, full = 0;
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)(splitmix_next(&random) % (2 * keys));
        bool insert = (splitmix_next(&random) % 4 != 0) == (count < keys);
        if (insert && (s.is_exact || !stored[i])) {
            bool ok = s.insert(s.of, key_at(i));
            CHECK(ok || !stored[i]); /* a key that is stored needs no slot */
            full += !ok;
            count += ok && !stored[i];
            stored[i] |= ok;
        } else if (!insert && (s.is_exact || stored[i])) {
            CHECK(s.delete(s.of, key_at(i)) == stored[i]);
            count -= stored[i];
            stored[i] = false;
        }
        if (step % 100 == 0)
            check_lookups(&s, stored);
    }
    check_lookups(&s, stored);
    CHECK(count > keys / 2);
    for (unsigned i = 0; i < UNIVERSE; i++)
        if (stored[i]) {
            CHECK(s.delete(s.of, key_at(i)));
            stored[i] = false;
        }
    for (unsigned i = 0; i < UNIVERSE; i++) /* a filter without keys has no false positives */
        CHECK(!s.has(s.of, key_at(i)) && !s.delete(s.of, key_at(i)));
    return full;
}

#define METHODS(type)                                                                                                  \
    static bool type##_has_it(const void *of, uint64_t key) {                                                          \
        return type##_has(of, key);                                                                                    \
    }                                                                                                                  \
    static bool type##_delete_it(void *of, uint64_t key) {                                                             \
        return type##_delete(of, key);                                                                                 \
    }                                                                                                                  \
    static set set_of_##type(type *of, bool is_exact) {                                                                \
        return (set){of, type##_has_it, type##_insert_it, type##_delete_it, is_exact};                                 \
    }

static bool chain_insert_it(void *of, uint64_t key) {
    return chain_insert(of, key);
}

static bool probing_insert_it(void *of, uint64_t key) {
    return probing_insert(of, key);
}

static bool counting_insert_it(void *of, uint64_t key) {
    counting_insert(of, key);
    return true;
}

static bool cuckoo_insert_it(void *of, uint64_t key) {
    return cuckoo_insert(of, key);
}

static bool cuckoo_filter_insert_it(void *of, uint64_t key) {
    return cuckoo_filter_insert(of, key);
}

METHODS(chain)
METHODS(probing)
METHODS(counting)
METHODS(cuckoo)
METHODS(cuckoo_filter)

/* ---- tables ---- */

TEST(chaining_is_a_set) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 1);
        chain t = {.h = f.h[0], .m = 100, .lists = zeros(100, sizeof *t.lists)};
        CHECK_EQ_U64(compare_with_reference(set_of_chain(&t, true), 300), 0);
        for (unsigned i = 0; i < t.m; i++)
            CHECK(t.lists[i] == NULL);
        free(t.lists);
        free_functions(f.h, f.count);
    }
}

TEST(linear_probing_is_a_set) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 1);
        probing t = {.h = f.h[0], .m = 400, .slots = zeros(400, sizeof *t.slots)};
        CHECK_EQ_U64(compare_with_reference(set_of_probing(&t, true), 300), 0);
        /* A table that is full most of the time: runs go round its end, and searches end after m slots. */
        t.m = 50;
        CHECK(compare_with_reference(set_of_probing(&t, true), 70) > 100);
        for (unsigned i = 0; i < 400; i++)
            CHECK_EQ_U64(t.slots[i], 0);
        free(t.slots);
        free_functions(f.h, f.count);
    }
}

static cuckoo cuckoo_of(uint32_t m, kith_family_id family, uint64_t seed) {
    cuckoo t = {.m = m, .family = family, .seed = seed};
    CHECK(draw_functions(t.h, 2, family, seed));
    t.slots = zeros(m, sizeof *t.slots);
    t.keys = zeros(m / 2, sizeof *t.keys);
    return t;
}

static void free_cuckoo(cuckoo *t) {
    free_functions(t->h, 2);
    free(t->slots);
    free(t->keys);
}

TEST(cuckoo_hashing_is_a_set) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        cuckoo t = cuckoo_of(700, family, SEED);
        CHECK_EQ_U64(compare_with_reference(set_of_cuckoo(&t, true), 300), 0);
        t.m = 500; /* 227 keys at most */
        CHECK(compare_with_reference(set_of_cuckoo(&t, true), 300) > 100);
        CHECK_EQ_U64(t.count, 0);
        free_cuckoo(&t);
    }
}

/* Small tables rehash often: as often as their cuckoo graph cannot hold all keys. With line 14 of algorithm 2 of [4] as
 * printed, they lose keys then. */
TEST(cuckoo_hashing_loses_no_key_in_a_rehash) {
    enum { TABLES = 20000, SLOTS = 22, FITTING = 10 }; /* 22 / 2.2 */
    unsigned rehashed = 0;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        cuckoo t = cuckoo_of(SLOTS, KITH_FAMILY_XXH3, 1000 * seed);
        for (unsigned i = 0; i < FITTING; i++)
            CHECK(cuckoo_insert(&t, key_at(i)));
        CHECK(!cuckoo_insert(&t, key_at(FITTING)) && cuckoo_insert(&t, key_at(0)));
        CHECK_EQ_U64(t.count, FITTING);
        for (unsigned i = 0; i < 2 * FITTING; i++)
            CHECK(cuckoo_has(&t, key_at(i)) == (i < FITTING));
        rehashed += t.rehashes > 0;
        free_cuckoo(&t);
    }
    check_near("tables that rehash", rehashed, TABLES * (1 - probability_all_fit_halves(FITTING, SLOTS)));
}

/* ---- Bloom filters ---- */

enum { BITS = 10000, HASHES = 7, KEYS = 1000, ABSENT = 200000 };

static bloom bloom_of(const functions *f, unsigned from, unsigned to) {
    bloom b = {.h = f->h, .k = f->count, .m = BITS, .bits = zeros((BITS + 7) / 8, 1)};
    for (unsigned i = from; i < to; i++)
        bloom_insert(&b, key_at(i));
    return b;
}

static double count_of(double set_bits) {
    return -(double)BITS / HASHES * log(1 - set_bits / BITS);
}

TEST(a_bloom_filter_keeps_its_rate) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, HASHES);
        bloom b = bloom_of(&f, 0, KEYS);
        unsigned found = 0;
        for (unsigned i = 0; i < KEYS + ABSENT; i++) {
            bool has = bloom_has(&b, key_at(i));
            CHECK(has || i >= KEYS);
            found += has && i >= KEYS;
        }
        /* A bit is 0 with probability (1 - 1/m)^(kn). The number of set bits depends on kn choices, each of which
         * changes it by at most 1, so it is off by t with probability at most 2 exp(-2 t^2 / (kn)) (McDiarmid). */
        double ones = bloom_set_bits(&b), mean = BITS * (1 - pow(1 - 1.0 / BITS, HASHES * KEYS)),
               t = sqrt(LN_OF_CHANCE / 2 * HASHES * KEYS);
        if (fabs(ones - mean) > t)
            CHECK_FAIL("%.0f bits are set, but %.1f are expected, at most %.1f off", ones, mean, t);
        check_near("false positives", found, ABSENT * pow(ones / BITS, HASHES));
        CHECK(bloom_count(&b) >= count_of(mean - t) && bloom_count(&b) <= count_of(mean + t));
        free(b.bits);
        free_functions(f.h, f.count);
    }
}

TEST(the_union_of_bloom_filters_is_the_filter_of_the_union) {
    functions f = drawn(KITH_FAMILY_XXH3, HASHES);
    bloom left = bloom_of(&f, 0, 600), right = bloom_of(&f, 400, KEYS), both = bloom_of(&f, 0, KEYS);
    CHECK(bloom_may_be_within(&left, &both) && bloom_may_be_within(&right, &both));
    CHECK(!bloom_may_be_within(&both, &left) && !bloom_may_be_within(&left, &right));
    bloom_unite(&left, &right);
    CHECK(memcmp(left.bits, both.bits, (BITS + 7) / 8) == 0);
    free(left.bits);
    free(right.bits);
    free(both.bits);
    free_functions(f.h, f.count);
}

/* ---- counting filters ---- */

static counting counting_of(const functions *f, uint32_t m) {
    return (counting){.h = f->h, .k = f->count, .m = m, .counters = zeros((m + 1) / 2, 1)};
}

TEST(a_counting_filter_supports_deletion) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 4);
        counting c = counting_of(&f, 4001);
        CHECK_EQ_U64(compare_with_reference(set_of_counting(&c, false), 300), 0);
        free(c.counters);
        free_functions(f.h, f.count);
    }
}

/* So its rate is that of a Bloom filter. */
TEST(a_counting_filter_has_the_keys_of_a_bloom_filter) {
    functions f = drawn(KITH_FAMILY_XXH3, HASHES);
    bloom all = bloom_of(&f, 0, KEYS), half = bloom_of(&f, 0, KEYS / 2);
    counting c = counting_of(&f, BITS);
    for (unsigned i = 0; i < KEYS; i++)
        counting_insert(&c, key_at(i));
    for (unsigned i = 0; i < BITS; i++)
        CHECK(counting_at(&c, i) < COUNTER_MAX); /* 10^4 (0.7 e / 15)^15 = 4e-10 */
    for (unsigned i = 0; i < ABSENT; i++)
        CHECK(counting_has(&c, key_at(i)) == bloom_has(&all, key_at(i)));
    for (unsigned i = KEYS / 2; i < KEYS; i++)
        CHECK(counting_delete(&c, key_at(i)));
    for (unsigned i = 0; i < ABSENT; i++)
        CHECK(counting_has(&c, key_at(i)) == bloom_has(&half, key_at(i)));
    free(all.bits);
    free(half.bits);
    free(c.counters);
    free_functions(f.h, f.count);
}

/* Inserts a key and deletes it, as often. Returns whether it is found. Fails if other keys are lost. */
static bool remains(const functions *f, unsigned times) {
    counting c = counting_of(f, 1000);
    for (unsigned i = 0; i < 100; i++)
        counting_insert(&c, key_at(i));
    CHECK(!counting_has(&c, key_at(100)));
    for (unsigned i = 0; i < times; i++)
        counting_insert(&c, key_at(100));
    for (unsigned i = 0; i < times; i++)
        CHECK(counting_delete(&c, key_at(100)));
    for (unsigned i = 0; i < 100; i++)
        CHECK(counting_has(&c, key_at(i)));
    bool found = counting_has(&c, key_at(100));
    free(c.counters);
    return found;
}

TEST(a_counter_that_is_full_stays_full) {
    functions f = drawn(KITH_FAMILY_XXH3, 3);
    CHECK(!remains(&f, 5));
    CHECK(remains(&f, 20));
    CHECK(remains(&f, 1000));
    free_functions(f.h, f.count);
}

TEST(an_illegal_deletion_does_not_count_below_0) {
    functions f = drawn(KITH_FAMILY_XXH3, 2);
    counting c = counting_of(&f, 4);
    unsigned twice = 0, once = 0; /* twice: both functions choose counter 1; once: one of them does, the other 0 */
    while (slot_of(f.h[0], key_at(twice), 4) != 1 || slot_of(f.h[1], key_at(twice), 4) != 1)
        twice++;
    while (slot_of(f.h[0], key_at(once), 4) != 1 || slot_of(f.h[1], key_at(once), 4) != 0)
        once++;
    counting_insert(&c, key_at(once));
    CHECK(counting_delete(&c, key_at(twice)));
    CHECK_EQ_U64(counting_at(&c, 0), 1);
    for (unsigned i = 1; i < 4; i++)
        CHECK_EQ_U64(counting_at(&c, i), 0);
    free(c.counters);
    free_functions(f.h, f.count);
}

/* ---- cuckoo filters ---- */

enum { FINGERPRINTS = (1 << FINGERPRINT_BITS) - 1 };

static cuckoo_filter cuckoo_filter_of(const functions *f, uint32_t m) {
    return (cuckoo_filter){.h = f->h, .m = m, .entries = zeros((size_t)m * ENTRIES, sizeof(uint16_t))};
}

TEST(a_cuckoo_filter_supports_deletion) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 3);
        cuckoo_filter c = cuckoo_filter_of(&f, 128);
        CHECK_EQ_U64(compare_with_reference(set_of_cuckoo_filter(&c, false), 300), 0);
        free(c.entries);
        free_functions(f.h, f.count);
    }
}

/* Inserts keys until one is refused, which must change nothing. Returns how many are in the filter. */
static unsigned fill(cuckoo_filter *c) {
    size_t bytes = (size_t)c->m * ENTRIES * sizeof *c->entries;
    uint16_t *before = zeros(bytes, 1);
    unsigned n = 0;
    do
        memcpy(before, c->entries, bytes);
    while (cuckoo_filter_insert(c, key_at(n)) && ++n > 0);
    CHECK(memcmp(before, c->entries, bytes) == 0);
    free(before);
    return n;
}

/* The rate is the share of the pairs of a first bucket and a fingerprint that are found. Each key makes two of them
 * found, or one, if its buckets are the same. */
TEST(a_full_cuckoo_filter_keeps_its_rate) {
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 3);
        cuckoo_filter c = cuckoo_filter_of(&f, 256);
        unsigned n = fill(&c), pairs = 0, found = 0;
        CHECK(n >= 0.9 * c.m * ENTRIES && n <= c.m * ENTRIES);
        for (uint32_t bucket = 0; bucket < c.m; bucket++)
            for (uint16_t fingerprint = 1; fingerprint <= FINGERPRINTS; fingerprint++) {
                uint32_t other = other_bucket(&c, bucket, fingerprint);
                CHECK(other < c.m && other_bucket(&c, other, fingerprint) == bucket);
                pairs += find_entry(&c, bucket, other, fingerprint) != NULL;
            }
        CHECK(pairs <= 2 * n);
        for (unsigned i = 0; i < n + ABSENT; i++) {
            bool has = cuckoo_filter_has(&c, key_at(i));
            CHECK(has || i >= n);
            found += has && i >= n;
        }
        check_near("false positives", found, ABSENT * (double)pairs / ((double)c.m * FINGERPRINTS));
        free(c.entries);
        free_functions(f.h, f.count);
    }
}

TEST(a_cuckoo_filter_has_room_for_2b_copies) {
    functions f = drawn(KITH_FAMILY_XXH3, 3);
    cuckoo_filter c = cuckoo_filter_of(&f, 64);
    unsigned tried = 0;
    for (unsigned i = 0; i < 20; i++) {
        uint32_t first = slot_of(f.h[0], key_at(i), c.m);
        if (other_bucket(&c, first, fingerprint_of(&c, key_at(i))) == first)
            continue;
        for (unsigned copy = 0; copy < 2 * ENTRIES; copy++)
            CHECK(cuckoo_filter_insert(&c, key_at(i)));
        CHECK(!cuckoo_filter_insert(&c, key_at(i)));
        for (unsigned copy = 0; copy < 2 * ENTRIES; copy++)
            CHECK(cuckoo_filter_delete(&c, key_at(i)));
        CHECK(!cuckoo_filter_has(&c, key_at(i)) && !cuckoo_filter_delete(&c, key_at(i)));
        tried++;
    }
    CHECK(tried > 10);
    free(c.entries);
    free_functions(f.h, f.count);
}

/* ---- hash functions ---- */

TEST(slots_are_evenly_chosen) {
    enum { SLOTS = 10 };
    for (kith_family_id family = 0; family < KITH_FAMILY_COUNT; family++) {
        functions f = drawn(family, 1);
        unsigned keys[SLOTS] = {0};
        for (unsigned i = 0; i < ABSENT; i++)
            keys[slot_of(f.h[0], key_at(i), SLOTS)]++;
        for (unsigned i = 0; i < SLOTS; i++)
            check_near("keys of a slot", keys[i], (double)ABSENT / SLOTS);
        free_functions(f.h, f.count);
    }
}

TEST(drawing_functions_reports_an_error) {
    kith_function *h[2];
    CHECK(!draw_functions(h, 2, KITH_FAMILY_COUNT, SEED)); /* there is no such family */
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
