/* C9: the fullest of n bins when each of n balls goes into one random bin, or into the emptier of two.
 *
 * The bin of a ball is the value of one of the library's hash functions for consecutive keys. One choice is also
 * measured as the longest chain of the table `chain`. Two choices work as in [4]: the first bin is in one half of the
 * bins, the second in the other half, and the ball goes to the emptier of the two. Ties are broken at random. Beside
 * them, both bins of a ball are drawn among all n bins, as in the paper that [4] cites (Azar and others). [4] does not
 * say what happens on a tie. If the ball then always goes to the first half, the fullest bin has fewer balls (Vöcking,
 * 1999), which is measured as well.
 *
 * log n / log log n and log log n are limits that no computer reaches: for a million bins the first is 5.3, while the
 * fullest bin has 8 to 9 balls. So the experiment tests what holds for finite n:
 *
 *     one choice    P(fullest <= k) = P(n Poisson counts of mean 1 are all <= k, given that their sum is n). The
 *                   distribution of the sum is approximated by its normal limit, with an error of order 1/n.
 *     two choices   The share s(i) of bins with at least i balls follows ds(i)/dt = s(i-1)^2 - s(i)^2 from t = 0 to 1
 *                   (Mitzenmacher, 1996). If ties go to the first half, let a(i) and b(i) be the shares in the first
 *                   and in the second half: da(i)/dt = 2 (a(i-1) - a(i)) b(i-1), db(i)/dt = 2 (b(i-1) - b(i)) a(i).
 *                   The fullest bin has at most ln ln n / ln 2 + 1 balls. (Azar, Broder, Karlin,
 *                   Upfal, 1994, have + O(1). s(5) is 10^-12, so + 1 is enough for up to 10^9 bins.) */
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
    /* P(all <= k) P(truncated counts sum to n) / P(counts sum to n); the factors 1 / sqrt(2 pi n) of the last two
     * cancel */
    return exp(n * log(all) - off * off / (2 * n * variance)) / sqrt(variance);
}

static double fullest_of_one_choice(double n) {
    double mean = 0;
    for (unsigned k = 1; k < LOADS; k++) /* with n >= 64 bins the fullest has more than 1 ball, almost surely */
        mean += 1 - fmin(1, k == 1 ? 0 : fullest_at_most(n, k));
    return 1 + mean;
}

/* Computes s[i], i = 1 … SHARES, by Heun's method. */
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

/* The same with ties to the first half: the mean of both halves. */
static void shares_to_the_left(double s[SHARES + 1]) {
    double a[SHARES + 1] = {1}, b[SHARES + 1] = {1};
    for (unsigned step = 0; step < ODE_STEPS; step++)
        for (unsigned i = SHARES; i > 0;
             i--) { /* Euler's method; a(i - 1) and b(i - 1) are still those before the step */
            double left = 2 * (a[i - 1] - a[i]) * b[i - 1], right = 2 * (b[i - 1] - b[i]) * a[i];
            a[i] += left / ODE_STEPS;
            b[i] += right / ODE_STEPS;
        }
    for (unsigned i = 0; i <= SHARES; i++)
        s[i] = (a[i] + b[i]) / 2;
}

/* ---- measurements ---- */

typedef struct bins {
    unsigned bits; /* there are 2^bits bins */
    uint8_t *balls;
    uint64_t with[LOADS]; /* with[i]: the number of bins with at least i balls */
} bins;

static unsigned fullest(const bins *b) {
    unsigned i = LOADS - 1;
    while (b->with[i] == 0)
        i--;
    return i;
}

static void throw_into(lab *l, bins *b, uint64_t bin) {
    unsigned now = ++b->balls[bin];
    lab_require(l, now < LOADS, "a bin has more balls than this experiment can count");
    b->with[now]++;
}

/* The bin is given by the high bits of the hash value. */
static uint64_t bin_of(const kith_function *f, uint64_t key, unsigned bits) {
    return kith_function_word(f, key) >> (64 - bits);
}

typedef enum choices { ONE, TWO_IN_HALVES, TWO_OF_ALL, TWO_TO_THE_LEFT } choices;

static void throw_all(lab *l, bins *b, choices how) {
    uint64_t n = UINT64_C(1) << b->bits, half = how == TWO_OF_ALL ? 0 : n / 2, first = lab_random(l), coins = 0;
    kith_family_id family = strcmp(lab_word(l, "family"), "siphash") == 0 ? KITH_FAMILY_SIPHASH : KITH_FAMILY_XXH3;
    kith_function *f = lab_function(l, family, 0), *g = lab_function(l, family, 0);
    memset(b->balls, 0, n);
    memset(b->with, 0, sizeof b->with);
    b->with[0] = n;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = lab_key(l, first + i);
        if (how == ONE) {
            throw_into(l, b, bin_of(f, key, b->bits));
            continue;
        }
        unsigned bits = half != 0 ? b->bits - 1 : b->bits;
        uint64_t x = bin_of(f, key, bits), y = half + bin_of(g, key, bits);
        coins = i % 64 == 0 ? lab_random(l) : coins >> 1;
        bool second =
            b->balls[y] < b->balls[x] || (b->balls[y] == b->balls[x] && how != TWO_TO_THE_LEFT && (coins & 1) != 0);
        throw_into(l, b, second ? y : x);
    }
    lab_drop(l, f);
    lab_drop(l, g);
}

/* Returns the longest of about n chains with one key per chain on average. *chains is set to their number. */
static double longest_chain(lab *l, uint64_t n, uint64_t *chains) {
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "chain";
    spec.key_bytes = 8;
    spec.capacity = n;
    kith_table *table = lab_table(l, &spec);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "reading the number of chains");
    *chains = stats.slots;
    uint64_t first = lab_random(l);
    for (uint64_t i = 0; i < *chains; i++) {
        uint64_t key = lab_key(l, first + i);
        lab_must(l, kith_table_put(table, &key, sizeof key, 0, NULL), "inserting a key");
    }
    lab_must(l, kith_table_stats_of(table, &stats), "reading the longest chain");
    lab_require(l, stats.slots == *chains && stats.count == *chains,
                "the table does not have the same number of keys and chains");
    lab_drop(l, table);
    return (double)stats.longest;
}

enum { WAYS = 3 };
static const char *const WAY[WAYS] = {"two choices, one in each half", "two choices among all bins",
                                      "two choices, one in each half, ties to the first"};

typedef struct measured {
    lab_sample one, chain, two[WAYS], shares[WAYS][SHARES + 1];
    lab_sample apart[WAYS]; /* the fullest bin, minus that of WAY[0] */
    uint64_t chains;
} measured;

static measured measure(lab *l, bins *b, uint64_t runs, double done, double part) {
    measured m = {0};
    for (uint64_t r = 0; r < runs; r++) {
        throw_all(l, b, ONE);
        lab_sample_add(&m.one, fullest(b));
        double most[WAYS];
        for (unsigned w = 0; w < WAYS; w++) {
            throw_all(l, b, TWO_IN_HALVES + w);
            most[w] = fullest(b);
            lab_sample_add(&m.two[w], most[w]);
            lab_sample_add(&m.apart[w], most[w] - most[0]);
            for (unsigned i = 1; i <= SHARES; i++)
                lab_sample_add(&m.shares[w][i], (double)b->with[i] / (double)b->with[0]);
        }
        lab_sample_add(&m.chain, longest_chain(l, b->with[0], &m.chains));
        lab_progress(l, done + part * (double)(r + 1) / (double)runs);
    }
    return m;
}

static void run(lab *l) {
    unsigned sizes = (unsigned)lab_number(l, "sizes");
    uint64_t runs = lab_number(l, "runs");
    lab_parameter(l, "bins", "2^8 to 2^%u", 8 + 2 * (sizes - 1));
    lab_parameter(l, "runs of each size", "%llu of the largest, more of the smaller ones", (unsigned long long)runs);
    bins b = {.balls = lab_take(l, (size_t)1 << (8 + 2 * (sizes - 1)))};
    lab_plot *plot = lab_draw(l, "The fullest of n bins", "bins, n", "balls in the fullest bin", LAB_LOG_X);
    lab_series *exact = lab_curve(plot, "one choice, exact"), *limit = lab_curve(plot, "ln n / ln ln n");
    lab_series *slow = lab_curve(plot, "ln ln n / ln 2 + 1");
    lab_series *ones = lab_points(plot, "one choice"), *chains = lab_points(plot, "longest chain of a table");
    lab_series *twos[WAYS];
    for (unsigned w = 0; w < WAYS; w++)
        twos[w] = lab_points(plot, "%s", WAY[w]);
    double shares[WAYS][SHARES + 1];
    shares_of_two_choices(shares[0]);
    shares_of_two_choices(shares[1]);
    shares_to_the_left(shares[2]);
    for (unsigned i = 0; i < sizes; i++) {
        b.bits = 8 + 2 * i;
        double n = ldexp(1, (int)b.bits);
        measured m = measure(l, &b, runs << (sizes - 1 - i > 4 ? 4 : sizes - 1 - i), (double)i / sizes, 1.0 / sizes);
        lab_find(l, LAB_EQUALS, fullest_of_one_choice(n), lab_mean(&m.one), "one choice, n = 2^%u", b.bits);
        lab_find(l, LAB_EQUALS, fullest_of_one_choice((double)m.chains), lab_mean(&m.chain),
                 "longest of n = %llu chains", (unsigned long long)m.chains);
        for (unsigned w = 0; w < WAYS; w++)
            lab_find(l, LAB_AT_MOST, log(log(n)) / log(2) + 1, lab_mean(&m.two[w]), "%s, n = 2^%u", WAY[w], b.bits);
        for (unsigned w = 1; w < WAYS; w++)
            lab_find(l, LAB_SHOWN, 0, lab_mean(&m.apart[w]), "%s, n = 2^%u: balls more than with ties at random",
                     WAY[w], b.bits);
        if (i + 1 == sizes) {
            for (unsigned w = 0; w < WAYS; w++)
                for (unsigned k = 1; k <= SHARES - 1; k++)
                    lab_find(l, LAB_EQUALS, shares[w][k], lab_mean(&m.shares[w][k]),
                             "%s, n = 2^%u: share of bins with at least %u balls", WAY[w], b.bits, k);
            lab_find(l, LAB_SHOWN, 0, lab_scaled(lab_mean(&m.one), log(log(n)) / log(n)),
                     "one choice, n = 2^%u, divided by ln n / ln ln n", b.bits);
        }
        lab_at(exact, n, lab_exact(fullest_of_one_choice(n)));
        lab_at(limit, n, lab_exact(log(n) / log(log(n))));
        lab_at(slow, n, lab_exact(log(log(n)) / log(2) + 1));
        lab_at(ones, n, lab_mean(&m.one));
        lab_at(chains, (double)m.chains, lab_mean(&m.chain));
        for (unsigned w = 0; w < WAYS; w++)
            lab_at(twos[w], n, lab_mean(&m.two[w]));
    }
}

const lab_claim lab_C9 = {
    .id = "C9",
    .title = "the fullest bin with one choice and with two",
    .sentence =
        "Of n bins with n balls, the fullest has (1 + o(1)) log n / log log n balls when each ball has one choice. "
        "This limit is approached slowly: at a million bins the fullest has 1.7 times as many. When each ball goes to "
        "the emptier of two bins, the fullest has log2 log n + O(1) balls.",
    .formula = "log n / log log n,  log log n",
    .code = "src/tables/chain.c",
    .decides = "two choices, one in each half, n = 2^16",
    .settings = {LAB_SIZE("sizes", 5, 7, 1, 7, "number of sizes, from 2^8 on"),
                 LAB_SIZE("runs", 60, 50, 2, 100000, "runs of each size"),
                 LAB_WORD("family", "xxh3", "xxh3 siphash", "hash functions that choose the bins")},
    .run = run,
};
