/* C6: two functions and one slot a bucket fill half of the table, and no more.
 *
 * Tables are filled until they draw new functions for the first time; the load at which that happens, one number a
 * table, gives the share of tables that hold all keys up to any load. The probability is exact (chance.h): near 1 below
 * a load of 1/2, near 0 above, sqrt(2/3) = 0.816 at 1/2 in the limit, and the step gets steeper as m^(1/3), the width
 * of the window in which the graph's giant component is born.
 *
 * insert=search looks through a whole component, in tables of 16384 buckets at most, and so fails only when there is no
 * room. The walk may also be cut short by Max, so it can only be worse; below a load of 1/2 it is seen not to be.
 *
 * Room is not the absence of cycles. [4] says that a cycle is unlikely before m/2 edges; the graph of real tables
 * (places.h) is looked into for the first key that closes one. Unlikely is taken to mean less likely than not. */
#include <stdio.h>

#include "chance.h"
#include "places.h"

static const double LOAD[] = {0.40, 0.45, 0.48, 0.50, 0.52, 0.55, 0.60};
enum { LOADS = sizeof LOAD / sizeof *LOAD };

static uint64_t keys_at(double load, uint64_t m) {
    return (uint64_t)(load * (double)m + 0.5);
}

/* The keys that a table holds before it draws new functions, `most` at most. */
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
        lab_going(l, done + 0.2 * (double)i / (double)tables);
    }
}

/* The search is held against the formula at every load, the walk at three. */
static void find(lab *l, bool walks, uint64_t m, unsigned a, lab_estimate share) {
    double exactly = chance_of_room(keys_at(LOAD[a], m), m);
    if (walks && LOAD[a] != 0.45 && LOAD[a] != 0.50 && LOAD[a] != 0.55)
        return;
    lab_find(l, LAB_MUST, walks && LOAD[a] > 0.5 ? LAB_AT_MOST : LAB_EQUALS, exactly, share,
             "m = %llu, load %.2f, %s: share of tables with room for all", (unsigned long long)m, LOAD[a],
             walks ? "walk" : "search");
}

/* ---- cycles ---- */

static const double CYCLE_LOAD[] = {0.05, 0.10, 1.0 / 6, 0.25, 0.30, 0.35, 0.40, 0.45};
enum { CYCLE_LOADS = sizeof CYCLE_LOAD / sizeof *CYCLE_LOAD, CYCLE_PLACES = 500 };

/* The keys that go into the graph of a table before one closes a cycle. */
static uint64_t keys_without_cycle(lab *l, places *p, const components *c) {
    kith_table_spec spec = steps_spec(p->places, "layout=one d=2 b=1 load=100", NULL);
    spec.seed = lab_random(l) | 1;
    places_read(l, p, &spec);
    components_clear(c, p->places);
    uint64_t keys = 0;
    while (keys < p->keys && !components_join(c, p->first[keys], p->second[keys]).cycle)
        keys++;
    return keys;
}

static void measure_cycles(lab *l) {
    uint64_t m = CYCLE_PLACES, graphs = lab_pick(l, 1200, 6000), with[CYCLE_LOADS] = {0};
    places p = places_take(l, m, keys_at(CYCLE_LOAD[CYCLE_LOADS - 1], m));
    components c = components_take(l, m);
    lab_parameter(l, "graphs read for cycles", "%llu, of %llu places", (unsigned long long)graphs,
                  (unsigned long long)m);
    for (uint64_t i = 0; i < graphs; i++) {
        uint64_t keys = keys_without_cycle(l, &p, &c);
        for (unsigned a = 0; a < CYCLE_LOADS; a++)
            with[a] += keys < keys_at(CYCLE_LOAD[a], m);
        lab_going(l, 0.8 + 0.2 * (double)i / (double)graphs);
    }
    lab_plot *plot = lab_draw(l, "Graphs with a cycle", "load", "share of graphs", 0);
    lab_series *curve = lab_curve(plot, "exactly, m = %d", CYCLE_PLACES), *limit = lab_curve(plot, "1 − √(1 − 2α)");
    lab_series *points = lab_points(plot, "measured, m = %d", CYCLE_PLACES);
    for (double load = 0; load < 0.4501; load += 0.01) {
        lab_at(curve, load, lab_exact(1 - chance_of_forest(keys_at(load, m), m)));
        lab_at(limit, load, lab_exact(1 - sqrt(1 - 2 * load)));
    }
    for (unsigned a = 0; a < CYCLE_LOADS; a++) {
        lab_estimate share = lab_share(with[a], graphs);
        lab_at(points, CYCLE_LOAD[a], share);
        lab_find(l, LAB_MUST, LAB_EQUALS, 1 - chance_of_forest(keys_at(CYCLE_LOAD[a], m), m), share,
                 "m = %d, load %.2f: share of graphs with a cycle", CYCLE_PLACES, CYCLE_LOAD[a]);
    }
    lab_find(l, LAB_WRONG, LAB_AT_MOST, 0.5, lab_share(with[CYCLE_LOADS - 1], graphs),
             "[4], \"unlikely\": a cycle at a load of 0.45 is no more likely than not, m = %d", CYCLE_PLACES);
}

static void run(lab *l) {
    static const char *const OPTIONS[] = {"layout=one d=2 b=1 insert=search load=100",
                                          "layout=one d=2 b=1 insert=walk load=100"};
    uint64_t sizes[] = {lab_pick(l, 4000, 16000), 500};
    uint64_t tables[] = {lab_pick(l, 300, 2000), lab_pick(l, 2000, 40000)};
    lab_plot *plot = lab_draw(l, "Tables with room for all keys (d = 2, b = 1)", "load", "share of tables", 0);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t m = sizes[i];
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu places", (unsigned long long)m);
        lab_parameter(l, name, "%llu by search, %llu by walk", (unsigned long long)tables[i],
                      (unsigned long long)tables[i]);
        lab_series *curve = lab_curve(plot, "exactly, m = %llu", (unsigned long long)m);
        for (double load = LOAD[0]; load < LOAD[LOADS - 1] + 0.001; load += 0.004)
            lab_at(curve, load, lab_exact(chance_of_room(keys_at(load, m), m)));
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
    .sentence = "Whether n keys find room in m places turns from almost surely to almost never at a load of 1/2.",
    .formula = "n/m = 1/2",
    .code = "src/tables/cuckoo.c",
    .note = "[4] says that a cycle is unlikely before |T|/2 edges. With n keys there is one with 1 − √(1 − "
            "2n/|T|) in the limit: 0.18 at a load of 1/6, 0.68 at 0.45. Unlikely are two cycles in one component, "
            "which alone leave a key without room.",
    .run = run,
};
