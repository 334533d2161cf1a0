/* T6: an adversary who knows the hash, and one who does not.
 *
 * The adversary has a twin of the table, of the same seed, with one key in it. A search of the twin that looks at a node is for a
 * key of the same slot; of some n m keys that are tried, n are. They go into the table itself, one behind the other in one
 * chain. Then the same keys go into tables whose functions are drawn after they were chosen.
 *
 * The longest of m chains of n keys under a random function: numbers of keys in the slots are Poisson numbers of mean n/m, all
 * of which are at most k, given that their sum is n. The probability of both is the n-th coefficient of a power of a
 * polynomial, taken by a Fourier sum; of the sum 64 standard deviations on each side are told apart, so nothing is left out
 * that a double could hold. From k-wise independence follows less: k keys share a slot with m^(1-k), so a chain of t keys,
 * which has C(t,k) such sets, comes with at most C(n,k) m^(1-k) / C(t,k). */
#include <math.h>

#include "steps.h"

static const double PI = 3.14159265358979323846;

enum { LONGEST_MAX = 40 }; /* a slot with more comes with n/40!, under 10^-42 */

/* P(no slot has more than `most`), n keys in n slots. */
static double none_above(uint64_t n, unsigned most) {
    double N = (double)n, spread = 64 * ceil(sqrt(N)) + 64, sum = 0, weights[LONGEST_MAX];
    for (unsigned j = 0; j <= most; j++)
        weights[j] = lab_poisson_at(1, j);
    for (double t = 0; t < spread; t++) {
        double angle = 2 * PI * t / spread, re = 0, im = 0;
        for (unsigned j = 0; j <= most; j++) {
            re += weights[j] * cos(angle * j);
            im += weights[j] * sin(angle * j);
        }
        sum += exp(N / 2 * log(re * re + im * im)) * cos(N * (atan2(im, re) - angle));
    }
    return sum / spread / lab_poisson_at(N, n);
}

/* The longest chain's mean, n keys in n slots, under a random function. */
static double longest_expected(uint64_t n) {
    double mean = 0;
    for (unsigned k = 0; k < LONGEST_MAX; k++)
        mean += 1 - none_above(n, k);
    return mean;
}

static double choose_log(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* … at most, under a k-wise independent function. */
static double longest_bound(double n, double k) {
    double mean = k - 1;
    for (double t = k; t <= n; t++)
        mean += fmin(1, exp(choose_log(n, k) + (1 - k) * log(n) - choose_log(t, k)));
    return mean;
}

/* n keys that share a slot of the table with that seed. */
static void choose_keys(lab *l, uint64_t table_seed, uint64_t n, uint64_t *keys) {
    steps s = {0};
    kith_table_spec spec = steps_spec("chain", n, "grow=no", &s);
    spec.seed = table_seed;
    kith_table *twin = lab_table(l, &spec);
    keys[0] = lab_key(l, 0);
    put_word(l, twin, keys[0]);
    uint64_t found = 1, looks = s.looks;
    for (uint64_t i = 1; found < n; i++) {
        lab_require(l, !has_word(twin, lab_key(l, i)), "a key is in that was not put in");
        if (s.looks != looks)
            keys[found++] = lab_key(l, i);
        looks = s.looks;
        if (i % 65536 == 0)
            lab_going(l, 0.2 * (double)found / (double)n);
    }
    lab_drop(l, twin);
}

static uint64_t longest(lab *l, kith_family_id family, unsigned independence, uint64_t table_seed, const uint64_t *keys,
                        uint64_t n) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "chain";
    spec.key_bytes = sizeof(uint64_t);
    spec.capacity = n;
    spec.options = "grow=no";
    spec.family = family;
    spec.independence = independence;
    spec.seed = table_seed;
    kith_table *t = lab_table(l, &spec);
    for (uint64_t i = 0; i < n; i++)
        put_word(l, t, keys != NULL ? keys[i] : lab_key(l, i));
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(t, &stats), "asking for the longest chain");
    lab_drop(l, t);
    return stats.longest;
}

static lab_estimate longest_mean(lab *l, kith_family_id family, unsigned independence, const uint64_t *keys, uint64_t n,
                                 double done) {
    uint64_t tables = lab_pick(l, 150, 500);
    lab_sample sample = {0};
    for (uint64_t i = 0; i < tables; i++) {
        lab_sample_add(&sample, (double)longest(l, family, independence, 0, keys, n));
        lab_going(l, done);
    }
    return lab_mean(&sample);
}

/* The chosen keys under functions drawn afterwards. */
static void find_families(lab *l, const uint64_t *keys, uint64_t n, unsigned log_n) {
    double expected = longest_expected(n);
    lab_find(l, LAB_MUST, LAB_EQUALS, expected, longest_mean(l, KITH_FAMILY_SIPHASH, 0, keys, n, 0.25),
             "the same keys, a random key of siphash");
    lab_find(l, LAB_MUST, LAB_EQUALS, expected, longest_mean(l, KITH_FAMILY_XXH3, 0, keys, n, 0.3),
             "the same keys, a random seed of xxh3");
    lab_find(l, LAB_MUST, LAB_AT_MOST, longest_bound((double)n, log_n),
             longest_mean(l, KITH_FAMILY_POLYNOMIAL, log_n, keys, n, 0.35), "the same keys, a %u-wise polynomial",
             log_n);
    lab_find(l, LAB_MUST, LAB_AT_MOST, longest_bound((double)n, 3),
             longest_mean(l, KITH_FAMILY_TABULATION, 0, keys, n, 0.4), "the same keys, tabulation (3-wise)");
    lab_find(l, LAB_MUST, LAB_AT_MOST, longest_bound((double)n, 2),
             longest_mean(l, KITH_FAMILY_MULTIPLY_SHIFT, 0, keys, n, 0.45), "the same keys, multiply_shift (2-wise)");
}

static void run(lab *l) {
    unsigned log_n = (unsigned)lab_pick(l, 9, 12), log_most = (unsigned)lab_pick(l, 11, 16);
    uint64_t n = UINT64_C(1) << log_n, *keys = lab_take(l, n * sizeof *keys), known = lab_random(l) | 1;
    lab_parameter(l, "n = m", "%llu", (unsigned long long)n);
    lab_parameter(l, "tables", "%llu", (unsigned long long)lab_pick(l, 150, 500));
    choose_keys(l, known, n, keys);
    lab_find(l, LAB_MUST, LAB_EQUALS, (double)n, lab_exact((double)longest(l, KITH_FAMILY_XXH3, 0, known, keys, n)),
             "longest chain, keys chosen against the hash");
    find_families(l, keys, n, log_n);
    lab_plot *plot = lab_draw(l, "The longest of n chains", "n, keys and slots", "keys", LAB_LOG_X | LAB_LOG_Y);
    lab_series *worst = lab_curve(plot, "n: an adversary who knows the hash"), *curve = lab_curve(plot, "expected");
    lab_series *law = lab_curve(plot, "ln n / ln ln n"), *bound = lab_curve(plot, "3 ln n / ln ln n");
    lab_series *points = lab_points(plot, "siphash"), *adversary = lab_points(plot, "keys chosen against the hash");
    lab_at(adversary, (double)n, lab_exact((double)longest(l, KITH_FAMILY_XXH3, 0, known, keys, n)));
    for (unsigned log_size = 6; log_size <= log_most; log_size++) {
        uint64_t size = UINT64_C(1) << log_size;
        double expected = longest_expected(size), rate = log((double)size) / log(log((double)size));
        lab_estimate measured = longest_mean(l, KITH_FAMILY_SIPHASH, 0, NULL, size, 0.5 + 0.5 * log_size / log_most);
        lab_find(l, LAB_MUST, LAB_EQUALS, expected, measured, "longest chain, n = 2^%u, siphash", log_size);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 3 * rate, measured, "longest chain, n = 2^%u: 3 ln n / ln ln n", log_size);
        lab_at(worst, (double)size, lab_exact((double)size));
        lab_at(curve, (double)size, lab_exact(expected));
        lab_at(law, (double)size, lab_exact(rate));
        lab_at(bound, (double)size, lab_exact(3 * rate));
        lab_at(points, (double)size, measured);
    }
}

const lab_claim lab_T6 = {
    .id = "T6",
    .title = "the longest chain, with and without an adversary",
    .sentence = "Who knows the hash makes one chain of all n keys; under a random function the longest of n chains has "
                "O(log n / log log n).",
    .formula = "ln n / ln ln n",
    .code = "src/tables/chain.c",
    .run = run,
};
