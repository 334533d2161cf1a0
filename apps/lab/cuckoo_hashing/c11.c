/* C11: proposition 1 of [4]: the cuckoo graph, and when an insertion fails.
 *
 * A key in a slot is an edge from that slot to its other candidate slot. Small tables are filled until an insertion
 * fails. Before each insertion the graph predicts whether it will fail, and how many slots it will read. Then the key
 * is inserted, and the trace shows what happened. From every slot the path is followed for enough steps to go around
 * any cycle twice.
 *
 * [4] counts the iterations of a loop from 0 to Max. The library's walk reads at most L slots, so Max = L - 1. L is
 * 6 log(m) / log(1.05), but at most m, the number of slots. So in tables this small a path without a cycle is never too
 * long (case a), but a path around a cycle and back may be (case b).
 *
 * So that each case occurs thousands of times, tables are also constructed for it. Many keys are drawn and their
 * candidate slots are read. From these keys, those are chosen that make a path of a wanted shape from each of the new
 * key's two slots: a path to a free slot, or a tail that leads into a cycle. Keys that belong into the first half are
 * inserted first. They find their first slot free. The others find theirs occupied and go to the second half. Max is
 * set to the length that the walk needs, or to one less, so that it fails in half of the trials: a walk that displaces
 * more than Max keys, which the trace shows, has failed in the sense of [4]. */
#include <math.h>
#include <stdio.h>

#include "walks.h"

enum { LOADS = 20, CASES = 4 };

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

/* Returns the case (1 to 3 for a to c) in which the insertion of this key fails with this Max, or 0 if it succeeds. In
 * that case *looks is the number of slots that the walk reads. */
static unsigned predict(const walks *w, uint32_t key, uint64_t max, uint64_t *looks) {
    *looks = 0;
    if (w->at[w->first[key]] == WALK_EMPTY || w->at[w->second[key]] == WALK_EMPTY)
        return 0;
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
        unsigned predicted = predict(w, key, looks_max(w->slots) - 1, &looks);
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

/* ---- tables constructed for a case ---- */

enum { BUILT_SLOTS = 32, POOL = 500, TRIALS_PER_POOL = 200, PATH_MAX = BUILT_SLOTS };

/* The keys chosen so far, with the slot where each of them must be. */
typedef struct building {
    const walks *w;
    uint32_t keys[PATH_MAX];
    uint64_t slots[PATH_MAX];
    unsigned count;
    uint32_t new_key;
    bool used[BUILT_SLOTS]; /* slots that the paths visit */
} building;

/* Chooses a key for a slot whose other slot is `to`, or, if `to` is BUILT_SLOTS, any unused slot. Returns the other
 * slot, or BUILT_SLOTS if no key of the pool fits. */
static uint64_t choose(lab *l, building *b, uint64_t from, uint64_t to) {
    uint64_t start = lab_below(l, POOL);
    for (uint64_t i = 0; i < POOL && b->count < PATH_MAX; i++) {
        uint32_t key = (uint32_t)((start + i) % POOL);
        uint64_t first = b->w->first[key], second = b->w->second[key];
        if (key == b->new_key || (first != from && second != from))
            continue;
        uint64_t other = first == from ? second : first;
        bool taken = false;
        for (unsigned j = 0; j < b->count; j++)
            taken |= b->keys[j] == key;
        if (taken || (to == BUILT_SLOTS ? b->used[other] : other != to))
            continue;
        b->keys[b->count] = key;
        b->slots[b->count++] = from;
        b->used[from] = b->used[other] = true;
        return other;
    }
    return BUILT_SLOTS;
}

/* Builds a path of `length` keys from a slot. Its last key leads to a free slot, or back to slot number `back` of the
 * path if that is not negative. */
static bool build_path(lab *l, building *b, uint64_t slot, unsigned length, int back) {
    uint64_t visited[PATH_MAX];
    b->used[slot] = true;
    for (unsigned i = 0; i < length; i++) {
        visited[i] = slot;
        slot = choose(l, b, slot, back >= 0 && i + 1 == length ? visited[back] : BUILT_SLOTS);
        if (slot == BUILT_SLOTS)
            return false;
    }
    return true;
}

/* A path from the first half that ends at a free slot has an odd number of keys, one from the second half an even one:
 * the last key is then in the first half, where it was inserted into a free slot. A cycle has an even number. */
static bool build(lab *l, building *b, unsigned wanted) {
    uint64_t first = b->w->first[b->new_key], second = b->w->second[b->new_key];
    unsigned tail = (unsigned)lab_below(l, 4), around = 2 * (1 + (unsigned)lab_below(l, 3));
    b->used[second] = true; /* the first path does not go through the other slot */
    bool built = wanted == 1 ? build_path(l, b, first, 2 * (unsigned)lab_below(l, 6) + 1, -1)
                             : build_path(l, b, first, tail + around, (int)tail);
    return built && (wanted == 3 ? build_path(l, b, second, tail + around, (int)tail)
                                 : build_path(l, b, second, 2 * (1 + (unsigned)lab_below(l, 4)), -1));
}

typedef struct built_tally {
    uint64_t trials, failed, wrong;
} built_tally;

static void insert_built(lab *l, walks *w, const building *b, unsigned wanted, walk_path *walk, built_tally *t) {
    walks_empty(l, w);
    for (unsigned half = 0; half < 2; half++)
        for (unsigned i = 0; i < b->count; i++)
            if ((b->slots[i] >= w->slots / 2) == (half == 1)) {
                walks_put(l, w, b->keys[i], walk);
                lab_require(l, w->at[b->slots[i]] == b->keys[i], "a key of a constructed table is in another slot");
            }
    uint64_t needed, looks;
    (void)predict(w, b->new_key, UINT64_MAX, &needed);
    uint64_t max = wanted == 3 ? looks_max(w->slots) - 1 : needed - 1 - lab_below(l, 2);
    unsigned predicted = predict(w, b->new_key, max, &looks);
    walks_put(l, w, b->new_key, walk);
    bool failed = walk->failed || walk->steps - 1 > max;
    t->trials++;
    t->failed += failed;
    t->wrong += failed != (predicted == wanted) || (predicted != 0 && predicted != wanted);
}

static void construct(lab *l, uint64_t trials, walk_path *walk, built_tally *tallies) {
    uint64_t longest = looks_max(BUILT_SLOTS);
    for (unsigned wanted = 1; wanted < CASES; wanted++) {
        built_tally *t = &tallies[wanted];
        while (t->trials < trials) {
            walks *w = walks_begin(l, BUILT_SLOTS);
            lab_require(l, w->slots == BUILT_SLOTS, "a table does not have the requested number of slots");
            for (unsigned i = 0; i < POOL; i++)
                (void)walks_key(l, w);
            for (unsigned i = 0; i < TRIALS_PER_POOL && t->trials < trials; i++) {
                building b = {.w = w, .new_key = (uint32_t)lab_below(l, POOL)};
                if (build(l, &b, wanted) && 2 * b.count < longest)
                    insert_built(l, w, &b, wanted, walk, t);
            }
            walks_end(l, w);
            lab_progress(l, 0.7 + 0.1 * (wanted - 1 + (double)t->trials / (double)trials));
        }
    }
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
    uint64_t tables = lab_number(l, "tables");
    double sizes[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "m", sizes);
    lab_parameter(l, "order of insertion", "a walk starts in the first slot (start=first)");
    lab_parameter(l, "slots", "%s", lab_word(l, "m"));
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    tally t = {0};
    walk_path *walk = lab_take(l, sizeof *walk);
    for (uint64_t i = 0; i < count * tables; i++) {
        fill_table(l, (uint64_t)sizes[i % count] / 2 * 2, walk, &t);
        if (i % 16 == 0)
            lab_progress(l, 0.7 * (double)i / (double)(count * tables));
    }
    lab_require(l, t.cases[3] > 0, "no insertion fails because both paths have a cycle");
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)t.wrong),
             "3: insertions whose outcome differs from the prediction of cases a to c, of %llu",
             (unsigned long long)t.insertions);
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)t.wrong_looks),
             "insertions that read another number of slots than predicted");
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)t.wrong_limit),
             "walks that fail after another number of steps than Max");
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)t.out_degrees), "1: slots with two outgoing edges");
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)t.second_cycles), "2: paths with a second cycle");
    static const char *const NAMES[CASES] = {"", "a: the path is too long",
                                             "b: the path around the cycle and back is too long",
                                             "c: both paths have a cycle"};
    built_tally built[CASES] = {{0}};
    construct(l, lab_number(l, "built"), walk, built);
    for (unsigned c = 1; c < CASES; c++) {
        lab_require(l, 4 * built[c].failed >= built[c].trials, "a case is not exercised often enough");
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)built[c].wrong),
                 "constructed for case 3%s: wrong outcomes, of %llu insertions (%llu fail)", NAMES[c],
                 (unsigned long long)built[c].trials, (unsigned long long)built[c].failed);
    }
    for (unsigned c = 1; c < CASES; c++)
        lab_find(l, LAB_SHOWN, 0, lab_share(t.cases[c], t.fails), "share of failures, case %s", NAMES[c]);
    draw(l, &t);
}

const lab_claim lab_C11 = {
    .id = "C11",
    .title = "the cuckoo graph and failing insertions",
    .sentence =
        "In the cuckoo graph a vertex has at most one outgoing edge, and a path has at most one cycle. An insertion "
        "fails exactly when its paths are too long or both have a cycle.",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "3: insertions whose outcome differs",
    .settings = {LAB_SIZE("tables", 2000, 60000, 10, 1e7, "tables of each size that are filled with random keys"),
                 LAB_SIZE("built", 4000, 40000, 10, 1e7, "insertions constructed for each case"),
                 LAB_WHOLES("m", "8,16,32,64,128", "8,16,32,64,128", 8, 128, 8, 128,
                            "slots of the tables that are filled with random keys")},
    .run = run,
};
