/* K2: the probability that any counter of a filter overflows.
 *
 * By the union bound, at least one of m counters reaches t with probability at most m p, where p is the probability for
 * one counter. The bound is nearly tight. The counters of a slice share n keys and are negatively correlated, so two of
 * them reach t together with probability at most p^2. By Bonferroni's inequality at least one counter then reaches t
 * with probability at least m p - (m p)^2/2. At the best k these probabilities are far too small to be measured. The
 * filters here are therefore as crowded as a plan allows, with 64 counters per key at a rate of 38%: 4.2 keys per
 * counter, p = 4e-5. The slices are independent, and the fullest counter of a slice has a known distribution
 * (longest.h), so the probability itself is known as well. Filters are independent, and each either has a stuck
 * counter or has none.
 *
 * [2] names three drawbacks of counting filters. Overflow is the one above. The array is larger, by the bits of a
 * counter: at least c log2(1/ε)/ln 2 bits per key, whatever n is. And such a filter does not scale: its counters do not
 * say which keys they count, so it cannot be given more of them. With twice as many keys in the same bytes the
 * rate is (1 - (1 - k/m)^n)^k as for a Bloom filter of m bits, which has a quarter of the size. */
#include <math.h>
#include <stdio.h>

#include <lab/experiment.h>
#include <lab/tables/longest.h>

enum { TOP = 15 };

#define SCALE_RATE 0.01

static void measure_scaling(lab *l, uint64_t filters) {
    for (double n = 1000; n <= 100000; n *= 10)
        for (unsigned width = 4; width <= 8; width += 4) {
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            kith_plan plan = KITH_PLAN_INIT;
            spec.kind = "counting";
            spec.options = width == 4 ? "width=4" : "width=8";
            spec.capacity = (uint64_t)n;
            spec.rate = SCALE_RATE;
            lab_must(l, kith_filter_plan(&spec, &plan), "planning");
            lab_find_stated(l, LAB_MUST, "[2]: \"larger array size, limited scalability, and arithmetic overflow\"",
                            LAB_AT_LEAST, width * log2(1 / SCALE_RATE) / log(2), lab_exact(plan.bits_per_key),
                            "n = %.0f, counters of %u bits: bits per key at a rate of 1%%", n, width);
        }
    uint64_t n = 1000, asked = 5000, bytes = 0;
    for (uint64_t times = 1; times <= 2; times++) {
        lab_sample rates = {0};
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        for (uint64_t j = 0; j < filters; j++) {
            kith_filter *f = lab_filter(l, "counting", n * times, times == 1 ? SCALE_RATE : 0, bytes, "k=7");
            lab_fill(l, f, 0, n * times);
            lab_sample_add(&rates, (double)lab_count_found(l, f, n * times, asked) / (double)asked);
            lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
            lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
            lab_drop(l, f);
            lab_progress(l, 0.99);
        }
        bytes = times == 1 ? plan.file_bytes : bytes;
        double slice = (double)(stats.cells / plan.hashes), zero = exp((double)(n * times) * log1p(-1 / slice));
        lab_find(l, LAB_EQUALS, pow(1 - zero, plan.hashes), lab_mean(&rates),
                 "%llu keys in %llu bytes: false positive rate", (unsigned long long)(n * times),
                 (unsigned long long)bytes);
        if (times == 2)
            lab_find_stated(l, LAB_MUST, "[2]: \"larger array size, limited scalability, and arithmetic overflow\"",
                            LAB_AT_LEAST, 10 * SCALE_RATE, lab_mean(&rates),
                            "twice as many keys in the same bytes: false positive rate, at least ten times as high");
    }
}

static void run(lab *l) {
    uint64_t adds = lab_number(l, "adds"); /* of each size */
    double sizes[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "n", sizes);
    unsigned k = (unsigned)lab_number(l, "k");
    char options[16];
    (void)snprintf(options, sizeof options, "k=%u", k);
    lab_parameter(l, "counters per key", "%u", k);
    lab_parameter(l, "keys added for each size", "%llu", (unsigned long long)adds);
    lab_plot *plot =
        lab_draw(l, "Filters with a stuck counter", "counters, m", "share of filters", LAB_LOG_X | LAB_LOG_Y);
    lab_series *upper = lab_curve(plot, "union bound, m p"), *lower = lab_curve(plot, "m p − (m p)²/2");
    lab_series *points = lab_points(plot, "measured");
    for (size_t i = 0; i < count; i++) {
        uint64_t n = (uint64_t)sizes[i], filters = adds / n, with = 0;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        for (uint64_t j = 0; j < filters; j++) {
            kith_filter *f = lab_filter(l, "counting", n, 0.38, 0, options);
            lab_fill(l, f, 0, n);
            lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
            with += stats.stuck != 0;
            lab_drop(l, f);
            lab_progress(l, ((double)i + (double)j / (double)filters) / (double)count);
        }
        double m = (double)stats.cells, mp = m * lab_binomial_above(n, k / m, TOP - 1);
        lab_estimate share = lab_share(with, filters);
        double exact = 1 - pow(longest_at_most(n, stats.cells / k, TOP - 1), k);
        lab_find(l, LAB_AT_MOST, mp, share, "m = %.0f: union bound", m);
        lab_known(l, exact);
        lab_find(l, LAB_AT_LEAST, mp - mp * mp / 2, share, "m = %.0f: Bonferroni's lower bound", m);
        lab_known(l, exact);
        lab_find(l, LAB_EQUALS, exact, share, "m = %.0f: share of filters with a stuck counter, exact", m);
        lab_at(upper, m, lab_exact(mp));
        if (mp < 1.9)
            lab_at(lower, m, lab_exact(mp - mp * mp / 2));
        lab_at(points, m, share);
    }
    measure_scaling(l, lab_number(l, "filters"));
    /* The example of the document: a billion counters at the best k. Computed from the exact probability. */
    double billion = 1e9 * lab_binomial_above(100000000, log(2) / 1e8, TOP);
    lab_find(l, LAB_SHOWN, 0, lab_exact(billion), "m = 10^9 at the best k, 16 or more: m times the exact probability");
}

const lab_claim lab_K2 = {
    .id = "K2",
    .title = "whether any counter overflows",
    .sentence =
        "At least one of m counters overflows with probability at most m times that of one counter: 1.4·10⁻⁶ for "
        "10⁹ counters.",
    .formula = "P(max c ≥ t) ≤ m·(e·ln 2/t)^{t}",
    .code = "src/kinds/shared/counter_cells.h",
    .decides = "union bound",
    .settings = {LAB_SIZE("adds", 300000, 4000000, 1000, 1e9, "keys added for each size"),
                 LAB_WHOLES("n", "50,100,200,400,800,1600", "50,100,200,400,800,1600", 10, 100000, 50, 2000,
                            "keys of each filter"),
                 LAB_SIZE("filters", 60, 600, 30, 1e6, "filters of each size, for how the rate grows with the keys"),
                 LAB_WHOLE("k", "64", 1, 64, 48, 64, "counters per key; with fewer, hardly any counter overflows")},
    .run = run,
};
