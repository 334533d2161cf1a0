/* B3: the best number of hashes, at which half of the bits are set.
 *
 * For each m/n, every k from 1 to twice (m/n) ln 2 is measured. The result for the best k is a range (bloom_lowest).
 * n is rounded to a multiple of k, by at most k/2. Slices then have exactly m/k bits, and every k has the same number
 * of bits per key. The share of set bits is measured at sizes where (m/n) ln 2 is an integer.
 *
 * The derivatives of g(k) = ln ε(k) = k ln(1 - e^(-kn/m)) are computed, not measured, from differences of g at
 * neighbouring k, which need not be integers. They are compared with the formulas of the documents. g'' is positive at
 * the best k, so this k is a local minimum, but g'' is negative for large k. That the minimum is global follows from
 * the sign of g': g falls everywhere before this k and rises everywhere after it. g(k) = (m/n) G(kn/m) for the same
 * function G at every m/n, so one m/n is enough. */
#include "bloom.h"

enum { K_MAX = 40 };

static lab_estimate distance(lab_estimate range, double from) {
    double low = fabs(range.low - from), high = fabs(range.high - from);
    double least = range.low <= from && from <= range.high ? 0 : fmin(low, high);
    return (lab_estimate){fabs(range.value - from), least, fmax(low, high)};
}

static void measure_best(lab *l, uint64_t n, uint64_t filters, uint64_t asked) {
    double bits[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "m_per_n", bits);
    lab_plot *plot = lab_draw(l, "Rate against the share of set bits", "share of set bits", "rate", LAB_LOG_Y);
    for (size_t i = 0; i < count; i++) {
        double c = bits[i], best_k = c * log(2);
        lab_series *curve = lab_curve(plot, "m/n = %g, p^k, k = (m/n) ln(1/(1−p))", c);
        lab_series *points = lab_points(plot, "m/n = %g, measured, k = 1, 2, …", c);
        for (double p = 0.06; p < 0.9; p += 0.02)
            lab_at(curve, p, lab_exact(pow(p, -c * log1p(-p))));
        lab_estimate rates[K_MAX + 1] = {0};
        unsigned k_most = (unsigned)ceil(2 * best_k), predicted = 1;
        for (unsigned k = 1; k <= k_most; k++) {
            uint64_t keys = (n + k / 2) / k * k;
            bloom_shape shape = bloom_shape_of(keys, c * (double)keys, k);
            predicted = bloom_limit(c, k) < bloom_limit(c, predicted) ? k : predicted;
            double at = ((double)i + (double)(k - 1) / k_most) / (double)count;
            rates[k] = bloom_measure(l, shape, filters, asked, (bloom_share){0.8 * at, 0.8 * at});
            lab_at(points, 1 - bloom_zero_of(shape), rates[k]);
        }
        lab_estimate best = bloom_lowest(rates, k_most);
        lab_find(l, LAB_EQUALS, predicted, best, "best integer k, m/n = %g: next to (m/n) ln 2 = %.2f", c, best_k);
        lab_find(l, LAB_AT_MOST, 1, distance(best, best_k), "difference between the best k and (m/n) ln 2, m/n = %g",
                 c);
        lab_known(l, fabs(predicted - best_k));
    }
}

static void measure_half(lab *l, uint64_t n, uint64_t filters) {
    for (unsigned k = 1; k <= 13; k += 4) {
        bloom_shape shape = bloom_half_full(n, k);
        lab_sample shares = {0};
        for (uint64_t i = 0; i < filters; i++) {
            kith_filter *f = bloom_of(l, shape);
            lab_fill(l, f, 0, n);
            lab_sample_add(&shares, bloom_stats(l, f).load);
            lab_drop(l, f);
            bloom_progress(l, (bloom_share){0.8 + 0.015 * k, 0.86 + 0.015 * k}, i, filters);
        }
        lab_find(l, LAB_EQUALS, 1 - bloom_zero_of(shape), lab_mean(&shares), "share of set bits where (m/n) ln 2 = %u",
                 k);
    }
}

/* ---- the derivatives ---- */

enum { SHAPE_BITS = 10, SHAPE_SPAN = 20, SHAPE_STEPS = 100000 }; /* m/n; STEPS steps of k, up to SPAN m/n */

static double log_rate(double k) {
    return k * log(-expm1(-k / SHAPE_BITS));
}

/* (18.6) of [0], and dg/dk of [1]. */
static double first_derivative(double k) {
    double zero = exp(-k / SHAPE_BITS);
    return log1p(-zero) + k / SHAPE_BITS * zero / (1 - zero);
}

static double first_difference(double k, double step) {
    return (log_rate(k + step) - log_rate(k - step)) / (2 * step);
}

static double second_difference(double k, double step) {
    return (log_rate(k + step) - 2 * log_rate(k) + log_rate(k - step)) / (step * step);
}

/* The error of a difference is proportional to the square of the step, so that with half of the step is off by a third
 * of the change. The interval is three times as wide. */
static lab_estimate derivative(double (*difference)(double k, double step), double k) {
    double coarse = difference(k, 0.02), fine = difference(k, 0.01), width = fabs(fine - coarse);
    return (lab_estimate){fine, fine - width, fine + width};
}

static void compute_derivatives(lab *l) {
    double best_k = SHAPE_BITS * log(2), step = (double)SHAPE_SPAN * SHAPE_BITS / SHAPE_STEPS, wrong = 0;
    lab_find(l, LAB_EQUALS, 0, derivative(first_difference, best_k),
             "m/n = %d: derivative of ln ε at k = (m/n) ln 2, by differences", SHAPE_BITS);
    lab_find(l, LAB_EQUALS, first_derivative(best_k / 2), derivative(first_difference, best_k / 2),
             "m/n = %d: derivative of ln ε at half of this k, below 0", SHAPE_BITS);
    lab_find(l, LAB_EQUALS, first_derivative(2 * best_k), derivative(first_difference, 2 * best_k),
             "m/n = %d: derivative of ln ε at twice this k, above 0", SHAPE_BITS);
    lab_find(l, LAB_EQUALS, (2 - 2 * log(2)) / SHAPE_BITS, derivative(second_difference, best_k),
             "m/n = %d: second derivative of ln ε at k = (m/n) ln 2: (2 − 2 ln 2) n/m", SHAPE_BITS);
    for (int i = 1; i < SHAPE_STEPS; i++) {
        double k = i * step, rise = log_rate(k + step) - log_rate(k);
        wrong += k + step <= best_k ? rise >= 0 : k >= best_k && rise <= 0;
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact(wrong),
             "m/n = %d: steps of k, up to %d, in which ε rises before (m/n) ln 2 or falls after it", SHAPE_BITS,
             SHAPE_SPAN * SHAPE_BITS);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    measure_best(l, n, filters, asked);
    measure_half(l, n, filters);
    compute_derivatives(l);
}

const lab_claim lab_B3 = {
    .id = "B3",
    .title = "the best number of hashes",
    .sentence = "With m bits for n keys the rate is lowest at k = (m/n) ln 2, where half of the bits are set.",
    .formula = "k = (m/n) ln 2",
    .code = "src/plan/sizing.c",
    .decides = "best integer k, m/n = 10",
    .settings = {LAB_SIZE("n", 500, 2000, 40, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 100, 500, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 6000, 20000, 100, 1e8, "absent keys looked up in each"),
                 LAB_LIST("m_per_n", "4,6,8,10,12", "4,6,8,10,12", 1.5, 28, 2, 16, "bits per key")},
    .run = run,
};
