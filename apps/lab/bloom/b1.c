/* B1: the share of bits of a Bloom filter that are still 0, and how much the number of set bits varies.
 *
 * There are three experiments:
 *
 *     share        Filters of 7000 bits with 7 hashes, at loads kn/m on both sides of ln 2, as one array (the layout of
 *                  the documents) and in 7 slices. The share of bits that are 0 is compared with (1 - 1/m)^(kn) and
 *                  (1 - k/m)^n.
 *     few bits     One array of 64 bits and 45 hashes, 9 keys of 5 each, so that (1 - 1/64)^45 = 0.4923 and
 *                  e^(-45/64) = 0.4951 can be distinguished.
 *     deviation    Arrays of 2^8 bits and more, half of them set, and slices up to 2^11 bits. The variance of the
 *                  number of set bits is compared with the exact one. The largest deviation from the mean is compared
 *                  with sqrt(m ln m). By McDiarmid's inequality fewer than one filter in 10^6 exceeds that, even at
 *                  the smallest m. */
#include "bloom.h"

enum { REFUTED_AT = 1, SLICE = 1000, SPREAD_HASHES = 4, LOG_SLICES_MOST = 11 };

static lab_estimate share_of_zeros(lab *l, bloom_array array, bool whole, uint64_t filters, bloom_share share) {
    lab_sample zeros = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f =
            whole ? bloom_array_of(l, array) : bloom_of(l, (bloom_shape){array.n, array.k, array.m / array.k});
        lab_fill(l, f, 0, array.n);
        kith_filter_stats stats = bloom_stats(l, f);
        lab_sample_add(&zeros, 1 - (double)stats.cells_used / (double)stats.cells);
        lab_drop(l, f);
        bloom_progress(l, share, i, filters);
    }
    return lab_mean(&zeros);
}

/* Tests the words of [1] and [3] at a load where their slips are visible. */
static void judge_words(lab *l, double load, lab_estimate zeros) {
    lab_find_stated(l, LAB_SLIP, "[1]: \"FACT: (1 − 1/x)^y ≈ e^(−x/y)\"", LAB_EQUALS, exp(-1 / load), zeros,
                    "bits that are 0 at y/x = kn/m = %g", load);
    lab_find_stated(l, LAB_SLIP, "[3]: \"Y denote the number of hash bits that are 0 … E(Y) = m(1 − e^(−kn/m))\"",
                    LAB_EQUALS, 1 - exp(-load), zeros, "bits that are 0 at kn/m = %g, Y/m", load);
}

static void measure_share(lab *l, uint64_t filters) {
    double loads[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "load", loads);
    unsigned k = (unsigned)lab_number(l, "k");
    lab_plot *plot = lab_draw(l, "Bits that are still 0", "load, kn/m", "share of the bits", 0);
    lab_series *curve = lab_curve(plot, "e^(−kn/m)"), *wholes = lab_points(plot, "measured, one array"),
               *slices = lab_points(plot, "measured, slices");
    for (double load = 0; load <= 2.2; load += 0.05)
        lab_at(curve, load, lab_exact(exp(-load)));
    for (size_t i = 0; i < count; i++) {
        bloom_array array = {(uint64_t)(loads[i] * SLICE), k, (uint64_t)k * SLICE};
        bloom_share share = {0.3 * (double)i / (double)count, 0.3 * (double)(i + 1) / (double)count};
        lab_require(l, array.n > 0, "a load of less than one key");
        double load = (double)array.n / SLICE;
        if (lab_wants(l, "layout", "slices")) {
            lab_estimate zeros = share_of_zeros(l, array, false, filters, share);
            lab_at(slices, load, zeros);
            lab_find(l, LAB_EQUALS, bloom_zero(SLICE, (double)array.n), zeros,
                     "slices: bits that are 0 at kn/m = %g, k = %u", load, k);
        }
        if (lab_wants(l, "layout", "whole")) {
            lab_estimate zeros = share_of_zeros(l, array, true, filters, share);
            lab_at(wholes, load, zeros);
            lab_find(l, LAB_EQUALS, bloom_array_zero(array), zeros, "one array: bits that are 0 at kn/m = %g, k = %u",
                     load, k);
            if (i == REFUTED_AT)
                judge_words(l, load, zeros);
        }
    }
    bloom_array few = {9, 5, 64};
    if (lab_wants(l, "layout", "whole"))
        lab_find(l, LAB_EQUALS, bloom_array_zero(few),
                 share_of_zeros(l, few, true, 20 * filters, (bloom_share){0.3, 0.4}),
                 "one array: kn = 45 hashes over all of m = 64 bits");
}

typedef struct spread {
    double mean, variance; /* exact */
    double most, squares;  /* measured deviations from the mean */
} spread;

static spread measure_size(lab *l, bloom_array array, bool whole, uint64_t filters, bloom_share share) {
    bloom_shape shape = whole ? bloom_array_hashes(array) : (bloom_shape){array.n, array.k, array.m / array.k};
    spread s = {bloom_bits(shape) * (1 - bloom_zero_of(shape)), bloom_variance(shape), 0, 0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = whole ? bloom_array_of(l, array) : bloom_of(l, shape);
        lab_fill(l, f, 0, array.n);
        double off = fabs((double)bloom_stats(l, f).cells_used - s.mean);
        lab_drop(l, f);
        s.most = fmax(s.most, off);
        s.squares += off * off;
        bloom_progress(l, share, i, filters);
    }
    return s;
}

static void measure_spread(lab *l, bool whole, uint64_t filters, unsigned log_m_max, lab_plot *plot) {
    const char *name = whole ? "one array" : "slices";
    lab_series *deviation = lab_curve(plot, "%s: standard deviation, exact", name);
    lab_series *largest = lab_points(plot, "%s: measured, largest", name),
               *root = lab_points(plot, "%s: measured, root mean square", name);
    for (unsigned log_m = 8; log_m <= log_m_max; log_m++) {
        uint64_t m = UINT64_C(1) << log_m;
        bloom_array array = {(uint64_t)((double)m / SPREAD_HASHES * log(2)), SPREAD_HASHES, m};
        /* The largest sizes take nearly all of the time. */
        bloom_share share = {1 - 0.6 * exp2((double)log_m - log_m_max - 1),
                             1 - 0.6 * exp2((double)log_m - log_m_max - 2)};
        spread s = measure_size(l, array, whole, filters, share);
        double limit = sqrt((double)m * log((double)m));
        lab_estimate variance = bloom_measured_variance(s.squares, filters);
        lab_find(l, LAB_EQUALS, s.variance, variance, "%s: variance of the number of set bits, m = 2^%u", name, log_m);
        lab_find(l, LAB_AT_MOST, 1, lab_exact(s.most / limit),
                 "%s: largest deviation from the mean / √(m ln m), m = 2^%u", name, log_m);
        lab_at(deviation, (double)m, lab_exact(sqrt(s.variance)));
        lab_at(largest, (double)m, lab_exact(s.most));
        lab_at(root, (double)m, (lab_estimate){sqrt(variance.value), sqrt(variance.low), sqrt(variance.high)});
    }
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters");
    unsigned log_m_max = (unsigned)lab_number(l, "log_m_max");
    bloom_parameter(l, "filters at each load and size", filters);
    lab_parameter(l, "m", "1000k; 64; 2^8 to 2^%u", log_m_max);
    measure_share(l, filters);
    lab_plot *plot =
        lab_draw(l, "Deviation of the number of set bits, kn/m = ln 2", "m, bits", "bits", LAB_LOG_X | LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "√(m ln m)");
    for (double m = 256; m <= exp2(log_m_max); m *= 2)
        lab_at(bound, m, lab_exact(sqrt(m * log(m))));
    if (lab_wants(l, "layout", "slices"))
        measure_spread(l, false, filters, log_m_max < LOG_SLICES_MOST ? log_m_max : LOG_SLICES_MOST, plot);
    if (lab_wants(l, "layout", "whole"))
        measure_spread(l, true, filters, log_m_max, plot);
}

const lab_claim lab_B1 = {
    .id = "B1",
    .title = "bits that stay 0",
    .sentence = "After n keys a bit is still 0 with probability (1 − 1/m)^(kn), about e^(−kn/m), and the number of set "
                "bits is within O(√(m log m)) of its mean.",
    .formula = "P(0) = (1 − 1/m)^{kn} ≈ e^{−kn/m}",
    .code = "src/kinds/shared/slices.h",
    .note = "[1] gives (1 − 1/x)^y ≈ e^(−x/y); it is e^(−y/x). [3] says that Y = m(1 − e^(−kn/m)) counts the bits that "
            "are 0; it counts those that are 1.",
    .decides = "one array: bits that are 0 at kn/m = 0.7, k = 7",
    .settings = {LAB_SIZE("filters", 1500, 10000, 30, 1e7, "filters of each size"),
                 LAB_SIZE("log_m_max", 13, 16, 9, 20, "log2 of the most bits"),
                 LAB_WORD("layout", "both", "both whole slices", "one array for all hashes, or one slice per hash"),
                 LAB_LIST("load", "0.1,0.3,0.7,1,1.5,2", "0.1,0.3,0.7,1,1.5,2", 0.001, 3, 0.01, 2, "kn/m"),
                 LAB_WHOLE("k", "7", 1, 30, 1, 20, "hashes per key")},
    .run = run,
};
