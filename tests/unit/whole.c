/* Tests layout=whole of bloom and counting: one array of cells for all k hashes, which may coincide. The formulas are
 * compared with exact distributions and with measurements on filters of a few keys, where the formulas for large n are
 * wrong by tens of percent. */
#include <math.h>

#include "check.h"
#include "core/mix.h"
#include "core/prng.h"
#include "handle/handle.h"
#include "plan/sizing.h"
#include "probe_word.h"
#include "kinds/registry.h"
#include "unit/plans.h"

enum { SET_MAX = 4096, BLOCK_BYTES = 4096 };

/* The probability with[x] that exactly x of m bits are set by this many hashes. */
static void occupancy(unsigned m, unsigned hashes, long double *with) {
    for (unsigned x = 0; x <= m; x++)
        with[x] = x == 0;
    for (unsigned hash = 0; hash < hashes; hash++)
        for (unsigned x = m + 1; x-- > 0;)
            with[x] = with[x] * x / m + (x > 0 ? with[x - 1] * (m - x + 1) / m : 0);
}

TEST(the_exact_rate_is_the_mean_over_the_distribution_of_the_set_bits) {
    static long double with[SET_MAX + 1];
    double worst = 0;
    for (unsigned k = 1; k <= 64; k = k < 8 ? k + 1 : 2 * k)
        for (unsigned n = 1; n <= 100; n = n < 8 ? n + 1 : 2 * n + 1)
            for (unsigned m = 1; m <= 2000; m = m < 10 ? m + 1 : m * 17 / 10) {
                occupancy(m, k * n, with);
                long double mean = 0;
                for (unsigned x = 0; x <= m; x++)
                    mean += with[x] * powl((long double)x / m, k);
                double rate = kithi_bloom_rate(k, m, n, KITHI_WHOLE);
                double off = (double)fabsl(rate / mean - 1);
                worst = fmax(worst, off);
                if (!(off < 1e-11))
                    CHECK_FAIL("k %u, n %u, m %u: %.15g is off by %g", k, n, m, rate, off);
            }
    /* where the whole circle is no longer summed */
    occupancy(SET_MAX, 7 * 600, with);
    long double mean = 0;
    for (unsigned x = 0; x <= SET_MAX; x++)
        mean += with[x] * powl((long double)x / SET_MAX, 7);
    CHECK(fabsl(kithi_bloom_rate(7, SET_MAX, 600, KITHI_WHOLE) / mean - 1) < 1e-11L);
    /* and where the limit is exact to 1 in 10^10 */
    double limit = pow(-expm1(-0.7), 7);
    CHECK(fabs(kithi_bloom_rate(7, UINT64_C(10000000000000), 1000000000000, KITHI_WHOLE) / limit - 1) < 1e-10);
    CHECK(kithi_bloom_rate(7, 100, 0, KITHI_WHOLE) == 0);
    printf("the exact rate is off by %.1e at worst\n", worst);
}

/* ---- filters of m cells ---- */

typedef struct small {
    kith_filter filter;
    uint8_t block[BLOCK_BYTES];
} small;

static void lay(small *s, const char *kind, uint64_t k, uint64_t m, uint64_t capacity) {
    kithi_head head = {.capacity = capacity, .rate = 0.5, .params = {k, m, KITHI_WHOLE, 0, 0, 0, 0, m}};
    const kithi_kind *found = kithi_kind_by_name(kind, strlen(kind));
    kithi_shape shape = {0};
    head.kind_id = found->lookup->id;
    CHECK_OK(kithi_kind_shape(found, &head, &shape));
    head.body_bytes = shape.body_bytes;
    memset(s, 0, sizeof *s);
    kith_allocator none = {0};
    CHECK_OK(kithi_filter_init(&s->filter, &head, s->block, &none));
}

static uint64_t probe(kith_filter *f, kithi_prng *prng, unsigned lookups) {
    uint64_t yes = 0;
    for (unsigned i = 0; i < lookups; i++)
        yes += kith_filter_has_digest(f, kithi_prng_next(prng));
    return yes;
}

/* z = 5: one false alarm in 3 million cells of the grid. */
static void expect_measured_rate(const char *kind, unsigned k, unsigned m, unsigned n, double *limit_off) {
    static small s;
    unsigned filters = check_soak() ? 100000 : 4000, lookups = 100;
    kithi_prng prng = {kithi_mix(1000000 * k + 1000 * m + n)};
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < filters; i++) {
        lay(&s, kind, k, m, n);
        for (unsigned key = 0; key < n; key++)
            CHECK_OK(kith_filter_add_digest(&s.filter, kithi_prng_next(&prng), NULL));
        double rate = (double)probe(&s.filter, &prng, lookups) / lookups;
        sum += rate;
        squares += rate * rate;
    }
    double mean = sum / filters, asked = (double)filters * lookups;
    double exact = kithi_kind_by_name(kind, strlen(kind))->plan.expect(&s.filter.head, n).rate;
    /* The variance of the mean is that between filters, or the binomial one where hardly any lookup returned true. */
    double variance = fmax((squares / filters - mean * mean) / filters, exact * (1 - exact) / asked);
    double error = 5 * sqrt(variance) + 10 / asked;
    double limit = pow(-expm1(-(double)k * n / m), k);
    *limit_off = fmax(*limit_off, fabs(limit / exact - 1));
    if (fabs(mean - exact) > error)
        CHECK_FAIL("%s, k %u, m %u, n %u: measured %.5f, exact %.5f, bound %.5f", kind, k, m, n, mean, exact, error);
}

TEST(the_exact_rate_agrees_with_measurements_where_the_limit_is_off_by_tens_of_percent) {
    static const unsigned BITS[] = {8, 12, 16, 24, 32, 48, 64}, KEYS[] = {1, 2, 3, 5, 8};
    double limit_off = 0;
    for (unsigned k = 1; k <= 7; k += 2)
        for (size_t i = 0; i < LENGTH(BITS); i++)
            for (size_t j = 0; j < LENGTH(KEYS); j++)
                expect_measured_rate("bloom", k, BITS[i], KEYS[j], &limit_off);
    printf("m = 8 to 64 bits, n = 1 to 8 keys: the formula for large n is off by up to %.0f%%\n", 100 * limit_off);
    CHECK(limit_off > 0.3);
    double ignored = 0;
    expect_measured_rate("counting", 3, 16, 3, &ignored);
    expect_measured_rate("counting", 5, 24, 4, &ignored);
}

TEST(few_keys_exceed_the_promise_at_most_once_in_200_filters_exactly) {
    static const double RATES[] = {0.9, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4};
    static long double with[SET_MAX + 1];
    double worst = 0;
    for (unsigned n = 1; n <= 20; n++)
        for (size_t r = 0; r < LENGTH(RATES); r++)
            for (unsigned given = 0; given <= 16; given = given < 4 ? given + 1 : given + 4) {
                unsigned k;
                uint64_t m;
                CHECK(kithi_bloom_choose(n, RATES[r], given, KITHI_COUNTS_ALL_KEYS, KITHI_WHOLE, &k, &m));
                if (m > SET_MAX)
                    continue;
                occupancy((unsigned)m, k * n, with);
                long double above = 0;
                for (unsigned x = 0; x <= m; x++)
                    if (pow((double)x / (double)m, k) > RATES[r] * (1 + 1e-12))
                        above += with[x];
                worst = fmax(worst, (double)above);
                if (above > 1 / 200.L)
                    CHECK_FAIL("n %u, rate %g, k %u, m %" PRIu64 ": above the promise with %.4f", n, RATES[r], k, m,
                               (double)above);
            }
    printf("1 to 20 keys: above the promise with %.5f at worst\n", worst);
}

TEST(one_array_needs_no_more_bits_than_slices) {
    static const uint64_t KEYS[] = {3, 100, 10000, 1000000};
    for (size_t i = 0; i < LENGTH(KEYS); i++) {
        kith_filter_spec spec = spec_of("bloom", "layout=whole");
        kith_plan whole, slices = plan_for("bloom", KEYS[i], .01, 0);
        spec.capacity = KEYS[i];
        spec.rate = .01;
        CHECK_OK(plan_of(&spec, &whole));
        printf("%" PRIu64 " keys at 1%%: %" PRIu64 " bits in one array, %" PRIu64 " in slices\n", KEYS[i], whole.cells,
               slices.cells);
        CHECK((double)whole.cells <= 1.01 * (double)slices.cells && (double)whole.cells > 0.8 * (double)slices.cells);
    }
}

/* ---- what knows that hashes may coincide ---- */

TEST(the_estimate_of_the_number_of_keys_has_the_right_mean) {
    static small s;
    kithi_prng prng = {4};
    double sum = 0;
    enum { FILTERS = 2000, N = 40, M = 600, K = 7 };
    for (unsigned i = 0; i < FILTERS; i++) {
        lay(&s, "bloom", K, M, N);
        for (unsigned key = 0; key < N; key++)
            CHECK_OK(kith_filter_add_digest(&s.filter, kithi_prng_next(&prng), NULL));
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        CHECK_OK(kith_filter_stats_of(&s.filter, &stats));
        sum += stats.keys_now;
    }
    /* the estimates have a standard deviation of about 0.9 keys, and a bias of 0.1% */
    CHECK(fabs(sum / FILTERS / N - 1) < 5 * 0.9 / N / sqrt(FILTERS) + 0.001);
}

TEST(union_is_the_filter_of_the_union_and_knows_its_rate) {
    static small a, b, both;
    kithi_prng prng = {5};
    lay(&a, "bloom", 5, 300, 40);
    lay(&b, "bloom", 5, 300, 40);
    lay(&both, "bloom", 5, 300, 40);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t digest = kithi_prng_next(&prng);
        CHECK_OK(kith_filter_add_digest(i % 2 == 0 ? &a.filter : &b.filter, digest, NULL));
        CHECK_OK(kith_filter_add_digest(&both.filter, digest, NULL));
    }
    uint64_t set = 0;
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    CHECK_OK(kith_filter_merge(&a.filter, &b.filter));
    CHECK(memcmp(a.filter.body, both.filter.body, (size_t)a.filter.head.body_bytes) == 0);
    for (unsigned cell = 0; cell < 300; cell++)
        set += kith_filter_cell(&a.filter, cell);
    CHECK_OK(kith_filter_stats_of(&a.filter, &stats));
    CHECK(fabs(stats.rate_now / pow((double)set / 300, 5) - 1) < 1e-12);
}

TEST(a_counter_that_two_hashes_of_a_key_hit_counts_the_key_once) {
    static small s;
    kithi_prng prng = {6};
    unsigned coincident = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint64_t digest = kithi_prng_next(&prng), used = 0;
        lay(&s, "counting", 4, 8, 100);
        for (unsigned copies = 1; copies <= 14; copies++) {
            CHECK_OK(kith_filter_add_digest(&s.filter, digest, NULL));
            CHECK_EQ_U64(s.filter.verbs.copies(&s.filter, digest), copies);
        }
        CHECK_STATUS(kith_filter_add_digest(&s.filter, digest, NULL), KITH_E_COPIES);
        for (unsigned cell = 0; cell < 8; cell++) {
            uint64_t value = kith_filter_cell(&s.filter, cell);
            CHECK(value == 0 || value == 14);
            used += value != 0;
        }
        CHECK_EQ_U64(used, s.filter.head.fill);
        coincident += used < 4;
        for (unsigned copies = 14; copies > 0; copies--)
            CHECK_OK(kith_filter_remove_digest(&s.filter, digest));
        CHECK(s.filter.head.fill == 0 && !kith_filter_has_digest(&s.filter, digest));
    }
    CHECK(coincident > 50); /* 59% of the keys */
}

/* A key has 1 to k different counters. If a key that was never added is removed, it may have more or fewer of them than
 * the key that it is mistaken for. Other keys may be lost, but a file of the filter must still open. */
TEST(a_filter_is_valid_after_removals_of_keys_that_were_never_added) {
    enum { STEPS = 10000, STEPS_PER_FILTER = 100 };
    static small s;
    kithi_prng prng = {8};
    unsigned removed = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        const char *reason = "";
        if (i % STEPS_PER_FILTER == 0)
            lay(&s, "counting", 4, 8, 6);
        if (kith_filter_add_digest(&s.filter, kithi_prng_next(&prng), NULL) != KITH_OK)
            removed += kith_filter_remove_digest(&s.filter, kithi_prng_next(&prng)) == KITH_OK;
        if (kith_filter_check(&s.filter, &reason) != KITH_OK)
            CHECK_FAIL("after %u removals: %s", removed, reason);
    }
    CHECK(removed > STEPS / 10);
}

/* An attacker adds keys that set k new bits each, as long as there are such keys. */
TEST(chosen_keys_meet_the_fill_limit_before_the_capacity) {
    kith_filter_spec spec = spec_of("bloom", "layout=whole");
    spec.capacity = 1000;
    spec.rate = .01;
    kith_filter *f;
    CHECK_OK(kith_filter_create(&spec, &f));
    kithi_prng prng = {7};
    kith_status status = KITH_OK;
    while (status == KITH_OK) {
        uint64_t digest = kithi_prng_next(&prng), k = f->geometry.slices.k, fresh = 0, cells[64];
        for (uint64_t i = 0; i < k; i++) {
            cells[i] = kithi_mulhi(probe_word(digest, i), f->geometry.slices.slice);
            fresh += kith_filter_cell(f, cells[i]) == 0;
        }
        if (fresh == k)
            status = kith_filter_add_digest(f, digest, NULL);
    }
    CHECK_STATUS(status, KITH_E_FULL);
    CHECK(kith_filter_count(f) < 750);
    kith_filter_free(f);
}

TEST(counters_of_every_width_hold_their_keys_and_their_copies) {
    for (unsigned width = 2; width <= 8; width++)
        for (unsigned whole = 0; whole < 2; whole++) {
            char options[40];
            (void)snprintf(options, sizeof options, "width=%u layout=%s", width, whole != 0 ? "whole" : "slices");
            kith_filter_spec spec = spec_of("counting", options);
            spec.capacity = 3000;
            spec.rate = .01;
            kith_filter *f;
            kith_plan plan = KITH_PLAN_INIT;
            CHECK_OK(kith_filter_create(&spec, &f));
            CHECK_OK(kith_filter_plan_of(f, &plan));
            CHECK(plan.cell_bits == width && plan.max_copies == (1u << width) - 2 && plan.failure <= 1e-9);
            printf("width=%u layout=%s: k %u, %.1f bits per key, failure %.1e\n", width,
                   whole != 0 ? "whole" : "slices", plan.hashes, (double)(plan.cells * plan.cell_bits) / 3000,
                   plan.failure);
            for (unsigned copies = 1; copies <= plan.max_copies; copies++)
                CHECK_OK(kith_filter_add_digest(f, kithi_mix(1), NULL));
            CHECK_STATUS(kith_filter_add_digest(f, kithi_mix(1), NULL), KITH_E_COPIES);
            CHECK_EQ_U64(f->verbs.copies(f, kithi_mix(1)), plan.max_copies);
            for (unsigned copies = 0; copies < plan.max_copies; copies++)
                CHECK_OK(kith_filter_remove_digest(f, kithi_mix(1)));
            for (uint64_t i = 0; i < 3000; i++)
                CHECK_OK(kith_filter_add_digest(f, kithi_mix(i), NULL));
            for (uint64_t i = 0; i < 3000; i++)
                CHECK(kith_filter_has_digest(f, kithi_mix(i)));
            kith_filter_free(f);
        }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
