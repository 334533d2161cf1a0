/* B10: estimating the number of keys from the number of set bits (Swamidass and Baldi, 2007).
 *
 * One filter: filters of n keys are measured at several loads. The estimate is a logarithm of Z, the share of bits
 * that are 0, so its mean is not exactly n. By the second term of the series it is too high by slice var(Z)/(2
 * E(Z)^2), a fiftieth of a key here. It is also too high by n/(2 slice), since the formula uses 1/slice in place of
 * -ln(1 - 1/slice). The prediction includes both; the next terms are smaller by a factor of 1/m. The library's
 * keys_now uses the exact logarithm, so the second error does not occur there. The variance of the estimate is
 * predicted from the same series, and measured as the variance of nearly normal numbers.
 *
 * Two filters: the union is estimated from the bits of the OR, and the intersection as |A| + |B| - |A ∪ B|. The bits
 * of the AND give a different number, since many of them are set by one key of A and another key of B. For two
 * filters with n keys each, half of the capacity, and no common key it is n/4. */
#include "bloom.h"

static double estimate(lab *l, const kith_filter *f) {
    kith_filter_stats stats = bloom_stats(l, f);
    return -(double)stats.cells / (double)lab_number(l, "k") * log1p(-(double)stats.cells_used / (double)stats.cells);
}

/* The mean and the variance of the estimate, from the series. */
static double mean_of(bloom_shape shape) {
    double slice = (double)shape.slice, zeros = bloom_bits(shape) * bloom_zero_of(shape);
    return -slice * ((double)shape.n * log1p(-1 / slice) - bloom_variance(shape) / (2 * zeros * zeros));
}

static double variance_of(bloom_shape shape) {
    double slice = (double)shape.slice, zeros = bloom_bits(shape) * bloom_zero_of(shape);
    return slice * slice * bloom_variance(shape) / (zeros * zeros);
}

static bloom_shape with(bloom_shape shape, uint64_t n) {
    return (bloom_shape){n, shape.k, shape.slice};
}

static void measure_one(lab *l, bloom_shape shape, uint64_t most, uint64_t filters) {
    lab_plot *plot = lab_draw(l, "Keys estimated from the bits", "keys in the filter", "estimate / keys", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "1"), *mean = lab_points(plot, "mean"),
               *root = lab_points(plot, "1 + standard deviation");
    lab_series *deviation = lab_curve(plot, "1 + standard deviation, predicted");
    for (double load = 0.04; load < 2; load *= 1.2) {
        bloom_shape at = with(shape, (uint64_t)(load * (double)shape.n));
        lab_at(curve, (double)at.n, lab_exact(1));
        lab_at(deviation, (double)at.n, lab_exact(1 + sqrt(variance_of(at)) / (double)at.n));
    }
    double loads[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "load", loads);
    for (size_t i = 0; i < count; i++) {
        bloom_shape at = with(shape, (uint64_t)(loads[i] * (double)shape.n));
        lab_sample found = {0}, own = {0};
        for (uint64_t t = 0; t < filters; t++) {
            kith_filter *f = bloom_of(l, with(shape, most));
            lab_fill(l, f, 0, at.n);
            lab_sample_add(&found, estimate(l, f));
            lab_sample_add(&own, bloom_stats(l, f).keys_now);
            lab_drop(l, f);
            bloom_progress(l, (bloom_share){0.5 * (double)i / (double)count, 0.5 * (double)(i + 1) / (double)count}, t,
                           filters);
        }
        double n = (double)at.n, slice = (double)at.slice;
        lab_estimate spread = bloom_measured_variance(found.squares, filters - 1);
        lab_find(l, LAB_EQUALS, mean_of(at), lab_mean(&found), "estimate of %g keys, kn/m = %.3g", n, n / slice);
        lab_find(l, LAB_EQUALS, mean_of(at) / (-slice * log1p(-1 / slice)), lab_mean(&own), "keys_now of %g keys", n);
        lab_find(l, LAB_EQUALS, variance_of(at), spread, "variance of the estimate of %g keys", n);
        lab_at(mean, n, lab_scaled(lab_mean(&found), 1 / n));
        lab_at(root, n,
               (lab_estimate){1 + sqrt(spread.value) / n, 1 + sqrt(spread.low) / n, 1 + sqrt(spread.high) / n});
    }
}

static void measure_two(lab *l, bloom_shape shape, uint64_t pairs) {
    uint64_t n = shape.n / 2;
    double slice = (double)shape.slice;
    lab_plot *plot = lab_draw(l, "Common keys of two filters of n keys", "common keys / n", "estimate / n", 0);
    lab_series *truth = lab_curve(plot, "|A ∩ B|"), *by_and = lab_curve(plot, "from the bits of the AND, predicted");
    lab_series *sums = lab_points(plot, "|A| + |B| − |A ∪ B|"), *ands = lab_points(plot, "from the bits of the AND");
    for (unsigned i = 0; i <= 4; i++) {
        uint64_t common = n * i / 4;
        double x = (double)common / (double)n, zero = bloom_zero(slice, (double)n);
        double and_zero = 2 * zero - bloom_zero(slice, (double)(2 * n - common));
        lab_sample either = {0}, both = {0}, sum = {0}, bits = {0}, zeros = {0}, counts = {0};
        for (uint64_t t = 0; t < pairs; t++) {
            kith_filter *a = bloom_of(l, shape), *b = bloom_like(l, a), *joined = bloom_like(l, a);
            lab_fill(l, a, 0, n);
            lab_fill(l, b, n - common, n);
            lab_must(l, kith_filter_merge(joined, a), "merging");
            lab_must(l, kith_filter_merge(joined, b), "merging");
            lab_sample_add(&either, estimate(l, joined));
            lab_sample_add(&sum, estimate(l, a) + estimate(l, b));
            lab_sample_add(&both, estimate(l, a) + estimate(l, b) - estimate(l, joined));
            lab_must(l, kith_filter_intersect(a, b), "intersecting");
            lab_sample_add(&bits, estimate(l, a));
            lab_sample_add(&counts, (double)kith_filter_count(a));
            lab_sample_add(&zeros, 1 - bloom_stats(l, a).load);
            lab_drop(l, joined);
            lab_drop(l, b);
            lab_drop(l, a);
            bloom_progress(l, (bloom_share){0.5 + 0.1 * i, 0.6 + 0.1 * i}, t, pairs);
        }
        double union_mean = mean_of(with(shape, 2 * n - common)), one_mean = mean_of(with(shape, n));
        lab_find(l, LAB_EQUALS, union_mean, lab_mean(&either), "union of %g n keys", 2 - x);
        if (common == 0) /* the difference is nearly 0, and no interval is narrow beside that */
            lab_find(l, LAB_EQUALS, 2 * one_mean, lab_mean(&sum), "|A| + |B|, which is |A ∪ B| with 0 common keys");
        else
            lab_find(l, LAB_EQUALS, 2 * one_mean - union_mean, lab_mean(&both), "|A| + |B| − |A ∪ B|, %g common keys",
                     (double)common);
        /* kith_filter_count() returns the same estimate, rounded and limited to the range 1 … n. The limits change
         * its mean only if there are very few common keys, or if all n keys are common and estimates above n are cut
         * off. */
        if (i > 0 && i < 4)
            lab_find(l, LAB_EQUALS, 2 * one_mean - union_mean, lab_mean(&counts),
                     "kith_filter_count() of the AND, %g common keys", (double)common);
        lab_find(l, LAB_EQUALS, and_zero, lab_mean(&zeros), "bits that are 0 in the AND, %g common keys",
                 (double)common);
        lab_find(l, LAB_AT_LEAST, (double)common, lab_mean(&bits),
                 "keys estimated from the bits of the AND: at least the %g common keys", (double)common);
        if (common == n) /* the AND of equal filters */
            lab_known(l, one_mean);
        lab_at(truth, x, lab_exact(x));
        lab_at(by_and, x, lab_exact(-slice * log(and_zero) / (double)n));
        lab_at(sums, x, lab_scaled(lab_mean(&both), 1 / (double)n));
        lab_at(ands, x, lab_scaled(lab_mean(&bits), 1 / (double)n));
    }
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters");
    bloom_shape shape = bloom_half_full(n, (unsigned)lab_number(l, "k"));
    bloom_parameter(l, "capacity", n);
    bloom_parameter(l, "m", (uint64_t)bloom_bits(shape));
    bloom_parameter(l, "filters at each load", filters);
    measure_one(l, shape, 2 * n, filters);
    measure_two(l, shape, filters / 2);
}

const lab_claim lab_B10 = {
    .id = "B10",
    .title = "the number of keys, estimated from the bits",
    .sentence =
        "A filter with X of its m bits set contains about −(m/k) ln(1 − X/m) keys. This also estimates a union, "
        "from the OR of two filters, and an intersection, as |A| + |B| − |A ∪ B|.",
    .formula = "n ≈ −(m/k) ln(1 − X/m)",
    .code = "src/plan/sizing.c",
    .decides = "union of",
    .settings = {LAB_SIZE("n", 2000, 10000, 100, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 400, 2000, 2, 1e6, "filters of each size"),
                 LAB_LIST("load", "0.05,0.2,0.5,1,1.5", "0.05,0.2,0.5,1,1.5", 0.01, 1.9, 0.05, 1.5,
                          "keys / capacity; at 1 half of the bits are set"),
                 LAB_WHOLE("k", "7", 1, 20, 2, 12, "hashes per key")},
    .run = run,
};
