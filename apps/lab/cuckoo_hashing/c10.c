/* C10: lemma 1 of [4]: the sequence of keys that an insertion visits contains a long run of distinct keys.
 *
 * Small tables are filled until an insertion fails. Every prefix of every walk is checked, up to the point where the
 * walk has met a bad configuration: it has returned to the new key, and then visits a key again. By then it has gone
 * around two cycles.
 *
 * A walk that goes along a tail and around a cycle of c slots visits x_1 … x_{j-1}, which are all distinct. Then it
 * visits x_i … x_1 again (i = j - c - 1), and then the path from the new key's second slot. In a table of two halves a
 * cycle has at least 2 slots. So with s = j - 1 the p keys consist of at most s keys, s - 3 keys, and a last run. The
 * first and the last run both begin with the new key, and the longer of them has at least p/3 + 1 keys. This is one
 * more than the lemma says, and it is tested, too.
 *
 * Walks that fail show that the condition is needed. They keep going around the same cycles, so the longest run becomes
 * an ever smaller share of the prefix. */
#include <string.h>

#include "walks.h"

enum { PLOTTED_MAX = 40 };

typedef struct runs {
    uint64_t prefixes, returning, below_third, below_more;
    double least[PLOTTED_MAX + 1]; /* the smallest share, for each length of a prefix */
    double smallest, smallest_bad;
} runs;

/* Finds, for every prefix, the longest run of distinct keys that begins with the new key. */
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
        if (p <= PLOTTED_MAX && share < r->least[p])
            r->least[p] = share;
    }
}

static void fill_tables(lab *l, uint64_t tables, runs *r) {
    walk_path *path = lab_take(l, sizeof *path);
    double sizes[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "m", sizes);
    for (uint64_t t = 0; t < count * tables; t++) {
        walks *w = walks_begin(l, (uint64_t)sizes[t % count] / 2 * 2);
        do {
            walks_put(l, w, walks_key(l, w), path);
            measure(path, r);
        } while (!path->failed && w->count < w->slots);
        walks_end(l, w);
        if (t % 16 == 0)
            lab_progress(l, (double)t / (double)(count * tables));
    }
}

static void run(lab *l) {
    uint64_t tables = lab_number(l, "tables");
    lab_parameter(l, "order of insertion", "a walk starts in the first slot (start=first)");
    lab_parameter(l, "slots", "%s", lab_word(l, "m"));
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    runs r = {.smallest = 1, .smallest_bad = 1};
    for (unsigned p = 1; p <= PLOTTED_MAX; p++)
        r.least[p] = 2;
    fill_tables(l, tables, &r);
    lab_require(l, r.returning > 0, "no walk returns to a slot");
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)r.below_third),
             "prefixes without a run of p/3, of %llu (%llu of them visit a key twice)", (unsigned long long)r.prefixes,
             (unsigned long long)r.returning);
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)r.below_more), "prefixes of p > 1 without a run of p/3 + 1");
    lab_find(l, LAB_AT_LEAST, 1.0 / 3, lab_exact(r.smallest), "smallest share of a prefix in a run");
    lab_find(l, LAB_SHOWN, 0, lab_exact(r.smallest_bad), "smallest share after a bad configuration");
    lab_plot *plot = lab_draw(l, "Longest run of distinct keys that begins with the new key", "keys visited, p",
                              "smallest share of them in a run", 0);
    lab_series *third = lab_curve(plot, "1/3"), *more = lab_curve(plot, "1/3 + 1/p");
    lab_series *points = lab_points(plot, "measured");
    for (unsigned p = 2; p <= PLOTTED_MAX; p++) {
        lab_at(third, p, lab_exact(1.0 / 3));
        lab_at(more, p, lab_exact(1.0 / 3 + 1.0 / p));
        if (r.least[p] <= 1)
            lab_at(points, p, lab_exact(r.least[p]));
    }
}

const lab_claim lab_C10 = {
    .id = "C10",
    .title = "distinct keys that an insertion visits",
    .sentence = "If an insertion has visited p keys without a bad configuration, they contain a run of at least p/3 "
                "distinct keys that begins with the new key.",
    .formula = "run ≥ p/3",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "prefixes without a run of p/3",
    .settings = {LAB_SIZE("tables", 3000, 100000, 10, 1e7, "tables of each size"),
                 LAB_WHOLES("m", "16,32,64,128", "16,32,64,128", 8, 128, 8, 128, "slots")},
    .run = run,
};
