/* Tests the guard of the blocked kinds against crowded blocks (kinds/shared/crowding.h): whichever way chosen keys
 * come in, it stops them, and honest keys never meet it. tests/unit/pollution.c and crowding_grid.c measure attacks of
 * several forms. */
#include <kith/builder.h>
#include <kith/kith.h>

#include "check.h"
#include "chosen.h"
#include "core/prng.h"
#include "kinds/kind.h"
#include "sanitizer.h"
#include "kinds/registry.h"

#define N 20000
#define RATE 0.01

static kith_filter *created(const kith_filter_spec *spec) {
    kith_filter *f;
    CHECK_OK(kith_filter_create(spec, &f));
    return f;
}

static kith_filter_spec spec_of(const kithi_kind *kind, uint64_t capacity, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind->info.name;
    spec.capacity = capacity;
    spec.rate = rate;
    return spec;
}

static const kithi_kind *by_name(const char *name) {
    return kithi_kind_by_name(name, strlen(name));
}

/* Calls `test` for each kind that has the guard. */
static void each_guarded(void (*test)(const kithi_kind *kind)) {
    size_t guarded = 0;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kithi_kind *kind = by_name(kith_filter_kind_at(i)->name);
        if (kind->after_fill == NULL)
            continue;
        guarded++;
        test(kind);
    }
    CHECK(guarded != 0);
}

/* Digests of the first quarter of the blocks, or of an eighth of them. */
static uint64_t *chosen_list(size_t n, uint64_t seed, unsigned shift) {
    uint64_t *digests = malloc(n * sizeof *digests);
    CHECK(digests != NULL);
    kithi_prng prng = {seed};
    for (size_t i = 0; i < n; i++)
        digests[i] = kithi_prng_next(&prng) >> shift;
    return digests;
}

static double rate_now(const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_stats_of(f, &stats));
    return stats.rate_now;
}

static void expect_kept(const kith_filter *f, const char *how) {
    printf("shows: crowding, %s, %s: rate x %.2f with %llu keys\n", f->kind->info.name, how, rate_now(f) / RATE,
           (unsigned long long)kith_filter_count(f));
    CHECK(rate_now(f) <= 2 * RATE);
}

static bool same_bytes(kith_filter *a, kith_filter *b) {
    const void *x, *y;
    size_t x_bytes, y_bytes;
    CHECK_OK(kith_filter_bytes(a, &x, &x_bytes));
    CHECK_OK(kith_filter_bytes(b, &y, &y_bytes));
    return x_bytes == y_bytes && memcmp(x, y, x_bytes) == 0;
}

static size_t add_until_refused(kith_filter *f, const uint64_t *digests, size_t n) {
    size_t i = 0;
    kith_status status = KITH_OK;
    while (i < n && (status = kith_filter_add_digest(f, digests[i], NULL)) == KITH_OK)
        i++;
    CHECK_STATUS(status, KITH_E_FULL);
    return i;
}

static void single_adds_of(const kithi_kind *kind, size_t n) {
    kith_filter_spec spec = spec_of(kind, n, RATE);
    uint64_t *digests = chosen_list(n, 1, 2);
    kith_filter *f = created(&spec), *copy, *many;
    size_t added = add_until_refused(f, digests, n), done;
    expect_kept(f, "single adds");
    CHECK(added < n * 3 / 4);
    for (size_t i = 0; i < added; i++)
        CHECK(kith_filter_has_digest(f, digests[i]));
    /* The refusal follows from the bytes, so a copy refuses the same key, and nothing has changed. */
    CHECK_OK(kith_filter_clone(f, NULL, &copy));
    CHECK_STATUS(kith_filter_add_digest(copy, digests[added], NULL), KITH_E_FULL);
    CHECK_STATUS(kith_filter_add_digest(f, digests[added], NULL), KITH_E_FULL);
    CHECK(same_bytes(f, copy));
    kith_filter_free(copy);
    for (size_t i = 0; kith_cpu_name(i) != NULL; i++) {
        if (kith_cpu_use(kith_cpu_name(i)) != KITH_OK)
            continue;
        many = created(&spec);
        CHECK_STATUS(kith_filter_add_many(many, digests, n, NULL, &done), KITH_E_FULL);
        CHECK_EQ_U64(done, added);
        CHECK(same_bytes(f, many));
        kith_filter_free(many);
    }
    CHECK_OK(kith_cpu_use("auto"));
    /* An empty filter starts again. */
    CHECK_OK(kith_filter_clear(f));
    CHECK_EQ_U64(add_until_refused(f, digests, n), added);
    free(digests);
    kith_filter_free(f);
}

/* The block rates of the smaller filter are summed; the larger one makes spot checks. */
static void single_adds(const kithi_kind *kind) {
    single_adds_of(kind, N);
    if (!UNDER_SANITIZER && (check_soak() || (kind->info.capabilities & KITH_CAN_REMOVE) == 0))
        single_adds_of(kind, (kind->info.capabilities & KITH_CAN_REMOVE) == 0 ? 3400000 : 6000000);
}

TEST(a_crowded_filter_refuses_new_keys_for_every_instruction_set) {
    each_guarded(single_adds);
}

static void removals(const kithi_kind *kind) {
    if ((kind->info.capabilities & KITH_CAN_REMOVE) == 0)
        return;
    kith_filter_spec spec = spec_of(kind, N, RATE);
    uint64_t *digests = chosen_list(N, 1, 2);
    kith_filter *f = created(&spec);
    size_t added = add_until_refused(f, digests, N);
    for (size_t i = 0; i < added / 2; i++)
        CHECK_OK(kith_filter_remove_digest(f, digests[i]));
    CHECK_OK(kith_filter_add_many(f, digests, added / 2, NULL, NULL));
    CHECK_STATUS(kith_filter_add_digest(f, digests[added], NULL), KITH_E_FULL);
    expect_kept(f, "after removals");
    free(digests);
    kith_filter_free(f);
}

TEST(after_removals_a_filter_accepts_keys_until_it_is_crowded_again) {
    each_guarded(removals);
}

static void shared(const kithi_kind *kind) {
    if ((kind->info.capabilities & KITH_CAN_SHARE) == 0)
        return;
    kith_filter_spec spec = spec_of(kind, N, RATE);
    uint64_t *digests = chosen_list(N, 1, 3);
    kith_filter *f = created(&spec);
    kith_adder *adder;
    size_t done;
    CHECK_OK(kith_adder_open(f, &adder));
    CHECK_STATUS(kith_adder_add_many(adder, digests, N, NULL, &done), KITH_E_FULL);
    kith_adder_close(adder);
    expect_kept(f, "an adder");
    free(digests);
    kith_filter_free(f);
}

TEST(adders_are_refused) {
    each_guarded(shared);
}

static void merges(const kithi_kind *kind) {
    if ((kind->info.capabilities & KITH_CAN_MERGE) == 0)
        return;
    kith_filter_spec spec = spec_of(kind, N, RATE);
    uint64_t *digests = chosen_list(N / 2, 1, 3);
    kith_filter *a = created(&spec), *b = created(&spec), *before;
    CHECK_OK(kith_filter_add_many(a, digests, N / 8, NULL, NULL));
    CHECK_OK(kith_filter_add_many(b, digests + N / 8, N / 8, NULL, NULL));
    CHECK_OK(kith_filter_clone(a, NULL, &before));
    CHECK_STATUS(kith_filter_merge(a, b), KITH_E_FULL);
    CHECK(same_bytes(a, before));
    free(digests);
    kith_filter_free(a);
    kith_filter_free(b);
    kith_filter_free(before);
}

TEST(a_merge_that_would_crowd_a_filter_is_refused) {
    each_guarded(merges);
}

/* Some keys are moved to the first half of the blocks, so that the rate exceeds the promise by more than the margin of
 * a quarter. The rates of filters of few keys vary so much that this is still below the limit. */
static void unlucky(const kithi_kind *kind) {
    enum { FEW = 1000 };
    kith_filter_spec spec = spec_of(kind, FEW, RATE);
    uint64_t *digests = chosen_list(FEW, 1, 0);
    unsigned found = 0;
    for (size_t moved = 0; moved < FEW && found < 10; moved++) {
        digests[moved] >>= 1;
        kith_filter *f = created(&spec), *built;
        size_t done;
        CHECK_OK(kith_filter_add_many(f, digests, FEW, NULL, &done));
        if (rate_now(f) > 1.3 * RATE) {
            CHECK_OK(kith_filter_build(&spec, digests, FEW, KITH_BUILD_SET, 1, &built));
            CHECK(same_bytes(f, built));
            kith_filter_free(built);
            found++;
        }
        kith_filter_free(f);
    }
    CHECK_EQ_U64(found, 10);
    free(digests);
}

TEST(an_unlucky_filter_of_few_keys_is_not_crowded) {
    each_guarded(unlucky);
}

static void builds(const kithi_kind *kind) {
    size_t n = 300000; /* enough that a build is split */
    kith_filter_spec spec = spec_of(kind, n, RATE);
    uint64_t *digests = chosen_list(n, 1, 2);
    for (unsigned threads = 1; threads <= 2; threads++) {
        kith_filter *f = NULL;
        CHECK_STATUS(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, threads, &f), KITH_E_FULL);
        kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
        limits.threads = threads;
        kith_builder *builder;
        CHECK_OK(kith_builder_open(&spec, KITH_BUILD_SET, &limits, &builder));
        kith_status status = kith_builder_add_many(builder, digests, n, NULL);
        CHECK_STATUS(status == KITH_OK ? kith_builder_finish(builder, &f) : status, KITH_E_FULL);
        kith_builder_free(builder);
    }
    free(digests);
}

TEST(a_build_from_chosen_keys_is_refused_on_any_number_of_threads) {
    each_guarded(builds);
}

/* A build makes no spot checks, only a pass over the body at its end. Later adds make them again. */
static void after_build(const kithi_kind *kind) {
    size_t n = N, half = N / 2;
    kith_filter_spec spec = spec_of(kind, n, RATE);
    uint64_t *honest_digests = chosen_list(half, 1, 0), *digests = chosen_list(n, 2, 2);
    kith_filter *built, *added = created(&spec);
    CHECK_OK(kith_filter_build(&spec, honest_digests, half, KITH_BUILD_SET, 1, &built));
    CHECK_OK(kith_filter_add_many(added, honest_digests, half, NULL, NULL));
    size_t refused_at = add_until_refused(added, digests, n);
    CHECK_EQ_U64(add_until_refused(built, digests, n), refused_at);
    CHECK(refused_at < half && same_bytes(built, added));
    kith_filter_free(built);
    kith_filter_free(added);
    free(digests);
    free(honest_digests);
}

TEST(a_built_filter_refuses_chosen_keys_like_any_other) {
    each_guarded(after_build);
}

static void layers(const kithi_kind *kind) {
    kith_filter_spec spec = spec_of(kind, N, RATE);
    char options[64];
    snprintf(options, sizeof options, "inner=%s", kind->info.name);
    spec.kind = "layers";
    spec.options = options;
    uint64_t *digests = chosen_list(N, 1, 2);
    kith_filter *f = created(&spec);
    for (size_t i = 0; i < N; i++)
        CHECK_OK(kith_filter_add_digest(f, digests[i], NULL));
    expect_kept(f, options);
    CHECK(kith_filter_capacity(f) > N);
    kith_filter *built;
    CHECK_OK(kith_filter_build(&spec, digests, N, KITH_BUILD_SET, 1, &built));
    CHECK(same_bytes(built, f));
    kith_filter_free(built);
    free(digests);
    kith_filter_free(f);
}

TEST(layers_grow_when_one_is_crowded) {
    each_guarded(layers);
}

/* ---- honest keys ---- */

/* The guard compares a rate with 1.25 times a limit that about one of 10^9 honest filters exceeds. So filters that are
 * full of random keys must all be below 1 / 1.25 of what the guard tolerates. Spot checks are not relied on here: every
 * filter is examined as a whole. */
static void honest(const kithi_kind *kind) {
    static const uint64_t SIZES[] = {1, 2, 3, 10, 30, 100, 300, 1000, 3000, 10000};
    static const double RATES[] = {0.3, 0.1, 0.01, 1e-3, 1e-4, 1e-6};
    double worst = 0;
    uint64_t filters = 0;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (size_t r = 0; r < sizeof RATES / sizeof *RATES; r++) {
            kith_filter_spec spec = spec_of(kind, SIZES[i], RATES[r]);
            kith_filter *f = created(&spec);
            uint64_t seeds = (check_soak() ? 10000000 : UNDER_SANITIZER ? 2000 : 100000) / (SIZES[i] + 200);
            for (uint64_t seed = 1; seed <= seeds; seed++) {
                kithi_prng prng = {seed};
                kith_status status = KITH_OK;
                CHECK_OK(kith_filter_clear(f));
                while (kith_filter_count(f) < SIZES[i] && status == KITH_OK)
                    status = kith_filter_add_digest(f, kithi_prng_next(&prng), NULL);
                /* Keys that are false positives are not counted, so the fill limit may be reached first. */
                CHECK(status == KITH_OK || (status == KITH_E_FULL && f->head.fill > f->geometry.fill_limit));
                kind->before_fill(f, true);
                double rate = rate_now(f) / f->crowding.rate;
                worst = rate > worst ? rate : worst;
                filters++;
            }
            kith_filter_free(f);
        }
    printf("shows: crowding, %s: of %llu full filters, the highest rate is %.3f of the tolerated one\n",
           kind->info.name, (unsigned long long)filters, worst);
    CHECK(worst <= 1 / 1.25);
}

TEST(honest_filters_are_never_crowded) {
    each_guarded(honest);
}

/* A repair sets all cells of damaged pages. The add after it must see that the filter is now full, although the last
 * one before it found space for many keys. */
static void recounted(const kithi_kind *kind) {
    kith_filter_spec spec = spec_of(kind, N, RATE);
    kith_filter *f = created(&spec);
    kithi_prng prng = {1};
    for (unsigned i = 0; i < 10; i++)
        CHECK_OK(kith_filter_add_digest(f, kithi_prng_next(&prng), NULL));
    memset(f->body, 0xff, (size_t)f->head.body_bytes / 4 * 3);
    kind->repair.recount(f);
    CHECK(f->head.fill > f->geometry.fill_limit);
    uint64_t digest = kithi_prng_next(&prng) | UINT64_C(3) << 62; /* its block is in the last quarter */
    CHECK(kith_filter_add_digest(f, digest, NULL) == KITH_E_FULL);
    kith_filter_free(f);
}

TEST(a_filter_that_a_repair_has_filled_is_full_at_once) {
    each_guarded(recounted);
}

/* Spot checks are due at multiples of `gap` keys in this large filter. It passes one of them, becomes crowded before
 * the next, and has then as many keys removed as brings it back to the first. It must refuse what its copy refuses. */
static void removed_to_a_spot_check(const kithi_kind *kind) {
    if ((kind->info.capabilities & KITH_CAN_REMOVE) == 0)
        return;
    kith_filter_spec spec = spec_of(kind, 2200000, 1e-4);
    kith_filter *f = created(&spec), *copy;
    kithi_prng prng = {1};
    uint64_t gap = f->geometry.lanes.blocks / 64, n = 14 * gap, crowd = 0;
    uint64_t *honest_digests = chosen_list(n, 1, 0);
    for (uint64_t i = 0; i < n; i++)
        CHECK_OK(kith_filter_add_digest(f, honest_digests[i], NULL));
    CHECK_EQ_U64(f->crowding.gap, gap);
    for (uint64_t i = 0; i < gap - 1; i++) {
        crowd = kithi_prng_next(&prng) >> 12;
        CHECK_OK(kith_filter_add_digest(f, crowd, NULL));
    }
    for (uint64_t i = 0; i < gap - 1; i++)
        CHECK_OK(kith_filter_remove_digest(f, honest_digests[i]));
    CHECK_EQ_U64(kith_filter_count(f), n);
    kith_status expected = KITH_OK;
    for (unsigned i = 0; i < 100 && expected == KITH_OK; i++) { /* a spot check finds only some of the crowded blocks */
        crowd = kithi_prng_next(&prng) >> 12;
        CHECK_OK(kith_filter_clone(f, NULL, &copy));
        expected = kith_filter_add_digest(copy, crowd, NULL);
        kith_filter_free(copy);
    }
    CHECK_STATUS(expected, KITH_E_FULL);
    CHECK_STATUS(kith_filter_add_digest(f, crowd, NULL), expected);
    free(honest_digests);
    kith_filter_free(f);
}

TEST(after_removals_a_large_filter_refuses_what_its_copy_refuses) {
    each_guarded(removed_to_a_spot_check);
}

/* ---- sums ---- */

/* A copy computes the sum from the bytes. */
static void expect_true_sum(kith_filter *f) {
    kith_filter *copy;
    CHECK_OK(kith_filter_clone(f, NULL, &copy));
    copy->kind->before_fill(copy, true);
    f->kind->before_fill(f, true);
    CHECK(f->crowding.summed && copy->crowding.summed);
    CHECK_EQ_U64(f->crowding.sum, copy->crowding.sum);
    CHECK_EQ_U64(f->crowding.limit, copy->crowding.limit);
    /* The sum of the weights is the rate, in other units. */
    double sum = (double)f->crowding.sum / (double)f->geometry.lanes.blocks * 0x1p-44;
    CHECK(sum <= rate_now(f) * (1 + 1e-9) && sum >= rate_now(f) * (1 - 1e-9) - 0x1p-44);
    kith_filter_free(copy);
}

static void sums(const kithi_kind *kind) {
    static const char *const LANES[] = {"lanes=4", "lanes=8", "lanes=16"};
    bool removes = (kind->info.capabilities & KITH_CAN_REMOVE) != 0;
    for (size_t cpu = 0; kith_cpu_name(cpu) != NULL; cpu++) {
        if (kith_cpu_use(kith_cpu_name(cpu)) != KITH_OK)
            continue;
        for (size_t i = 0; i < sizeof LANES / sizeof *LANES; i++) {
            kith_filter_spec spec = spec_of(kind, 3000, 1e-3);
            spec.options = LANES[i];
            kith_filter *f = created(&spec);
            chosen c = {.prng = {1}};
            uint64_t kept[500], digests[100];
            unsigned refused = 0;
            for (unsigned step = 0; step < 4000; step++) {
                if (step % 3 == 0)
                    chosen_greedy(&c, f);
                else
                    chosen_crowd(&c, 1);
                uint64_t fill = f->head.fill;
                bool done = kith_filter_add_digest(f, c.digest, NULL) == KITH_OK;
                refused += !done;
                CHECK(done || f->head.fill == fill);
                c.block += !done;
                if (removes && done && step >= 500 && kith_filter_has_digest(f, kept[step % 500]))
                    CHECK_OK(kith_filter_remove_digest(f, kept[step % 500]));
                kept[step % 500] = c.digest;
                if (step % 200 == 0)
                    expect_true_sum(f);
            }
            CHECK(refused > 100);
            expect_true_sum(f);
            CHECK_OK(kith_filter_clear(f));
            for (unsigned j = 0; j < 100; j++)
                digests[j] = kithi_prng_next(&c.prng);
            CHECK_OK(kith_filter_add_many(f, digests, 100, NULL, NULL));
            expect_true_sum(f);
            kith_filter_free(f);
        }
    }
    CHECK_OK(kith_cpu_use("auto"));
}

TEST(the_sum_of_the_block_rates_follows_from_the_bytes) {
    each_guarded(sums);
}

/* ---- ways of building ---- */

/* The keys of chosen_patient(). */
static void list_chosen(const kithi_kind *kind, uint64_t *digests, size_t n, size_t greedy) {
    kith_filter_spec spec = spec_of(kind, n, RATE);
    kith_filter *f = created(&spec);
    chosen c = {.prng = {5}};
    kind->before_fill(f, false);
    for (size_t i = 0; i < n; i++) {
        chosen_patient(&c, f, i, greedy);
        digests[i] = c.digest;
        kith_status status = kith_filter_add_digest(f, c.digest, NULL);
        CHECK(status == KITH_OK || status == KITH_E_FULL);
    }
    kith_filter_free(f);
}

/* Builds a filter with a builder; returns NULL and the status if that fails. */
static kith_status built(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned threads,
                         uint64_t memory_bytes, kith_filter **f) {
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.threads = threads;
    limits.memory_bytes = memory_bytes;
    limits.folder = "/tmp";
    kith_builder *builder;
    CHECK_OK(kith_builder_open(spec, KITH_BUILD_SET, &limits, &builder));
    kith_status status = kith_builder_add_many(builder, digests, n, NULL);
    if (status == KITH_OK)
        status = kith_builder_finish(builder, f);
    kith_builder_free(builder);
    return status;
}

static void builds_agree(const kithi_kind *kind) {
    static const struct {
        size_t n, greedy;
    } LISTS[] = {{1000, 0}, {1000, 30}, {1000, 400}, {3000, 0}, {3000, 60}, {3000, 300}, {300000, 0}, {300000, 20000}};
    unsigned refused = 0, accepted = 0;
    for (size_t l = 0; l < sizeof LISTS / sizeof *LISTS; l++) {
        size_t n = LISTS[l].n, done;
        uint64_t *digests = LISTS[l].greedy == 0 ? chosen_list(n, 3, 0) : malloc(n * sizeof *digests);
        if (LISTS[l].greedy != 0)
            list_chosen(kind, digests, n, LISTS[l].greedy);
        kith_filter_spec given = spec_of(kind, n, RATE), counted = given;
        counted.capacity = 0;
        kith_filter *one_by_one = created(&given), *f = NULL;
        kith_status expected = kith_filter_add_many(one_by_one, digests, n, NULL, &done);
        CHECK(expected == KITH_OK || expected == KITH_E_FULL);
        CHECK(rate_now(one_by_one) <= 2 * RATE);
        *(expected == KITH_OK ? &accepted : &refused) += 1;
        for (unsigned way = 0; way < 8; way++) {
            kith_filter_spec *spec = way / 2 % 2 == 0 ? &given : &counted;
            kith_status status = way < 4 ? kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1 + way % 2, &f)
                                         : built(spec, digests, n, 1 + way % 2, way < 6 ? 0 : 1 << 20, &f);
            CHECK_STATUS(status, expected);
            if (status == KITH_OK) {
                CHECK(same_bytes(f, one_by_one));
                kith_filter_free(f);
            }
        }
        kith_filter_free(one_by_one);
        free(digests);
    }
    CHECK(accepted > 0 && refused > 0);
}

TEST(all_ways_of_building_agree_about_chosen_keys) {
    each_guarded(builds_agree);
}

/* A filter that grows takes all of them, however it is built. */
static void growing_builds(const kithi_kind *kind) {
    char options[64];
    snprintf(options, sizeof options, "inner=%s", kind->info.name);
    static const size_t SIZES[] = {1000, 3000, 200000};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        size_t n = SIZES[i];
        kith_filter_spec spec = spec_of(by_name("layers"), n, RATE);
        spec.options = options;
        uint64_t *digests = malloc(n * sizeof *digests);
        CHECK(digests != NULL);
        list_chosen(kind, digests, n, n / 3);
        kith_filter *added = created(&spec), *f;
        for (size_t j = 0; j < n; j++)
            CHECK_OK(kith_filter_add_digest(added, digests[j], NULL));
        CHECK(rate_now(added) <= 2 * RATE);
        for (unsigned threads = 1; threads <= 2; threads++) {
            CHECK_OK(kith_filter_build(&spec, digests, n, KITH_BUILD_SET, threads, &f));
            CHECK(same_bytes(added, f));
            kith_filter_free(f);
            CHECK_OK(built(&spec, digests, n, threads, 0, &f));
            CHECK(same_bytes(added, f));
            kith_filter_free(f);
        }
        kith_filter_free(added);
        free(digests);
    }
}

TEST(a_filter_that_grows_takes_chosen_keys_however_it_is_built) {
    each_guarded(growing_builds);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
