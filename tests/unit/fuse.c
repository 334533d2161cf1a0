/* Tests what only fuse does: its size, its construction for any number and any sort of digests, and its attempts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#define KIND "fuse"
#include "core/late_seeds.h"
#include "core/sort.h"
#include "kinds/fuse/fuse.h"
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
        CHECK(three.lookup_cells == 3 && four.lookup_cells == 4);
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

static kithi_fuse_geometry planned_geometry(uint64_t n, const char *options) {
    kith_filter_spec given = spec_of(0.01, options), spec;
    kithi_head head;
    given.capacity = n > 0 ? n : 1;
    CHECK_OK(kithi_spec_read(&given, &spec));
    CHECK_OK(kithi_plan_spec(&spec, &head));
    return kithi_fuse_decode(&head).fuse;
}

/* Returns how many seeds the construction tried for the shard that needed most. `digests` are all of the filter. */
static unsigned tries_of(const kith_filter *filter, const uint64_t *digests, size_t n) {
    unsigned most = 0;
    uint64_t *here = malloc((n + 1) * sizeof *here), *sorted = malloc((n + 1) * sizeof *sorted);
    CHECK(here != NULL && sorted != NULL);
    for (uint64_t i = 0; i < shards_of(filter); i++) {
        uint64_t seed = kithi_load64(filter->body + i * filter->geometry.fuse.shard_bytes);
        unsigned tries = 1;
        if (seed != 0 && seed != kithi_fuse_first_seed()) {
            size_t count = 0;
            kithi_late_seeds late;
            for (size_t j = 0; j < n; j++)
                if (kithi_mulhi(digests[j], shards_of(filter)) == i)
                    here[count++] = digests[j];
            CHECK(kithi_late_seeds_of(here, count, sorted, NULL, 0, &late));
            for (tries = 2; kithi_late_seed(&late, 0, tries) != seed; tries++)
                CHECK(tries <= 64);
        }
        most = tries > most ? tries : most;
    }
    free(here);
    free(sorted);
    return most;
}

/* What a range of sizes needed. */
static struct {
    uint64_t builds;
    unsigned most_tries;
} range;

/* At most 48% of the tries fail (fuse_build.c), so 30 failures in a row have a probability of 3 * 10^-10. Sets of
 * different sizes have different keys. */
static void build_size(uint64_t n, uint64_t seeds, const char *options) {
    kithi_fuse_geometry planned = planned_geometry(n, options);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        kith_filter_spec spec = spec_of(0.01, options);
        spec.capacity = n > 0 ? 0 : 1; /* without keys, the capacity must be given */
        uint64_t *digests = random_digests(1000 * n + seed, (size_t)n);
        kith_filter *filter = built(&spec, digests, (size_t)n);
        unsigned tries = tries_of(filter, digests, (size_t)n);
        if (filter->geometry.fuse.segments != planned.segments || filter->geometry.fuse.shards != planned.shards ||
            tries > 30)
            CHECK_FAIL("n %" PRIu64 ", seed %" PRIu64 ", %s: %u tries, %" PRIu64 " segments, %" PRIu64 " planned", n,
                       seed, options, tries, filter->geometry.fuse.segments, planned.segments);
        range.most_tries = tries > range.most_tries ? tries : range.most_tries;
        range.builds++;
        kith_filter_free(filter);
        free(digests);
    }
}

static void show_range(const char *sizes, const char *options) {
    printf("shows: fuse %s, %s: %" PRIu64 " builds, 0 failures, at most %u tries\n", options, sizes, range.builds,
           range.most_tries);
    memset(&range, 0, sizeof range);
}

/* With segments that are too long, construction nearly always fails for some sizes, such as 11,480 … 11,521. */
TEST(every_size_up_to_20000_can_be_built) {
    static const char *const OPTIONS[] = {"arity=3", "arity=4"};
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        for (uint64_t n = 0; n <= 20000; n += check_soak() ? 1 : 997)
            build_size(n, check_soak() ? 20 : 1, OPTIONS[i]);
        for (uint64_t n = 11480; n <= 11521; n++)
            build_size(n, check_soak() ? 20 : 1, OPTIONS[i]);
        show_range("sizes 0 to 20,000", OPTIONS[i]);
    }
}

static void build_neighbours(uint64_t n, const char *options) {
    uint64_t seeds = !check_soak() ? 1 : n <= MILLION ? 20 : 3;
    for (uint64_t i = n > 0 ? n - 1 : 0; i <= n + 1; i++)
        build_size(i, seeds, options);
}

/* Returns the largest size from n on that has the segments of n. Such a size has the fewest cells per key. */
static uint64_t end_of_plateau(uint64_t n, const char *options) {
    kithi_fuse_geometry first = planned_geometry(n, options);
    uint64_t step = first.segment_cells * first.shards, end = n;
    for (; step > 0; step /= 2)
        for (bool same = true; same; end += same ? step : 0) {
            kithi_fuse_geometry next = planned_geometry(end + step, options);
            same = next.segments == first.segments && next.segment_cells == first.segment_cells &&
                   next.shards == first.shards;
        }
    return end;
}

/* Builds the sizes around each change of the segment length or of the number of shards in low … high, and around the
 * next change of the number of segments. Between two sizes that agree in length and shards there is no such change,
 * because the segments of a shard grow with its keys. */
static void build_edges(uint64_t low, uint64_t high, const char *options) {
    kithi_fuse_geometry first = planned_geometry(low, options), last = planned_geometry(high, options);
    if (first.segment_cells == last.segment_cells && first.shards == last.shards)
        return;
    if (high - low > 1) {
        build_edges(low, low + (high - low) / 2, options);
        build_edges(low + (high - low) / 2, high, options);
        return;
    }
    build_neighbours(high, options);
    build_neighbours(end_of_plateau(high, options), options);
}

TEST(sizes_next_to_a_change_of_the_segments_can_be_built) {
    static const char *const OPTIONS[] = {"arity=3", "arity=4"};
    for (size_t i = 0; i < LENGTH(OPTIONS); i++) {
        build_edges(0, check_soak() ? 10 * MILLION : 200000, OPTIONS[i]);
        CHECK(range.builds > 20);
        show_range(check_soak() ? "next to changes of the segments up to 10^7" : "next to changes up to 200,000",
                   OPTIONS[i]);
    }
}

/* The plans of later attempts: more cells, then a single shard. */
TEST(a_later_attempt_has_more_cells_and_at_last_a_single_shard) {
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
        kithi_fuse_geometry even = kind->lookup->decode(&head[attempt & ~1u]).fuse,
                            odd = kind->lookup->decode(&head[attempt]).fuse;
        CHECK(attempt % 2 == 0 || odd.segment_cells == 8 * even.segment_cells);
    }
    CHECK_STATUS(kithi_plan_again(&spec, &head[0], 4, UINT64_MAX, &head[1]), KITH_E_FULL);
    /* A single shard only if a shard had more keys than planned: the mean and six standard deviations. */
    for (unsigned attempt = 1; attempt < LENGTH(head); attempt++) {
        CHECK_STATUS(kithi_plan_again(&spec, &head[0], attempt, 1256709, &head[attempt]),
                     attempt == 1 ? KITH_OK : KITH_E_FULL);
        CHECK_OK(kithi_plan_again(&spec, &head[0], attempt, 1256710, &head[attempt]));
    }
    spec.max_bytes = head[0].body_bytes + 100000;
    CHECK_STATUS(kithi_plan_again(&spec, &head[0], 3, UINT64_MAX, &head[3]), KITH_E_TOO_LARGE);
}

/* The more keys, the fewer seeds are tried, and the more attempts there are: fuse_build.c. */
TEST(a_single_shard_has_another_attempt_only_if_it_is_large) {
    kith_filter_spec given = spec_of(0.01, NULL), spec;
    kithi_head first, again;
    CHECK_OK(kithi_spec_read(&given, &spec));
    for (unsigned large = 0; large < 2; large++) {
        spec.capacity = KITHI_FUSE_LARGE_KEYS - 1 + large;
        CHECK_OK(kithi_plan_spec(&spec, &first));
        for (unsigned attempt = 1; attempt < 5; attempt++)
            CHECK_STATUS(kithi_plan_again(&spec, &first, attempt, UINT64_MAX, &again),
                         large == 1 && attempt == 1 ? KITH_OK : KITH_E_FULL);
    }
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

TEST(sorting_sorts) {
    uint64_t scratch[70], same[70];
    for (size_t n = 0; n < 70; n++) {
        uint64_t *numbers = random_digests(9 + n, n), sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += numbers[i] >>= i % 3 * 30; /* with repeats */
        memcpy(same, numbers, n * sizeof *same);
        kithi_sort_large(same, n, scratch);
        kithi_sort(numbers, n);
        CHECK(memcmp(numbers, same, n * sizeof *same) == 0);
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
