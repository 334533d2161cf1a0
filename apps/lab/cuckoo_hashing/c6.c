/* C6: with two hash functions and one slot per bucket a table can be filled to one half, and no further.
 *
 * Tables are filled until they draw new hash functions for the first time. The load at which this happens, one number
 * per table, gives the share of tables that hold all keys up to any load. This share has a known probability
 * (graph_probability.h): near 1 below a load of 1/2, near 0 above it, and sqrt(2/3) = 0.816 at 1/2 in the limit. The
 * step gets steeper with m^(1/3): its width m^(-1/3) is that of the window in which the giant component of the graph
 * appears.
 *
 * insert=search searches a whole component in tables of up to 16384 buckets. So it fails only if the keys cannot be
 * placed. insert=walk may also be stopped by its limit Max, so it can only fail more often. The experiment shows that
 * below a load of 1/2 it does not.
 *
 * A graph with cycles can still hold all keys. [4] says that a cycle is unlikely before m/2 edges. So the
 * graphs of real tables (cuckoo_graph.h) are searched for the first key that closes a cycle. "Unlikely" is taken to
 * mean a probability of less than 1/2. */
#include <stdio.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

static const double LOAD[] = {0.40, 0.45, 0.48, 0.50, 0.52, 0.55, 0.60};
enum { LOADS = sizeof LOAD / sizeof *LOAD };

static uint64_t keys_at(double load, uint64_t m) {
    return (uint64_t)(load * (double)m + 0.5);
}

/* Returns how many keys a table holds before it draws new hash functions, but at most `most`. */
static uint64_t fill(lab *l, const char *options, uint64_t m, uint64_t most) {
    steps s = {0};
    kith_table_spec spec = steps_spec(m, options, &s);
    kith_table *table = steps_table(l, &spec);
    uint64_t keys = 0;
    while (keys < most && steps_put(l, table, &s, keys) == 0)
        keys++;
    lab_drop(l, table);
    return keys;
}

static void measure(lab *l, const char *options, uint64_t m, uint64_t tables, double done, uint64_t *held) {
    for (uint64_t i = 0; i < tables; i++) {
        uint64_t keys = fill(l, options, m, keys_at(LOAD[LOADS - 1], m));
        for (unsigned a = 0; a < LOADS; a++)
            held[a] += keys >= keys_at(LOAD[a], m);
        lab_progress(l, done + 0.2 * (double)i / (double)tables);
    }
}

/* The search is compared with the formula at every load, the walk at three of them. */
static void find(lab *l, bool walks, uint64_t m, unsigned a, lab_estimate share) {
    double exact = probability_all_fit(keys_at(LOAD[a], m), m);
    if (walks && LOAD[a] != 0.45 && LOAD[a] != 0.50 && LOAD[a] != 0.55)
        return;
    lab_find(l, LAB_MUST, walks && LOAD[a] > 0.5 ? LAB_AT_MOST : LAB_EQUALS, exact, share,
             "m = %llu, load %.2f, %s: share of tables that hold all keys", (unsigned long long)m, LOAD[a],
             walks ? "walk" : "search");
}

/* ---- cycles ---- */

static const double CYCLE_LOAD[] = {0.05, 0.10, 1.0 / 6, 0.25, 0.30, 0.35, 0.40, 0.45};
enum { CYCLE_LOADS = sizeof CYCLE_LOAD / sizeof *CYCLE_LOAD, CYCLE_SLOTS = 500 };

/* Returns how many keys are added to the graph of a table before one closes a cycle. */
static uint64_t keys_without_cycle(lab *l, candidates *c, const components *graph) {
    kith_table_spec spec = steps_spec(c->slots, "layout=one d=2 b=1 load=100", NULL);
    spec.seed = lab_random(l) | 1;
    candidates_read(l, c, &spec);
    components_clear(graph, c->slots);
    uint64_t keys = 0;
    while (keys < c->keys && !components_join(graph, c->first[keys], c->second[keys]).cycle)
        keys++;
    return keys;
}

static void measure_cycles(lab *l) {
    uint64_t m = CYCLE_SLOTS, graphs = lab_pick(l, 1200, 6000), with[CYCLE_LOADS] = {0};
    candidates c = candidates_new(l, m, keys_at(CYCLE_LOAD[CYCLE_LOADS - 1], m));
    components graph = components_new(l, m);
    lab_parameter(l, "graphs checked for cycles", "%llu, of %llu slots", (unsigned long long)graphs,
                  (unsigned long long)m);
    for (uint64_t i = 0; i < graphs; i++) {
        uint64_t keys = keys_without_cycle(l, &c, &graph);
        for (unsigned a = 0; a < CYCLE_LOADS; a++)
            with[a] += keys < keys_at(CYCLE_LOAD[a], m);
        lab_progress(l, 0.8 + 0.2 * (double)i / (double)graphs);
    }
    lab_plot *plot = lab_draw(l, "Graphs with a cycle", "load", "share of graphs", 0);
    lab_series *curve = lab_curve(plot, "exact, m = %d", CYCLE_SLOTS), *limit = lab_curve(plot, "1 − √(1 − 2α)");
    lab_series *points = lab_points(plot, "measured, m = %d", CYCLE_SLOTS);
    for (double load = 0; load < 0.4501; load += 0.01) {
        lab_at(curve, load, lab_exact(1 - probability_no_cycle(keys_at(load, m), m)));
        lab_at(limit, load, lab_exact(1 - sqrt(1 - 2 * load)));
    }
    for (unsigned a = 0; a < CYCLE_LOADS; a++) {
        lab_estimate share = lab_share(with[a], graphs);
        lab_at(points, CYCLE_LOAD[a], share);
        lab_find(l, LAB_MUST, LAB_EQUALS, 1 - probability_no_cycle(keys_at(CYCLE_LOAD[a], m), m), share,
                 "m = %d, load %.2f: share of graphs with a cycle", CYCLE_SLOTS, CYCLE_LOAD[a]);
    }
    lab_find(l, LAB_WRONG, LAB_AT_MOST, 0.5, lab_share(with[CYCLE_LOADS - 1], graphs),
             "m = %d, load 0.45: share of graphs with a cycle, \"unlikely\" according to [4]", CYCLE_SLOTS);
}

static void run(lab *l) {
    static const char *const OPTIONS[] = {"layout=one d=2 b=1 insert=search load=100",
                                          "layout=one d=2 b=1 insert=walk load=100"};
    uint64_t sizes[] = {lab_pick(l, 4000, 16000), 500};
    uint64_t tables[] = {lab_pick(l, 300, 2000), lab_pick(l, 2000, 40000)};
    lab_plot *plot = lab_draw(l, "Tables that hold all keys (d = 2, b = 1)", "load", "share of tables", 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t m = sizes[i];
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu slots", (unsigned long long)m);
        lab_parameter(l, name, "%llu with search, %llu with walk", (unsigned long long)tables[i],
                      (unsigned long long)tables[i]);
        lab_series *curve = lab_curve(plot, "exact, m = %llu", (unsigned long long)m);
        for (double load = LOAD[0]; load < LOAD[LOADS - 1] + 0.001; load += 0.004)
            lab_at(curve, load, lab_exact(probability_all_fit(keys_at(load, m), m)));
        for (unsigned how = 0; how < 2; how++) {
            uint64_t held[LOADS] = {0};
            measure(l, OPTIONS[how], m, tables[i], 0.4 * i + 0.2 * how, held);
            lab_series *points = lab_points(plot, "%s, m = %llu", how == 0 ? "search" : "walk", (unsigned long long)m);
            for (unsigned a = 0; a < LOADS; a++) {
                lab_at(points, LOAD[a], lab_share(held[a], tables[i]));
                find(l, how == 1, m, a, lab_share(held[a], tables[i]));
            }
        }
    }
    measure_cycles(l);
}

const lab_claim lab_C6 = {
    .id = "C6",
    .title = "the threshold at one half",
    .sentence = "n keys fit into m slots with a probability that drops from almost 1 to almost 0 at a load of 1/2.",
    .formula = "n/m = 1/2",
    .code = "src/tables/cuckoo.c",
    .note = "[4] says that a cycle is unlikely before |T|/2 edges. In the limit n keys have a cycle with probability "
            "1 − √(1 − 2n/|T|): 0.18 at a load of 1/6, 0.68 at 0.45. What is unlikely is two cycles in one component, "
            "and only these leave a key without a slot.",
    .run = run,
};
