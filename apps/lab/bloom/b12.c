/* B12: the rate for every number of hashes from 1 to 20, with m and n fixed.
 *
 * By default the filters have 10 bits per key, in slices of m/k bits, rounded down. Too few hashes test too few bits,
 * and too many set too many bits. The best number is 7, next to 10 ln 2 = 6.93. The lowest of twenty noisy rates does
 * not distinguish it from 6 and 8, so the result is a range (bloom_lowest). */
#include "bloom.h"

enum { K_MOST = 20 };

static lab_estimate difference(lab_estimate a, lab_estimate b) {
    return (lab_estimate){a.value - b.value, a.low - b.high, a.high - b.low};
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    double c = lab_real(l, "m_per_n");
    unsigned k_most = (unsigned)fmin(K_MOST, 2 * c); /* with more, nearly all bits are set */
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "m", (uint64_t)(c * (double)n));
    bloom_parameter(l, "filters for each k", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    lab_plot *plot = lab_draw(l, "Rate by the number of hashes", "hashes, k", "rate", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(1 − e^(−kn/m))^k"), *points = lab_points(plot, "measured");
    for (double k = 1; k <= k_most; k += 0.25)
        lab_at(curve, k, lab_exact(bloom_limit(c, k)));
    lab_estimate rates[K_MOST + 1] = {0};
    for (unsigned k = 1; k <= k_most; k++) {
        bloom_shape shape = bloom_shape_of(n, c * (double)n, k);
        rates[k] = bloom_measure(l, shape, filters, asked, (bloom_share){(k - 1) / (double)k_most, k / (double)k_most});
        lab_at(points, k, rates[k]);
        lab_find(l, LAB_EQUALS, bloom_rate(shape), rates[k], "k = %u", k);
    }
    unsigned best = bloom_best_k(n, c * (double)n, k_most);
    lab_find(l, LAB_EQUALS, best, bloom_lowest(rates, k_most), "k of the lowest rate");
    lab_find(l, LAB_AT_LEAST, 0, difference(rates[k_most], rates[best]), "rate with %u hashes, minus the lowest rate",
             k_most);
    static const char QUOTE[] = "[2]: \"having many hash functions reduces the false positive rate\"";
    lab_find_stated(l, LAB_MUST, QUOTE, LAB_AT_LEAST, 0, difference(rates[1], rates[best]),
                    "rate with one hash, minus the rate with %u", best);
    lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_MOST, 0, difference(rates[k_most], rates[best]),
                    "rate with %u hashes, minus the rate with %u", k_most, best);
}

const lab_claim lab_B12 = {
    .id = "B12",
    .title = "rate by the number of hashes",
    .sentence = "With m and n fixed, the rate falls as k grows to about (m/n) ln 2, and then rises again.",
    .formula = "ε(k) = (1 − e^{−kn/m})^{k}",
    .code = "src/kinds/shared/slices.h",
    .note =
        "[2] says that having many hash functions reduces the false positive rate. It does up to k = (m/n) ln 2. With "
        "more, the rate rises again: at 10 bits per key, 20 hashes have 6.7 times the rate of 7.",
    .decides = "k of the lowest rate",
    .settings = {LAB_SIZE("n", 1000, 10000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("filters", 100, 200, 2, 1e6, "filters of each k"),
                 LAB_SIZE("asked", 10000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_NUMBER("m_per_n", "10", 1, 60, 4, 16, "bits per key")},
    .run = run,
};
