/* C10: lemma 1 of [4]: the keys that an insertion meets hold a long run of different ones.
 *
 * Small tables are filled until an insertion fails, and every prefix of every walk is looked at, as long as it has not met a
 * bad configuration. That is met when, after the walk has come back to the new key, a key comes again: then both cycles have
 * been gone round.
 *
 * A walk that goes round a cycle of c places at the end of a tail meets x_1 … x_{j-1}, all different, then x_i … x_1 again
 * (i = j - c - 1), and from there on the path of the new key's second place. In two halves a cycle has 2 places at least, so with
 * s = j - 1 the p keys are at most s, s - 3 and a last run that begins with the new key as well: the longer of the two runs has
 * p/3 + 1 keys, one more than the lemma says. That is demanded, too.
 *
 * The failed walks show that the condition is needed: on they go round the same cycles, and the share falls below any. */
#include <string.h>

#include "walks.h"

enum { SIZE_COUNT = 4, DRAWN_MAX = 40 };

static const uint64_t SIZES[SIZE_COUNT] = {16, 32, 64, 128};

typedef struct runs {
    uint64_t prefixes, returning, below_third, below_more;
    double least[DRAWN_MAX + 1]; /* the smallest share of prefixes of that length */
    double smallest, smallest_bad;
} runs;

/* The longest run of different keys that begins with the new key, for every prefix. */
static void measure(const walk_path *path, runs *r) {
    bool seen[WALK_SLOTS_MAX] = {false}, running = true, returned = false, bad = false;
    unsigned longest = 0, run = 0;
    for (unsigned p = 1; p <= path->steps; p++) {
        uint32_t key = path->keys[p - 1];
        bad |= returned && (seen[key] || key == path->keys[0]);
        if (p > 1 && key == path->keys[0]) {
            memset(seen, 0, sizeof seen);
            run = 0;
            running = returned = true;
        }
        running &= !seen[key];
        seen[key] = true;
        run += running;
        longest = run > longest ? run : longest;
        double share = (double)longest / p;
        if (bad) {
            r->smallest_bad = share < r->smallest_bad ? share : r->smallest_bad;
            continue;
        }
        r->prefixes++;
        r->returning += returned || !running;
        r->below_third += 3 * longest < p;
        r->below_more += p > 1 && 3 * longest < p + 3;
        r->smallest = share < r->smallest ? share : r->smallest;
        if (p <= DRAWN_MAX && share < r->least[p])
            r->least[p] = share;
    }
}

static void fill_tables(lab *l, uint64_t tables, runs *r) {
    walk_path *path = lab_take(l, sizeof *path);
    for (uint64_t t = 0; t < SIZE_COUNT * tables; t++) {
        walks *w = walks_begin(l, SIZES[t % SIZE_COUNT]);
        do {
            walks_put(l, w, walks_key(l, w), path);
            measure(path, r);
        } while (!path->failed && w->count < w->slots);
        walks_end(l, w);
        if (t % 16 == 0)
            lab_going(l, (double)t / (double)(SIZE_COUNT * tables));
    }
}

static void run(lab *l) {
    uint64_t tables = lab_pick(l, 3000, 100000);
    lab_parameter(l, "slots", "16, 32, 64, 128");
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    runs r = {.smallest = 1, .smallest_bad = 1};
    for (unsigned p = 1; p <= DRAWN_MAX; p++)
        r.least[p] = 2;
    fill_tables(l, tables, &r);
    lab_require(l, r.returning > 0, "some walks return to a place");
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)r.below_third),
             "prefixes without a run of p/3, of %llu (%llu of them past a return)", (unsigned long long)r.prefixes,
             (unsigned long long)r.returning);
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)r.below_more), "prefixes of p > 1 without a run of p/3 + 1");
    lab_find(l, LAB_MUST, LAB_AT_LEAST, 1.0 / 3, lab_exact(r.smallest), "the smallest share of a prefix");
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(r.smallest_bad), "the smallest share past a bad configuration");
    lab_plot *plot = lab_draw(l, "The longest run of different keys from the new key on", "keys met, p",
                              "smallest share of them in a run", 0);
    lab_series *third = lab_curve(plot, "1/3"), *more = lab_curve(plot, "1/3 + 1/p");
    lab_series *points = lab_points(plot, "measured");
    for (unsigned p = 2; p <= DRAWN_MAX; p++) {
        lab_at(third, p, lab_exact(1.0 / 3));
        lab_at(more, p, lab_exact(1.0 / 3 + 1.0 / p));
        if (r.least[p] <= 1)
            lab_at(points, p, lab_exact(r.least[p]));
    }
}

const lab_claim lab_C10 = {
    .id = "C10",
    .title = "different keys on the way of an insertion",
    .sentence =
        "Of the p keys that an insertion has met without a bad configuration, a run of p/3 different ones begins with "
        "the new key.",
    .formula = "run ≥ p/3",
    .code = "src/tables/cuckoo_room.c",
    .run = run,
};
