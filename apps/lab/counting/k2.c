/* K2: whether any counter of a filter overflows.
 *
 * The union bound: some counter of m reaches t with probability at most m p, where p is the probability for one. It is
 * hardly loose: counters of a slice shun each other (they share n keys), so two are at t together with at most p^2, and
 * by Bonferroni some counter is with at least m p - (m p)^2/2. At the best k that is far out of sight, so filters are
 * as crowded as a plan allows, 64 counters a key at a rate of 38%: 4.2 keys a counter, p = 4e-5. Filters are
 * independent, and each has a stuck counter or has none. */
#include <math.h>

#include <lab/experiment.h>

static const uint64_t KEYS[] = {50, 100, 200, 400, 800, 1600};
enum { SIZES = sizeof KEYS / sizeof *KEYS, TOP = 15 };

static void run(lab *l) {
    uint64_t adds = lab_pick(l, 300000, 4000000); /* of each size */
    lab_parameter(l, "counters a key", "64");
    lab_parameter(l, "keys a counter", "4.2");
    lab_parameter(l, "keys added for each size", "%llu", (unsigned long long)adds);
    lab_plot *plot =
        lab_draw(l, "Filters with a counter that sticks", "counters, m", "share of filters", LAB_LOG_X | LAB_LOG_Y);
    lab_series *upper = lab_curve(plot, "union bound, m p"), *lower = lab_curve(plot, "m p − (m p)²/2");
    lab_series *points = lab_points(plot, "measured");
    for (unsigned i = 0; i < SIZES; i++) {
        uint64_t n = KEYS[i], filters = adds / n, with = 0;
        kith_filter_stats stats = KITH_FILTER_STATS_INIT;
        for (uint64_t j = 0; j < filters; j++) {
            kith_filter *f = lab_filter(l, "counting", n, 0.38, 0, "k=64");
            lab_fill(l, f, 0, n);
            lab_must(l, kith_filter_stats_of(f, &stats), "asking for statistics");
            with += stats.stuck != 0;
            lab_drop(l, f);
            lab_going(l, (i + (double)j / (double)filters) / SIZES);
        }
        double m = (double)stats.cells, mp = m * lab_binomial_above(n, 64 / m, TOP - 1);
        lab_estimate share = lab_share(with, filters);
        lab_find(l, LAB_MUST, LAB_AT_MOST, mp, share, "m = %.0f: union bound", m);
        lab_find(l, LAB_MUST, LAB_AT_LEAST, mp - mp * mp / 2, share, "m = %.0f: Bonferroni's lower bound", m);
        lab_at(upper, m, lab_exact(mp));
        if (mp < 1.9)
            lab_at(lower, m, lab_exact(mp - mp * mp / 2));
        lab_at(points, m, share);
    }
    /* The document's case: a billion counters at the best k, by the exact probability. */
    double billion = 1e9 * lab_binomial_above(100000000, log(2) / 1e8, TOP);
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(billion),
             "m = 10^9 at the best k, 16 or more: m times the exact probability");
}

const lab_claim lab_K2 = {
    .id = "K2",
    .title = "whether any counter overflows",
    .sentence = "Some counter of m overflows with probability at most m times that of one: 1.4·10⁻⁶ for 10⁹ counters.",
    .formula = "P(max c ≥ t) ≤ m·(e·ln 2/t)^{t}",
    .code = "src/family/counters.h",
    .run = run,
};
