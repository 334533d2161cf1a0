/* C6: with two hash functions and one slot per bucket a table can be filled to one half, and no further.
 *
 * Tables are filled until they draw new hash functions for the first time. The load at which this happens, one number
 * per table, gives the share of tables that hold all keys up to any load. This share has a known probability
 * (graph_probability.h): near 1 below a load of 1/2 and near 0 above it. At 1/2 it is sqrt(2/3) = 0.816 in the limit,
 * with one table as with two halves. The step gets steeper with m^(1/3): its width m^(-1/3) is that of the window in
 * which the giant component of the graph appears.
 *
 * insert=search searches a whole component in tables of up to 16384 buckets. So it fails only if the keys cannot be
 * placed. insert=walk may also be stopped by its limit Max, so it can only fail more often. The experiment shows that
 * below a load of 1/2 it does not.
 *
 * A graph with cycles can still hold all keys. [4] says that a cycle is unlikely before m/2 edges. So the graphs of
 * real tables (cuckoo_graph.h) are searched for the first key that closes a cycle. In the limit there is one with
 * probability 1 - sqrt(1 - (2 alpha)^2) in two halves, the layout of [4], and 1 - sqrt(1 - 2 alpha) in one table.
 * "Unlikely" is taken to mean a probability of less than 1/2. It is less up to a load of about 0.43, so the words are
 * right in a narrower sense than they are meant. */
#include <stdio.h>
#include <string.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

typedef struct plan {
    const graph_layout *layout;
    const double *loads;
    size_t load_count;
    double done, share; /* of the progress bar */
} plan;

static uint64_t keys_at(double load, uint64_t m) {
    return (uint64_t)(load * (double)m + 0.5);
}

static double highest_load(const plan *p) {
    double highest = 0;
    for (size_t a = 0; a < p->load_count; a++)
        highest = fmax(highest, p->loads[a]);
    return highest;
}

/* ---- tables that hold all keys ---- */

/* Returns how many keys a table holds before it draws new hash functions, but at most `most`. */
static uint64_t fill(lab *l, const char *options, uint64_t m, uint64_t most) {
    steps s = {0};
    kith_table_spec spec = steps_spec(m, options);
    kith_table *table = steps_table(l, &spec, &s);
    uint64_t keys = 0;
    while (keys < most && steps_put(l, table, &s, keys) == 0)
        keys++;
    lab_drop(l, table);
    return keys;
}

static void measure(lab *l, const plan *p, bool walks, uint64_t m, uint64_t tables, lab_series *points) {
    char options[80];
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=1 insert=%s load=100", p->layout->name,
                   walks ? "walk" : "search");
    uint64_t held[LAB_NUMBERS_MAX] = {0}, most = keys_at(highest_load(p), m);
    for (uint64_t i = 0; i < tables; i++) {
        uint64_t keys = fill(l, options, m, most);
        for (size_t a = 0; a < p->load_count; a++)
            held[a] += keys >= keys_at(p->loads[a], m);
        lab_progress(l, p->done + p->share * (double)i / (double)tables);
    }
    for (size_t a = 0; a < p->load_count; a++) {
        lab_estimate share = lab_share(held[a], tables);
        lab_at(points, p->loads[a], share);
        lab_find(l, walks && p->loads[a] > 0.5 ? LAB_AT_MOST : LAB_EQUALS,
                 p->layout->all_fit(keys_at(p->loads[a], m), m), share,
                 "layout=%s, m = %llu, load %.3g, %s: share of tables that hold all keys", p->layout->name,
                 (unsigned long long)m, p->loads[a], walks ? "walk" : "search");
    }
}

/* ---- cycles ---- */

/* Returns how many keys are added to the graph of a table before one closes a cycle. */
static uint64_t keys_without_cycle(lab *l, const plan *p, candidates *c, const components *graph) {
    char options[48];
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=1 load=100", p->layout->name);
    kith_table_spec spec = steps_spec(c->slots, options);
    spec.seed = lab_random(l) | 1;
    candidates_read(l, c, &spec);
    components_clear(graph, c->slots);
    uint64_t keys = 0;
    while (keys < c->keys && !components_join(graph, c->first[keys], c->second[keys]).cycle)
        keys++;
    return keys;
}

static double limit_of_cycles(const plan *p, double load) {
    return 1 - sqrt(1 - pow(2 * load, strcmp(p->layout->name, "two") == 0 ? 2 : 1));
}

static const char QUOTE[] = "[4]: \"Before |T|/2 edges, the occurrence of a cycle is unlikely\"";

static void measure_cycles(lab *l, const plan *p, uint64_t m, uint64_t graphs, lab_plot *plot) {
    uint64_t with[LAB_NUMBERS_MAX] = {0};
    size_t last = p->load_count; /* the highest load below 1/2 */
    for (size_t a = 0; a < p->load_count; a++)
        if (p->loads[a] < 0.5 && (last == p->load_count || p->loads[a] > p->loads[last]))
            last = a;
    if (last == p->load_count)
        return;
    candidates c = candidates_new(l, m, keys_at(p->loads[last], m));
    components graph = components_new(l, m);
    for (uint64_t i = 0; i < graphs; i++) {
        uint64_t keys = keys_without_cycle(l, p, &c, &graph);
        for (size_t a = 0; a < p->load_count; a++)
            with[a] += keys < keys_at(p->loads[a], m);
        lab_progress(l, p->done + p->share * (double)i / (double)graphs);
    }
    lab_series *limit = lab_curve(plot, "layout=%s, limit", p->layout->name),
               *points = lab_points(plot, "layout=%s, m = %llu", p->layout->name, (unsigned long long)m);
    for (double load = 0; load < 0.4951; load += 0.005)
        lab_at(limit, load, lab_exact(limit_of_cycles(p, load)));
    for (size_t a = 0; a < p->load_count; a++) {
        if (p->loads[a] >= 0.5)
            continue;
        lab_estimate share = lab_share(with[a], graphs);
        lab_at(points, p->loads[a], share);
        lab_find(l, LAB_EQUALS, 1 - p->layout->no_cycle(keys_at(p->loads[a], m), m), share,
                 "layout=%s, m = %llu, load %.3g: share of graphs with a cycle (limit %.3f)", p->layout->name,
                 (unsigned long long)m, p->loads[a], limit_of_cycles(p, p->loads[a]));
    }
    lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_MOST, 0.5, lab_share(with[last], graphs),
                    "layout=%s, m = %llu, load %.3g: share of graphs with a cycle; unlikely: at most 1/2",
                    p->layout->name, (unsigned long long)m, p->loads[last]);
    lab_known(l, 1 - p->layout->no_cycle(keys_at(p->loads[last], m), m));
}

static void run(lab *l) {
    uint64_t slots = lab_number(l, "slots"), graphs = lab_number(l, "graphs"), sizes[LAB_NUMBERS_MAX];
    size_t size_count, load_count;
    double loads[LAB_NUMBERS_MAX];
    const double *m = lab_numbers(l, "m", &size_count);
    for (size_t i = 0; i < size_count; i++)
        sizes[i] = (uint64_t)m[i] / 2 * 2;
    memcpy(loads, lab_numbers(l, "load", &load_count), sizeof loads);
    const char *layout = lab_word(l, "layout");
    lab_parameter(l, "slots of all tables of a size", "%llu", (unsigned long long)slots);
    lab_parameter(l, "graphs checked for cycles", "%llu", (unsigned long long)graphs);
    lab_plot *plot = lab_draw(l, "Tables that hold all keys (d = 2, b = 1)", "load", "share of tables", 0);
    lab_plot *cycles = lab_draw(l, "Graphs with a cycle", "load", "share of graphs", 0);
    double part = 1.0 / GRAPH_LAYOUTS / ((double)size_count * 2 + 1);
    for (unsigned i = 0; i < GRAPH_LAYOUTS; i++) {
        const graph_layout *g = &GRAPH_LAYOUT[i];
        if (strcmp(layout, "both") != 0 && strcmp(layout, g->name) != 0)
            continue;
        plan p = {g, loads, load_count, (double)i / GRAPH_LAYOUTS, part};
        for (size_t s = 0; s < size_count; s++) {
            uint64_t tables = slots / sizes[s] > 30 ? slots / sizes[s] : 30;
            lab_series *curve = lab_curve(plot, "layout=%s, exact, m = %llu", g->name, (unsigned long long)sizes[s]);
            for (double load = 0.4; load < 0.601; load += 0.02)
                lab_at(curve, load, lab_exact(g->all_fit(keys_at(load, sizes[s]), sizes[s])));
            for (int walks = 0; walks < 2; walks++, p.done += part)
                measure(l, &p, walks == 1, sizes[s], tables,
                        lab_points(plot, "layout=%s, %s, m = %llu", g->name, walks == 1 ? "walk" : "search",
                                   (unsigned long long)sizes[s]));
        }
        measure_cycles(l, &p, sizes[0], graphs, cycles);
    }
}

const lab_claim lab_C6 = {
    .id = "C6",
    .title = "the threshold at one half",
    .sentence = "n keys fit into m slots with a probability that drops from almost 1 to almost 0 at a load of 1/2.",
    .formula = "n/m = 1/2",
    .code = "src/tables/cuckoo/cuckoo.c",
    .decides = "load 0.45, search: share of tables",
    .note = "[4] says that a cycle is unlikely before |T|/2 edges. In two halves n keys have a cycle with probability "
            "1 − √(1 − (2n/|T|)²) in the limit: 0.057 at a load of 1/6, 0.564 at 0.45. So a cycle is unlikely up to a "
            "load of about 0.43, and likely from there on. (In one table it is 1 − √(1 − 2n/|T|): 0.18 and 0.68.) What "
            "is unlikely up to 1/2 is two cycles in one component, and only these leave a key without a slot.",
    .settings = {LAB_WORD("layout", "both", "both one two", "one table, two halves, or both"),
                 LAB_LIST("m", "500,4000", "500,16000", 4, 100000, 100, 16000, "slots of the tables"),
                 LAB_LIST("load", "1/6,0.3,0.4,0.45,0.49,0.5,0.52,0.55,0.6", "1/6,0.3,0.4,0.45,0.49,0.5,0.52,0.55,0.6",
                          0.001, 1, 0.001, 0.6, "loads at which the tables are looked at"),
                 LAB_SIZE("slots", 600000, 16000000, 1000, 1e10, "slots of all tables of a size together"),
                 LAB_SIZE("graphs", 1200, 6000, 30, 1e7, "graphs checked for cycles")},
    .run = run,
};
