/* C15: the first open problem of [4]: one table instead of two halves.
 *
 * [4] proves its theorem for two halves and leaves open the case in which both functions map to the whole table, "the
 * form of Cuckoo Hashing used in practice". Random graphs answer it for random functions. With one table the cuckoo
 * graph is a random graph of m slots and n keys, with two halves a bipartite one. All keys can be placed with
 * probability 1 - O(1/n) in both, up to the same load of 1/2. The constants are known (C5), and the exact probabilities
 * for any n and m, too (graph_probability.h). What remains open is the proof for functions of limited independence; H2
 * measures these.
 *
 * The lab measures both layouts side by side: the share of tables that rehash, and the keys that an insertion moves. */
#include <stdio.h>
#include <string.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

typedef struct outcome {
    uint64_t rehashed;
    lab_sample moves; /* per insertion, of tables that did not rehash */
} outcome;

static outcome fill(lab *l, const char *layout, uint64_t n, uint64_t m, uint64_t tables, double done) {
    char options[64];
    outcome o = {0};
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=1 insert=walk load=100", layout);
    for (uint64_t t = 0; t < tables; t++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(m, options);
        kith_table *table = steps_table(l, &spec, &s);
        for (uint64_t i = 0; i < n; i++)
            (void)steps_put(l, table, &s, i);
        o.rehashed += s.rebuilds > 0;
        if (s.rebuilds == 0)
            lab_sample_add(&o.moves, (double)s.moves / (double)n);
        lab_drop(l, table);
        if (t % 64 == 0)
            lab_progress(l, done);
    }
    return o;
}

static void run(lab *l) {
    size_t sizes;
    double keys[LAB_NUMBERS_MAX];
    memcpy(keys, lab_numbers(l, "n", &sizes), sizeof keys);
    uint64_t puts = lab_number(l, "puts"), per_key = lab_number(l, "slots");
    lab_parameter(l, "slots per key", "%llu", (unsigned long long)per_key);
    lab_plot *plot =
        lab_draw(l, "Tables that rehash, one table and two halves", "keys, n", "share", LAB_LOG_X | LAB_LOG_Y);
    lab_series *curves[GRAPH_LAYOUTS], *points[GRAPH_LAYOUTS];
    for (unsigned y = 0; y < GRAPH_LAYOUTS; y++) {
        curves[y] = lab_curve(plot, "layout=%s, exact", GRAPH_LAYOUT[y].name);
        points[y] = lab_points(plot, "layout=%s", GRAPH_LAYOUT[y].name);
    }
    for (size_t i = 0; i < sizes; i++) {
        uint64_t n = (uint64_t)keys[i], m = (per_key * n + 1) / 2 * 2, tables = puts / n;
        double exact[GRAPH_LAYOUTS];
        outcome o[GRAPH_LAYOUTS];
        for (unsigned y = 0; y < GRAPH_LAYOUTS; y++) {
            const graph_layout *g = &GRAPH_LAYOUT[y];
            o[y] = fill(l, g->name, n, m, tables, ((double)i + 0.5 * y) / (double)sizes);
            exact[y] = 1 - g->all_fit(n, m);
            lab_find(l, LAB_EQUALS, exact[y], lab_share(o[y].rehashed, tables),
                     "layout=%s, n = %llu, m = %llu: share of tables that rehash", g->name, (unsigned long long)n,
                     (unsigned long long)m);
            lab_at(curves[y], (double)n, lab_exact(exact[y]));
            lab_at(points[y], (double)n, lab_share(o[y].rehashed, tables));
            lab_find(l, LAB_SHOWN, 0, lab_mean(&o[y].moves), "layout=%s, n = %llu: keys moved per insertion", g->name,
                     (unsigned long long)n);
        }
        lab_find(l, LAB_AT_LEAST, 1, lab_exact(exact[1] / exact[0]),
                 "n = %llu: share with one table / share with two halves, exact", (unsigned long long)n);
    }
}

const lab_claim lab_C15 = {
    .id = "C15",
    .title = "open problem: one table instead of two halves",
    .sentence =
        "With both functions mapping to the whole table, n insertions rehash with probability O(1/n) as well, about "
        "1.5 times as often as with two halves at m = 4n.",
    .formula = "P(rehash) = O(1/n)",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "layout=one, n = 8",
    .note =
        "[4] lists this as an open problem. For random functions it is solved: the exact probability is known for both "
        "layouts (C5, C6). With limited independence it is measured in H2, not proved.",
    .settings = {LAB_LIST("n", "8,16,64", "8,16,32,64,128", 4, 2000, 8, 2000, "keys"),
                 LAB_SIZE("slots", 4, 4, 3, 100, "slots per key"),
                 LAB_SIZE("puts", 1000000, 10000000, 10000, 1e10, "keys inserted for each n and layout")},
    .run = run,
};
