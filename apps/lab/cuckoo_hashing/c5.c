/* C5: n insertions into m = (2 + δ)n slots draw new hash functions with probability O(1/n), one insertion with
 * O(1/n^2).
 *
 * Many small tables are filled, each with different hash functions, and the insertion that made a table draw new ones
 * is recorded. With m = 4n (δ = 2) the event is rare, but up to 200 keys it is frequent enough to be counted. The
 * probability for one insertion is the mean over the last quarter of a table's insertions.
 *
 * [4] sets Max = ⌈6 log_(1+δ/2) m⌉. The tables run with this limit, max=auto, where δ is that of the keys in the table:
 * m = (2 + δ)n. Walks that it stops although there is a place are counted with the graph of the table, and shown. They
 * are rarer than the intervals are wide. So a rehash has the probability that the graph of the table has an overfull
 * component, which is known (graph_probability.h). For
 * many keys it approaches, from below, the probability of a component with two cycles,
 *
 *     one table   c^2 (3 + 2c) / (24 (1 - c)^3 m)                          (Janson, Knuth, Łuczak, Pittel, 1993)
 *     two halves  c^3 (2 + c + 2c^2) / (6 (1 + c)^2 (1 - c)^3 m)           (Kutzelnigg, 2009)      c = 2n/m
 *
 * So these expressions give the constant of O(1/n), and their difference quotients that of O(1/n^2).
 *
 * [4] bounds the probability that one insertion meets a bad configuration by a sum over the v keys of it (theorem 1,
 * case 2). With m = (2 + δ)n that sum is a constant times 1/n^2 at any n, and the constant is much larger than the
 * true one. The rehash inserts at most n keys again each time that it draws functions, and it draws until all keys fit:
 * 1/P(all fit) times on average. So the expected cost of rehashing is n P(rehash)/P(all fit) per insertion, O(1/n).
 *
 * The exponents are the slopes of straight lines fitted to the logarithms. Their limits, -1 and -2, are not reached
 * with so few keys, so they are compared with the slopes of the exact probabilities. The interval of a slope follows
 * from the intervals of the points, whose errors are independent of each other: their squares add up. */
#include <stdio.h>
#include <string.h>

#include "cuckoo_graph.h"
#include "graph_probability.h"
#include "theorem_1.h"

/* P(a component with two cycles), where this probability is small. */
static double limit_one(double n, double m) {
    double c = 2 * n / m;
    return c * c * (3 + 2 * c) / (24 * pow(1 - c, 3) * m);
}

static double limit_two(double n, double m) {
    double c = 2 * n / m;
    return c * c * c * (2 + c + 2 * c * c) / (6 * pow(1 + c, 2) * pow(1 - c, 3) * m);
}

static uint64_t slots_of(uint64_t n, double delta) {
    return (uint64_t)ceil((2 + delta) * (double)n / 2) * 2;
}

/* max=auto has a meaning only if the table grows below a load of 1/2. Finds a load, in percent, and a capacity with
 * which a table has exactly m slots and does not grow before n keys: a table of one slot per bucket has ⌈capacity/load⌉
 * + 1 slots, rounded up to an even number. */
static bool find_capacity(uint64_t n, uint64_t m, unsigned *load, uint64_t *capacity) {
    for (*load = 49; (double)*load / 100 * (double)m >= (double)n && *load > 0; (*load)--) {
        double share = (double)*load / 100;
        for (*capacity = (uint64_t)(share * (double)m); *capacity > 0; (*capacity)--) {
            uint64_t slots = (uint64_t)ceil((double)*capacity / share) + 1;
            if (slots + slots % 2 == m)
                return true;
            if (slots + 2 < m)
                break;
        }
    }
    return false;
}

typedef struct outcome {
    uint64_t rehashed; /* tables that drew new hash functions */
    uint64_t late;     /* … for the first time during the last quarter of the insertions */
    uint64_t draws;    /* … how often these drew new functions */
    uint64_t stopped;  /* … because of Max, although there was a place */
} outcome;

/* True if the first n keys of a table with this seed have an overfull component. */
static bool is_overfull(lab *l, const kith_table_spec *of, candidates *c, const components *graph, uint64_t n) {
    char options[64];
    (void)snprintf(options, sizeof options, "%s",
                   strstr(of->options, "layout=two") != NULL ? "layout=two d=2 b=1 load=100"
                                                             : "layout=one d=2 b=1 load=100");
    kith_table_spec spec = steps_spec(c->slots, options);
    spec.seed = of->seed;
    bool overfull = false;
    candidates_read(l, c, &spec);
    components_clear(graph, c->slots);
    for (uint64_t i = 0; i < n; i++)
        overfull |= components_join(graph, c->first[i], c->second[i]).overfull;
    return overfull;
}

static outcome fill(lab *l, const char *layout, uint64_t n, double delta, uint64_t tables, double done, double share) {
    outcome o = {0};
    char options[64];
    uint64_t m = slots_of(n, delta), capacity = 0;
    unsigned load = 0;
    lab_require(l, find_capacity(n, m, &load, &capacity), "no table has this number of slots");
    (void)snprintf(options, sizeof options, "layout=%s d=2 b=1 insert=walk start=second max=auto load=%u", layout,
                   load);
    candidates c = candidates_new(l, m, n);
    components graph = components_new(l, m);
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(m, options);
        spec.capacity = capacity;
        spec.seed = lab_random(l) | 1;
        kith_table *table = lab_traced(l, &spec, steps_count, &s);
        check_slots(l, table, m);
        uint64_t j = 0, draws = 0;
        for (; j < n && draws == 0; j++)
            draws = steps_put(l, table, &s, j);
        bool failed = draws > 0;
        o.rehashed += failed;
        o.late += failed && j > n - n / 4;
        o.draws += j > n - n / 4 ? draws : 0;
        o.stopped += failed && !is_overfull(l, &spec, &c, &graph, j);
        lab_drop(l, table);
        if (i % 256 == 0)
            lab_progress(l, done + share * (double)i / (double)tables);
    }
    return o;
}

/* The slope of log y over log n. */
static lab_estimate exponent(const double *keys, const lab_estimate *y, size_t sizes) {
    double middle = 0, squares = 0;
    for (size_t i = 0; i < sizes; i++)
        middle += log(keys[i]) / (double)sizes;
    for (size_t i = 0; i < sizes; i++)
        squares += pow(log(keys[i]) - middle, 2);
    double slope = 0, below = 0, above = 0;
    for (size_t i = 0; i < sizes; i++) {
        double weight = (log(keys[i]) - middle) / squares;
        double down = weight * log(y[i].low / y[i].value), up = weight * log(y[i].high / y[i].value);
        slope += weight * log(y[i].value);
        below += pow(weight > 0 ? down : up, 2);
        above += pow(weight > 0 ? up : down, 2);
    }
    return (lab_estimate){slope, slope - sqrt(below), slope + sqrt(above)};
}

/* The mean number of draws by an insertion of the last quarter: each draws until all of its j keys fit. */
static double draws_expected(const graph_layout *graph, uint64_t n, uint64_t m, uint64_t late) {
    double sum = 0, before = graph->all_fit(n - late, m);
    for (uint64_t j = n - late + 1; j <= n; j++) {
        double fit = graph->all_fit(j, m);
        sum += (before - fit) / fit;
        before = fit;
    }
    return sum / (double)late;
}

/* The expected number of draws, from how many there were. An insertion that draws functions does so a geometric number
 * of times, so their variance is (2 - p)/p times that of Poisson. */
static lab_estimate draws_counted(uint64_t draws, double p) {
    lab_estimate e = lab_count(draws);
    double wider = sqrt((2 - p) / p);
    return (lab_estimate){e.value, fmax(0, e.value - wider * (e.value - e.low)), e.value + wider * (e.high - e.value)};
}

typedef struct layout {
    const graph_layout *graph;
    double (*limit)(double n, double m);
} layout;

static const layout LAYOUTS[GRAPH_LAYOUTS] = {{&GRAPH_LAYOUT[0], limit_two}, {&GRAPH_LAYOUT[1], limit_one}};

static void measure(lab *l, const layout *y, const double *keys, size_t sizes, double delta, uint64_t tables,
                    double done, lab_plot *plot) {
    const char *name = y->graph->name;
    lab_series *all_curve = lab_curve(plot, "layout=%s, n insertions, exact", name),
               *all_points = lab_points(plot, "layout=%s, n insertions", name);
    lab_series *one_curve = lab_curve(plot, "layout=%s, one insertion of the last quarter, exact", name),
               *one_points = lab_points(plot, "layout=%s, one insertion of the last quarter", name);
    lab_estimate cost[LAB_NUMBERS_MAX], cost_exact[LAB_NUMBERS_MAX];
    lab_estimate all[LAB_NUMBERS_MAX], one[LAB_NUMBERS_MAX], all_exact[LAB_NUMBERS_MAX], one_exact[LAB_NUMBERS_MAX];
    uint64_t stopped = 0;
    for (size_t i = 0; i < sizes; i++) {
        uint64_t n = (uint64_t)keys[i], m = slots_of(n, delta), late = n / 4;
        double N = (double)n, M = (double)m, L = (double)late;
        outcome o = fill(l, name, n, delta, tables, done + 0.5 * (double)i / (double)sizes, 0.5 / (double)sizes);
        stopped += o.stopped;
        all[i] = lab_share(o.rehashed, tables);
        one[i] = lab_scaled(lab_share(o.late, tables), 1 / L);
        all_exact[i] = lab_exact(1 - y->graph->all_fit(n, m));
        one_exact[i] = lab_exact((y->graph->all_fit(n - late, m) - y->graph->all_fit(n, m)) / L);
        lab_at(all_curve, N, all_exact[i]);
        lab_at(one_curve, N, one_exact[i]);
        lab_at(all_points, N, all[i]);
        lab_at(one_points, N, one[i]);
        lab_find(l, LAB_EQUALS, all_exact[i].value, all[i], "layout=%s, n = %.0f: P(rehash in n insertions)", name, N);
        lab_find(l, LAB_AT_MOST, y->limit(N, M), all[i], "layout=%s, n = %.0f: P(rehash in n insertions), bound %.3f/n",
                 name, N, N * y->limit(N, M));
        lab_known(l, all_exact[i].value);
        lab_find(l, LAB_EQUALS, one_exact[i].value, one[i], "layout=%s, n = %.0f: P(rehash in one insertion)", name, N);
        double bound = (y->limit(N, M) - y->limit(N - L, M)) / L;
        lab_find(l, LAB_AT_MOST, bound, one[i], "layout=%s, n = %.0f: P(rehash in one insertion), bound %.3f/n^2", name,
                 N, N * N * bound);
        lab_known(l, one_exact[i].value);
        if (strcmp(name, "two") == 0) {
            lab_find_stated(l, LAB_MUST, "[4]: \"Σ_(v=3…k) n^(v−1) (|T|/2)^(v−1) v³ (|T|/2)^(−2v) … = O(1/n²)\"",
                            LAB_AT_MOST, theorem_1_case_2(N, M, delta), one[i],
                            "layout=two, n = %.0f: P(bad configuration), case 2's sum, %.2f/n^2", N,
                            N * N * theorem_1_case_2(N, M, delta));
            lab_known(l, one_exact[i].value);
        }
        double fit = y->graph->all_fit(n, m);
        cost[i] = lab_scaled(draws_counted(o.draws, fit), N / L / (double)tables);
        cost_exact[i] = lab_exact(N * draws_expected(y->graph, n, m, late));
        lab_find(l, LAB_EQUALS, cost_exact[i].value, cost[i], "layout=%s, n = %.0f: n times draws per insertion", name,
                 N);
        bound *= N / (1 - y->limit(N, M));
        lab_find_stated(l, LAB_MUST, "[4]: \"the expected cost of rehashing is O(1/n)\"", LAB_AT_MOST, bound, cost[i],
                        "layout=%s, n = %.0f: n times draws per insertion, bound %.3f/n", name, N, N * bound);
        lab_known(l, cost_exact[i].value);
    }
    lab_find(l, LAB_SHOWN, 0, lab_exact((double)stopped),
             "layout=%s: rehashes because of Max, although there was a place", name);
    if (sizes < 2)
        return;
    lab_find(l, LAB_EQUALS, exponent(keys, all_exact, sizes).value, exponent(keys, all, sizes),
             "layout=%s: exponent of n, n insertions (limit −1)", name);
    lab_find(l, LAB_EQUALS, exponent(keys, one_exact, sizes).value, exponent(keys, one, sizes),
             "layout=%s: exponent of n, one insertion (limit −2)", name);
    lab_find(l, LAB_EQUALS, exponent(keys, cost_exact, sizes).value, exponent(keys, cost, sizes),
             "layout=%s: exponent of n, cost of rehashing (limit −1)", name);
}

static void run(lab *l) {
    size_t sizes, one;
    double keys[LAB_NUMBERS_MAX], delta = *lab_numbers(l, "delta", &one);
    memcpy(keys, lab_numbers(l, "n", &sizes), sizeof keys);
    uint64_t tables = lab_number(l, "tables");
    const char *wanted = lab_word(l, "layout");
    lab_parameter(l, "order of insertion", "algorithm 2 of [4] (start=second)");
    lab_parameter(l, "m", "%gn", 2 + delta);
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    lab_plot *plot =
        lab_draw(l, "Rehashes, n keys in (2 + δ)n slots", "keys, n", "probability of a rehash", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned y = 0; y < GRAPH_LAYOUTS; y++)
        if (strcmp(wanted, "both") == 0 || strcmp(wanted, LAYOUTS[y].graph->name) == 0)
            measure(l, &LAYOUTS[y], keys, sizes, delta, tables, 0.5 * y, plot);
}

const lab_claim lab_C5 = {
    .id = "C5",
    .title = "how rare a rehash is",
    .sentence = "With Max = ⌈6 log_(1+δ/2) m⌉ an insertion into m ≥ (2+δ)n slots draws new hash functions with "
                "probability O(1/n²), and n insertions do so with probability O(1/n).",
    .formula = "P(rehash) = O(1/n^{2})",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "layout=two: exponent of n, one insertion",
    .settings = {LAB_WORD("layout", "both", "both one two", "one table, two halves, or both"),
                 LAB_LIST("n", "8,16,32,64", "8,16,32,64,128,200", 4, 2000, 8, 2000, "keys"),
                 {.name = "delta",
                  .help = "there are (2 + delta)n slots",
                  .quick = "2",
                  .full = "2",
                  .least = 0.05,
                  .most = 100,
                  .from = 1,
                  .to = 4},
                 LAB_SIZE("tables", 100000, 1000000, 1000, 1e9, "tables of each size")},
    .run = run,
};
