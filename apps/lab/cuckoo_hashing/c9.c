/* C9: the fullest of n bins when n balls choose one bin, or the emptier of two.
 *
 * Bins are places of the library's functions, over keys that run through all of them. One choice is also measured on the
 * table `chain`, whose longest chain it is. Two choices are as [4] has them: the first in one half of the bins, the second in
 * the other, and a ball goes to the emptier, at a draw to either with one half.
 *
 * log n / log log n and log log n are limits that no computer reaches: at a million bins they are 5.3 where the fullest has 8
 * to 9. What must hold is therefore what is true of finite n:
 *
 *     one choice    P(fullest <= k) = P(all of n Poisson counts of mean 1 are <= k, given that they sum to n), with the sum's
 *                   distribution by its normal limit, whose error is of order 1/n
 *     two choices   the share s(i) of bins with i balls or more follows ds(i)/dt = s(i-1)^2 - s(i)^2 from t = 0 to 1
 *                   (Mitzenmacher, 1996), and the fullest bin has ln ln n / ln 2 + 1 balls at most (Azar, Broder, Karlin,
 *                   Upfal, 1994, have + O(1); s(5) is 10^-12, so with 1 it holds to 10^9 bins) */
#include <math.h>
#include <string.h>

#include <lab/experiment.h>

enum { LOADS = 64, SHARES = 4, ODE_STEPS = 20000, MOST_SIZES = 7 };

/* ---- predictions ---- */

static double fullest_at_most(double n, unsigned k) {
    double all = 0, mean = 0, square = 0;
    for (unsigned i = 0; i <= k; i++) {
        double p = lab_poisson_at(1, i);
        all += p;
        mean += i * p;
        square += (double)i * i * p;
    }
    mean /= all;
    double variance = square / all - mean * mean, off = n * (1 - mean);
    /* P(all <= k) P(sum of the truncated = n) / P(sum of the free = n); the last two both about 1 / sqrt(2 pi n) */
    return exp(n * log(all) - off * off / (2 * n * variance)) / sqrt(variance);
}

static double fullest_of_one_choice(double n) {
    double mean = 0;
    for (unsigned k = 1; k < LOADS; k++) /* fullest of n >= 64 bins: above 1 for certain */
        mean += 1 - fmin(1, k == 1 ? 0 : fullest_at_most(n, k));
    return 1 + mean;
}

/* s[i], i = 1 … SHARES, by Heun's rule. */
static void shares_of_two_choices(double s[SHARES + 1]) {
    memset(s, 0, (SHARES + 1) * sizeof *s);
    s[0] = 1;
    for (unsigned step = 0; step < ODE_STEPS; step++) {
        double slope[SHARES + 1] = {0}, ahead[SHARES + 1] = {1};
        for (unsigned i = 1; i <= SHARES; i++) {
            slope[i] = s[i - 1] * s[i - 1] - s[i] * s[i];
            ahead[i] = s[i] + slope[i] / ODE_STEPS;
        }
        for (unsigned i = 1; i <= SHARES; i++)
            s[i] += (slope[i] + ahead[i - 1] * ahead[i - 1] - ahead[i] * ahead[i]) / (2 * ODE_STEPS);
    }
}

/* ---- measurements ---- */

typedef struct bins {
    unsigned bits; /* 2^bits of them */
    uint8_t *balls;
    uint64_t with[LOADS]; /* bins with so many balls or more */
} bins;

static unsigned fullest(const bins *b) {
    unsigned i = LOADS - 1;
    while (b->with[i] == 0)
        i--;
    return i;
}

static void throw_into(lab *l, bins *b, uint64_t bin) {
    unsigned now = ++b->balls[bin];
    lab_require(l, now < LOADS, "no bin overflows");
    b->with[now]++;
}

/* A place among 2^bits is the high bits of a function's value. */
static uint64_t place(const kith_function *f, uint64_t key, unsigned bits) {
    return kith_function_word(f, key) >> (64 - bits);
}

static void throw_all(lab *l, bins *b, bool two) {
    uint64_t n = UINT64_C(1) << b->bits, half = n / 2, first = lab_random(l), coins = 0;
    kith_function *f = lab_function(l, KITH_FAMILY_XXH3, 0), *g = lab_function(l, KITH_FAMILY_XXH3, 0);
    memset(b->balls, 0, n);
    memset(b->with, 0, sizeof b->with);
    b->with[0] = n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, first + i);
        if (!two) {
            throw_into(l, b, place(f, key, b->bits));
            continue;
        }
        uint64_t x = place(f, key, b->bits - 1), y = half + place(g, key, b->bits - 1);
        coins = i % 64 == 0 ? lab_random(l) : coins >> 1;
        bool second = b->balls[y] < b->balls[x] || (b->balls[y] == b->balls[x] && (coins & 1) != 0);
        throw_into(l, b, second ? y : x);
    }
    lab_drop(l, f);
    lab_drop(l, g);
}

/* The longest chain of n keys in n chains. */
static double longest_chain(lab *l, uint64_t n, uint64_t *chains) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "chain";
    spec.key_bytes = 8;
    spec.capacity = n;
    kith_table *table = lab_table(l, &spec);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the number of chains");
    *chains = stats.slots;
    uint64_t first = lab_random(l);
    for (uint64_t i = 0; i < *chains; i++) {
        uint64_t key = lab_key(l, first + i);
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "putting a key");
    }
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the longest chain");
    lab_require(l, stats.slots == *chains && stats.count == *chains, "as many keys as chains");
    lab_drop(l, table);
    return (double)stats.longest;
}

typedef struct fullests {
    lab_sample one, chain, two, shares[SHARES + 1];
    uint64_t chains;
} fullests;

static fullests measure(lab *l, bins *b, uint64_t runs, double done, double part) {
    fullests m = {0};
    for (uint64_t r = 0; r < runs; r++) {
        throw_all(l, b, false);
        lab_sample_add(&m.one, fullest(b));
        throw_all(l, b, true);
        lab_sample_add(&m.two, fullest(b));
        for (unsigned i = 1; i <= SHARES; i++)
            lab_sample_add(&m.shares[i], (double)b->with[i] / (double)b->with[0]);
        lab_sample_add(&m.chain, longest_chain(l, b->with[0], &m.chains));
        lab_going(l, done + part * (double)(r + 1) / (double)runs);
    }
    return m;
}

static void run(lab *l) {
    unsigned sizes = (unsigned)lab_pick(l, 5, MOST_SIZES);
    uint64_t runs = lab_pick(l, 60, 50);
    lab_parameter(l, "bins", "2^8 to 2^%u", 8 + 2 * (sizes - 1));
    lab_parameter(l, "runs of each size", "%llu of the largest, more of the others", (unsigned long long)runs);
    bins b = {.balls = lab_take(l, (size_t)1 << (8 + 2 * (sizes - 1)))};
    lab_plot *plot = lab_draw(l, "The fullest of n bins", "bins, n", "balls in the fullest bin", LAB_LOG_X);
    lab_series *exact = lab_curve(plot, "one choice, exact"), *limit = lab_curve(plot, "ln n / ln ln n");
    lab_series *slow = lab_curve(plot, "ln ln n / ln 2 + 1");
    lab_series *ones = lab_points(plot, "one choice"), *chains = lab_points(plot, "the table chain");
    lab_series *twos = lab_points(plot, "two choices");
    double shares[SHARES + 1];
    shares_of_two_choices(shares);
    for (unsigned i = 0; i < sizes; i++) {
        b.bits = 8 + 2 * i;
        double n = ldexp(1, (int)b.bits);
        fullests m = measure(l, &b, runs << (sizes - 1 - i > 4 ? 4 : sizes - 1 - i), (double)i / sizes, 1.0 / sizes);
        lab_find(l, LAB_MUST, LAB_EQUALS, fullest_of_one_choice(n), lab_mean(&m.one), "one choice, n = 2^%u", b.bits);
        lab_find(l, LAB_MUST, LAB_EQUALS, fullest_of_one_choice((double)m.chains), lab_mean(&m.chain),
                 "the longest chain of n = %llu", (unsigned long long)m.chains);
        lab_find(l, LAB_MUST, LAB_AT_MOST, log(log(n)) / log(2) + 1, lab_mean(&m.two), "two choices, n = 2^%u", b.bits);
        if (i + 1 == sizes) {
            for (unsigned k = 1; k <= SHARES - 1; k++)
                lab_find(l, LAB_MUST, LAB_EQUALS, shares[k], lab_mean(&m.shares[k]),
                         "two choices, n = 2^%u: share of bins with %u or more balls", b.bits, k);
            lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_scaled(lab_mean(&m.one), log(log(n)) / log(n)),
                     "one choice, n = 2^%u, over ln n / ln ln n", b.bits);
        }
        lab_at(exact, n, lab_exact(fullest_of_one_choice(n)));
        lab_at(limit, n, lab_exact(log(n) / log(log(n))));
        lab_at(slow, n, lab_exact(log(log(n)) / log(2) + 1));
        lab_at(ones, n, lab_mean(&m.one));
        lab_at(chains, (double)m.chains, lab_mean(&m.chain));
        lab_at(twos, n, lab_mean(&m.two));
    }
}

const lab_claim lab_C9 = {
    .id = "C9",
    .title = "the fullest bin with one choice and with two",
    .sentence =
        "Of n bins with n balls the fullest has (1 + o(1)) log n / log log n when each ball has one choice, a limit "
        "that is slow to come (1.7 times as many at a million bins), and log2 log n + O(1) when it takes the emptier "
        "of "
        "two.",
    .formula = "log n / log log n,  log log n",
    .code = "src/tables/chain.c",
    .run = run,
};
