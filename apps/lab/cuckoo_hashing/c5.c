/* C5: n insertions into m = (2 + δ)n slots draw new hash functions with probability O(1/n), one insertion with
 * O(1/n^2).
 *
 * Many small tables are filled, each with different hash functions, and the insertion that made a table draw new ones
 * is recorded. With m = 4n (δ = 2) the event is rare, but up to 200 keys it is frequent enough to be counted. The
 * probability for one insertion is the mean over the last quarter of a table's insertions.
 *
 * A walk may take min(m, 6 log m / log 1.05) steps, which is more than the ⌈6 log_2 m⌉ that the claim needs for δ = 2.
 * A walk that ends at all moves each stored key at most twice and the new key once. So it reads at most 2n slots, which
 * is less than m. The table is therefore rebuilt exactly when its graph has an overfull component, and that has a known
 * probability (graph_probability.h). For many keys this probability approaches, from below, that of a component with
 * two cycles (Janson, Knuth, Łuczak, Pittel, 1993):
 *
 *     c^2 (3 + 2c) / (24 (1 - c)^3 m),   c = 2n/m
 *
 * So this expression gives the constant of O(1/n), and its difference quotient gives that of O(1/n^2).
 *
 * The exponents are the slopes of straight lines fitted to the logarithms. Their limits, -1 and -2, are not reached
 * with so few keys, so they are compared with the slopes of the exact probabilities. The interval of a slope follows
 * from the intervals of the points, whose errors are independent of each other: their squares add up. */
#include "cuckoo_graph.h"
#include "graph_probability.h"

enum { SIZES_MAX = 6, SLOTS_PER_KEY = 4 };
static const uint64_t KEYS[SIZES_MAX] = {8, 16, 32, 64, 128, 200};

/* P(a component with two cycles), where this probability is small. */
static double limit_of(double n, double m) {
    double c = 2 * n / m;
    return c * c * (3 + 2 * c) / (24 * pow(1 - c, 3) * m);
}

typedef struct outcome {
    uint64_t rehashed; /* tables that drew new hash functions */
    uint64_t late;     /* … for the first time during the last quarter of the insertions */
} outcome;

static outcome fill(lab *l, uint64_t n, uint64_t tables, double done) {
    outcome o = {0};
    for (uint64_t i = 0; i < tables; i++) {
        steps s = {0};
        kith_table_spec spec = steps_spec(SLOTS_PER_KEY * n, "layout=one d=2 b=1 insert=walk load=100", &s);
        kith_table *table = steps_table(l, &spec);
        for (uint64_t j = 0; j < n && s.rebuilds == 0; j++)
            if (steps_put(l, table, &s, j) > 0) {
                o.rehashed++;
                o.late += j >= n - n / 4;
            }
        lab_drop(l, table);
        if (i % 256 == 0)
            lab_progress(l, done + (double)i / (double)tables / SIZES_MAX);
    }
    return o;
}

/* The slope of log y over log n. */
static lab_estimate exponent(const lab_estimate *y, unsigned sizes) {
    double middle = 0, squares = 0;
    for (unsigned i = 0; i < sizes; i++)
        middle += log((double)KEYS[i]) / sizes;
    for (unsigned i = 0; i < sizes; i++)
        squares += pow(log((double)KEYS[i]) - middle, 2);
    double slope = 0, below = 0, above = 0;
    for (unsigned i = 0; i < sizes; i++) {
        double weight = (log((double)KEYS[i]) - middle) / squares;
        double down = weight * log(y[i].low / y[i].value), up = weight * log(y[i].high / y[i].value);
        slope += weight * log(y[i].value);
        below += pow(weight > 0 ? down : up, 2);
        above += pow(weight > 0 ? up : down, 2);
    }
    return (lab_estimate){slope, slope - sqrt(below), slope + sqrt(above)};
}

static void run(lab *l) {
    unsigned sizes = lab_is_quick(l) ? 4 : SIZES_MAX;
    uint64_t tables = lab_pick(l, 100000, 1000000);
    lab_parameter(l, "m", "4n");
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)tables);
    lab_plot *plot =
        lab_draw(l, "Rehashes, n keys in 4n slots", "keys, n", "probability of a rehash", LAB_LOG_X | LAB_LOG_Y);
    lab_series *all_curve = lab_curve(plot, "n insertions, exact"), *all_points = lab_points(plot, "n insertions");
    lab_series *one_curve = lab_curve(plot, "one insertion of the last quarter, exact"),
               *one_points = lab_points(plot, "one insertion of the last quarter");
    lab_estimate all[SIZES_MAX], one[SIZES_MAX], all_exact[SIZES_MAX], one_exact[SIZES_MAX];
    for (unsigned i = 0; i < sizes; i++) {
        uint64_t n = KEYS[i], m = SLOTS_PER_KEY * n, late = n / 4;
        double N = (double)n, M = (double)m, L = (double)late;
        outcome o = fill(l, n, tables, (double)i / sizes);
        all[i] = lab_share(o.rehashed, tables);
        one[i] = lab_scaled(lab_share(o.late, tables), 1 / L);
        all_exact[i] = lab_exact(1 - probability_all_fit(n, m));
        one_exact[i] = lab_exact((probability_all_fit(n - late, m) - probability_all_fit(n, m)) / L);
        lab_at(all_curve, N, all_exact[i]);
        lab_at(one_curve, N, one_exact[i]);
        lab_at(all_points, N, all[i]);
        lab_at(one_points, N, one[i]);
        lab_find(l, LAB_MUST, LAB_EQUALS, all_exact[i].value, all[i], "n = %.0f: P(rehash in n insertions)", N);
        lab_find(l, LAB_MUST, LAB_AT_MOST, limit_of(N, M), all[i], "n = %.0f: P(rehash in n insertions), bound %.3f/n",
                 N, N * limit_of(N, M));
        lab_find(l, LAB_MUST, LAB_EQUALS, one_exact[i].value, one[i], "n = %.0f: P(rehash in one insertion)", N);
        double bound = (limit_of(N, M) - limit_of(N - L, M)) / L;
        lab_find(l, LAB_MUST, LAB_AT_MOST, bound, one[i], "n = %.0f: P(rehash in one insertion), bound %.3f/n^2", N,
                 N * N * bound);
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, exponent(all_exact, sizes).value, exponent(all, sizes),
             "exponent of n, n insertions (limit −1)");
    lab_find(l, LAB_MUST, LAB_EQUALS, exponent(one_exact, sizes).value, exponent(one, sizes),
             "exponent of n, one insertion (limit −2)");
}

const lab_claim lab_C5 = {
    .id = "C5",
    .title = "how rare a rehash is",
    .sentence = "With Max = ⌈6 log_(1+δ/2) m⌉ an insertion into m ≥ (2+δ)n slots draws new hash functions with "
                "probability O(1/n²), and n insertions do so with probability O(1/n).",
    .formula = "P(rehash) = O(1/n^{2})",
    .code = "src/tables/cuckoo_insert.c",
    .run = run,
};
