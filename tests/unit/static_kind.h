/* static_kind.h: tests that are the same for the static kinds that divide their keys into shards. A test defines KIND,
 * a kind's name, and includes this. */
#ifndef KITH_TESTS_UNIT_STATIC_KIND_H
#define KITH_TESTS_UNIT_STATIC_KIND_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#include "check.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "handle/handle.h"
#include "plan/planner.h"
#include "kinds/registry.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define MILLION 1000000

static kith_filter_spec spec_of(double rate, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = KIND;
    spec.rate = rate;
    spec.options = options;
    return spec;
}

static uint64_t *random_digests(uint64_t seed, size_t n) {
    kithi_prng prng = {seed << 32};
    uint64_t *digests = malloc((n + 1) * sizeof *digests);
    CHECK(digests != NULL);
    for (size_t i = 0; i < n; i++)
        digests[i] = kithi_prng_next(&prng); /* distinct: the generator is a bijection of its state */
    return digests;
}

static kith_filter *built(const kith_filter_spec *spec, const uint64_t *digests, size_t n) {
    kith_filter *filter = NULL;
    CHECK_OK(kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1, &filter));
    CHECK_EQ_U64(kith_filter_has_many(filter, digests, n, NULL), n);
    CHECK_EQ_U64(kith_filter_count(filter), n);
    return filter;
}

static uint64_t file_bytes(kith_filter *filter) {
    const void *bytes;
    size_t byte_count;
    CHECK_OK(kith_filter_bytes(filter, &bytes, &byte_count));
    return byte_count;
}

/* The planned size: the first attempt of every build succeeds. */
static void expect_no_failure(size_t n, uint64_t seeds, const char *options) {
    kith_filter_spec spec = spec_of(0.01, options);
    kith_plan plan = KITH_PLAN_INIT;
    spec.capacity = n;
    CHECK_OK(kith_filter_plan(&spec, &plan));
    for (uint64_t seed = 0; seed < seeds; seed++) {
        uint64_t *digests = random_digests(seed + 7, n);
        kith_filter *filter = built(&spec, digests, n);
        if (file_bytes(filter) != plan.file_bytes)
            CHECK_FAIL("n %zu, seed %llu, %s: needed a second attempt", n, (unsigned long long)seed, options);
        kith_filter_free(filter);
        free(digests);
    }
}

TEST(equal_digests_are_dropped_wherever_they_are) {
    enum { DISTINCT = 5000, ALL = 3 * DISTINCT };
    uint64_t *digests = random_digests(3, DISTINCT), *all = malloc(ALL * sizeof *all);
    CHECK(all != NULL);
    kith_filter_spec spec = spec_of(0.001, NULL);
    kith_filter *distinct = built(&spec, digests, DISTINCT), *filter = NULL;
    for (size_t repeats = 1; repeats <= 2 * DISTINCT;
         repeats = repeats * 10 < 2 * DISTINCT ? repeats * 10 : repeats * 20) {
        memcpy(all, digests, DISTINCT * sizeof *all);
        for (size_t i = 0; i < repeats; i++)
            all[DISTINCT + i] = digests[i * 7 % DISTINCT];
        CHECK_OK(kith_filter_build(&spec, all, DISTINCT + repeats, KITH_BUILD_SET, 2, &filter));
        CHECK_EQ_U64(kith_filter_count(filter), DISTINCT);
        CHECK_EQ_U64(file_bytes(filter), file_bytes(distinct));
        const void *one, *other;
        size_t one_bytes, other_bytes;
        CHECK_OK(kith_filter_bytes(filter, &one, &one_bytes));
        CHECK_OK(kith_filter_bytes(distinct, &other, &other_bytes));
        CHECK(memcmp(one, other, one_bytes) == 0);
        kith_filter_free(filter);
    }
    kith_filter_free(distinct);
    free(all);
    free(digests);
}

static uint64_t regions_of(const kithi_head *head) {
    kithi_shape shape;
    CHECK_OK(kithi_kind_shape(kithi_kind_by_id(head->kind_id), head, &shape));
    return shape.regions;
}

static uint64_t shards_of(const kith_filter *filter) {
    return filter->shape.regions;
}

/* 1,500,000 keys have two shards. Numbers all belong to the first one, so the build ends with a single shard. */
TEST(numbers_that_are_no_hashes_can_be_built_too) {
    enum { N = MILLION + MILLION / 2 };
    uint64_t *numbers = random_digests(9, N);
    kith_filter_spec spec = spec_of(0.01, NULL);
    kith_filter *hashes = built(&spec, numbers, N);
    CHECK_EQ_U64(shards_of(hashes), 2);
    kith_filter_free(hashes);
    for (uint64_t step = 1; step <= 1 << 20; step <<= 20) {
        for (uint64_t i = 0; i < N; i++)
            numbers[i] = i * step;
        kith_filter *filter = built(&spec, numbers, N);
        CHECK_EQ_U64(shards_of(filter), 1);
        CHECK_OK(kith_filter_check(filter, NULL));
        kith_filter_free(filter);
    }
    for (uint64_t i = 0; i < 300; i++)
        numbers[i] = i << 55;
    kith_filter_free(built(&spec, numbers, 300));
    free(numbers);
}

TEST(shards_are_filled_by_the_digests_of_their_range_on_any_number_of_threads) {
    enum { N = 3 * MILLION };
    uint64_t *digests = random_digests(5, N);
    kith_filter_spec spec = spec_of(0.01, NULL);
    kith_plan plan = KITH_PLAN_INIT;
    kith_filter *filter = built(&spec, digests, N), *other = NULL;
    CHECK_OK(kith_filter_plan_of(filter, &plan));
    for (unsigned threads = 2; threads <= 3; threads++) {
        const void *one, *two;
        size_t one_bytes, two_bytes;
        CHECK_OK(kith_filter_build(&spec, digests, N, KITH_BUILD_SET, threads, &other));
        CHECK_OK(kith_filter_bytes(filter, &one, &one_bytes));
        CHECK_OK(kith_filter_bytes(other, &two, &two_bytes));
        CHECK(one_bytes == two_bytes && memcmp(one, two, one_bytes) == 0);
        kith_filter_free(other);
    }
    /* A filter that has cells for more shards than keys: some shards stay empty. */
    spec.capacity = 100 * (uint64_t)MILLION;
    kith_filter_free(filter);
    filter = built(&spec, digests, 30);
    CHECK_OK(kith_filter_check(filter, NULL));
    double seen = (double)kith_filter_has_many(filter, digests + 30, MILLION, NULL), rate = ldexp(1, -7);
    CHECK(fabs(seen - MILLION * rate) < 5 * sqrt(MILLION * rate));
    kith_filter_free(filter);
    free(digests);
}

#endif
