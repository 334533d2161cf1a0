/* bloom.h: what the claims on Bloom filters share: filters of a chosen geometry, and what theory says of them.
 *
 * The library's Bloom filter is k slices of `slice` bits, and a key sets one bit of each. So for every n, not only in the
 * limit, a bit is 0 with (1 - 1/slice)^n, the slices are independent, and an absent key is answered yes with
 * (1 - (1 - 1/slice)^n)^k. With m = k slice the limit is the documents' (1 - e^(-kn/m))^k. */
#ifndef LAB_BLOOM_BLOOM_H
#define LAB_BLOOM_BLOOM_H

#include <math.h>
#include <stdio.h>

#include <lab/experiment.h>

typedef struct bloom_shape {
    uint64_t n; /* keys */
    unsigned k;
    uint64_t slice; /* bits */
} bloom_shape;

/* The k slices that fit into so many bits. */
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

static inline double bloom_bits_a_key(bloom_shape shape) {
    return bloom_bits(shape) / (double)shape.n;
}

/* A bit is still 0 after n keys. */
static inline double bloom_zero(double slice, double n) {
    return exp(n * log1p(-1 / slice));
}

static inline double bloom_zero_of(bloom_shape shape) {
    return bloom_zero((double)shape.slice, (double)shape.n);
}

static inline double bloom_rate(bloom_shape shape) {
    return pow(1 - bloom_zero_of(shape), shape.k);
}

/* The documents' formula. */
static inline double bloom_limit(double bits_a_key, double k) {
    return pow(-expm1(-k / bits_a_key), k);
}

/* Variance of the number of bits that are 0. In a slice two bits are both 0 with (1 - 2/slice)^n. */
static inline double bloom_variance(bloom_shape shape) {
    double s = (double)shape.slice, n = (double)shape.n, zero = bloom_zero_of(shape);
    return shape.k * (s * (s - 1) * exp(n * log1p(-2 / s)) + s * zero - s * s * zero * zero);
}

/* E (X/cells)^power, X being the number of cells that so many keys set: how often `power` others find theirs all set. By
 * the distribution of X, key after key. */
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

/* The smallest shape of k = 1 to 30 slices whose expected rate is at most `rate`: by trying. */
static inline bloom_shape bloom_fewest(uint64_t n, double rate) {
    bloom_shape best = {0};
    for (unsigned k = 1; k <= 30; k++) {
        bloom_shape shape = {n, k, 2};
        uint64_t step = UINT64_C(1) << 40;
        for (; step > 0; step /= 2) /* the largest slice that does not keep it, and one more */
            if (bloom_rate((bloom_shape){n, k, shape.slice + step}) > rate)
                shape.slice += step;
        shape.slice++;
        if (k == 1 || bloom_bits(shape) < bloom_bits(best))
            best = shape;
    }
    return best;
}

/* An empty filter of that shape. The planner chooses the slice by the rate that it promises, which is somewhat above
 * the expected one, so a rate is searched whose plan has this slice: by bisection on the logarithm of the rate. */
static inline kith_filter *bloom_of(lab *l, bloom_shape shape) {
    char options[32];
    (void)snprintf(options, sizeof options, "k=%u", shape.k);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "bloom";
    spec.capacity = shape.n;
    spec.options = options;
    double low = log(bloom_rate(shape)), high = log1p(-0x1p-53); /* too many bits, and too few */
    for (unsigned step = 0; step < 60 && plan.cells != shape.k * shape.slice; step++) {
        spec.rate = exp((low + high) / 2);
        lab_must(l, kith_filter_plan(&spec, &plan), "planning a filter");
        *(plan.cells > shape.k * shape.slice ? &low : &high) = (low + high) / 2;
    }
    lab_require(l, plan.cells == shape.k * shape.slice, "no rate has a filter of this shape");
    return lab_filter(l, "bloom", shape.n, spec.rate, 0, options);
}

/* An empty one with the same shape and hash. */
static inline kith_filter *bloom_like(lab *l, const kith_filter *f) {
    kith_filter *other = NULL;
    lab_must(l, kith_filter_create_like(f, NULL, &other), "making a filter like another");
    return lab_keep(l, other);
}

static inline kith_filter_stats bloom_stats(lab *l, const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    lab_must(l, kith_filter_stats_of(f, &stats), "asking for statistics");
    return stats;
}

/* A variance, from the sum of squared distances of so many nearly normal numbers (of one less, where their mean is their
 * own): that sum is the variance times chi-square. The mean of the squares by Student's distribution would need many
 * more of them, since squares are skewed. */
static inline lab_estimate bloom_spread(double squares, uint64_t degrees) {
    double d = (double)degrees;
    return (lab_estimate){squares / d, squares / lab_chi_quantile(d, 1 - LAB_LEVEL / 2),
                          squares / lab_chi_quantile(d, LAB_LEVEL / 2)};
}

/* The k, 1 … k_most, of the lowest of rates[k]. The range holds all k whose interval meets that of the lowest, and so
 * covers the truth as surely as the intervals do. */
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

/* The same of the exact rates of shapes of so many bits. */
static inline unsigned bloom_best_k(uint64_t n, double bits, unsigned k_most) {
    unsigned best = 1;
    for (unsigned k = 2; k <= k_most; k++)
        if (bloom_rate(bloom_shape_of(n, bits, k)) < bloom_rate(bloom_shape_of(n, bits, best)))
            best = k;
    return best;
}

/* The part of an experiment that is at work, for the progress bar. */
typedef struct bloom_part {
    double from, to;
} bloom_part;

static inline void bloom_going(lab *l, bloom_part part, uint64_t done, uint64_t of) {
    lab_going(l, part.from + (part.to - part.from) * (double)done / (double)of);
}

/* The rate of wrong answers: one number a filter, each filter full and with a hash of its own. */
static inline lab_estimate bloom_measure(lab *l, bloom_shape shape, uint64_t filters, uint64_t asked, bloom_part part) {
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        lab_fill(l, f, 0, shape.n);
        lab_sample_add(&rates, (double)lab_ask(l, f, shape.n, asked) / (double)asked);
        lab_drop(l, f);
        bloom_going(l, part, i, filters);
    }
    return lab_mean(&rates);
}

static inline void bloom_parameter(lab *l, const char *name, uint64_t value) {
    lab_parameter(l, name, "%llu", (unsigned long long)value);
}

#endif
