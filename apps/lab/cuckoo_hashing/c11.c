/* C11: proposition 1 of [4]: the cuckoo graph, and when an insertion fails.
 *
 * A key in a slot is an edge from that slot to its other candidate slot. Small tables are filled until an insertion
 * fails. Before each insertion the graph predicts whether it will fail, and how many slots it will read. Then the key
 * is inserted, and the trace shows what happened. From every slot the path is followed for enough steps to go around
 * any cycle twice.
 *
 * [4] counts the iterations of a loop from 0 to Max. The library's walk reads at most L slots, so Max = L - 1. L is
 * 6 log(m) / log(1.05), but at most m, the number of slots. So in tables this small a path without a cycle is never too
 * long (case a), but a path around a cycle and back may be (case b). */
#include <math.h>
#include <stdio.h>

#include "walks.h"

enum { SIZE_COUNT = 5, LOADS = 20, CASES = 4 };

static const uint64_t SIZES[SIZE_COUNT] = {8, 16, 32, 64, 128};

typedef struct tally {
    uint64_t insertions, fails, cases[CASES]; /* none, a, b, c */
    uint64_t wrong, wrong_looks, wrong_limit, out_degrees, second_cycles;
    uint64_t at_load[LOADS], failed_at[LOADS], predicted_at[LOADS];
} tally;

/* ---- what the graph predicts ---- */

typedef struct path {
    bool cycles;
    uint64_t length; /* edges to a free slot; with a cycle: edges to the first repeated slot and back to the start */
} path;

/* The path from a slot. If it has a cycle, a walk follows the tail, goes around the cycle and comes back along the
 * tail: each key of the tail moves twice, each key of the cycle moves once, and one more step displaces the new key. */
static path path_from(const walks *w, uint64_t slot) {
    uint32_t seen[WALK_SLOTS_MAX] = {0};
    uint32_t steps = 0;
    for (; w->at[slot] != WALK_EMPTY; slot = walks_other(w, slot)) {
        if (seen[slot] != 0)
            return (path){true, steps + seen[slot]};
        seen[slot] = ++steps;
    }
    return (path){false, steps};
}

static uint64_t looks_max(uint64_t slots) {
    double max = floor(6 * log((double)slots) / log1p(0.05));
    return max < (double)slots ? (uint64_t)max : slots;
}

/* Returns the case (1 to 3 for a to c) in which the insertion of this key fails, or 0 if it succeeds. In that case
 * *looks is the number of slots that the walk reads. */
static unsigned predict(const walks *w, uint32_t key, uint64_t *looks) {
    *looks = 0;
    if (w->at[w->first[key]] == WALK_EMPTY || w->at[w->second[key]] == WALK_EMPTY)
        return 0;
    uint64_t max = looks_max(w->slots) - 1;
    path a = path_from(w, w->first[key]), b = path_from(w, w->second[key]);
    if (a.cycles && b.cycles)
        return 3;
    *looks = 1 + a.length + (a.cycles ? b.length : 0);
    if (!a.cycles)
        return a.length > max ? 1 : 0;
    return a.length + b.length > max ? 2 : 0;
}

/* ---- the graph itself ---- */

/* Counts slots that hold two keys. Each key is looked up: the last slot that the lookup reads is where it is. */
static uint64_t shared_slots(walks *w) {
    bool occupied[WALK_SLOTS_MAX] = {false};
    uint64_t shared = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        w->log.look_count = 0;
        if (!kith_table_has(w->table, &w->keys[i], sizeof w->keys[i]))
            return w->count; /* the key is lost */
        uint64_t slot = w->log.looks[w->log.look_count - 1];
        shared += occupied[slot] || w->at[slot] != i;
        occupied[slot] = true;
    }
    return shared;
}

/* Counts the steps that leave a cycle once a path has entered it, over the paths from all slots. */
static uint64_t second_cycles(const walks *w) {
    uint64_t found = 0;
    for (uint64_t from = 0; from < w->slots; from++) {
        uint64_t slot = from, steps = 0;
        for (; steps < w->slots && w->at[slot] != WALK_EMPTY; steps++)
            slot = walks_other(w, slot);
        if (steps < w->slots)
            continue; /* the path ended at a free slot */
        bool on_cycle[WALK_SLOTS_MAX] = {false};
        uint64_t start = slot;
        do {
            on_cycle[slot] = true;
            slot = walks_other(w, slot);
        } while (slot != start);
        for (steps = 0; steps < w->slots; steps++, slot = walks_other(w, slot))
            found += !on_cycle[slot];
    }
    return found;
}

static void fill_table(lab *l, uint64_t slots, walk_path *walk, tally *t) {
    walks *w = walks_begin(l, slots);
    do {
        uint32_t key = walks_key(l, w);
        uint64_t looks, load = LOADS * (uint64_t)key / w->slots;
        unsigned predicted = predict(w, key, &looks);
        walks_put(l, w, key, walk);
        t->insertions++;
        t->fails += walk->failed;
        t->cases[predicted] += walk->failed;
        t->wrong += walk->failed != (predicted != 0);
        t->wrong_looks += !walk->failed && walk->steps != looks;
        t->wrong_limit += walk->failed && walk->steps != looks_max(w->slots);
        t->at_load[load]++;
        t->failed_at[load] += walk->failed;
        t->predicted_at[load] += predicted != 0;
        if (!walk->failed && walk->walked) {
            t->out_degrees += shared_slots(w);
            t->second_cycles += second_cycles(w);
        }
    } while (!walk->failed && w->count < w->slots); /* a full table grows without a walk */
    walks_end(l, w);
}

static void draw(lab *l, const tally *t) {
    lab_plot *plot = lab_draw(l, "Insertions that fail", "load before the insertion", "share of insertions", 0);
    lab_series *curve = lab_curve(plot, "predicted from the graph"), *points = lab_points(plot, "measured");
    for (unsigned i = 0; i < LOADS; i++) {
        if (t->at_load[i] < 100)
            continue;
        double load = (i + 0.5) / LOADS;
        lab_at(curve, load, lab_exact((double)t->predicted_at[i] / (double)t->at_load[i]));
        lab_at(points, load, lab_share(t->failed_at[i], t->at_load[i]));
    }
}

static void run(lab *l) {
    uint64_t tables = lab_pick(l, 2000, 60000);
    lab_parameter(l, "slots", "8, 16, 32, 64, 128");
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    tally t = {0};
    walk_path *walk = lab_take(l, sizeof *walk);
    for (uint64_t i = 0; i < SIZE_COUNT * tables; i++) {
        fill_table(l, SIZES[i % SIZE_COUNT], walk, &t);
        if (i % 16 == 0)
            lab_progress(l, (double)i / (double)(SIZE_COUNT * tables));
    }
    lab_require(l, t.cases[3] > 0, "no insertion fails because both paths have a cycle");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong),
             "3: insertions whose outcome differs from the prediction of cases a to c, of %llu",
             (unsigned long long)t.insertions);
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong_looks),
             "insertions that read another number of slots than predicted");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong_limit),
             "walks that fail after another number of steps than Max");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.out_degrees), "1: slots with two outgoing edges");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.second_cycles), "2: paths with a second cycle");
    static const char *const NAMES[CASES] = {"", "a: the path is too long",
                                             "b: the path around the cycle and back is too long",
                                             "c: both paths have a cycle"};
    for (unsigned c = 1; c < CASES; c++)
        lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_share(t.cases[c], t.fails), "share of failures, case %s", NAMES[c]);
    draw(l, &t);
}

const lab_claim lab_C11 = {
    .id = "C11",
    .title = "the cuckoo graph and failing insertions",
    .sentence =
        "In the cuckoo graph a vertex has at most one outgoing edge, and a path has at most one cycle. An insertion "
        "fails exactly when its paths are too long or both have a cycle.",
    .code = "src/tables/cuckoo_insert.c",
    .run = run,
};
