/* C12: all insertions together, including rehashes, take time proportional to the number of keys ([0], 18.8 to 18.14).
 *
 * Time is counted in placements. A placement puts a key into a slot: a new key, a key that moves, or a key that is
 * inserted again by a rebuild. n keys are inserted into a table of m = 6n slots. The trace shows moves and rehashes. A
 * rehash of a table with i keys inserts these i keys and the new key again.
 *
 * A new key can move the keys that are connected to its candidate slots. Given d of the n keys in order, they form a
 * path from a given slot with probability at most (2/m)^d. So a slot is connected to at most sum (2n/m)^d = 1/2 of a
 * key on average, and two slots to 1. [0] has n · 2/m = 1/3. It sums over paths between the slots of two keys, but
 * begins with length 1 and so leaves out length 0, where both keys share a slot. The graphs of real tables
 * (cuckoo_graph.h) decide between the two: n keys form the components, and n more keys are looked up in them, each as
 * if it were the next to be inserted.
 *
 * So an insertion takes at most 2 placements on average. A fill fails with probability at most 1/2, and fills are
 * independent, so on average there are at most sum i 2^-i = 2 of them. That makes 4 placements per key.
 *
 * Placements per key must not grow with n, either. For every n, the loads i/m at which the keys arrive form a sum that
 * approximates the same integral. Its error is below 1/n, so a difference of 1/n is allowed, with the smaller of the
 * two n.
 *
 * The true values are far below these bounds, and three of them are known. Key i displaces another with probability
 * (i/m)^2, when both of its slots are occupied. The number of moves is at most the bound of C2. And a rehash has an
 * exact probability (graph_probability.h). It is rare, but in small tables it occurs often enough to be counted. A
 * table may draw new hash functions twice; the formula is about whether it draws any.
 *
 * A table that starts small and grows also inserts keys again. It grows by one half each time, so the growths before
 * the last one had 2/3, 4/9, … as many keys, and n keys are inserted again at most 3n times in all. */
#include <math.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"

enum { SIZE_COUNT = 6, SMALL = 3 /* index of the size that larger sizes are compared with */ };

static const uint64_t QUICK[SIZE_COUNT] = {8, 32, 128, 1024, 8192, 32768},
                      FULL[SIZE_COUNT] = {8, 32, 128, 2048, 32768, 262144};

typedef struct work {
    uint64_t keys; /* in the table now */
    uint64_t moves, rehashes;
    uint64_t reinserted_rehash, reinserted_growth; /* keys that rehashes and growths inserted again */
    uint64_t moves_no_rehash;                      /* moves of insertions that caused no rehash */
    uint64_t displacing;                           /* insertions that moved a key */
} work;

static void count(void *context, kith_step step, uint64_t slot, uint64_t to) {
    work *w = context;
    (void)slot;
    (void)to;
    w->moves += step == KITH_STEP_MOVE;
    w->rehashes += step == KITH_STEP_REHASH;
    w->reinserted_rehash += step == KITH_STEP_REHASH ? w->keys + 1 : 0;
    w->reinserted_growth += step == KITH_STEP_GROW ? w->keys + 1 : 0;
}

/* m, the number of slots: 6n by default, and an even number. */
static uint64_t slots_of(lab *l, uint64_t n) {
    return (uint64_t)(lab_real(l, "m_per_n") * (double)n / 2) * 2;
}

/* Inserts n keys into a table of m slots, or into one that starts with the minimum size and grows. */
static void fill(lab *l, uint64_t n, bool grows, work *w) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = grows ? 0 : slots_of(l, n) - 1;
    spec.options = grows ? "layout=one d=2 b=1 insert=walk start=second"
                         : "layout=one d=2 b=1 insert=walk start=second load=100"; /* the order of algorithm 3 of [0] */
    kith_table *table = lab_traced(l, &spec, count, w);
    uint64_t first = lab_random(l);
    for (w->keys = 0; w->keys < n; w->keys++) {
        uint64_t key = lab_key(l, first + w->keys), moves = w->moves, rehashes = w->rehashes;
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "inserting a key");
        w->displacing += w->moves > moves;
        w->moves_no_rehash += w->rehashes == rehashes ? w->moves - moves : 0;
    }
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "reading the number of slots");
    lab_require(l, stats.count == n && stats.rehashes == w->rehashes, "the trace does not show every rehash");
    lab_require(l, grows || (stats.growths == 0 && stats.slots == slots_of(l, n)), "a table of m slots has grown");
    lab_drop(l, table);
}

/* ---- work ---- */

/* The mean of (i/m)^2 over i = 0 … n - 1. */
static double displacing_share(double n, double m) {
    return (n - 1) * (2 * n - 1) / 6 / (m * m);
}

/* A slot is connected to at most this many keys on average, and a fill fails with at most this probability: the sum of
 * (2n/m)^d over d = 1, 2, …, which is 1/2 at m = 6n. */
static double connected_bound(lab *l) {
    double c = 2 / lab_real(l, "m_per_n");
    return c / (1 - c);
}

/* The bound of C2 at the highest load, n/m. */
static double moves_bound(double n, double m) {
    double c = 2 * n / m;
    return c / 2 * c / (1 - c) + c * c * (2 + c) / (m * pow(1 - c, 3));
}

static lab_estimate difference(const lab_sample *of, const lab_sample *less) {
    lab_estimate a = lab_mean(of), b = lab_mean(less);
    double half = sqrt((a.high - a.value) * (a.high - a.value) + (b.high - b.value) * (b.high - b.value));
    return (lab_estimate){a.value - b.value, a.value - b.value - half, a.value - b.value + half};
}

static void measure_work(lab *l, const uint64_t *sizes) {
    uint64_t most = lab_number(l, "puts");
    double half = connected_bound(l), placements_bound = (1 + 2 * half) / (1 - half); /* 4 at m = 6n */
    lab_plot *plot =
        lab_draw(l, "Work of n insertions, including rehashes", "keys, n", "placements per key", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "bound, %g", placements_bound), *points = lab_points(plot, "measured");
    lab_plot *growing =
        lab_draw(l, "A table that grows by one half each time", "keys, n", "insertions by growth, per key", LAB_LOG_X);
    lab_series *three = lab_curve(growing, "bound, 3"), *again = lab_points(growing, "measured");
    lab_sample placements[SIZE_COUNT] = {{0}};
    for (unsigned i = 0; i < SIZE_COUNT; i++) {
        uint64_t n = sizes[i], tables = most / n / SIZE_COUNT < 40 ? 40 : most / n / SIZE_COUNT;
        lab_sample moves = {0}, displacing = {0}, grown = {0};
        for (uint64_t t = 0; t < tables; t++) {
            work w = {0}, g = {0};
            fill(l, n, false, &w);
            lab_sample_add(&placements[i], (double)(n + w.moves + w.reinserted_rehash) / (double)n);
            lab_sample_add(&moves, (double)w.moves_no_rehash / (double)n);
            lab_sample_add(&displacing, (double)w.displacing / (double)n);
            if (t % 4 == 0) {
                fill(l, n, true, &g);
                lab_sample_add(&grown, (double)g.reinserted_growth / (double)n);
            }
            if (t % 1024 == 0 || n > 1000)
                lab_progress(l, 0.6 * (i + (double)t / (double)tables) / SIZE_COUNT);
        }
        double slots = (double)slots_of(l, n);
        lab_find(l, LAB_AT_MOST, placements_bound, lab_mean(&placements[i]), "placements per key, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, moves_bound((double)n, slots), lab_mean(&moves), "moves per key, n = %llu",
                 (unsigned long long)n);
        lab_find(l, LAB_EQUALS, displacing_share((double)n, slots), lab_mean(&displacing),
                 "share of insertions that displace a key, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, 3, lab_mean(&grown), "insertions by growth, per key, n = %llu", (unsigned long long)n);
        lab_at(bound, (double)n, lab_exact(placements_bound));
        lab_at(points, (double)n, lab_mean(&placements[i]));
        lab_at(three, (double)n, lab_exact(3));
        lab_at(again, (double)n, lab_mean(&grown));
    }
    for (unsigned i = SMALL + 1; i < SIZE_COUNT; i++)
        lab_find(l, LAB_AT_MOST, 1 / (double)sizes[SMALL], difference(&placements[i], &placements[SMALL]),
                 "placements per key, n = %llu, minus those at n = %llu", (unsigned long long)sizes[i],
                 (unsigned long long)sizes[SMALL]);
}

/* ---- rehashes ---- */

static void measure_rehashes(lab *l) {
    uint64_t keys = lab_number(l, "rehash_puts"); /* for each size */
    lab_plot *plot = lab_draw(l, "Tables that rehash", "keys, n", "share of tables", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "exact"), *points = lab_points(plot, "measured");
    for (uint64_t n = 8; n <= 128; n *= 2) {
        uint64_t tables = keys / n, rehashed = 0;
        for (uint64_t t = 0; t < tables; t++) {
            work w = {0};
            fill(l, n, false, &w);
            rehashed += w.rehashes > 0;
            if (t % 1024 == 0)
                lab_progress(l, 0.6 + 0.06 * (log2((double)n / 8) + (double)t / (double)tables));
        }
        double exact = 1 - probability_all_fit(n, slots_of(l, n));
        lab_find(l, LAB_EQUALS, exact, lab_share(rehashed, tables), "share of tables that rehash, n = %llu",
                 (unsigned long long)n);
        lab_at(curve, (double)n, lab_exact(exact));
        lab_at(points, (double)n, lab_share(rehashed, tables));
    }
}

/* ---- collisions ---- */

/* Returns the number of keys that are connected to the two slots of a new key, the mean over n new keys. */
static double connected(lab *l, candidates *c, const components *graph, uint64_t n) {
    kith_table_spec spec = steps_spec(c->slots, "layout=one d=2 b=1 load=100");
    spec.seed = lab_random(l) | 1;
    candidates_read(l, c, &spec);
    components_clear(graph, c->slots);
    for (uint64_t i = 0; i < n; i++)
        (void)components_join(graph, c->first[i], c->second[i]);
    uint64_t sum = 0;
    for (uint64_t i = n; i < 2 * n; i++) {
        uint32_t one = components_root(graph, c->first[i]), other = components_root(graph, c->second[i]);
        sum += graph->keys[one] + (other == one ? 0 : graph->keys[other]);
    }
    return (double)sum / (double)n;
}

static void measure_collisions(lab *l) {
    uint64_t graphs = lab_number(l, "graphs");
    lab_plot *plot = lab_draw(l, "Keys connected to the slots of a new key", "keys, n", "keys", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "2 Σ (2n/m)^d = %g", 2 * connected_bound(l)),
               *third = lab_curve(plot, "1/3, claimed by [0]");
    lab_series *points = lab_points(plot, "measured");
    for (uint64_t n = 32; n <= 512; n *= 4) {
        candidates c = candidates_new(l, slots_of(l, n), 2 * n);
        components graph = components_new(l, slots_of(l, n));
        lab_sample keys = {0};
        for (uint64_t i = 0; i < graphs; i++) {
            lab_sample_add(&keys, connected(l, &c, &graph, n));
            lab_progress(l, 0.9 + 0.03 * log2((double)n / 32) / 2);
        }
        lab_find(l, LAB_AT_MOST, 2 * connected_bound(l), lab_mean(&keys), "keys that a new key collides with, n = %llu",
                 (unsigned long long)n);
        if (lab_real(l, "m_per_n") == 6)
            lab_find_stated(l, LAB_WRONG, "[0]: \"Pr(x and y collide) ≤ 4 Σ 3^(−l)/n ≤ … = 2/n\" (18.8; n is m here)",
                            LAB_AT_MOST, 1.0 / 3, lab_mean(&keys),
                            "keys that a new key collides with, %llu keys in 6 times as many slots: n · 2/m",
                            (unsigned long long)n);
        lab_at(bound, (double)n, lab_exact(2 * connected_bound(l)));
        lab_at(third, (double)n, lab_exact(1.0 / 3));
        lab_at(points, (double)n, lab_mean(&keys));
    }
}

static void run(lab *l) {
    const uint64_t *sizes = lab_is_quick(l) ? QUICK : FULL; /* the sizes of an experiment belong together */
    lab_parameter(l, "order of insertion", "algorithm 3 of [0] (start=second)");
    lab_parameter(l, "slots per key", "%g", lab_real(l, "m_per_n"));
    lab_parameter(l, "n", "%llu to %llu", (unsigned long long)sizes[0], (unsigned long long)sizes[SIZE_COUNT - 1]);
    measure_work(l, sizes);
    measure_rehashes(l);
    measure_collisions(l);
}

const lab_claim lab_C12 = {
    .id = "C12",
    .title = "total time of insertions, including rehashes",
    .sentence = "n insertions into 6n slots take O(n) steps including all rehashes, so one insertion takes a constant "
                "number of steps.",
    .formula = "E ≤ n · 2 · Σ i/2^{i} = 4n",
    .code = "src/tables/cuckoo/cuckoo.c",
    .note = "[0] says that a new key collides with n · 2/m = 1/3 of a key on average (18.8). The bound is 1: the sum "
            "over paths between the slots of two keys begins with length 1 and leaves out length 0, where both keys "
            "share a slot. So an insertion takes at most 2 placements on average, and 4 including rehashes, which is "
            "still O(1).",
    .decides = "placements per key, n = 128",
    .settings = {LAB_SIZE("puts", 500000, 20000000, 1000, 1e10, "keys inserted at least for each size"),
                 LAB_SIZE("rehash_puts", 800000, 12000000, 1000, 1e10,
                          "keys inserted for each size, to count rehashes"),
                 LAB_SIZE("graphs", 150, 1000, 30, 1e6, "graphs of each size"),
                 LAB_NUMBER("m_per_n", "6", 4.5, 100, 6, 100, "slots per key")},
    .run = run,
};
