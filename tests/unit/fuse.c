/* Tests what only fuse does: its size, its construction for any number and any sort of digests, and its attempts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#define KIND "fuse"
#include "core/sort.h"
#include "sanitizer.h"
#include "unit/static_kind.h"

TEST(a_million_keys_need_14_percent_more_than_the_information_or_9_with_4_cells) {
    static const unsigned BITS[] = {8, 16};
    for (size_t i = 0; i < LENGTH(BITS); i++) {
        kith_filter_spec spec = spec_of(ldexp(1, -(int)BITS[i]), NULL);
        kith_plan three = KITH_PLAN_INIT, four = KITH_PLAN_INIT;
        spec.capacity = MILLION;
        CHECK_OK(kith_filter_plan(&spec, &three));
        spec.options = "arity=4";
        CHECK_OK(kith_filter_plan(&spec, &four));
        CHECK(three.fingerprint_bits == BITS[i] && three.bits_per_key <= 1.14 * BITS[i]);
        CHECK(four.fingerprint_bits == BITS[i] && four.bits_per_key <= 1.09 * BITS[i]);
        CHECK(three.failure == 0 && four.failure == 0 && three.lines == 3 && four.lines == 4);
    }
}

static double false_positives(const kith_filter *filter, uint64_t asked) {
    double found = 0;
    for (uint64_t at = 0, n; at < asked; at += n) {
        n = asked - at < MILLION ? asked - at : MILLION;
        uint64_t *absent = random_digests(100 + at / MILLION, (size_t)n);
        found += (double)kith_filter_has_many(filter, absent, (size_t)n, NULL);
        free(absent);
    }
    return found;
}

/* An absent key is found if f bits agree by chance, so the rate is 2^-f. The test allows five standard deviations,
 * which are 5% of the 10,000 false positives among 10,000 * 2^f digests. For f above 9, only the soak tier looks up so
 * many. */
TEST(a_million_keys_have_the_planned_size_and_rate) {
    static const char *const OPTIONS[] = {"f=5", "f=6 arity=4", "f=7", "f=8", "f=8 arity=4", "f=9", "f=11", "f=16"};
    uint64_t most = check_soak() ? UINT64_MAX : UNDER_SANITIZER ? 100000 : 6000000;
    uint64_t *digests = random_digests(1, MILLION);
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        kith_filter_spec spec = spec_of(0.04, OPTIONS[i]);
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter *filter = built(&spec, digests, MILLION);
        spec.capacity = MILLION;
        CHECK_OK(kith_filter_plan(&spec, &plan));
        CHECK_EQ_U64(file_bytes(filter), plan.file_bytes);
        double rate = ldexp(1, -(int)plan.fingerprint_bits);
        CHECK(fabs(plan.expected_rate - rate) <= 1e-9 * rate);
        uint64_t asked = UINT64_C(10000) << plan.fingerprint_bits;
        asked = asked < MILLION ? MILLION : asked;
        asked = asked < most ? asked : most;
        double expected = (double)asked * rate, seen = false_positives(filter, asked);
        if (fabs(seen - expected) > 5 * sqrt(expected))
            CHECK_FAIL("%s: %.0f false positives, %.0f expected", OPTIONS[i], seen, expected);
        kith_filter_free(filter);
    }
    free(digests);
}

TEST(every_number_of_keys_can_be_built_with_many_seeds) {
    static const char *const OPTIONS[] = {"arity=3", "arity=4"};
    uint64_t seeds = check_soak() ? 200 : 4;
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        for (size_t n = 1; n <= 300; n++)
            expect_no_failure(n, seeds, OPTIONS[i]);
        expect_no_failure(20000, check_soak() ? 200 : 10, OPTIONS[i]);
        expect_no_failure(MILLION, check_soak() ? 20 : 1, OPTIONS[i]);
    }
}

/* The plans of later attempts: more cells, then a single shard. */
TEST(a_later_attempt_has_more_cells_and_at_last_a_single_shard) {
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    kithi_head head[8];
    given.capacity = 10 * MILLION;
    CHECK_OK(kithi_spec_read(&given, &spec));
    CHECK_OK(kithi_plan_spec(&spec, &head[0]));
    const kithi_kind *kind = kithi_kind_by_id(head[0].kind_id);
    CHECK_EQ_U64(kind->regions(&head[0]), 8);
    for (unsigned attempt = 1; attempt < 8; attempt++) {
        CHECK_OK(kithi_plan_again(&spec, &head[0], attempt, &head[attempt]));
        CHECK(head[attempt].capacity == head[0].capacity && head[attempt].rate == head[0].rate);
        CHECK_EQ_U64(kind->regions(&head[attempt]), attempt < 4 ? 8 : 1);
        if (attempt != 4)
            CHECK(head[attempt].body_bytes > head[attempt - 1].body_bytes);
    }
    spec.max_bytes = head[0].body_bytes + 100000;
    CHECK_STATUS(kithi_plan_again(&spec, &head[0], 3, &head[3]), KITH_E_TOO_LARGE);
}

/* A shard with more digests than cells, and one with two equal digests: neither changes a byte. */
TEST(a_build_that_fails_says_why_and_changes_nothing) {
    enum { N = 1000 };
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    given.capacity = N;
    given.allocator = &allocator;
    CHECK_OK(kithi_spec_read(&given, &spec));
    kithi_head head;
    CHECK_OK(kithi_plan_spec(&spec, &head));
    kith_filter *filter = NULL;
    CHECK_OK(kithi_filter_create(&spec, &head, &filter));
    uint64_t *digests = random_digests(6, 2 * N);
    CHECK_STATUS(filter->kind->build(filter, 0, digests, 2 * N), KITH_E_FULL);
    digests[N - 1] = digests[3];
    CHECK_STATUS(filter->kind->build(filter, 0, digests, N), KITH_E_COPIES);
    memory.fail_at = memory.calls + 1;
    CHECK_STATUS(filter->kind->build(filter, 0, digests, N - 1), KITH_E_MEMORY);
    CHECK_OK(kith_filter_check(filter, NULL)); /* an empty filter is all 0 */
    CHECK_OK(filter->kind->build(filter, 0, digests, N - 1));
    kith_filter_free(filter);
    CHECK(memory.live_blocks == 0);
    free(digests);
}

TEST(sorting_sorts) {
    for (size_t n = 0; n < 70; n++) {
        uint64_t *numbers = random_digests(9 + n, n), sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += numbers[i] >>= i % 3 * 30; /* with repeats */
        kithi_sort(numbers, n);
        for (size_t i = 0; i < n; i++)
            sum -= numbers[i];
        CHECK_EQ_U64(sum, 0);
        for (size_t i = 1; i < n; i++)
            CHECK(numbers[i - 1] <= numbers[i]);
        free(numbers);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
