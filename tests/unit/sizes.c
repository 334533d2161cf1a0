/* Tests the table of docs/kinds.md: a million keys at 0.1% are saved, and the size of the file and the rate of the
 * mapped file are measured. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "folder.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { KEYS = 1000000, PROBES = 2000000 };
#define RATE .001

static uint64_t keys[KEYS];
static uint64_t probes[PROBES];

TEST(bits_per_key_and_measured_rate_of_the_saved_file_are_within_bounds) {
    static const struct {
        const char *kind;
        double bits_max;
    } ROWS[] = {{"bloom", 14.5},          {"blocked", 17},  {"counting", 58},
                {"blocked_counting", 78}, {"cuckoo", 13.8}, {"overlap", 12.8}};
    struct folder f = fresh_folder();
    kithi_prng prng = {2024};
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = kithi_prng_next(&prng);
    for (size_t i = 0; i < PROBES; i++)
        probes[i] = kithi_prng_next(&prng);
    printf("kind             bits per key of the file   at most    requested   expected   measured\n");
    for (size_t i = 0; i < LENGTH(ROWS); i++) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter *filter, *mapped;
        struct stat st;
        const char *path = in(&f, ROWS[i].kind);
        spec.kind = ROWS[i].kind;
        spec.capacity = KEYS;
        spec.rate = RATE;
        CHECK_OK(kith_filter_plan(&spec, &plan));
        CHECK_OK(kith_filter_create(&spec, &filter));
        CHECK_OK(kith_filter_add_many(filter, keys, KEYS, NULL, NULL));
        CHECK_OK(kith_filter_save(filter, path));
        kith_filter_free(filter);
        CHECK(stat(path, &st) == 0);
        CHECK_EQ_U64((uint64_t)st.st_size, plan.file_bytes);

        CHECK_OK(kith_filter_open(path, KITH_OPEN_DEFAULT, NULL, &mapped));
        CHECK(kith_filter_readonly(mapped));
        CHECK_EQ_U64(kith_filter_has_many(mapped, keys, KEYS, NULL), KEYS);
        double measured = (double)kith_filter_has_many(mapped, probes, PROBES, NULL) / PROBES;
        kith_filter_free(mapped);
        double bits = (double)st.st_size * 8 / KEYS;
        printf("%-16s  %22.2f  %8.1f  %10.3f%%  %8.4f%%  %8.4f%%\n", ROWS[i].kind, bits, ROWS[i].bits_max, 100 * RATE,
               100 * plan.expected_rate, 100 * measured);
        CHECK(bits <= ROWS[i].bits_max);
        CHECK(plan.expected_rate <= RATE);
        /* 2*10^6 lookups at 0.1%: one standard deviation is 2.2%, so 1.1 is 4.5 of them. */
        CHECK(measured <= 1.1 * RATE);
        CHECK(measured >= .88 * plan.expected_rate && measured <= 1.12 * plan.expected_rate);
    }
    remove_folder(&f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
