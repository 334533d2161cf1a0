/* C2: the mean number of moves per insertion depends on the load, not on the number of keys.
 *
 * Tables of m slots are filled to a load of 0.45, and the moves in the trace are counted up to loads of 0.2, 0.3, 0.4
 * and 0.45. Insertions that rebuilt the table are left out here; C5 and C12 cover them. The layout of [4] is two
 * halves; one table is measured as well, because the limit is known for it. Keys are inserted in the order of algorithm
 * 2 of [4], which is also that of algorithm 3 of [0]: a new key takes one of its places if that is free, and else the
 * walk starts at the other one (start=second; the first function of the table is h2 of [4] and h1 of [0]).
 *
 * With one table the prediction is the limit for many keys (trees.h), which does not depend on n. Components with a
 * cycle add a term of order 1/n, which from 10^5 slots on is smaller than the intervals. Two halves, and smaller
 * tables, are compared with a bound, which has two parts:
 *
 *     A walk without a cycle that makes d moves follows a path of d keys. With c = 2n/m, at most c^d such paths are
 *     expected, which gives a geometric series. It begins only if the slot in which the key is tried first is occupied.
 *
 *     A walk that returns to a slot has passed d keys, the last of which leads to one of the d slots before it. At most
 *     c^d d/m such walks are expected. If the other candidate slot is occupied (c/2), the walk moves each key at most
 *     twice, and then the keys on a path from that slot.
 *
 * Summed over d, the second part is, with p the probability that the slot in which the key is tried first is occupied,
 *
 *     (2p sum d^2 c^d + c/(1-c) sum d c^d)/m = c (2p (1 + c) + c)/(m (1-c)^3)
 *
 * With one table p is c/2. With two halves it is 1 - (1 - 2/m)^n, about 1 - e^-c: a slot of the half that is tried
 * first is occupied as soon as some key has it as its first candidate, and stays occupied. */
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static double bound_up_to(double m, double load, bool halves) {
    double sum = 0;
    for (int i = 0; i < PARTS; i++) {
        double c = 2 * load * (i + 0.5) / PARTS, p = halves ? -expm1(c * m / 2 * log1p(-2 / m)) : c / 2;
        sum += p * c / (1 - c) + c * (2 * p * (1 + c) + c) / (m * (1 - c) * (1 - c) * (1 - c));
    }
    return sum / PARTS;
}

static void fill(lab *l, const char *layout, uint64_t m, lab_sample *means, double done) {
    char options[64];
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=1 insert=walk start=second load=100", layout);
    steps s = {0};
    kith_table_spec spec = steps_spec(m, options);
    kith_table *table = steps_table(l, &spec, &s);
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

static void find(lab *l, const trees *t, const char *layout, uint64_t m, const lab_sample *means) {
    for (int a = LOADS - 1; a >= 0; a--) {
        if (m >= 100000 && strcmp(layout, "one") == 0)
            lab_find(l, LAB_EQUALS, limit_up_to(t, LOAD[a]), lab_mean(&means[a]),
                     "layout=%s, m = %llu, up to a load of %.2f: moves per insertion", layout, (unsigned long long)m,
                     LOAD[a]);
        else
            lab_find(l, LAB_AT_MOST, bound_up_to((double)m, LOAD[a], strcmp(layout, "two") == 0), lab_mean(&means[a]),
                     "layout=%s, m = %llu, up to a load of %.2f: moves per insertion, bound", layout,
                     (unsigned long long)m, LOAD[a]);
    }
}

static void run(lab *l) {
    static const char *const LAYOUTS[] = {"two", "one"};
    size_t size_count;
    double sizes[LAB_NUMBERS_MAX];
    memcpy(sizes, lab_numbers(l, "m", &size_count), sizeof sizes);
    uint64_t slots = lab_number(l, "slots"), least = lab_number(l, "tables");
    const char *wanted = lab_word(l, "layout");
    trees *t = lab_take(l, sizeof *t);
    trees_sum(l, t);
    lab_parameter(l, "order of insertion", "algorithm 2 of [4] (start=second)");
    lab_plot *plot = lab_draw(l, "Moves per insertion", "slots, m", "mean moves per insertion", LAB_LOG_X);
    for (int a = 0; a < LOADS; a++) {
        lab_series *curve = lab_curve(plot, "one table, limit, up to a load of %.2f", LOAD[a]);
        lab_at(curve, sizes[0], lab_exact(limit_up_to(t, LOAD[a])));
        lab_at(curve, sizes[size_count - 1], lab_exact(limit_up_to(t, LOAD[a])));
    }
    for (unsigned y = 0; y < 2; y++) {
        if (strcmp(wanted, "both") != 0 && strcmp(wanted, LAYOUTS[y]) != 0)
            continue;
        lab_series *points = lab_points(plot, "layout=%s, measured", LAYOUTS[y]);
        for (size_t i = 0; i < size_count; i++) {
            uint64_t m = (uint64_t)sizes[i] / 2 * 2, tables = slots / m > least ? slots / m : least;
            lab_sample means[LOADS] = {{0}};
            for (uint64_t j = 0; j < tables; j++)
                fill(l, LAYOUTS[y], m, means,
                     ((double)y + ((double)i + (double)j / (double)tables) / (double)size_count) / 2);
            for (int a = 0; a < LOADS; a++)
                lab_at(points, (double)m, lab_mean(&means[a]));
            find(l, t, LAYOUTS[y], m, means);
        }
    }
}

const lab_claim lab_C2 = {
    .id = "C2",
    .title = "keys moved by an insertion",
    .sentence = "At a fixed load below 1/2 the mean number of keys that an insertion moves does not grow with n.",
    .formula = "E[moves] ≤ (1 − e^{−2α}) · 2α/(1 − 2α) + O(1/n)",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "layout=two, m = 100000, up to a load of 0.45",
    .settings = {LAB_WORD("layout", "both", "both one two", "one table, two halves, or both"),
                 LAB_LIST("m", "1000,10000,100000", "1000,10000,100000,1000000", 64, 1e7, 1000, 1e7,
                          "slots of the tables"),
                 LAB_SIZE("slots", 1000000, 10000000, 1000, 1e10, "slots of all tables of a size together"),
                 LAB_SIZE("tables", 30, 60, 2, 1e6, "the fewest tables of a size")},
    .run = run,
};
