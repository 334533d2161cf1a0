/* Checks that work on several threads and in parts gives the results and bytes of one thread in order. */
#include <kith/builder.h>

#include "contract/contract.h"

enum { LARGE = 150000, WORDS = (LARGE + 63) / 64 + 1 }; /* enough for a build in parts */

static void compare_lookups(const kith_filter *f, const uint64_t *digests, size_t n) {
    static uint64_t wanted[WORDS], got[WORDS];
    size_t yes = kith_filter_has_many(f, digests, n, wanted);
    for (unsigned threads = 0; threads < 5; threads++) {
        contract_note("%u threads, n = %zu", threads, n);
        memset(got, 0xee, sizeof got);
        CHECK_EQ_U64(kith_filter_has_many_parallel(f, digests, n, got, threads), yes);
        CHECK(memcmp(got, wanted, (n + 63) / 64 * sizeof *got) == 0);
        CHECK_EQ_U64(got[(n + 63) / 64], UINT64_C(0xeeeeeeeeeeeeeeee)); /* nothing was written past the last word */
        CHECK_EQ_U64(kith_filter_has_many_parallel(f, digests, n, NULL, threads), yes);
    }
}

/* Repeats near and far, all after their first occurrence: LARGE distinct digests. */
static size_t with_repeats(const uint64_t *digests, uint64_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < LARGE; i++) {
        out[n++] = digests[i];
        if (i % 7 == 0)
            out[n++] = digests[i / 2];
    }
    return n;
}

static void compare_builds(const variant *v, const kith_filter_spec *spec, const uint64_t *digests, size_t n,
                           kith_filter *wanted) {
    static const unsigned THREADS[] = {1, 2, 3, 7};
    for (size_t i = 0; i < 4; i++) {
        contract_note("%s, %u threads, n = %zu, capacity %llu", v->kind, THREADS[i], n,
                      (unsigned long long)spec->capacity);
        kith_filter *f = NULL;
        CHECK_OK(kith_filter_build(spec, digests, n, KITH_BUILD_SET, THREADS[i], &f));
        CHECK(equal_filters(wanted, f));
        kith_filter_free(f);
    }
}

void threads_do_not_change_the_result(void) {
    static uint64_t repeated[2 * LARGE];
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        CHECK(planned(v, LARGE, 0.01, &spec, &plan));
        uint64_t *digests = digests_from(3, 0, 2 * LARGE);
        kith_filter *added = filled(&spec, 3, 0, LARGE);
        compare_builds(v, &spec, digests, LARGE, added);
        size_t n = with_repeats(digests, repeated);
        compare_builds(v, &spec, repeated, n, added);
        kith_filter_spec open_ended = spec;
        open_ended.capacity = 0;
        compare_builds(v, &open_ended, repeated, n, added);
        for (unsigned threads = 1; threads < 4 && !can(&plan, KITH_CAN_GROW); threads++) { /* all or nothing */
            kith_filter *f = NULL;
            CHECK_STATUS(kith_filter_build(&spec, digests, 2 * LARGE, KITH_BUILD_SET, threads, &f), KITH_E_FULL);
            CHECK(f == NULL);
        }
        static const size_t SIZES[] = {0, 1, 63, 64, 65, 1000, LARGE};
        for (size_t i = 0; i < 7; i++)
            compare_lookups(added, digests + LARGE - SIZES[i] / 2, SIZES[i]);
        kith_filter_free(added);
        free(digests);
    }
}

/* More digests than the memory limit of the builder holds. */
void a_builder_gives_the_bytes_of_adds(void) {
    enum { KEYS = 60000 };
    static uint64_t repeated[2 * LARGE];
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        CHECK(planned(v, KEYS, 0.01, &spec, &plan));
        uint64_t *digests = digests_from(5, 0, KEYS);
        kith_filter *added = filled(&spec, 5, 0, KEYS), *f = NULL;
        size_t n = 0;
        for (size_t i = 0; i < KEYS; i++) {
            repeated[n++] = digests[i];
            if (i % 9 == 0)
                repeated[n++] = digests[i / 3];
        }
        kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
        limits.threads = 2;
        limits.memory_bytes = 1;
        limits.folder = "/tmp";
        kith_filter_spec open_ended = spec;
        open_ended.capacity = 0;
        kith_builder *builder = NULL;
        CHECK_OK(kith_builder_open(&open_ended, KITH_BUILD_SET, &limits, &builder));
        CHECK_OK(kith_builder_add_many(builder, repeated, n / 2, NULL));
        CHECK_OK(kith_builder_add_many(builder, repeated + n / 2, n - n / 2, NULL));
        CHECK_OK(kith_builder_finish(builder, &f));
        CHECK(equal_filters(added, f));
        kith_builder_free(builder);
        kith_filter_free(f);
        kith_filter_free(added);
        free(digests);
    }
}
