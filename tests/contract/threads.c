/* Work in several threads, and in parts: the answers and bytes of one thread in order. */
#include "contract/contract.h"

enum { LARGE = 150000, WORDS = (LARGE + 63) / 64 + 1 }; /* enough for a build to go by parts */

static void compare_answers(const kith_filter *f, const uint64_t *digests, size_t n) {
    static uint64_t wanted[WORDS], got[WORDS];
    size_t yes = kith_filter_has_many(f, digests, n, wanted);
    for (unsigned threads = 0; threads < 5; threads++) {
        contract_note("%u threads, n = %zu", threads, n);
        memset(got, 0xee, sizeof got);
        CHECK_EQ_U64(kith_filter_has_many_parallel(f, digests, n, got, threads), yes);
        CHECK(memcmp(got, wanted, (n + 63) / 64 * sizeof *got) == 0);
        CHECK_EQ_U64(got[(n + 63) / 64], UINT64_C(0xeeeeeeeeeeeeeeee)); /* no word too many */
        CHECK_EQ_U64(kith_filter_has_many_parallel(f, digests, n, NULL, threads), yes);
    }
}

void threads_change_nothing(void) {
    static const unsigned THREADS[] = {1, 2, 3, 7};
    EACH_DEFAULT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        CHECK(planned(v, LARGE, 0.01, &spec, &plan));
        uint64_t *digests = digests_from(3, 0, 2 * LARGE);
        kith_filter *added = filled(&spec, 3, 0, LARGE);
        for (size_t i = 0; i < 4; i++) {
            contract_note("%s, %u threads", v->kind, THREADS[i]);
            kith_filter *f = NULL;
            CHECK_OK(kith_filter_build(&spec, digests, LARGE, KITH_BUILD_SET, THREADS[i], &f));
            CHECK(equal_filters(added, f));
            kith_filter_free(f);
            if (can(&plan, KITH_CAN_GROW))
                continue;
            f = NULL; /* too many: all or nothing, whatever finds out */
            CHECK_STATUS(kith_filter_build(&spec, digests, 2 * LARGE, KITH_BUILD_SET, THREADS[i], &f), KITH_E_FULL);
            CHECK(f == NULL);
        }
        static const size_t SIZES[] = {0, 1, 63, 64, 65, 1000, LARGE};
        for (size_t i = 0; i < 7; i++)
            compare_answers(added, digests + LARGE - SIZES[i] / 2, SIZES[i]);
        kith_filter_free(added);
        free(digests);
    }
}
