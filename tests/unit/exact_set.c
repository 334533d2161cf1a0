/* Tests of exact.h: a filter in front of a table is never wrong, whatever is removed. */
#include <kith/exact.h>

#include "check.h"
#include "core/prng.h"

enum { UNIVERSE = 3000 };

static size_t key_of(uint64_t i, char *key) {
    return (size_t)snprintf(key, 32, "key-%" PRIu64, i);
}

/* `exact_filter`: the filter can always remove a key. */
static void agree(kith_filter_spec filter, bool exact_filter) {
    static bool truth[UNIVERSE];
    memset(truth, 0, sizeof truth);
    kith_exact *set;
    CHECK_OK(kith_exact_create(&filter, NULL, &set));
    kithi_prng prng = {3};
    uint64_t count = 0, refused = 0;
    for (int i = 0; i < 300000; i++) {
        uint64_t which = kithi_prng_below(&prng, UNIVERSE);
        char key[32];
        size_t key_bytes = key_of(which, key);
        bool was_new;
        switch (kithi_prng_below(&prng, 3)) {
        case 0:
            CHECK_OK(kith_exact_add(set, key, key_bytes, &was_new));
            CHECK_EQ_U64(was_new, !truth[which]);
            count += was_new;
            truth[which] = true;
            break;
        case 1:
            CHECK_STATUS(kith_exact_remove(set, key, key_bytes), truth[which] ? KITH_OK : KITH_E_ABSENT);
            refused += !truth[which];
            count -= truth[which];
            truth[which] = false;
            break;
        default:
            CHECK_EQ_U64(kith_exact_has(set, key, key_bytes), truth[which]);
        }
        CHECK_EQ_U64(kith_exact_count(set), count);
    }
    CHECK(refused > 1000);
    const char *reason = NULL;
    CHECK_OK(kith_exact_check(set, &reason));
    CHECK_EQ_U64(kith_table_count(kith_exact_table(set)), count);
    if (exact_filter)
        CHECK_EQ_U64(kith_filter_count(kith_exact_filter(set)), count);
    CHECK_OK(kith_exact_clear(set));
    CHECK_EQ_U64(kith_exact_count(set), 0);
    char key[32];
    CHECK(!kith_exact_has(set, key, key_of(1, key)));
    kith_exact_free(set);
}

TEST(the_set_agrees_with_an_array_under_random_operations) {
    kith_filter_spec filter = KITH_FILTER_SPEC_INIT;
    filter.rate = 0.2; /* many false positives, which the table must correct */
    filter.capacity = 16;
    agree(filter, true);
    filter.kind = "layers"; /* which cannot always determine what to remove */
    filter.options = "inner=cuckoo";
    filter.rate = 0.02;
    agree(filter, false);
}

TEST(a_key_pointer_into_the_table_can_be_removed) {
    static const char *const KINDS[] = {"cuckoo", "probe", "chain", "list"};
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++)
        for (unsigned key_bytes = 0; key_bytes <= 8; key_bytes += 4) {
            kith_table_spec table = KITH_TABLE_SPEC_INIT;
            table.kind = KINDS[kind];
            table.key_bytes = key_bytes;
            kith_exact *set;
            CHECK_OK(kith_exact_create(NULL, &table, &set));
            for (uint64_t i = 0; i < 500; i++) {
                uint8_t bytes[8];
                kithi_store64(bytes, i);
                CHECK_OK(kith_exact_add(set, bytes, key_bytes != 0 ? key_bytes : 3, NULL));
            }
            uint64_t left = kith_exact_count(set);
            for (; left > 100; left--) {
                kith_cursor cursor = {{0}};
                const void *key;
                size_t its_bytes;
                CHECK(kith_table_next(kith_exact_table(set), &cursor, &key, &its_bytes, NULL));
                CHECK_OK(kith_exact_remove(set, key, its_bytes));
            }
            CHECK_EQ_U64(kith_exact_count(set), left);
            CHECK_OK(kith_exact_check(set, NULL));
            kith_exact_free(set);
        }
}

TEST(kinds_that_cannot_remove_are_refused) {
    kith_filter_spec filter = KITH_FILTER_SPEC_INIT;
    filter.kind = "bloom";
    kith_exact *set = NULL;
    CHECK_STATUS(kith_exact_create(&filter, NULL, &set), KITH_E_KIND);
    CHECK(set == NULL);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
