/* C4: at m = 6n the graph of a table has a cycle with probability 1/2 at most; the table is rebuilt far more rarely.
 *
 * Two measurements. The graph of each of many tables is read off (places.h) and looked into for a cycle; the same keys
 * go into the table itself, which must draw new functions just when a component of the graph has more keys than places.
 * And far more tables are filled without a look at their graphs, to see that rare event often enough.
 *
 * Both probabilities are exact (chance.h). In the limit the number of cycles is Poisson with the mean sum of c^d/(2d),
 * c = 2n/m = 1/3, so there is one with 1 - sqrt(1 - c) = 0.1835; and a component with two comes with c^3 (3 + 2c) / (48
 * (1 - c)^3 n) = 0.0095/n (Janson, Knuth, Łuczak, Pittel, 1993). */
#include <stdio.h>

#include "chance.h"
#include "places.h"

static const uint64_t KEYS[] = {12, 25, 50, 100};
enum { SIZES = sizeof KEYS / sizeof *KEYS };

static const char OPTIONS[] = "layout=one d=2 b=1 load=100";

/* How many of the tables have a cycle in their graph. */
static uint64_t count_cycles(lab *l, uint64_t n, uint64_t tables, double done) {
    places p = places_take(l, 6 * n, n);
    components c = components_take(l, 6 * n);
    uint64_t cycles = 0;
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(6 * n, OPTIONS, &s);
        spec.seed = lab_random(l) | 1;
        places_read(l, &p, &spec);
        components_clear(&c, 6 * n);
        kith_table *table = steps_table(l, &spec);
        bool cycle = false, overfull = false;
        for (uint64_t j = 0; j < n; j++) {
            joined with = components_join(&c, p.first[j], p.second[j]);
            cycle |= with.cycle;
            overfull |= with.overfull;
            (void)steps_put(l, table, &s, j);
            lab_require(l, overfull == (s.rebuilds > 0), "a table is rebuilt just when a component is overfull");
        }
        cycles += cycle;
        lab_drop(l, table);
        lab_going(l, done + 0.5 / SIZES * (double)i / (double)tables);
    }
    return cycles;
}

/* How many of the tables draw new functions. */
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
        lab_going(l, done + 0.5 / SIZES * (double)i / (double)tables);
    }
    return rehashed;
}

static void run(lab *l) {
    lab_plot *plot = lab_draw(l, "Tables of m = 6n places", "keys, n", "share of tables", LAB_LOG_X | LAB_LOG_Y);
    lab_series *cycle_curve = lab_curve(plot, "a cycle, exactly"), *rehash_curve = lab_curve(plot, "a rehash, exactly");
    lab_series *bound = lab_curve(plot, "the bound of 1/2");
    lab_series *cycle_points = lab_points(plot, "a cycle"), *rehash_points = lab_points(plot, "a rehash");
    for (unsigned i = 0; i < SIZES; i++) {
        uint64_t n = KEYS[i], graphs = lab_pick(l, 1000, 15000), tables = lab_pick(l, 3000000, 40000000) / n;
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu keys", (unsigned long long)n);
        lab_parameter(l, name, "%llu for cycles, %llu for rehashes", (unsigned long long)graphs,
                      (unsigned long long)tables);
        lab_estimate cycles = lab_share(count_cycles(l, n, graphs, (double)i / SIZES), graphs);
        lab_estimate rehashes = lab_share(count_rehashes(l, n, tables, (i + 0.5) / SIZES), tables);
        double cycle = 1 - chance_of_forest(n, 6 * n), rehash = 1 - chance_of_room(n, 6 * n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 0.5, cycles, "n = %llu: P(cycle), the bound", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_EQUALS, cycle, cycles, "n = %llu: P(cycle), exactly", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_EQUALS, rehash, rehashes, "n = %llu: P(rehash), exactly", (unsigned long long)n);
        lab_at(cycle_curve, (double)n, lab_exact(cycle));
        lab_at(rehash_curve, (double)n, lab_exact(rehash));
        lab_at(bound, (double)n, lab_exact(0.5));
        lab_at(cycle_points, (double)n, cycles);
        lab_at(rehash_points, (double)n, rehashes);
    }
}

const lab_claim lab_C4 = {
    .id = "C4",
    .title = "cycles, and rehashes, at m = 6n",
    .sentence =
        "At m = 6n the cuckoo graph has a cycle with probability 1/2 at most (about 0.18); a rehash takes two cycles "
        "in one component, and is far rarer.",
    .formula = "P(cycle) ≤ 1/2",
    .code = "src/tables/cuckoo.c",
    .run = run,
};
