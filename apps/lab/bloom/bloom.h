/* bloom.h: the functions that the claims about Bloom filters share: filters of a given shape, and formulas for them.
 *
 * By default the library's Bloom filter consists of k slices of `slice` bits, and a key sets one bit in each slice. So
 * for every n, and not only in the limit, a bit is 0 with probability (1 - 1/slice)^n, the slices are independent, and
 * the false-positive rate is (1 - (1 - 1/slice)^n)^k. With m = k slice its limit is the formula of the documents, (1 -
 * e^(-kn/m))^k.
 *
 * With layout=whole, the layout of the documents, all k hashes share one array of m bits. A bit is 0 with probability
 * (1 - 1/m)^(kn). The bits that a lookup reads share one random number X of set bits, so the rate is the mean of
 * (X/m)^k, which is above the k-th power of the mean of X/m. */
#ifndef LAB_BLOOM_BLOOM_H
#define LAB_BLOOM_BLOOM_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lab/experiment.h>

typedef struct bloom_shape {
    uint64_t n; /* keys */
    unsigned k;
    uint64_t slice; /* bits in a slice */
} bloom_shape;

/* The shape of k slices that uses at most `bits` bits. */
static inline bloom_shape bloom_shape_of(uint64_t n, double bits, unsigned k) {
    return (bloom_shape){n, k, (uint64_t)(bits / k)};
}

/* The shape with half of its bits set: n/slice = ln 2. */
static inline bloom_shape bloom_half_full(uint64_t n, unsigned k) {
    return (bloom_shape){n, k, (uint64_t)((double)n / log(2) + 0.5)};
}

static inline double bloom_bits(bloom_shape shape) {
    return (double)shape.k * (double)shape.slice;
}

static inline double bloom_bits_per_key(bloom_shape shape) {
    return bloom_bits(shape) / (double)shape.n;
}

/* The probability that a bit is still 0 after n keys. */
static inline double bloom_zero(double slice, double n) {
    return exp(n * log1p(-1 / slice));
}

static inline double bloom_zero_of(bloom_shape shape) {
    return bloom_zero((double)shape.slice, (double)shape.n);
}

/* The exact false-positive rate of a full filter. */
static inline double bloom_rate(bloom_shape shape) {
    return pow(1 - bloom_zero_of(shape), shape.k);
}

/* The formula of the documents, (1 - e^(-kn/m))^k. */
static inline double bloom_limit(double bits_per_key, double k) {
    return pow(-expm1(-k / bits_per_key), k);
}

/* The variance of the number of bits that are 0. Two bits of the same slice are both 0 with probability (1 -
 * 2/slice)^n. */
static inline double bloom_variance(bloom_shape shape) {
    double s = (double)shape.slice, n = (double)shape.n, zero = bloom_zero_of(shape);
    return shape.k * (s * (s - 1) * exp(n * log1p(-2 / s)) + s * zero - s * s * zero * zero);
}

/* E (X/cells)^power, where X is the number of cells that `keys` keys set: the probability that the cells of `power`
 * other keys are all set. Computes the distribution of X, one key after another. */
static inline double bloom_moment(lab *l, uint64_t cells, uint64_t keys, double power) {
    uint64_t most = keys < cells ? keys : cells;
    double *at = lab_take(l, (most + 1) * sizeof *at), moment = 0;
    at[0] = 1;
    for (uint64_t key = 1; key <= keys; key++) {
        for (uint64_t x = key < most ? key : most; x > 0; x--)
            at[x] = (at[x] * (double)x + at[x - 1] * (double)(cells - x + 1)) / (double)cells;
        at[0] = 0;
    }
    for (uint64_t x = 0; x <= most; x++)
        moment += at[x] * pow((double)x / (double)cells, power);
    lab_drop(l, at);
    return moment;
}

/* Searches for the smallest shape of k = 1 to 30 slices whose expected rate is at most `rate`. */
static inline bloom_shape bloom_fewest(uint64_t n, double rate) {
    bloom_shape best = {0};
    for (unsigned k = 1; k <= 30; k++) {
        bloom_shape shape = {n, k, 2};
        uint64_t step = UINT64_C(1) << 40;
        for (; step > 0; step /= 2) /* finds the largest slice that does not keep the rate; one more bit does */
            if (bloom_rate((bloom_shape){n, k, shape.slice + step}) > rate)
                shape.slice += step;
        shape.slice++;
        if (k == 1 || bloom_bits(shape) < bloom_bits(best))
            best = shape;
    }
    return best;
}

/* Creates an empty filter for n keys with this number of bits. The planner chooses the bits by the rate that it
 * promises, which is somewhat above the expected one. So a bisection on the logarithm of the rate, from `least` on,
 * searches for a rate whose plan has them. Most filters have the shape of the one before, so its rate is kept. */
static inline kith_filter *bloom_search(lab *l, uint64_t n, const char *options, uint64_t bits, double least) {
    static _Thread_local struct {
        uint64_t n, bits;
        char options[48];
        double rate;
    } last;
    if (last.n == n && last.bits == bits && strcmp(last.options, options) == 0)
        return lab_filter(l, "bloom", n, last.rate, 0, options);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "bloom";
    spec.capacity = n;
    spec.options = options;
    double low = log(least), high = log1p(-0x1p-53); /* too many bits, and too few */
    for (unsigned step = 0; step < 60 && plan.cells != bits; step++) {
        spec.rate = exp((low + high) / 2);
        lab_must(l, kith_filter_plan(&spec, &plan), "planning a filter");
        *(plan.cells > bits ? &low : &high) = (low + high) / 2;
    }
    lab_require(l, plan.cells == bits, "no rate has a filter of this shape");
    last.n = n;
    last.bits = bits;
    last.rate = spec.rate;
    (void)snprintf(last.options, sizeof last.options, "%s", options);
    return lab_filter(l, "bloom", n, spec.rate, 0, options);
}

static inline kith_filter *bloom_of(lab *l, bloom_shape shape) {
    char options[32];
    (void)snprintf(options, sizeof options, "k=%u", shape.k);
    return bloom_search(l, shape.n, options, shape.k * shape.slice, bloom_rate(shape));
}

/* ---- layout=whole ---- */

typedef struct bloom_array {
    uint64_t n;
    unsigned k;
    uint64_t m;
} bloom_array;

/* The mean and the variance of the number of bits that are 0. It is as if each of the kn hashes were a key of a filter
 * with one slice. */
static inline bloom_shape bloom_array_hashes(bloom_array array) {
    return (bloom_shape){array.n * array.k, 1, array.m};
}

static inline double bloom_array_zero(bloom_array array) {
    return bloom_zero_of(bloom_array_hashes(array));
}

/* The rate, E (X/m)^k: exact for few hashes. For many, the first two terms of its series, whose relative error is of
 * the order of (k^2/m)^2. */
static inline double bloom_array_rate(lab *l, bloom_array array) {
    bloom_shape hashes = bloom_array_hashes(array);
    if (hashes.n < 4000)
        return bloom_moment(l, array.m, hashes.n, array.k);
    double set = 1 - bloom_zero_of(hashes), k = array.k, m = (double)array.m;
    return pow(set, k) * (1 + k * (k - 1) / 2 * bloom_variance(hashes) / (m * m * set * set));
}

static inline kith_filter *bloom_array_of(lab *l, bloom_array array) {
    char options[48];
    (void)snprintf(options, sizeof options, "layout=whole k=%u", array.k);
    return bloom_search(l, array.n, options, array.m, bloom_limit((double)array.m / (double)array.n, array.k) / 2);
}

/* Creates an empty filter with the same shape and hash as f. */
static inline kith_filter *bloom_like(lab *l, const kith_filter *f) {
    kith_filter *other = NULL;
    lab_must(l, kith_filter_create_like(f, NULL, &other), "creating a filter like another");
    return lab_keep(l, other);
}

static inline kith_filter_stats bloom_stats(lab *l, const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    lab_must(l, kith_filter_stats_of(f, &stats), "reading statistics");
    return stats;
}

/* Estimates a variance from `squares`, the sum of squared deviations of nearly normal numbers from their mean.
 * `degrees` is how many numbers there are, or one less if the mean was computed from the same numbers. The sum is
 * then the variance times a chi-square variable, which gives the interval. An interval for the mean of the squares
 * from Student's distribution would need many more numbers, since squares are skewed. */
static inline lab_estimate bloom_measured_variance(double squares, uint64_t degrees) {
    double d = (double)degrees;
    return (lab_estimate){squares / d, squares / lab_chi_quantile(d, 1 - LAB_LEVEL / 2),
                          squares / lab_chi_quantile(d, LAB_LEVEL / 2)};
}

/* Returns the k in 1 … k_most with the lowest rates[k], with a range. The range includes every k whose interval
 * overlaps that of the lowest, so it contains the true best k with the same confidence as the intervals. */
static inline lab_estimate bloom_lowest(const lab_estimate *rates, unsigned k_most) {
    unsigned lowest = 1;
    for (unsigned k = 2; k <= k_most; k++)
        lowest = rates[k].value < rates[lowest].value ? k : lowest;
    lab_estimate range = lab_exact(lowest);
    for (unsigned k = 1; k <= k_most; k++)
        if (rates[k].low <= rates[lowest].high) {
            range.low = fmin(range.low, k);
            range.high = fmax(range.high, k);
        }
    return range;
}

/* The same for the exact rates of the shapes that use `bits` bits. */
static inline unsigned bloom_best_k(uint64_t n, double bits, unsigned k_most) {
    unsigned best = 1;
    for (unsigned k = 2; k <= k_most; k++)
        if (bloom_rate(bloom_shape_of(n, bits, k)) < bloom_rate(bloom_shape_of(n, bits, best)))
            best = k;
    return best;
}

/* The share of an experiment that is running, for the progress bar: from 0 to 1. */
typedef struct bloom_share {
    double from, to;
} bloom_share;

static inline void bloom_progress(lab *l, bloom_share share, uint64_t done, uint64_t of) {
    lab_progress(l, share.from + (share.to - share.from) * (double)done / (double)of);
}

/* Adds n keys to a filter, measures its false-positive rate, and frees it. */
static inline double bloom_rate_of(lab *l, kith_filter *f, uint64_t n, uint64_t asked) {
    lab_fill(l, f, 0, n);
    double rate = (double)lab_count_found(l, f, n, asked) / (double)asked;
    lab_drop(l, f);
    return rate;
}

/* Measures the false-positive rate, with one number per filter. Each filter is full and has its own hash seed. */
static inline lab_estimate bloom_measure(lab *l, bloom_shape shape, uint64_t filters, uint64_t asked,
                                         bloom_share share) {
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        lab_sample_add(&rates, bloom_rate_of(l, bloom_of(l, shape), shape.n, asked));
        bloom_progress(l, share, i, filters);
    }
    return lab_mean(&rates);
}

/* The same for one array of bits. */
static inline lab_estimate bloom_array_measure(lab *l, bloom_array array, uint64_t filters, uint64_t asked,
                                               bloom_share share) {
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        lab_sample_add(&rates, bloom_rate_of(l, bloom_array_of(l, array), array.n, asked));
        bloom_progress(l, share, i, filters);
    }
    return lab_mean(&rates);
}

static inline void bloom_parameter(lab *l, const char *name, uint64_t value) {
    lab_parameter(l, name, "%llu", (unsigned long long)value);
}

#endif
