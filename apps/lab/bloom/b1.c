/* B1: the share of bits of a Bloom filter that are still 0, and how much the number of set bits varies.
 *
 * There are three experiments:
 *
 *     slices       Filters of 7 slices of 1000 bits, at loads kn/m on both sides of ln 2. The share of bits that are
 *                  0 is compared with (1 - k/m)^n.
 *     one array    The layout of the documents, k hashes over all m bits. It is measured as a filter with one slice, to
 *                  which one key is added for each of the kn hashes. It has 64 bits, so that (1 - 1/64)^45 = 0.4923 and
 *                  e^(-45/64) = 0.4951 can be distinguished.
 *     deviation    Filters of 2^8 bits and more, half of them set. The variance of the number of set bits is compared
 *                  with the exact one. The largest deviation from the mean is compared with sqrt(m ln m). By
 *                  McDiarmid's inequality fewer than one filter in 10^6 exceeds that, even at the smallest m. */
#include "bloom.h"

static const double LOADS[] = {0.1, 0.3, 0.7, 1, 1.5, 2};

enum { LOAD_COUNT = sizeof LOADS / sizeof *LOADS, REFUTED_AT = 1, SLICE = 1000, HASHES = 7 };

static lab_estimate share_of_zeros(lab *l, bloom_shape shape, uint64_t filters, bloom_part part) {
    lab_sample zeros = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        lab_fill(l, f, 0, shape.n);
        kith_filter_stats stats = bloom_stats(l, f);
        lab_sample_add(&zeros, 1 - (double)stats.cells_used / (double)stats.cells);
        lab_drop(l, f);
        bloom_progress(l, part, i, filters);
    }
    return lab_mean(&zeros);
}

static void measure_share(lab *l, uint64_t filters) {
    lab_plot *plot = lab_draw(l, "Bits that are still 0", "load, kn/m", "share of the bits", 0);
    lab_series *curve = lab_curve(plot, "e^(−kn/m)"), *points = lab_points(plot, "measured, k = 7");
    for (double load = 0; load <= 2.2; load += 0.05)
        lab_at(curve, load, lab_exact(exp(-load)));
    for (size_t i = 0; i < LOAD_COUNT; i++) {
        bloom_shape shape = {(uint64_t)(LOADS[i] * SLICE), HASHES, SLICE};
        lab_estimate zeros = share_of_zeros(l, shape, filters, (bloom_part){(double)i / 20, (double)(i + 1) / 20});
        lab_at(points, LOADS[i], zeros);
        lab_find(l, LAB_EQUALS, bloom_zero_of(shape), zeros, "bits that are 0 at kn/m = %g, k = 7", LOADS[i]);
        if (i != REFUTED_AT)
            continue;
        lab_find_stated(l, LAB_SLIP, "[1]: \"FACT: (1 − 1/x)^y ≈ e^(−x/y)\"", LAB_EQUALS, exp(-1 / LOADS[i]), zeros,
                        "bits that are 0 at y/x = kn/m = %g", LOADS[i]);
        lab_find_stated(l, LAB_SLIP, "[3]: \"Y denote the number of hash bits that are 0 … E(Y) = m(1 − e^(−kn/m))\"",
                        LAB_EQUALS, 1 - exp(-LOADS[i]), zeros, "bits that are 0 at kn/m = %g, Y/m", LOADS[i]);
    }
    bloom_shape whole = {45, 1, 64};
    lab_find(l, LAB_EQUALS, bloom_zero_of(whole), share_of_zeros(l, whole, 20 * filters, (bloom_part){0.3, 0.4}),
             "kn = 45 hashes over all of m = 64 bits");
}

static void measure_spread(lab *l, uint64_t filters, unsigned log_most) {
    lab_plot *plot =
        lab_draw(l, "Deviation of the number of set bits, kn/m = ln 2", "m, bits", "bits", LAB_LOG_X | LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "√(m ln m)"), *deviation = lab_curve(plot, "standard deviation, exact");
    lab_series *largest = lab_points(plot, "measured, largest"), *root = lab_points(plot, "measured, root mean square");
    for (unsigned log_m = 8; log_m <= log_most; log_m++) {
        uint64_t m = UINT64_C(1) << log_m;
        bloom_shape shape = {(uint64_t)((double)m / 4 * log(2)), 4, m / 4};
        double mean = (double)m * (1 - bloom_zero_of(shape)), most = 0, squares = 0;
        for (uint64_t i = 0; i < filters; i++) {
            kith_filter *f = bloom_of(l, shape);
            lab_fill(l, f, 0, shape.n);
            double off = fabs((double)bloom_stats(l, f).cells_used - mean);
            lab_drop(l, f);
            most = fmax(most, off);
            squares += off * off;
            /* The largest sizes take nearly all of the time. */
            bloom_progress(l,
                           (bloom_part){1 - 0.6 * exp2((double)log_m - log_most - 1),
                                        1 - 0.6 * exp2((double)log_m - log_most - 2)},
                           i, filters);
        }
        double limit = sqrt((double)m * log((double)m));
        lab_estimate variance = bloom_measured_variance(squares, filters);
        lab_find(l, LAB_EQUALS, bloom_variance(shape), variance, "variance of the number of set bits, m = 2^%u", log_m);
        lab_find(l, LAB_AT_MOST, 1, lab_exact(most / limit), "largest deviation from the mean / √(m ln m), m = 2^%u",
                 log_m);
        lab_at(bound, (double)m, lab_exact(limit));
        lab_at(deviation, (double)m, lab_exact(sqrt(bloom_variance(shape))));
        lab_at(largest, (double)m, lab_exact(most));
        lab_at(root, (double)m, (lab_estimate){sqrt(variance.value), sqrt(variance.low), sqrt(variance.high)});
    }
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters");
    unsigned log_most = (unsigned)lab_number(l, "log_most");
    bloom_parameter(l, "filters at each load and size", filters);
    lab_parameter(l, "m", "7000; 64; 2^8 to 2^%u", log_most);
    measure_share(l, filters);
    measure_spread(l, filters, log_most);
}

const lab_claim lab_B1 = {
    .id = "B1",
    .title = "bits that stay 0",
    .sentence = "After n keys a bit is still 0 with probability (1 − 1/m)^(kn), about e^(−kn/m), and the number of set "
                "bits is within O(√(m log m)) of its mean.",
    .formula = "P(0) = (1 − 1/m)^{kn} ≈ e^{−kn/m}",
    .code = "src/filters/common/slices.h",
    .note = "[1] gives (1 − 1/x)^y ≈ e^(−x/y); it is e^(−y/x). [3] says that Y = m(1 − e^(−kn/m)) counts the bits that "
            "are 0; it counts those that are 1.",
    .decides = "kn/m = 0.7, k = 7",
    .settings = {LAB_SIZE("filters", 1500, 10000, 30, 1e7, "filters of each size"),
                 LAB_SIZE("log_most", 13, 16, 9, 20, "log2 of the most bits")},
    .run = run,
};
