/* C14: theorem 1 of [4], equation (3): how long the loop of an insertion runs.
 *
 * Without a bad configuration the loop of algorithm 2 visits at least k keys with probability at most
 * 2 / (1 + δ/2)^(k/3 - 1), in tables of (2 + δ)n slots in two halves. The trace shows how many keys an insertion
 * displaces; with the new key itself that is the number of keys that it visits. The order of algorithm 2 is that of
 * start=second: a new key takes its place in one half if that is free, and else walks from its place in the other.
 * Insertions that rebuilt the table have met a bad configuration and are left out. Only the last eighth of the
 * insertions is counted, when the tables are nearly as full as the theorem allows. Each table gives one number, since
 * insertions into one table share its graph.
 *
 * [4] says itself that the bound is very loose. The findings show how loose: the true probability falls by a constant
 * factor per key, and the bound by the cube root of 1 + δ/2. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuckoo_graph.h"

enum { VISITED_MAX = 64 };

static double bound(double delta, unsigned k) {
    return 2 / pow(1 + delta / 2, k / 3.0 - 1);
}

static void fill(lab *l, uint64_t n, double delta, lab_sample *shares) {
    steps s = {0};
    kith_table_spec spec = steps_spec((uint64_t)ceil((2 + delta) * (double)n / 2) * 2,
                                      "layout=two d=2 b=1 insert=walk start=second load=100");
    kith_table *table = steps_table(l, &spec, &s);
    uint64_t counted = 0, visited[VISITED_MAX + 1] = {0};
    for (uint64_t i = 0; i < n; i++) {
        s.moves = 0;
        bool rebuilt = steps_put(l, table, &s, i) > 0;
        if (rebuilt || i < n - n / 8)
            continue;
        counted++;
        for (uint64_t k = 1; k <= VISITED_MAX && k <= s.moves + 1; k++)
            visited[k]++;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, i);
        lab_require(l, kith_table_has(table, &key, sizeof key), "a table has lost a key");
    }
    for (unsigned k = 1; k <= VISITED_MAX; k++)
        lab_sample_add(&shares[k], counted > 0 ? (double)visited[k] / (double)counted : 0);
    lab_drop(l, table);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), tables = lab_number(l, "tables");
    size_t count;
    double deltas[LAB_NUMBERS_MAX];
    memcpy(deltas, lab_numbers(l, "delta", &count), sizeof deltas);
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    lab_parameter(l, "tables of each δ", "%llu", (unsigned long long)tables);
    lab_parameter(l, "order of insertion", "algorithm 2 of [4] (start=second)");
    lab_plot *plot = lab_draw(l, "Keys visited by an insertion", "keys, k", "P(at least k)", LAB_LOG_Y);
    for (size_t d = 0; d < count; d++) {
        lab_sample shares[VISITED_MAX + 1] = {{0}};
        for (uint64_t t = 0; t < tables; t++) {
            fill(l, n, deltas[d], shares);
            lab_progress(l, ((double)d + (double)t / (double)tables) / (double)count);
        }
        lab_series *curve = lab_curve(plot, "bound, δ = %g", deltas[d]),
                   *points = lab_points(plot, "measured, δ = %g", deltas[d]);
        unsigned first = 0; /* the first k at which the bound says anything */
        for (unsigned k = 1; k <= VISITED_MAX; k++) {
            if (bound(deltas[d], k) < 1)
                lab_at(curve, k, lab_exact(bound(deltas[d], k)));
            if (shares[k].mean > 0)
                lab_at(points, k, lab_mean(&shares[k]));
            first = first == 0 && bound(deltas[d], k) < 0.5 ? k : first;
        }
        for (unsigned k = first; first > 0 && k <= VISITED_MAX; k += 8)
            lab_find_stated(l, LAB_MUST, "[4]: \"2n^(k/3−1)/(|T|/2)^(k/3−1) < 2/(1 + δ/2)^((k/3)−1)\" (3)", LAB_AT_MOST,
                            bound(deltas[d], k), lab_mean(&shares[k]), "δ = %g, k = %u: P(an insertion visits k keys)",
                            deltas[d], k);
        lab_find(l, LAB_EQUALS, 1, lab_mean(&shares[1]), "δ = %g, k = 1: every insertion visits the new key",
                 deltas[d]);
        if (shares[4].mean > 0 && shares[2].mean > 0)
            lab_find(l, LAB_AT_MOST, pow(1 + deltas[d] / 2, -2 / 3.0), lab_exact(shares[4].mean / shares[2].mean),
                     "δ = %g: P(4 keys)/P(2 keys), which the bound lets fall by (1 + δ/2)^(2/3)", deltas[d]);
    }
}

const lab_claim lab_C14 = {
    .id = "C14",
    .title = "how long an insertion runs",
    .sentence =
        "In two halves of (2 + δ)n slots an insertion that meets no bad configuration visits at least k keys with "
        "probability at most 2/(1 + δ/2)^(k/3 − 1).",
    .formula = "P ≤ 2/(1 + δ/2)^{k/3 − 1}",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "δ = 0.2, k = 47",
    .settings = {LAB_LIST("delta", "0.2,0.5,1,2", "0.2,0.5,1,2", 0.01, 20, 0.01, 20, "there are (2 + delta)n slots"),
                 LAB_SIZE("n", 1000, 20000, 8, 1e6, "keys of each table"),
                 LAB_SIZE("tables", 150, 400, 2, 1e6, "tables of each delta")},
    .run = run,
};
