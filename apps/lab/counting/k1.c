/* K1: how high the counters of a counting filter get.
 *
 * Each key increments one of the s counters of a slice, chosen uniformly. So a counter has the distribution
 * binomial(n, 1/s), which is nearly Poisson with mean n/s = ln 2 at the best k. There are three experiments:
 *
 *     full filters     The share of counters at 0, 1, 2 …, with one number per filter; and the bound for high values.
 *     small filters    A chi-square test. Only one counter per slice is read, so that the counters are independent.
 *     crowded filters  At the best k no counter ever reaches 15 in an experiment. Filters with many counters per key
 *                      (k up to 64), planned for the highest rate, have up to 4.2 keys per counter. There counters
 *                      reach 15, as often as the same formula predicts. In less crowded ones the highest value is
 *                      tested that is frequent enough. Importance sampling carries the most crowded ones over to the
 *                      best k: a counter at 15 or more counts with the ratio of its two probabilities.
 *
 * The library's counters have 4 bits, so 16 does not fit. A counter that reaches 15 stays at 15 forever ("stuck"),
 * because it cannot distinguish 15 from more. */
#include <math.h>
#include <stdio.h>

#include <lab/experiment.h>

enum { VALUES = 16, TOP = 15, SEEN = 5 }; /* values of 5 and more are counted together: 7 in 10^4 counters */
enum { FULL_KEYS = 2000 };                /* n of a full filter */
enum { FREQUENT = 20 };                   /* counters of a crowded filter that must be expected at a value */

/* 2^-7: the best k is 7, with ln 2 keys per counter. */
#define RATE 0.0078125

/* P(counter >= t) <= C(n, t)/s^t <= (e n/(s t))^t. */
static double bound(double mean, unsigned t) {
    return pow(exp(1) * mean / t, t);
}

/* The first bound of the chain, C(n, t)/s^t: the expected number of sets of t keys that all hit the counter. */
static double bound_by_sets(double n, double slice, unsigned t) {
    double sets = 1;
    for (unsigned i = 0; i < t; i++)
        sets *= (n - i) / (i + 1) / slice;
    return sets;
}

static void tally(const kith_filter *f, uint64_t cells, uint64_t *counts) {
    for (uint64_t c = 0; c < cells; c++)
        counts[kith_filter_cell(f, c)]++;
}

/* Returns the probability that a key increments a given counter of a full filter. Sets *frequent to the share of
 * counters at SEEN or more. */
static double full_filters(lab *l, lab_estimate *frequent) {
    uint64_t n = FULL_KEYS, filters = lab_number(l, "filters"), totals[VALUES] = {0};
    lab_sample shares[SEEN] = {{0}};
    kith_plan plan = KITH_PLAN_INIT;
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = lab_filter(l, "counting", n, RATE, 0, NULL);
        uint64_t counts[VALUES] = {0};
        lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
        lab_fill(l, f, 0, n);
        tally(f, plan.cells, counts);
        for (unsigned v = 0; v < VALUES; v++)
            totals[v] += counts[v];
        for (unsigned v = 0; v < SEEN; v++)
            lab_sample_add(&shares[v], (double)counts[v] / (double)plan.cells);
        lab_drop(l, f);
        lab_progress(l, 0.4 * (double)i / (double)filters);
    }
    uint64_t slice = plan.cells / plan.hashes;
    double all = (double)(filters * plan.cells), mean = (double)n / (double)slice;
    lab_plot *plot = lab_draw(l, "Counters of a full filter", "value", "share of the counters", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "binomial(n, 1/slice)"), *limit = lab_curve(plot, "bound on P(value or more)");
    lab_series *points = lab_points(plot, "measured");
    for (unsigned v = 0; v <= VALUES; v++) {
        lab_at(curve, v, lab_exact(lab_binomial_at(n, 1 / (double)slice, v)));
        if (v >= 2)
            lab_at(limit, v, lab_exact(bound(mean, v)));
    }
    for (unsigned v = 0; v < SEEN; v++) {
        double predicted = lab_binomial_at(n, 1 / (double)slice, v);
        lab_find(l, LAB_EQUALS, predicted, lab_mean(&shares[v]), "counters at %u", v);
        lab_at(points, v, lab_mean(&shares[v]));
    }
    /* Counters with high values are rare and negatively correlated, so the variance of their number is below that of a
     * Poisson number, and lab_count() is safe. */
    for (unsigned t = SEEN; t < 9; t++) {
        uint64_t at_least = 0;
        for (unsigned v = t; v < VALUES; v++)
            at_least += totals[v];
        lab_estimate share = lab_scaled(lab_count(at_least), 1 / all);
        if (t == SEEN) {
            *frequent = share;
            lab_find(l, LAB_EQUALS, lab_binomial_above(n, 1 / (double)slice, t - 1), share, "counters at %u or more",
                     t);
        }
        lab_find(l, LAB_AT_MOST, bound(mean, t), share, "bound on counters at %u or more", t);
        lab_known(l, lab_binomial_above(n, 1 / (double)slice, t - 1));
        lab_at(points, t, lab_scaled(lab_count(totals[t]), 1 / all));
    }
    /* The probability that the document bounds is too small to be measured. So the distribution is measured, here and
     * in crowded filters, and this is what it gives for 16. */
    lab_find(l, LAB_AT_MOST, bound(log(2), 16), lab_exact(lab_binomial_above(n, 1 / (double)slice, 15)),
             "probability of 16 or more at the best k, by the distribution that the other findings confirm");
    return 1 / (double)slice;
}

static void small_filters(lab *l) {
    uint64_t n = 100, filters = lab_number(l, "small_filters"), observed[VALUES] = {0};
    double expected[VALUES];
    kith_plan plan = KITH_PLAN_INIT;
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = lab_filter(l, "counting", n, RATE, 0, NULL);
        lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
        lab_fill(l, f, 0, n);
        uint64_t slice = plan.cells / plan.hashes;
        for (unsigned j = 0; j < plan.hashes; j++)
            observed[kith_filter_cell(f, j * slice + lab_below(l, slice))]++;
        lab_drop(l, f);
        lab_progress(l, 0.4 + 0.2 * (double)i / (double)filters);
    }
    double trials = (double)(filters * plan.hashes), p = (double)plan.hashes / (double)plan.cells;
    for (unsigned v = 0; v < VALUES; v++)
        expected[v] = trials * (v < TOP ? lab_binomial_at(n, p, v) : lab_binomial_above(n, p, TOP - 1));
    lab_find_fit(l, observed, expected, VALUES, 1, "%.0f independent counters", trials);
}

/* The highest value that at least FREQUENT of `seen` counters are expected to reach. */
static unsigned highest_frequent(uint64_t n, double p, uint64_t seen) {
    unsigned t = TOP;
    while (t > 1 && (double)seen * lab_binomial_above(n, p, t - 1) < FREQUENT)
        t--;
    return t;
}

/* `best` is the probability that a key increments a given counter at the best k. */
static void crowded_filters(lab *l, double best) {
    uint64_t n = 2000, counters = lab_number(l, "counters");
    double ks[LAB_NUMBERS_MAX];
    size_t crowded = lab_list(l, "k", ks);
    lab_plot *plot = lab_draw(l, "Stuck counters", "keys per counter", "share of the counters at 15", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "P(15 or more), Poisson"), *limit = lab_curve(plot, "(e λ/15)^15");
    lab_series *points = lab_points(plot, "measured");
    double most = 0;
    lab_estimate carried = {0};
    for (double mean = log(2); mean < 4.5; mean += 0.1) {
        double above = 0;
        for (unsigned v = TOP; v < 60; v++)
            above += lab_poisson_at(mean, v);
        lab_at(curve, mean, lab_exact(above));
        lab_at(limit, mean, lab_exact(bound(mean, 15)));
    }
    for (size_t i = 0; i < crowded; i++) {
        unsigned k = (unsigned)ks[i];
        char options[32];
        uint64_t counts[VALUES] = {0}, seen = 0, stuck = 0, reached = 0;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        (void)snprintf(options, sizeof options, "k=%u", k);
        while (seen < counters / crowded) {
            kith_filter *f = lab_filter(l, "counting", n, 0.38, 0, options);
            lab_fill(l, f, 0, n);
            lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
            tally(f, stats.cells, counts);
            lab_require(l, counts[TOP] == (stuck += stats.stuck), "stats() does not count the stuck counters");
            seen += stats.cells;
            lab_drop(l, f);
            lab_progress(l, 0.6 + 0.4 * ((double)i + (double)(seen * crowded) / (double)counters) / (double)crowded);
        }
        double p = k / (double)stats.cells, mean = (double)n * p;
        unsigned t = highest_frequent(n, p, seen);
        for (unsigned v = t; v < VALUES; v++)
            reached += counts[v];
        lab_find(l, LAB_EQUALS, lab_binomial_above(n, p, t - 1), lab_scaled(lab_count(reached), 1 / (double)seen),
                 t == TOP ? "%.2f keys per counter: counters at %u" : "%.2f keys per counter: counters at %u or more",
                 mean, t);
        lab_estimate share = lab_scaled(lab_count(stuck), 1 / (double)seen);
        if (stuck > 0)
            lab_at(points, mean, share);
        if (mean > most) {
            most = mean;
            carried = lab_scaled(share, lab_binomial_above(n, best, TOP - 1) / lab_binomial_above(n, p, TOP - 1));
        }
    }
    lab_find(l, LAB_AT_MOST, bound((double)n * best, TOP), carried,
             "bound on counters at 15 or more, by importance sampling from filters with %.2f keys per counter", most);
}

/* The chain of bounds of [3], one inequality after another. `best` is as above, and `frequent` as in full_filters(). */
static void chain_of_bounds(lab *l, double best, lab_estimate frequent) {
    double n = FULL_KEYS, slice = 1 / best;
    lab_find(l, LAB_AT_MOST, bound_by_sets(n, slice, SEEN), frequent, "counters at %d or more: at most C(n, %d)/s^%d",
             SEEN, SEEN, SEEN);
    lab_known(l, lab_binomial_above(FULL_KEYS, best, SEEN - 1));
    for (unsigned t = SEEN; t <= 16; t += 16 - SEEN) {
        lab_find(l, LAB_AT_MOST, bound_by_sets(n, slice, t), lab_exact(lab_binomial_above(FULL_KEYS, best, t - 1)),
                 "probability of %u or more: at most C(n, %u)/s^%u", t, t, t);
        lab_find(l, LAB_AT_MOST, bound(n * best, t), lab_exact(bound_by_sets(n, slice, t)),
                 "C(n, %u)/s^%u: at most (en/(%u s))^%u", t, t, t, t);
        lab_find(l, LAB_AT_MOST, bound(log(2), t), lab_exact(bound(n * best, t)),
                 "(en/(%u s))^%u: at most (e ln 2/%u)^%u", t, t, t, t);
    }
}

static void run(lab *l) {
    lab_parameter(l, "n", "2000, and 100 for the chi-square test");
    lab_parameter(l, "planned rate", "2^-7, and 38%% with k = 8 to 64 for crowded filters");
    lab_estimate frequent = {0};
    double best = full_filters(l, &frequent);
    small_filters(l);
    crowded_filters(l, best);
    chain_of_bounds(l, best, frequent);
}

const lab_claim lab_K1 = {
    .id = "K1",
    .title = "how high counters get",
    .sentence = "At the best k a counter reaches 16 with probability at most (e ln 2/16)^16, about 1.4·10⁻¹⁵.",
    .formula = "P(c ≥ t) ≤ (e·ln 2/t)^{t}",
    .code = "src/kinds/shared/counter_cells.h",
    .decides = "16 or more",
    .settings = {LAB_SIZE("filters", 40, 400, 2, 1e6, "full filters"),
                 LAB_SIZE("small_filters", 2000, 40000, 100, 1e8, "small filters, for the chi-square test"),
                 LAB_SIZE("counters", 4000000, 80000000, 1000, 1e10, "counters of crowded filters"),
                 LAB_WHOLES("k", "8,16,32,64", "8,16,32,64", 1, 64, 4, 64, "counters per key of crowded filters")},
    .run = run,
};
