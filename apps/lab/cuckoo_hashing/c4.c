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

static const char OPTIONS[] = "layout=one d=2 b=1 load=100";

/* Returns how many tables have a cycle in their graph. */
static uint64_t count_cycles(lab *l, uint64_t n, uint64_t m, uint64_t tables, double done, double part) {
    candidates c = candidates_new(l, m, n);
    components graph = components_new(l, m);
    uint64_t cycles = 0;
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(m, OPTIONS);
        spec.seed = lab_random(l) | 1;
        candidates_read(l, &c, &spec);
        components_clear(&graph, m);
        kith_table *table = steps_table(l, &spec, &s);
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
        lab_progress(l, done + part * (double)i / (double)tables);
    }
    return cycles;
}

/* Returns how many tables draw new hash functions. */
static uint64_t count_rehashes(lab *l, uint64_t n, uint64_t m, uint64_t tables, double done, double part) {
    uint64_t rehashed = 0;
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(m, OPTIONS);
        kith_table *table = steps_table(l, &spec, &s);
        for (uint64_t j = 0; j < n; j++)
            (void)steps_put(l, table, &s, j);
        rehashed += s.rebuilds > 0;
        lab_drop(l, table);
        lab_progress(l, done + part * (double)i / (double)tables);
    }
    return rehashed;
}

static void run(lab *l) {
    lab_plot *plot = lab_draw(l, "Tables of n keys", "keys, n", "share of tables", LAB_LOG_X | LAB_LOG_Y);
    lab_series *cycle_curve = lab_curve(plot, "cycle, exact"), *rehash_curve = lab_curve(plot, "rehash, exact");
    lab_series *bound = lab_curve(plot, "bound, 1/2");
    lab_series *cycle_points = lab_points(plot, "cycle"), *rehash_points = lab_points(plot, "rehash");
    double keys[LAB_NUMBERS_MAX], slots_per_key = lab_real(l, "m_per_n");
    size_t count = lab_list(l, "n", keys);
    for (size_t i = 0; i < count; i++) {
        uint64_t n = (uint64_t)keys[i], m = (uint64_t)(slots_per_key * keys[i] / 2) * 2;
        uint64_t graphs = lab_number(l, "graphs"), tables = lab_number(l, "puts") / n;
        double part = 0.5 / (double)count, done = 2 * part * (double)i;
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu keys", (unsigned long long)n);
        lab_parameter(l, name, "%llu for cycles, %llu for rehashes", (unsigned long long)graphs,
                      (unsigned long long)tables);
        lab_estimate cycles = lab_share(count_cycles(l, n, m, graphs, done, part), graphs);
        lab_estimate rehashes = lab_share(count_rehashes(l, n, m, tables, done + part, part), tables);
        double cycle = 1 - probability_no_cycle(n, m), rehash = 1 - probability_all_fit(n, m);
        lab_find(l, LAB_AT_MOST, 0.5, cycles, "n = %llu: P(cycle), bound", (unsigned long long)n);
        lab_known(l, cycle);
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
    .code = "src/tables/cuckoo/cuckoo.c",
    .decides = "P(cycle), exact",
    .settings = {LAB_SIZE("graphs", 1000, 15000, 30, 1e7, "graphs of each size"),
                 LAB_SIZE("puts", 3000000, 40000000, 1000, 1e10, "keys inserted for each size, to count rehashes"),
                 LAB_WHOLES("n", "12,25,50,100", "12,25,50,100", 4, 2000, 8, 1000, "keys"),
                 LAB_NUMBER("m_per_n", "6", 2, 100, 6, 100, "slots per key")},
    .run = run,
};
