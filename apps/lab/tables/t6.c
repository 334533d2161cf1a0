/* T6: the longest chain, for an adversary who knows the hash function and for one who does not.
 *
 * The adversary has a copy of the table with the same seed and one key in it. If a search in the copy visits a node,
 * the key searched for belongs to the same slot. This is true for n of about n m keys that are tried. Inserted into the
 * table itself, these n keys form one chain. Then the same keys are inserted into tables whose functions are drawn
 * after the keys were chosen.
 *
 * Random functions: longest.h has the exact mean.
 *
 * k-wise independent functions: only a weaker bound holds. k keys share a slot with probability m^(1-k), and a chain
 * of t keys contains C(t,k) such sets. So there is a chain of t keys with probability at most C(n,k) m^(1-k) /
 * C(t,k). */
#include <math.h>

#include "longest.h"
#include "steps.h"

static double choose_log(double n, double k) {
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* An upper bound on the same for a k-wise independent function. */
static double longest_bound(double n, double k) {
    double mean = k - 1;
    for (double t = k; t <= n; t++)
        mean += fmin(1, exp(choose_log(n, k) + (1 - k) * log(n) - choose_log(t, k)));
    return mean;
}

/* Finds n keys that share a slot in the table with this seed. */
static void choose_keys(lab *l, uint64_t table_seed, uint64_t n, uint64_t *keys) {
    steps s = {0};
    kith_table_spec spec = steps_spec("chain", n, "grow=no");
    spec.seed = table_seed;
    kith_table *copy = steps_table(l, &spec, &s);
    keys[0] = lab_key(l, 0);
    put_word(l, copy, keys[0]);
    uint64_t found = 1, looks = s.looks;
    for (uint64_t i = 1; found < n; i++) {
        lab_require(l, !has_word(copy, lab_key(l, i)), "a key is found that was never inserted");
        if (s.looks != looks)
            keys[found++] = lab_key(l, i);
        looks = s.looks;
        if (i % 65536 == 0)
            lab_progress(l, 0.2 * (double)found / (double)n);
    }
    lab_drop(l, copy);
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
    lab_must(l, kith_table_stats_of(t, &stats), "reading the longest chain");
    lab_drop(l, t);
    return stats.longest;
}

static lab_estimate longest_mean(lab *l, kith_family_id family, unsigned independence, const uint64_t *keys, uint64_t n,
                                 double done) {
    uint64_t tables = lab_number(l, "tables");
    lab_sample sample = {0};
    for (uint64_t i = 0; i < tables; i++) {
        lab_sample_add(&sample, (double)longest(l, family, independence, 0, keys, n));
        lab_progress(l, done);
    }
    return lab_mean(&sample);
}

/* Inserts the chosen keys into tables whose functions are drawn afterwards. */
static void measure_families(lab *l, const uint64_t *keys, uint64_t n, unsigned log_n) {
    double expected = longest_expected(n);
    if (lab_wants(l, "family", "siphash"))
        lab_find(l, LAB_EQUALS, expected, longest_mean(l, KITH_FAMILY_SIPHASH, 0, keys, n, 0.25),
                 "the same keys, siphash with a random key");
    if (lab_wants(l, "family", "xxh3"))
        lab_find(l, LAB_EQUALS, expected, longest_mean(l, KITH_FAMILY_XXH3, 0, keys, n, 0.3),
                 "the same keys, xxh3 with a random seed");
    if (lab_wants(l, "family", "polynomial"))
        lab_find(l, LAB_AT_MOST, longest_bound((double)n, log_n),
                 longest_mean(l, KITH_FAMILY_POLYNOMIAL, log_n, keys, n, 0.35), "the same keys, a %u-wise polynomial",
                 log_n);
    if (lab_wants(l, "family", "tabulation"))
        lab_find(l, LAB_AT_MOST, longest_bound((double)n, 3), longest_mean(l, KITH_FAMILY_TABULATION, 0, keys, n, 0.4),
                 "the same keys, tabulation (3-wise)");
    if (lab_wants(l, "family", "multiply_shift"))
        lab_find(l, LAB_AT_MOST, longest_bound((double)n, 2),
                 longest_mean(l, KITH_FAMILY_MULTIPLY_SHIFT, 0, keys, n, 0.45),
                 "the same keys, multiply_shift (2-wise)");
}

static void run(lab *l) {
    unsigned log_n = (unsigned)lab_number(l, "log_n"), log_n_max = (unsigned)lab_number(l, "log_n_max");
    uint64_t n = UINT64_C(1) << log_n, *keys = lab_take(l, n * sizeof *keys), known = lab_random(l) | 1;
    lab_parameter(l, "n = m", "%llu", (unsigned long long)n);
    lab_parameter(l, "tables", "%llu", (unsigned long long)lab_number(l, "tables"));
    choose_keys(l, known, n, keys);
    lab_find(l, LAB_EQUALS, (double)n, lab_exact((double)longest(l, KITH_FAMILY_XXH3, 0, known, keys, n)),
             "longest chain, keys chosen by the adversary");
    measure_families(l, keys, n, log_n);
    lab_plot *plot = lab_draw(l, "The longest of n chains", "n, keys and slots", "keys", LAB_LOG_X | LAB_LOG_Y);
    lab_series *worst = lab_curve(plot, "n: an adversary who knows the hash function"),
               *curve = lab_curve(plot, "expected");
    lab_series *law = lab_curve(plot, "ln n / ln ln n"), *bound = lab_curve(plot, "3 ln n / ln ln n");
    lab_series *points = lab_points(plot, "siphash"), *adversary = lab_points(plot, "keys chosen by the adversary");
    lab_at(adversary, (double)n, lab_exact((double)longest(l, KITH_FAMILY_XXH3, 0, known, keys, n)));
    for (unsigned log_size = 6; log_size <= log_n_max; log_size++) {
        uint64_t size = UINT64_C(1) << log_size;
        double expected = longest_expected(size), rate = log((double)size) / log(log((double)size));
        lab_estimate measured = longest_mean(l, KITH_FAMILY_SIPHASH, 0, NULL, size, 0.5 + 0.5 * log_size / log_n_max);
        lab_find(l, LAB_EQUALS, expected, measured, "longest chain, n = 2^%u, siphash", log_size);
        lab_find(l, LAB_AT_MOST, 3 * rate, measured, "longest chain, n = 2^%u: 3 ln n / ln ln n", log_size);
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
    .sentence =
        "An adversary who knows the hash function can put all n keys into one chain. With a random function the "
        "longest of n chains has O(log n / log log n) keys.",
    .formula = "ln n / ln ln n",
    .code = "src/tables/chain.c",
    .decides = "the same keys, siphash with a random key",
    .settings = {LAB_SIZE("tables", 150, 500, 2, 1e6, "tables of each kind"),
                 LAB_SIZE("log_n", 9, 12, 6, 16, "log2 of the number of keys that the adversary chooses"),
                 LAB_SIZE("log_n_max", 11, 16, 6, 20, "log2 of the most keys"),
                 LAB_WORD("family", "all", "all siphash xxh3 polynomial tabulation multiply_shift",
                          "hash functions of the tables that get the adversary's keys")},
    .run = run,
};
