/* exact.h: a filter before a table is never wrong, whatever is removed. */
#include <kith/exact.h>

#include "check.h"
#include "core/prng.h"

enum { UNIVERSE = 3000 };

static size_t key_of(uint64_t i, char *key) {
    return (size_t)snprintf(key, 32, "key-%" PRIu64, i);
}

TEST(set_agrees_with_an_array_over_random_operations_legal_and_not) {
    static bool truth[UNIVERSE];
    memset(truth, 0, sizeof truth);
    kith_filter_spec filter = KITH_FILTER_SPEC_INIT;
    filter.rate = 0.2; /* many wrong answers of the filter for the table to put right */
    filter.capacity = 16;
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
    CHECK(kith_filter_count(kith_exact_filter(set)) == count && kith_table_count(kith_exact_table(set)) == count);
    CHECK_OK(kith_exact_clear(set));
    CHECK_EQ_U64(kith_exact_count(set), 0);
    char key[32];
    CHECK(!kith_exact_has(set, key, key_of(1, key)));
    kith_exact_free(set);
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
