/* Compares the plans of bloom with exact formulas, from which the usual formula is far off with few keys. */
#include <math.h>

#include "check.h"
#include "core/prng.h"
#include "unit/plans.h"

enum { KEYS_SHOWN = 3 };

/* The expected false-positive rate of a Bloom filter of m bits in which a key's k positions may be anywhere, computed
 * from the exact distribution of the number of set bits: the mean of (set/m)^k if positions may coincide, and of C(set,
 * k)/C(m, k) if the k are distinct. */
static double coinciding_rate(unsigned m, unsigned k, unsigned n) {
    double with[128] = {1};
    for (unsigned thrown = 0; thrown < k * n; thrown++)
        for (unsigned set = thrown + 2; set-- > 0;)
            with[set] = with[set] * set / m + (set > 0 ? with[set - 1] * (m - set + 1) / m : 0);
    double rate = 0;
    for (unsigned set = 0; set <= k * n; set++)
        rate += with[set] * pow((double)set / m, k);
    return rate;
}

static double choose(unsigned n, unsigned k) {
    return n < k ? 0 : exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0));
}

static double distinct_rate(unsigned m, unsigned k, unsigned n) {
    double with[128] = {1}, rate = 0;
    for (unsigned key = 0; key < n; key++) {
        double next[128] = {0};
        for (unsigned set = 0; set <= k * key; set++)
            for (unsigned fresh = 0; fresh <= k && set + fresh <= m; fresh++)
                next[set + fresh] += with[set] * choose(m - set, fresh) * choose(set, k - fresh) / choose(m, k);
        memcpy(with, next, sizeof with);
    }
    for (unsigned set = 0; set <= k * n; set++)
        rate += with[set] * choose(set, k) / choose(m, k);
    return rate;
}

TEST(three_keys_at_one_percent_are_planned_by_the_exact_formula) {
    /* The usual formula: m = n ln(1/rate)/ln(2)^2 = 29 bits, k = 7, rate = (1 - e^(-kn/m))^k. */
    unsigned m = (unsigned)ceil(KEYS_SHOWN * log(100) / (log(2) * log(2))), k = 7;
    double usual = pow(1 - exp(-(double)k * KEYS_SHOWN / m), k);
    double distinct = distinct_rate(m, k, KEYS_SHOWN), coinciding = coinciding_rate(m, k, KEYS_SHOWN);
    printf(
        "3 keys, %u bits, k = %u: the usual formula says %.5f; exact: %.5f with distinct positions (%.0f%% too low), "
        "%.5f where they may coincide (%.0f%%)\n",
        m, k, usual, distinct, 100 * (1 - usual / distinct), coinciding, 100 * (1 - usual / coinciding));
    CHECK(m == 29 && usual < .01);
    CHECK(distinct > .01 && 1 - usual / distinct > .10 && 1 - usual / distinct < .14);
    CHECK(coinciding > .01 && 1 - usual / coinciding > .23 && 1 - usual / coinciding < .27);

    kith_plan plan = plan_for("bloom", KEYS_SHOWN, .01, 0);
    CHECK(plan.cells % plan.hashes == 0);
    double slice = (double)plan.cells / plan.hashes;
    double sliced = pow(1 - pow(1 - 1 / slice, KEYS_SHOWN), plan.hashes);
    CHECK(fabs(plan.expected_rate / sliced - 1) < 1e-9);
    CHECK(plan.expected_rate <= .01);

    enum { FILTERS = 5000, PROBES = 400 };
    kith_filter_spec spec = spec_of("bloom", NULL);
    spec.capacity = KEYS_SHOWN;
    spec.rate = .01;
    kith_filter *filter;
    CHECK_OK(kith_filter_create(&spec, &filter));
    kithi_prng prng = {11};
    uint64_t yes = 0;
    for (unsigned i = 0; i < FILTERS; i++) {
        uint64_t digests[PROBES];
        CHECK_OK(kith_filter_clear(filter));
        for (unsigned j = 0; j < PROBES; j++)
            digests[j] = kithi_prng_next(&prng);
        CHECK_OK(kith_filter_add_many(filter, digests, KEYS_SHOWN, NULL, NULL));
        for (unsigned j = 0; j < PROBES; j++)
            digests[j] = kithi_prng_next(&prng);
        yes += kith_filter_has_many(filter, digests, PROBES, NULL);
    }
    kith_filter_free(filter);
    /* 2*10^6 lookups: a standard deviation of 0.7% from them, and 0.6% because filters differ. */
    double measured = (double)yes / ((double)FILTERS * PROBES);
    printf("kith's, 3 keys, %" PRIu64 " bits, k = %u: expected %.5f, measured %.5f\n", plan.cells, plan.hashes,
           plan.expected_rate, measured);
    CHECK(fabs(measured / plan.expected_rate - 1) < .04);
}

/* 966 bits keep the rate on average, but a plan promises it for the filter that is built. */
TEST(a_hundred_keys_at_one_percent_need_1043_bits) {
    kith_plan plan = plan_for("bloom", 100, .01, 0);
    printf("bloom, 100 keys at 1%%: %" PRIu64 " bits, k = %u, expected %.6f\n", plan.cells, plan.hashes,
           plan.expected_rate);
    CHECK(plan.cells == 1043 && plan.expected_rate <= .007 && plan.rate == .01);
}

/* (1 - (1 - 1/slice)^n)^k without loss of precision. */
static long double bloom_rate(const kith_plan *plan) {
    long double slice = (long double)plan->cells / plan->hashes;
    return powl(-expm1l((long double)plan->capacity * log1pl(-1 / slice)), plan->hashes);
}

TEST(bloom_expects_no_less_than_the_exact_rate_whatever_k_is_given) {
    static const uint64_t KEYS[] = {1, 3, 100, 1000000};
    static const double RATES[] = {.999, .5, .01, 1e-6, 1e-9, 1e-12, 1e-17};
    for (unsigned k = 0; k <= 64; k = k < 4 ? k + 1 : 2 * k) {
        char options[16];
        (void)snprintf(options, sizeof options, "k=%u", k);
        for (size_t i = 0; i < LENGTH(KEYS); i++) {
            for (size_t j = 0; j < LENGTH(RATES); j++) {
                kith_filter_spec spec = spec_of("bloom", options);
                kith_plan plan;
                spec.capacity = KEYS[i];
                spec.rate = RATES[j];
                if (plan_of(&spec, &plan) != KITH_OK)
                    continue;
                double off = (double)((long double)plan.expected_rate / bloom_rate(&plan) - 1);
                if (!(fabs(off) < 1e-9))
                    CHECK_FAIL("k=%u, n %" PRIu64 ", rate %g: expected_rate is off by %g", k, KEYS[i], RATES[j], off);
            }
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
