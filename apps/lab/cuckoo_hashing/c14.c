/* C14: theorem 1 of [4], equations (1) to (3): how long the loop of an insertion runs.
 *
 * Without a bad configuration the loop of algorithm 2 visits at least k keys with probability at most
 * 2 / (1 + δ/2)^(k/3 - 1), in tables of (2 + δ)n slots in two halves. The trace shows how many keys an insertion
 * displaces; with the new key itself that is the number of keys that it visits. The order of algorithm 2 is that of
 * start=second: a new key takes its place in one half if that is free, and else walks from its place in the other.
 *
 * Insertions into one table share its graph. So only the last of the n insertions of each table is counted: they are
 * independent of each other, the shares have exact intervals, and the table is as full as the theorem allows. An
 * insertion that rebuilt its table has met a bad configuration: it is none of those that (3) is about, and in the sum
 * over all iterations it counts as Max of them. Bounds that are too small to be seen with this many tables are left
 * out.
 *
 * (1) and (2) are runs of keys from x of which neighbours share a slot, alternately in the first and in the second
 * half. n - 1 further keys form (n-1)(n-2)…(n-j+1) sequences of j keys that begin with x, each of which is such a run
 * with probability exactly (|T|/2)^-(j-1). Their numbers are counted in the graphs of real tables (cuckoo_graph.h), for
 * each key as x. Each graph gives one number.
 *
 * [4] says itself that the bound is very loose. The findings show how loose: the true probability falls by a constant
 * factor per key, and the bound by the cube root of 1 + δ/2. */
#include <stdio.h>
#include <string.h>

#include "cuckoo_graph.h"
#include "theorem_1.h"

enum { VISITED_MAX = 64, RUN_MOST = 4 /* keys of the longest run that is counted */ };

static uint64_t slots_of(uint64_t n, double delta) {
    return (uint64_t)ceil((2 + delta) * (double)n / 2) * 2;
}

/* ---- (1) and (2): runs of keys ---- */

/* The keys of a graph by the slot that they have in each half: at[h] is the first of its keys, next[h] the one after
 * it. Both count keys from 1; 0 is the end. */
typedef struct by_slot {
    uint32_t *at[2], *next[2];
    const uint32_t *slot[2];
} by_slot;

static void count_runs(const by_slot *g, uint32_t *keys, unsigned length, unsigned half, uint64_t *runs) {
    runs[length]++;
    if (length == RUN_MOST)
        return;
    uint32_t slot = g->slot[half][keys[length - 1]];
    for (uint32_t key = g->at[half][slot]; key != 0; key = g->next[half][key - 1]) {
        bool is_new = true;
        for (unsigned i = 0; i < length; i++)
            is_new &= keys[i] != key - 1;
        if (!is_new)
            continue;
        keys[length] = key - 1;
        count_runs(g, keys, length + 1, 1 - half, runs);
    }
}

static void measure_runs(lab *l, uint64_t n, double delta, uint64_t graphs) {
    static const char *const SEQUENCE[] = {"(1)", "(2)"};
    uint64_t m = slots_of(n, delta);
    kith_table_spec spec = steps_spec(m, "layout=two d=2 b=1 load=100");
    candidates c = candidates_new(l, m, n);
    by_slot g = {.slot = {c.first, c.second}};
    for (unsigned h = 0; h < 2; h++) {
        g.at[h] = lab_take(l, m * sizeof *g.at[h]);
        g.next[h] = lab_take(l, n * sizeof *g.next[h]);
    }
    lab_sample means[2][RUN_MOST + 1] = {{{0}}};
    for (uint64_t t = 0; t < graphs; t++) {
        uint64_t runs[2][RUN_MOST + 1] = {{0}};
        spec.seed = lab_random(l) | 1;
        candidates_read(l, &c, &spec);
        for (unsigned h = 0; h < 2; h++) {
            memset(g.at[h], 0, m * sizeof *g.at[h]);
            for (uint32_t i = 0; i < n; i++) {
                g.next[h][i] = g.at[h][g.slot[h][i]];
                g.at[h][g.slot[h][i]] = i + 1;
            }
        }
        for (uint32_t x = 0; x < n; x++)
            for (unsigned h = 0; h < 2; h++) {
                uint32_t keys[RUN_MOST] = {x};
                count_runs(&g, keys, 1, h, runs[h]);
            }
        for (unsigned h = 0; h < 2; h++)
            for (unsigned j = 2; j <= RUN_MOST; j++)
                lab_sample_add(&means[h][j], (double)runs[h][j] / (double)n);
        lab_progress(l, 0);
    }
    for (unsigned h = 0; h < 2; h++) {
        double expected = 1;
        for (unsigned j = 2; j <= RUN_MOST; j++) {
            expected *= (double)(n - j + 1) / ((double)m / 2);
            lab_find(l, LAB_EQUALS, expected, lab_mean(&means[h][j]), "δ = %g: runs of %u keys from x that satisfy %s",
                     delta, j, SEQUENCE[h]);
        }
    }
    lab_drop(l, c.first), lab_drop(l, c.second), lab_drop(l, c.blockers);
    for (unsigned h = 0; h < 2; h++)
        lab_drop(l, g.at[h]), lab_drop(l, g.next[h]);
}

/* ---- (3): keys that an insertion visits ---- */

/* Fills a table. Returns the number of keys that the last insertion visits, or 0 if it rebuilt the table. */
static uint64_t visited_by_last(lab *l, uint64_t n, double delta, bool checks) {
    steps s = {0};
    kith_table_spec spec = steps_spec(slots_of(n, delta), "layout=two d=2 b=1 insert=walk start=second load=100");
    kith_table *table = steps_table(l, &spec, &s);
    bool rebuilt = false;
    for (uint64_t i = 0; i < n; i++) {
        s.moves = 0;
        rebuilt = steps_put(l, table, &s, i) > 0;
    }
    for (uint64_t i = 0; i < n && checks; i++) {
        uint64_t key = lab_key(l, i);
        lab_require(l, kith_table_has(table, &key, sizeof key), "a table has lost a key");
    }
    lab_drop(l, table);
    return rebuilt ? 0 : s.moves + 1;
}

static void measure_visits(lab *l, uint64_t n, double delta, uint64_t tables, lab_plot *plot, double done,
                           double share) {
    uint64_t visited[VISITED_MAX + 1] = {0}, last = 0;
    double m = (double)slots_of(n, delta), most = theorem_1_max(m, delta);
    lab_sample iterations = {0};
    for (uint64_t t = 0; t < tables; t++) {
        uint64_t keys = visited_by_last(l, n, delta, t % 64 == 0);
        for (uint64_t k = 1; k <= VISITED_MAX && k <= keys; k++)
            visited[k]++;
        lab_sample_add(&iterations, keys == 0 ? most : fmin((double)keys, most));
        if (t % 256 == 0)
            lab_progress(l, done + share * (double)t / (double)tables);
    }
    lab_series *curve = lab_curve(plot, "bound, δ = %g", delta), *points = lab_points(plot, "measured, δ = %g", delta);
    for (unsigned k = 1; k <= VISITED_MAX; k++) {
        double bound = theorem_1_case_1(delta, k);
        if (bound < 1)
            lab_at(curve, k, lab_exact(bound));
        if (visited[k] > 0)
            lab_at(points, k, lab_share(visited[k], tables));
        if (bound >= 0.5 || bound * (double)tables < 20 || (last > 0 && k < last + 8))
            continue;
        lab_find_stated(l, LAB_MUST, "[4]: \"2n^(k/3−1)/(|T|/2)^(k/3−1) < 2/(1 + δ/2)^((k/3)−1)\" (3)", LAB_AT_MOST,
                        bound, lab_share(visited[k], tables), "δ = %g, k = %u: P(an insertion visits k keys)", delta,
                        k);
        last = k;
    }
    if (visited[2] > 0)
        lab_find(l, LAB_AT_MOST, pow(1 + delta / 2, -2 / 3.0), lab_share(visited[4], visited[2]),
                 "δ = %g: P(4 keys)/P(2 keys), which the bound lets fall by (1 + δ/2)^(2/3)", delta);
    lab_find_stated(l, LAB_MUST, "[4]: \"1 + Σ_(k=2…Max) (2/(1 + δ/2)^((k/3)−1) + O(1/n²)) … = O(1)\"", LAB_AT_MOST,
                    theorem_1_iterations((double)n, m, delta), lab_mean(&iterations),
                    "δ = %g, Max = %.0f: iterations of the loop, with case 2's sum for O(1/n²)", delta, most);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), tables = lab_number(l, "tables"), graphs = lab_number(l, "graphs");
    size_t count;
    double deltas[LAB_NUMBERS_MAX];
    memcpy(deltas, lab_numbers(l, "delta", &count), sizeof deltas);
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    lab_parameter(l, "tables of each δ", "%llu", (unsigned long long)tables);
    lab_parameter(l, "order of insertion", "algorithm 2 of [4] (start=second)");
    lab_plot *plot = lab_draw(l, "Keys visited by an insertion", "keys, k", "P(at least k)", LAB_LOG_Y);
    for (size_t d = 0; d < count; d++)
        measure_visits(l, n, deltas[d], tables, plot, (double)d / (double)count, 1 / (double)count);
    for (size_t d = 0; d < count; d++)
        measure_runs(l, n, deltas[d], graphs);
}

const lab_claim lab_C14 = {
    .id = "C14",
    .title = "how long an insertion runs",
    .sentence =
        "In two halves of (2 + δ)n slots an insertion that meets no bad configuration visits at least k keys with "
        "probability at most 2/(1 + δ/2)^(k/3 − 1).",
    .formula = "P ≤ 2/(1 + δ/2)^{k/3 − 1}",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "δ = 0.2, k = 47",
    .settings = {LAB_LIST("delta", "0.2,0.5,1,2", "0.2,0.5,1,2", 0.01, 20, 0.01, 20, "there are (2 + delta)n slots"),
                 LAB_SIZE("n", 100, 200, 8, 1e6, "keys of each table"),
                 LAB_SIZE("tables", 10000, 200000, 30, 1e8, "tables of each delta, one insertion each"),
                 LAB_SIZE("graphs", 8000, 40000, 30, 1e6, "graphs of each delta, for (1) and (2)")},
    .run = run,
};
