/* C11: proposition 1 of [4]: the cuckoo graph, and when an insertion fails.
 *
 * A key in a place is an edge from there to its other place. Small tables are filled until an insertion fails. Before each one
 * the graph is looked at, and it says whether the insertion fails and how many places it looks at; then the key is put into the
 * table, and the trace says what happened. Every vertex is followed for as many steps as bring it round any cycle twice.
 *
 * [4] counts the iterations of a loop from 0 to Max. The library's walk looks at L places, so Max = L - 1; L is
 * 6 log(m) / log(1.05), but no more than the m places there are. A path without a cycle is therefore never too long in
 * tables as small as these (case a), but a way round a cycle and on may be (case b). */
#include <math.h>
#include <stdio.h>

#include "walks.h"

enum { SIZE_COUNT = 5, LOADS = 20, CASES = 4 };

static const uint64_t SIZES[SIZE_COUNT] = {8, 16, 32, 64, 128};

typedef struct tally {
    uint64_t insertions, fails, cases[CASES]; /* none, a, b, c */
    uint64_t wrong, wrong_looks, wrong_limit, out_degrees, second_cycles;
    uint64_t at_load[LOADS], failed_at[LOADS], said_at[LOADS];
} tally;

/* ---- what the graph says ---- */

typedef struct way {
    bool cycles;
    uint64_t length; /* edges to a free place; for a cycle: to the place that comes again and back to the start */
} way;

/* The way from a place. With a cycle, a walk follows the tail, goes round, and comes back along the tail: each key of the
 * tail moves twice and each of the cycle once, and one more step brings back the new key. */
static way way_from(const walks *w, uint64_t place) {
    uint32_t seen[WALK_SLOTS_MAX] = {0};
    uint32_t steps = 0;
    for (; w->at[place] != WALK_NOBODY; place = walks_other(w, place)) {
        if (seen[place] != 0)
            return (way){true, steps + seen[place]};
        seen[place] = ++steps;
    }
    return (way){false, steps};
}

static uint64_t looks_max(uint64_t slots) {
    double max = floor(6 * log((double)slots) / log1p(0.05));
    return max < (double)slots ? (uint64_t)max : slots;
}

/* The case by which the insertion of a key fails, 0 for none, and the looks that it takes if not. */
static unsigned predict(const walks *w, uint32_t key, uint64_t *looks) {
    *looks = 0;
    if (w->at[w->first[key]] == WALK_NOBODY || w->at[w->second[key]] == WALK_NOBODY)
        return 0;
    uint64_t max = looks_max(w->slots) - 1;
    way a = way_from(w, w->first[key]), b = way_from(w, w->second[key]);
    if (a.cycles && b.cycles)
        return 3;
    *looks = 1 + a.length + (a.cycles ? b.length : 0);
    if (!a.cycles)
        return a.length > max ? 1 : 0;
    return a.length + b.length > max ? 2 : 0;
}

/* ---- the graph itself ---- */

/* Places that hold two keys: each is asked for, and the last look is where it is. */
static uint64_t twice_taken(walks *w) {
    bool taken[WALK_SLOTS_MAX] = {false};
    uint64_t twice = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        w->log.look_count = 0;
        if (!kith_table_has(w->table, &w->keys[i], sizeof w->keys[i]))
            return w->count; /* lost */
        uint64_t place = w->log.looks[w->log.look_count - 1];
        twice += taken[place] || w->at[place] != i;
        taken[place] = true;
    }
    return twice;
}

/* Places from which a path leads into a second cycle, after one. */
static uint64_t second_cycles(const walks *w) {
    uint64_t found = 0;
    for (uint64_t from = 0; from < w->slots; from++) {
        uint64_t place = from, steps = 0;
        for (; steps < w->slots && w->at[place] != WALK_NOBODY; steps++)
            place = walks_other(w, place);
        if (steps < w->slots)
            continue; /* ended */
        bool on_cycle[WALK_SLOTS_MAX] = {false};
        uint64_t start = place;
        do {
            on_cycle[place] = true;
            place = walks_other(w, place);
        } while (place != start);
        for (steps = 0; steps < w->slots; steps++, place = walks_other(w, place))
            found += !on_cycle[place];
    }
    return found;
}

static void fill_table(lab *l, uint64_t slots, walk_path *path, tally *t) {
    walks *w = walks_begin(l, slots);
    do {
        uint32_t key = walks_key(l, w);
        uint64_t looks, load = LOADS * (uint64_t)key / w->slots;
        unsigned said = predict(w, key, &looks);
        walks_put(l, w, key, path);
        t->insertions++;
        t->fails += path->failed;
        t->cases[said] += path->failed;
        t->wrong += path->failed != (said != 0);
        t->wrong_looks += !path->failed && path->steps != looks;
        t->wrong_limit += path->failed && path->steps != looks_max(w->slots);
        t->at_load[load]++;
        t->failed_at[load] += path->failed;
        t->said_at[load] += said != 0;
        if (!path->failed && path->walked) {
            t->out_degrees += twice_taken(w);
            t->second_cycles += second_cycles(w);
        }
    } while (!path->failed && w->count < w->slots); /* one that is full grows without a walk */
    walks_end(l, w);
}

static void draw(lab *l, const tally *t) {
    lab_plot *plot = lab_draw(l, "Insertions that fail", "load before the insertion", "share", 0);
    lab_series *curve = lab_curve(plot, "cases a to c, in the graph"), *points = lab_points(plot, "the table");
    for (unsigned i = 0; i < LOADS; i++) {
        if (t->at_load[i] < 100)
            continue;
        double load = (i + 0.5) / LOADS;
        lab_at(curve, load, lab_exact((double)t->said_at[i] / (double)t->at_load[i]));
        lab_at(points, load, lab_share(t->failed_at[i], t->at_load[i]));
    }
}

static void run(lab *l) {
    uint64_t tables = lab_pick(l, 2000, 60000);
    lab_parameter(l, "slots", "8, 16, 32, 64, 128");
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    tally t = {0};
    walk_path *path = lab_take(l, sizeof *path);
    for (uint64_t i = 0; i < SIZE_COUNT * tables; i++) {
        fill_table(l, SIZES[i % SIZE_COUNT], path, &t);
        if (i % 16 == 0)
            lab_going(l, (double)i / (double)(SIZE_COUNT * tables));
    }
    lab_require(l, t.cases[3] > 0, "some insertions fail");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong),
             "3: insertions, of %llu, that fail against cases a to c, or go through in spite of them",
             (unsigned long long)t.insertions);
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong_looks), "insertions with another number of looks");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.wrong_limit), "walks that fail after another than Max");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.out_degrees), "1: places with two outgoing edges");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)t.second_cycles), "2: paths with a second cycle");
    static const char *const NAMES[CASES] = {"", "a: the path is too long", "b: the way round the cycle and on is",
                                             "c: both paths have a cycle"};
    for (unsigned c = 1; c < CASES; c++)
        lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_share(t.cases[c], t.fails), "share of failures by case %s", NAMES[c]);
    draw(l, &t);
}

const lab_claim lab_C11 = {
    .id = "C11",
    .title = "the cuckoo graph and failing insertions",
    .sentence =
        "In the cuckoo graph a vertex has one outgoing edge at most, a path one cycle at most, and an insertion fails "
        "exactly when its paths are too long or both have a cycle.",
    .code = "src/tables/cuckoo_room.c",
    .run = run,
};
