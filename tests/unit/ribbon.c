/* Tests what only ribbon does: its size, its construction for any number and any sort of digests, its attempts and its
 * stash. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#define KIND "ribbon"
#include "core/mix.h"
#include "kinds/ribbon/lookup.h"
#include "unit/static_kind.h"

TEST(a_million_keys_and_more_need_at_most_2_percent_more_than_the_information) {
    static const unsigned BITS[] = {8, 16};
    static const uint64_t KEYS[] = {MILLION, 10 * MILLION, 1000 * (uint64_t)MILLION};
    for (size_t i = 0; i < LENGTH(BITS); i++) {
        for (size_t j = 0; j < LENGTH(KEYS); j++) {
            kith_filter_spec spec = spec_of(ldexp(1, -(int)BITS[i]), NULL);
            kith_plan plan = KITH_PLAN_INIT;
            spec.capacity = KEYS[j];
            CHECK_OK(kith_filter_plan(&spec, &plan));
            CHECK(plan.fingerprint_bits == BITS[i] && plan.bits_per_key <= 1.02 * BITS[i] && plan.failure == 0);
            CHECK(plan.lines == (BITS[i] == 8 ? 3 : 5) && plan.lookup_cells == 64);
        }
    }
}

TEST(a_million_keys_have_the_planned_size_and_rate) {
    static const char *const OPTIONS[] = {"f=8", "f=16", "f=11", "f=5", "f=3", "f=1", "f=32"};
    uint64_t *digests = random_digests(1, MILLION), *absent = random_digests(2, MILLION);
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        kith_filter_spec spec = spec_of(0.5, OPTIONS[i]);
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter *filter = built(&spec, digests, MILLION);
        spec.capacity = MILLION;
        CHECK_OK(kith_filter_plan(&spec, &plan));
        CHECK_EQ_U64(file_bytes(filter), plan.file_bytes);
        double seen = (double)kith_filter_has_many(filter, absent, MILLION, NULL);
        double expected = MILLION * plan.expected_rate;
        if (fabs(seen - expected) > 5 * sqrt(expected) + 1)
            CHECK_FAIL("%s: %.0f false positives, %.0f expected", OPTIONS[i], seen, expected);
        kith_filter_free(filter);
    }
    free(digests);
    free(absent);
}

TEST(every_number_of_keys_can_be_built_with_many_seeds) {
    static const char *const OPTIONS[] = {"f=7", "f=20"};
    uint64_t seeds = check_soak() ? 200 : 4;
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        for (size_t n = 1; n <= 300; n++)
            expect_no_failure(n, seeds, OPTIONS[i]);
        for (size_t n = 300; n < 200000; n += n / 3)
            expect_no_failure(n, check_soak() ? 200 : 3, OPTIONS[i]);
        expect_no_failure(MILLION, check_soak() ? 20 : 1, OPTIONS[i]);
    }
}

TEST(the_order_of_the_digests_does_not_matter) {
    enum { N = 50000 };
    uint64_t *digests = random_digests(4, N), *reversed = malloc(N * sizeof *reversed);
    CHECK(reversed != NULL);
    for (size_t i = 0; i < N; i++)
        reversed[i] = digests[N - 1 - i];
    static const char *const OPTIONS[] = {"f=1", "f=9"};
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        kith_filter_spec spec = spec_of(0.5, OPTIONS[i]);
        kith_filter *one = built(&spec, digests, N), *other = built(&spec, reversed, N);
        const void *one_bytes, *other_bytes;
        size_t one_count, other_count;
        CHECK_OK(kith_filter_bytes(one, &one_bytes, &one_count));
        CHECK_OK(kith_filter_bytes(other, &other_bytes, &other_count));
        CHECK(one_count == other_count && memcmp(one_bytes, other_bytes, one_count) == 0);
        kith_filter_free(one);
        kith_filter_free(other);
    }
    free(digests);
    free(reversed);
}

/* The plans of later attempts: more slots, then a single shard, then space for every key in the stash. */
TEST(a_later_attempt_has_more_slots_and_at_last_a_stash_for_all_keys) {
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    kithi_head head[4];
    given.capacity = 10 * MILLION;
    CHECK_OK(kithi_spec_read(&given, &spec));
    CHECK_OK(kithi_plan_spec(&spec, &head[0]));
    const kithi_kind *kind = kithi_kind_by_id(head[0].kind_id);
    CHECK_EQ_U64(regions_of(&head[0]), 8);
    for (unsigned attempt = 1; attempt < LENGTH(head); attempt++) {
        CHECK_OK(kithi_plan_again(&spec, &head[0], attempt, UINT64_MAX, &head[attempt]));
        CHECK(head[attempt].capacity == head[0].capacity && head[attempt].rate == head[0].rate);
        CHECK_EQ_U64(regions_of(&head[attempt]), attempt < 2 ? 8 : 1);
        CHECK(attempt == 2 || head[attempt].body_bytes > head[attempt - 1].body_bytes);
        CHECK_EQ_U64(kind->lookup->decode(&head[attempt]).ribbon.stash, attempt < 3 ? 5 : given.capacity);
    }
    CHECK_STATUS(kithi_plan_again(&spec, &head[0], 4, UINT64_MAX, &head[1]), KITH_E_FULL);
    spec.max_bytes = head[0].body_bytes + 100000;
    CHECK_STATUS(kithi_plan_again(&spec, &head[0], 3, UINT64_MAX, &head[3]), KITH_E_TOO_LARGE);
}

/* A shard with more digests than cells, and one with two equal digests: neither changes a byte. */
TEST(a_build_that_fails_says_why_and_changes_nothing) {
    enum { N = 20000 };
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    struct memory memory = {0};
    kith_allocator allocator = memory_allocator(&memory);
    given.capacity = N;
    given.allocator = &allocator;
    CHECK_OK(kithi_spec_read(&given, &spec));
    kithi_head head;
    CHECK_OK(kithi_plan_spec(&spec, &head));
    kith_filter *filter = NULL;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &filter));
    uint64_t *digests = random_digests(6, 2 * N);
    CHECK_STATUS(filter->kind->build.region(filter, 0, 0, digests, 2 * N), KITH_E_FULL);
    digests[N - 1] = digests[3];
    CHECK_STATUS(filter->kind->build.region(filter, 0, 0, digests, N), KITH_E_COPIES);
    memory.fail_at = memory.calls + 1;
    CHECK_STATUS(filter->kind->build.region(filter, 0, 0, digests, N - 1), KITH_E_MEMORY);
    CHECK_OK(kith_filter_check(filter, NULL)); /* an empty filter is all 0 */
    CHECK_OK(filter->kind->build.region(filter, 0, 0, digests, N - 1));
    kith_filter_free(filter);
    CHECK(memory.live_blocks == 0);
    free(digests);
}

/* Creates a filter with a last level of one block and a stash of `stash` digests. */
static kith_filter *created_with_stash(uint64_t capacity, uint64_t stash, const kith_allocator *allocator) {
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    given.capacity = capacity;
    given.allocator = allocator;
    CHECK_OK(kithi_spec_read(&given, &spec));
    kithi_head head;
    kithi_shape shape;
    kith_filter *filter = NULL;
    CHECK_OK(kithi_plan_spec(&spec, &head));
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++)
        head.params[KITHI_PARAM_RIBBON_SLOTS + i] = i == KITHI_RIBBON_LEVELS - 1 ? 64 : 0;
    head.params[KITHI_PARAM_RIBBON_STASH] = stash;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head.kind_id), &head, &shape));
    head.body_bytes = shape.body_bytes;
    CHECK_OK(kithi_filter_create_planned(&spec, &head, &filter));
    return filter;
}

TEST(keys_that_no_level_accepts_are_found_in_the_stash) {
    enum { N = 5000 };
    uint64_t *digests = random_digests(8, 2 * N);
    kith_filter *filter = created_with_stash(N, N, NULL);
    CHECK_OK(filter->kind->build.region(filter, 0, 0, digests, N));
    filter->head.count = N;
    CHECK_OK(kith_filter_check(filter, NULL));
    CHECK_EQ_U64(kith_filter_has_many(filter, digests, N, NULL), N);
    for (size_t i = 0; i < N; i++)
        CHECK(kith_filter_has_digest(filter, digests[i]));
    uint64_t stashed = kithi_load64(filter->body + 8);
    CHECK(stashed >= N - 64 - N / 50 && stashed <= N - 64); /* others agree with the 64 equations by chance */
    double seen = (double)kith_filter_has_many(filter, digests + N, N, NULL), rate = ldexp(1, -7);
    CHECK(fabs(seen - N * rate) < 5 * sqrt(N * rate));
    /* A damaged file may say that the stash has more digests than it has space for. */
    kithi_store64(filter->body + 8, UINT64_MAX);
    CHECK(kith_filter_has_many(filter, digests, N, NULL) <= N);
    CHECK(kith_filter_check(filter, NULL) != KITH_OK);
    kith_filter_free(filter);

    filter = created_with_stash(N, N / 2, NULL);
    CHECK_STATUS(filter->kind->build.region(filter, 0, 0, digests, N), KITH_E_FULL);
    CHECK_OK(kith_filter_check(filter, NULL));
    digests[N - 1] = digests[0];
    CHECK_STATUS(filter->kind->build.region(filter, 0, 0, digests, N), KITH_E_COPIES);
    CHECK_OK(kith_filter_check(filter, NULL));
    kith_filter_free(filter);
    free(digests);
}

/* Digests that all have the same start at level 0 with the first seed, which only a program can find that knows the
 * hash function. Half of the filter would be unused then, so another seed is needed. */
TEST(digests_that_collide_at_one_level_can_be_built_too) {
    enum { N = 20000 };
    uint64_t *digests = random_digests(10, N);
    for (size_t i = 0; i < N; i++)
        digests[i] = kithi_unmix(digests[i] >> 20) - KITHI_GOLDEN;
    kith_filter_spec spec = spec_of(0.01, NULL);
    CHECK_EQ_U64(kithi_mixed_word(digests[5], 0) >> 44, 0);
    kith_filter *filter = built(&spec, digests, N);
    CHECK_OK(kith_filter_check(filter, NULL));
    kith_plan plan = KITH_PLAN_INIT;
    spec.capacity = N;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    CHECK(kithi_ribbon_seed(filter->body) != 0);
    CHECK_EQ_U64(file_bytes(filter), plan.file_bytes);
    kith_filter_free(filter);
    free(digests);
}

TEST(unmix_is_the_inverse_of_mix) {
    uint64_t *numbers = random_digests(11, 1000);
    for (size_t i = 0; i < 1000; i++)
        CHECK(kithi_unmix(kithi_mix(numbers[i])) == numbers[i] && kithi_mix(kithi_unmix(i)) == i);
    free(numbers);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
