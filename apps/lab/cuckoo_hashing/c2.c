/* C2: the mean number of moves per insertion depends on the load, not on the number of keys.
 *
 * Tables of m slots are filled to a load of 0.45, and the moves in the trace are counted up to loads of 0.2, 0.3, 0.4
 * and 0.45. Insertions that rebuilt the table are left out here; C5 and C12 cover them.
 *
 * The prediction is the limit for many keys (trees.h), which does not depend on n. Components with a cycle add a term
 * of order 1/n, which from 10^5 slots on is smaller than the intervals. Smaller tables are compared with a bound, which
 * has two parts:
 *
 *     A walk without a cycle that makes d moves follows a path of d keys. With c = 2n/m, at most c^d such paths are
 *     expected, which gives a geometric series.
 *
 *     A walk that returns to a slot has passed d keys, the last of which leads to one of the d slots before it. At most
 *     c^d d/m such walks are expected. If the other candidate slot is occupied (c/2), the walk moves each key at most
 *     twice, and then the keys on a path from that slot.
 *
 * Summed over d, the second part is
 *
 *     (c sum d^2 c^d + c/(1-c) sum d c^d)/m = c^2 (2 + c)/(m (1-c)^3) */
#include <stdio.h>

#include "cuckoo_graph.h"
#include "trees.h"

enum { LOADS = 4 };
static const double LOAD[LOADS] = {0.2, 0.3, 0.4, 0.45};

enum { PARTS = 200 };

/* The mean over all insertions up to this load: in the limit of many keys, and the bound for m slots. */
static double limit_up_to(const trees *t, double load) {
    double sum = 0;
    for (int i = 0; i < PARTS; i++)
        sum += trees_moves(t, load * (i + 0.5) / PARTS);
    return sum / PARTS;
}

static double bound_up_to(double m, double load) {
    double sum = 0;
    for (int i = 0; i < PARTS; i++) {
        double c = 2 * load * (i + 0.5) / PARTS;
        sum += c / 2 * c / (1 - c) + c * c * (2 + c) / (m * (1 - c) * (1 - c) * (1 - c));
    }
    return sum / PARTS;
}

static void fill(lab *l, uint64_t m, lab_sample *means, double done) {
    steps s = {0};
    kith_table_spec spec = steps_spec(m, "layout=one d=2 b=1 insert=walk load=100", &s);
    kith_table *table = steps_table(l, &spec);
    uint64_t moves = 0, insertions = 0, i = 0;
    for (int a = 0; a < LOADS; a++) {
        for (; i < (uint64_t)(LOAD[a] * (double)m); i++) {
            s.moves = 0;
            if (steps_put(l, table, &s, i) > 0)
                continue;
            moves += s.moves;
            insertions++;
        }
        lab_sample_add(&means[a], (double)moves / (double)insertions);
        lab_progress(l, done);
    }
    lab_drop(l, table);
}

static void find(lab *l, const trees *t, uint64_t m, const lab_sample *means) {
    for (int a = LOADS - 1; a >= 0; a--) {
        if (m >= 100000)
            lab_find(l, LAB_MUST, LAB_EQUALS, limit_up_to(t, LOAD[a]), lab_mean(&means[a]),
                     "m = %llu, up to a load of %.2f: moves per insertion", (unsigned long long)m, LOAD[a]);
        else
            lab_find(l, LAB_MUST, LAB_AT_MOST, bound_up_to((double)m, LOAD[a]), lab_mean(&means[a]),
                     "m = %llu, up to a load of %.2f: moves per insertion, bound", (unsigned long long)m, LOAD[a]);
    }
}

static void run(lab *l) {
    static const uint64_t SLOTS[] = {1000000, 100000, 10000, 1000};
    unsigned first = lab_is_quick(l) ? 1 : 0;
    trees *t = lab_take(l, sizeof *t);
    trees_sum(l, t);
    lab_plot *plot = lab_draw(l, "Moves per insertion", "slots, m", "mean moves per insertion", LAB_LOG_X);
    for (int a = 0; a < LOADS; a++) {
        lab_series *curve = lab_curve(plot, "limit, up to a load of %.2f", LOAD[a]);
        lab_at(curve, 1000, lab_exact(limit_up_to(t, LOAD[a])));
        lab_at(curve, (double)SLOTS[first], lab_exact(limit_up_to(t, LOAD[a])));
    }
    lab_series *points = lab_points(plot, "measured");
    for (unsigned i = first; i < 4; i++) {
        uint64_t tables = lab_pick(l, 2000000, 20000000) / SLOTS[i], least = lab_pick(l, 30, 60);
        tables = tables < least ? least : tables;
        lab_sample means[LOADS] = {{0}};
        for (uint64_t j = 0; j < tables; j++)
            fill(l, SLOTS[i], means, (i - first + (double)j / (double)tables) / (4 - first));
        for (int a = 0; a < LOADS; a++)
            lab_at(points, (double)SLOTS[i], lab_mean(&means[a]));
        find(l, t, SLOTS[i], means);
        char name[48];
        (void)snprintf(name, sizeof name, "tables of %llu slots", (unsigned long long)SLOTS[i]);
        lab_parameter(l, name, "%llu", (unsigned long long)tables);
    }
}

const lab_claim lab_C2 = {
    .id = "C2",
    .title = "keys moved by an insertion",
    .sentence = "At a fixed load below 1/2 the mean number of keys that an insertion moves does not grow with n.",
    .formula = "E[moves] ≤ α · 2α/(1 − 2α) + O(1/n)",
    .code = "src/tables/cuckoo_insert.c",
    .run = run,
};
