/* Tests of build/build.c for cases that the random keys and named kinds of the contract checks do not cover. */
#include "check.h"
#include "core/mix.h"
#include "kinds/kind.h"

enum { KEYS = 300000 }; /* enough for a build in parts, on one thread and on several */

/* The smallest kind depends on the number of keys, and whether it stores copies depends on the kind. */
TEST(repeats_are_dropped_whatever_kind_the_planner_chooses) {
    static uint64_t digests[20000];
    for (size_t n = 20; n <= 20000; n *= 10) {
        for (size_t i = 0; i < n; i++)
            digests[i] = kithi_mix(1 + i / 2);
        for (double rate = 0.1; rate > 1e-7; rate /= 10) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            spec.rate = rate;
            kith_filter *f = NULL;
            CHECK_OK(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, 1, &f));
            CHECK_EQ_U64(kith_filter_capacity(f), n / 2);
            CHECK_EQ_U64(kith_filter_has_many(f, digests, n, NULL), n);
            kith_filter_free(f);
        }
    }
}

/* Few repeats affect some parts, many repeats affect all parts, and without repeats no part must be filled again. The
 * bytes are always those of adds in order. */
TEST(a_build_with_few_or_many_repeats_has_the_bytes_of_adds_in_order) {
    static const char *const KINDS[] = {"cuckoo", "overlap", "counting", "blocked_counting"};
    static const size_t EVERY[] = {0, KEYS / 2, KEYS / 10, 100, 5, 2}; /* one digest in this many repeats; 0: none */
    static uint64_t digests[KEYS];
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        for (size_t e = 0; e < sizeof EVERY / sizeof *EVERY; e++) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            spec.kind = KINDS[k];
            spec.capacity = KEYS;
            spec.rate = 0.001;
            kith_filter *in_order = NULL;
            CHECK_OK(kith_filter_create(&spec, &in_order));
            for (size_t i = 0; i < KEYS; i++) {
                bool repeat = EVERY[e] != 0 && i % EVERY[e] == EVERY[e] - 1;
                digests[i] = repeat ? digests[i / 2] : kithi_mix(i + 1);
                if (!repeat)
                    CHECK_OK(kith_filter_add_digest(in_order, digests[i], NULL));
            }
            const void *expected, *bytes;
            size_t expected_bytes, byte_count;
            CHECK_OK(kith_filter_bytes(in_order, &expected, &expected_bytes));
            for (unsigned threads = 1; threads <= 3; threads++) {
                kith_filter *f = NULL;
                CHECK_OK(kith_filter_build(&spec, digests, KEYS, KITH_BUILD_SET, threads, &f));
                CHECK_OK(kith_filter_bytes(f, &bytes, &byte_count));
                CHECK(byte_count == expected_bytes && memcmp(bytes, expected, byte_count) == 0);
                kith_filter_free(f);
            }
            kith_filter_free(in_order);
        }
    }
}

/* Adds the digest if that sets all of its cells, and returns the status. */
static kith_status add_if_it_sets_all(kith_filter *f, uint64_t digest, bool *taken) {
    uint64_t before = f->head.fill;
    kith_status status = kith_filter_add_digest(f, digest, NULL);
    *taken = status == KITH_OK && f->head.fill - before == f->shape.hashes;
    return status == KITH_OK && !*taken ? kith_filter_remove_digest(f, digest) : status;
}

/* Adds keys that set all of their cells, as long as some can be found, then any keys. Together they set more cells than
 * KEYS random keys. */
TEST(the_fill_limit_holds_with_any_number_of_threads) {
    static uint64_t digests[KEYS];
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = "blocked_counting";
    spec.capacity = KEYS;
    spec.rate = 0.01;
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_create(&spec, &f));
    size_t n = 0;
    kith_status status = KITH_OK;
    for (uint64_t i = 1; n < KEYS && status == KITH_OK; i++) {
        bool taken = true;
        status =
            i < 20 * KEYS ? add_if_it_sets_all(f, kithi_mix(i), &taken) : kith_filter_add_digest(f, kithi_mix(i), NULL);
        if (taken && status == KITH_OK)
            digests[n++] = kithi_mix(i);
    }
    CHECK_STATUS(status, KITH_E_FULL);
    for (uint64_t i = 1; n < KEYS; i++)
        digests[n++] = kithi_mix(UINT64_MAX - i);
    for (unsigned threads = 1; threads <= 4; threads++) {
        kith_filter *none = NULL;
        CHECK_STATUS(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, threads, &none), KITH_E_FULL);
        CHECK(none == NULL);
    }
    kith_filter_free(f);
}

TEST(lookups_of_no_digests_return_0) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = 10;
    spec.rate = 0.01;
    kith_filter *f = NULL;
    CHECK_OK(kith_filter_create(&spec, &f));
    CHECK_EQ_U64(kith_filter_has_many_parallel(f, NULL, 0, NULL, 2), 0);
    CHECK_EQ_U64(kith_filter_has_many(f, NULL, 0, NULL), 0);
    kith_filter_free(f);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
