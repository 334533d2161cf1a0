/* Tests kith_table_find, and the probe sequence `permutation`. */
#include <math.h>

#include <kith/inspect.h>

#include "check.h"
#include "core/prng.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
enum { SLOTS_MAX = 1024 };

/* The slots that the current operation reads. */
typedef struct looks {
    uint64_t n, at[SLOTS_MAX];
} looks;

static void note_looks(void *context, kith_step step, uint64_t place, uint64_t to) {
    looks *l = context;
    (void)to;
    CHECK(l->n < SLOTS_MAX);
    if (step == KITH_STEP_LOOK)
        l->at[l->n++] = place;
}

static kith_table *create(const char *kind, const char *options, uint64_t capacity, looks *l) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    kith_table *table;
    spec.kind = kind;
    spec.options = options;
    spec.key_bytes = 8;
    spec.capacity = capacity;
    spec.seed = 1;
    CHECK_OK(kith_table_create(&spec, &table));
    if (l != NULL)
        kith_table_set_trace(table, note_looks, l);
    return table;
}

static kith_find_outcome find(const kith_table *table, uint64_t key, uint64_t *index) {
    kith_find_outcome outcome = KITH_FIND_FULL;
    CHECK_OK(kith_table_find(table, &key, sizeof key, &outcome, index));
    return outcome;
}

static const char *const SEQUENCES[] = {"sequence=linear grow=no", "sequence=quadratic grow=no",
                                        "sequence=double grow=no", "sequence=permutation grow=no"};

TEST(a_search_finds_the_key_or_the_free_slot_that_a_put_then_uses_or_a_full_table) {
    for (size_t i = 0; i < LENGTH(SEQUENCES); i++) {
        enum { SLOTS = 64 };
        static looks l;
        kith_table *table = create("probe", SEQUENCES[i], SLOTS, &l);
        uint64_t free_slot = 0, slot = 0, untouched = 12345;
        bool used[SLOTS] = {false};
        for (uint64_t key = 1; key <= SLOTS; key++) {
            l.n = 0;
            CHECK(find(table, key, &free_slot) == KITH_FIND_ABSENT);
            CHECK(free_slot < SLOTS && !used[free_slot] && l.n > 0 && l.at[l.n - 1] == free_slot);
            CHECK_OK(kith_table_put(table, &key, sizeof key, key, NULL));
            CHECK(find(table, key, &slot) == KITH_FIND_FOUND && slot == free_slot);
            used[slot] = true;
        }
        l.n = 0;
        CHECK(find(table, SLOTS + 1, &untouched) == KITH_FIND_FULL && untouched == 12345 && l.n == SLOTS);
        /* A removed slot is free again, but the keys after it are still found. */
        uint64_t removed = 7, other = 0;
        CHECK(find(table, removed, &slot) == KITH_FIND_FOUND);
        CHECK_OK(kith_table_remove(table, &removed, sizeof removed, NULL));
        CHECK(find(table, SLOTS + 1, &other) == KITH_FIND_ABSENT);
        for (uint64_t key = 1; key <= SLOTS; key++)
            CHECK((find(table, key, &other) == KITH_FIND_FOUND) == (key != removed));
        kith_table_free(table);
    }
}

TEST(other_kinds_and_keys_of_another_size_are_refused) {
    static const char *const KINDS[] = {"cuckoo", "chain", "list", "bitset"};
    kith_find_outcome outcome;
    uint64_t key = 1, index;
    for (size_t i = 0; i < LENGTH(KINDS); i++) {
        kith_table *table = create(KINDS[i], NULL, 10, NULL);
        CHECK_STATUS(kith_table_find(table, &key, sizeof key, &outcome, &index), KITH_E_UNSUPPORTED);
        kith_table_free(table);
    }
    kith_table *table = create("probe", NULL, 10, NULL);
    CHECK_STATUS(kith_table_find(table, &key, 4, &outcome, &index), KITH_E_KEY);
    kith_table_free(table);
}

/* In a full table an absent key reads all slots in the order of its sequence. */
TEST(every_sequence_is_a_permutation_of_the_slots) {
    for (size_t i = 0; i < LENGTH(SEQUENCES); i++)
        for (uint64_t slots = 8; slots <= 512; slots *= 4) {
            static looks l;
            kith_table *table = create("probe", SEQUENCES[i], slots, &l);
            for (uint64_t key = 1; key <= slots; key++) {
                l.n = 0;
                CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
            }
            for (uint64_t key = slots + 1; key <= slots + 200; key++) {
                bool seen[SLOTS_MAX] = {false};
                l.n = 0;
                CHECK(!kith_table_has(table, &key, sizeof key));
                CHECK_EQ_U64(l.n, slots);
                for (uint64_t j = 0; j < slots; j++) {
                    CHECK(!seen[l.at[j]]);
                    seen[l.at[j]] = true;
                }
            }
            kith_table_free(table);
        }
}

/* Pairs of the first, the second and the sixth slot of a key are uniform: chi-square over the 56 pairs, 5
 * deviations. */
TEST(slots_of_a_permutation_are_uniform_and_pairwise_independent) {
    enum { SLOTS = 8, KEYS = 100000, PAIRS = SLOTS * (SLOTS - 1) };
    static const unsigned OTHER[] = {1, 2, 5, 7};
    static looks l;
    static uint64_t counts[LENGTH(OTHER)][SLOTS][SLOTS];
    kith_table *table = create("probe", "sequence=permutation grow=no", SLOTS, &l);
    for (uint64_t key = 1; key <= SLOTS; key++) {
        l.n = 0;
        CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
    }
    for (uint64_t key = 100; key < 100 + KEYS; key++) {
        l.n = 0;
        CHECK(!kith_table_has(table, &key, sizeof key));
        for (size_t j = 0; j < LENGTH(OTHER); j++)
            counts[j][l.at[0]][l.at[OTHER[j]]]++;
    }
    for (size_t j = 0; j < LENGTH(OTHER); j++) {
        double expected = (double)KEYS / PAIRS, sum = 0;
        for (unsigned a = 0; a < SLOTS; a++)
            for (unsigned b = 0; b < SLOTS; b++)
                sum += a == b ? 0 : pow((double)counts[j][a][b] - expected, 2) / expected;
        printf("slots 0 and %u of a sequence: chi-square %.1f with %d degrees of freedom\n", OTHER[j], sum, PAIRS - 1);
        CHECK(sum < PAIRS - 1 + 5 * sqrt(2.0 * (PAIRS - 1)));
    }
    kith_table_free(table);
}

/* Uniform hashing: an absent key reads (m + 1) / (m - n + 1) slots on average, exactly. */
TEST(an_absent_key_reads_as_many_slots_as_uniform_hashing_predicts) {
    enum { SLOTS = 256, KEYS = 240, LOOKUPS = 200 };
    static looks l;
    double sum = 0, squares = 0;
    unsigned tables = check_soak() ? 5000 : 300;
    for (uint64_t seed = 1; seed <= tables; seed++) {
        kith_table_spec spec = KITH_TABLE_SPEC_INIT;
        kith_table *table;
        spec.kind = "probe";
        spec.options = "sequence=permutation grow=no";
        spec.key_bytes = 8;
        spec.capacity = SLOTS;
        spec.seed = seed;
        CHECK_OK(kith_table_create(&spec, &table));
        kith_table_set_trace(table, note_looks, &l);
        kithi_prng prng = {seed};
        uint64_t looked = 0;
        for (unsigned i = 0; i < KEYS + LOOKUPS; i++) {
            uint64_t key = kithi_prng_next(&prng);
            l.n = 0;
            if (i < KEYS)
                CHECK_OK(kith_table_put(table, &key, sizeof key, 0, NULL));
            else
                CHECK(!kith_table_has(table, &key, sizeof key));
            looked += i < KEYS ? 0 : l.n;
        }
        double mean = (double)looked / LOOKUPS;
        sum += mean;
        squares += mean * mean;
        kith_table_free(table);
    }
    double mean = sum / tables, error = 5 * sqrt((squares / tables - mean * mean) / tables);
    double exact = (SLOTS + 1.0) / (SLOTS - KEYS + 1.0);
    printf("%d keys in %d slots: an absent key reads %.3f slots, exactly %.3f, bound %.3f\n", KEYS, SLOTS, mean, exact,
           error);
    CHECK(fabs(mean - exact) < error && error < 0.05 * exact);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
