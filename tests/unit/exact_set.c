/* Tests of exact.h: a filter in front of a table is never wrong, whatever is removed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <kith/exact.h>

#include "check.h"
#include "core/prng.h"
#include "unit/memory.h"

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

TEST(malformed_specs_of_a_set_are_refused) {
    kith_filter_spec filter = KITH_FILTER_SPEC_INIT;
    kith_table_spec table = KITH_TABLE_SPEC_INIT;
    kith_exact *set = NULL;
    filter.struct_bytes = 1;
    CHECK_STATUS(kith_exact_create(&filter, &table, &set), KITH_E_STRUCT);
    filter = (kith_filter_spec)KITH_FILTER_SPEC_INIT;
    table.struct_bytes = 1;
    CHECK_STATUS(kith_exact_create(&filter, &table, &set), KITH_E_STRUCT);
    table = (kith_table_spec)KITH_TABLE_SPEC_INIT;
    table.kind = "none";
    CHECK_STATUS(kith_exact_create(&filter, &table, &set), KITH_E_KIND);
    CHECK(set == NULL);
    table.kind = NULL;
    filter.bytes = 10000; /* instead of a capacity */
    filter.rate = .02;
    CHECK_OK(kith_exact_create(&filter, &table, &set));
    kith_plan plan = KITH_PLAN_INIT;
    CHECK_OK(kith_filter_plan_of(kith_exact_filter(set), &plan));
    CHECK(plan.rate == .02 && plan.file_bytes <= 10000 && plan.capacity > 1000);
    kith_exact_free(set);
}

/* With the n-th allocation failing, for every n, while a set is created and grows beyond its first filter. With a
 * secret hash key, which a larger filter keeps. */
TEST(a_set_survives_every_failed_allocation) {
    for (uint64_t fail_at = 1, failures = 1; failures != 0; fail_at++) {
        struct memory memory = {.fail_at = fail_at};
        kith_allocator allocator = memory_allocator(&memory);
        kith_filter_spec filter = KITH_FILTER_SPEC_INIT;
        kith_table_spec table = KITH_TABLE_SPEC_INIT;
        filter.allocator = table.allocator = &allocator;
        filter.capacity = 50;
        filter.hash.id = KITH_HASH_SIPHASH;
        filter.hash.key[0] = 1;
        kith_exact *set = NULL;
        failures = 0;
        kith_status status = kith_exact_create(&filter, &table, &set);
        if (status != KITH_OK) {
            CHECK_STATUS(status, KITH_E_MEMORY);
            CHECK(set == NULL && memory.live_blocks == 0);
            failures++;
            continue;
        }
        for (uint64_t i = 0; i < 300; i++) {
            char key[32];
            size_t key_bytes = key_of(i, key);
            status = kith_exact_add(set, key, key_bytes, NULL);
            if (status != KITH_OK) {
                CHECK_STATUS(status, KITH_E_MEMORY);
                CHECK(!kith_exact_has(set, key, key_bytes) && kith_exact_count(set) == i);
                CHECK_OK(kith_exact_check(set, NULL));
                CHECK_OK(kith_exact_add(set, key, key_bytes, NULL));
                failures++;
            }
        }
        CHECK_EQ_U64(kith_exact_count(set), 300);
        CHECK_OK(kith_exact_check(set, NULL));
        kith_exact_free(set);
        CHECK(memory.live_blocks == 0);
    }
}

TEST(a_key_that_the_filter_lacks_is_named) {
    kith_exact *set;
    const char *reason = NULL;
    CHECK_OK(kith_exact_create(NULL, NULL, &set));
    CHECK_OK(kith_exact_add(set, "a", 1, NULL));
    CHECK_OK(kith_exact_check(set, &reason));
    kith_filter *filter = (kith_filter *)(uintptr_t)kith_exact_filter(set); /* what a program must not change */
    CHECK_OK(kith_filter_clear(filter));
    CHECK_STATUS(kith_exact_check(set, NULL), KITH_E_CORRUPT);
    CHECK_STATUS(kith_exact_check(set, &reason), KITH_E_CORRUPT);
    CHECK(reason != NULL && strcmp(reason, "the filter lacks a key of the table") == 0);
    kith_exact_free(set);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
