/* C4: at m = 6n the graph of a table has a cycle with probability at most 1/2; the table is rebuilt far more rarely.
 *
 * There are two measurements. In the first, the graphs of many tables are read (cuckoo_graph.h) and checked for a
 * cycle. The same keys are inserted into the table itself, which must draw new hash functions exactly when a component
 * of the graph has more keys than slots. In the second, far more tables are filled without reading their graphs, so
 * that this rare event occurs often enough to be counted.
 *
 * Both probabilities are known exactly (graph_probability.h). In the limit the number of cycles is Poisson with mean
 * sum of c^d/(2d), c = 2n/m = 1/3. So there is a cycle with probability 1 - sqrt(1 - c) = 0.1835, and a component with
 * two cycles with probability c^3 (3 + 2c) / (48 (1 - c)^3 n) = 0.0095/n (Janson, Knuth, Łuczak, Pittel, 1993). */
#include <stdio.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

static const uint64_t KEYS[] = {12, 25, 50, 100};
enum { SIZES = sizeof KEYS / sizeof *KEYS };

static const char OPTIONS[] = "layout=one d=2 b=1 load=100";

/* Returns how many tables have a cycle in their graph. */
static uint64_t count_cycles(lab *l, uint64_t n, uint64_t tables, double done) {
    candidates c = candidates_new(l, 6 * n, n);
    components graph = components_new(l, 6 * n);
    uint64_t cycles = 0;
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(6 * n, OPTIONS, &s);
        spec.seed = lab_random(l) | 1;
        candidates_read(l, &c, &spec);
        components_clear(&graph, 6 * n);
        kith_table *table = steps_table(l, &spec);
        bool cycle = false, overfull = false;
        for (uint64_t j = 0; j < n; j++) {
            joined with = components_join(&graph, c.first[j], c.second[j]);
            cycle |= with.cycle;
            overfull |= with.overfull;
            (void)steps_put(l, table, &s, j);
            lab_require(l, overfull == (s.rebuilds > 0),
                        "a table is rebuilt without an overfull component, or not rebuilt in spite of one");
        }
        cycles += cycle;
        lab_drop(l, table);
        lab_progress(l, done + 0.5 / SIZES * (double)i / (double)tables);
    }
    return cycles;
}

/* Returns how many tables draw new hash functions. */
static uint64_t count_rehashes(lab *l, uint64_t n, uint64_t tables, double done) {
    uint64_t rehashed = 0;
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(6 * n, OPTIONS, &s);
        kith_table *table = steps_table(l, &spec);
        for (uint64_t j = 0; j < n; j++)
            (void)steps_put(l, table, &s, j);
        rehashed += s.rebuilds > 0;
        lab_drop(l, table);
        lab_progress(l, done + 0.5 / SIZES * (double)i / (double)tables);
    }
    return rehashed;
}

static void run(lab *l) {
    lab_plot *plot = lab_draw(l, "Tables of m = 6n slots", "keys, n", "share of tables", LAB_LOG_X | LAB_LOG_Y);
    lab_series *cycle_curve = lab_curve(plot, "cycle, exact"), *rehash_curve = lab_curve(plot, "rehash, exact");
    lab_series *bound = lab_curve(plot, "bound, 1/2");
    lab_series *cycle_points = lab_points(plot, "cycle"), *rehash_points = lab_points(plot, "rehash");
    for (unsigned i = 0; i < SIZES; i++) {
        uint64_t n = KEYS[i], graphs = lab_number(l, "graphs"), tables = lab_number(l, "puts") / n;
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu keys", (unsigned long long)n);
        lab_parameter(l, name, "%llu for cycles, %llu for rehashes", (unsigned long long)graphs,
                      (unsigned long long)tables);
        lab_estimate cycles = lab_share(count_cycles(l, n, graphs, (double)i / SIZES), graphs);
        lab_estimate rehashes = lab_share(count_rehashes(l, n, tables, (i + 0.5) / SIZES), tables);
        double cycle = 1 - probability_no_cycle(n, 6 * n), rehash = 1 - probability_all_fit(n, 6 * n);
        lab_find(l, LAB_AT_MOST, 0.5, cycles, "n = %llu: P(cycle), bound", (unsigned long long)n);
        lab_find(l, LAB_EQUALS, cycle, cycles, "n = %llu: P(cycle), exact", (unsigned long long)n);
        lab_find(l, LAB_EQUALS, rehash, rehashes, "n = %llu: P(rehash), exact", (unsigned long long)n);
        lab_at(cycle_curve, (double)n, lab_exact(cycle));
        lab_at(rehash_curve, (double)n, lab_exact(rehash));
        lab_at(bound, (double)n, lab_exact(0.5));
        lab_at(cycle_points, (double)n, cycles);
        lab_at(rehash_points, (double)n, rehashes);
    }
}

const lab_claim lab_C4 = {
    .id = "C4",
    .title = "cycles and rehashes at m = 6n",
    .sentence = "At m = 6n the cuckoo graph has a cycle with probability at most 1/2 (about 0.18). A rehash is far "
                "rarer: it needs two cycles in one component.",
    .formula = "P(cycle) ≤ 1/2",
    .code = "src/tables/cuckoo.c",
    .decides = "P(cycle), exact",
    .settings = {LAB_SIZE("graphs", 1000, 15000, 30, 1e7, "graphs of each size"),
                 LAB_SIZE("puts", 3000000, 40000000, 1000, 1e10, "keys inserted for each size, to count rehashes")},
    .run = run,
};
