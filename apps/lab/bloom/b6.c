/* B6: bits per key compared with the lower bound for any filter.
 *
 * A filter with the false-positive rate ε needs at least log2(1/ε) bits per key, for keys from a large universe. The
 * smallest filters whose expected rate is ε are filled and measured, and their bits per key are compared with the bound
 * for the measured rate. At rates 2^-k the ratio is 1/ln 2. Between these rates it is a little more, since k
 * is an integer. Below a rate of 1/2 the excess is largest where one hash and two hashes need the same number of
 * bits: -1/ln(1 - ε) = -2/ln(1 - √ε). The solution is √ε + ε = 1, so √ε is the golden ratio 0.618, and the excess is
 * 3.74%. The interval of the ratio comes from the interval of the rate. */
#include "bloom.h"

#define WORST 0.38196601125010515 /* g^2, g = (sqrt 5 - 1)/2 */

static lab_estimate ratio_of(double bits_per_key, lab_estimate rate) {
    return (lab_estimate){bits_per_key / -log2(rate.value), bits_per_key / -log2(rate.low),
                          bits_per_key / -log2(rate.high)};
}

static void run(lab *l) {
    double wanted[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "rate", wanted);
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters at each rate", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    lab_plot *plot = lab_draw(l, "Bits per key", "false-positive rate", "bits per key", LAB_LOG_X);
    lab_series *bloom = lab_curve(plot, "1.44 log2(1/ε)"),
               *least = lab_curve(plot, "log2(1/ε), lower bound for any filter");
    lab_series *points = lab_points(plot, "measured"), *files = lab_points(plot, "with header and checksums");
    for (double log_rate = -0.5; log_rate >= -12; log_rate -= 0.5) {
        lab_at(least, exp2(log_rate), lab_exact(-log_rate));
        lab_at(bloom, exp2(log_rate), lab_exact(-log_rate / log(2)));
    }
    for (size_t i = 0; i < count; i++) {
        lab_sample rates = {0};
        kith_plan plan = KITH_PLAN_INIT;
        bloom_shape shape = bloom_fewest(n, wanted[i]);
        for (uint64_t t = 0; t < filters; t++) {
            kith_filter *f = bloom_of(l, shape);
            lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
            lab_fill(l, f, 0, n);
            lab_sample_add(&rates, (double)lab_count_found(l, f, n, asked) / (double)asked);
            lab_drop(l, f);
            bloom_progress(l, (bloom_share){(double)i / (double)count, (double)(i + 1) / (double)count}, t, filters);
        }
        lab_estimate rate = lab_mean(&rates), ratio = ratio_of(bloom_bits_per_key(shape), rate);
        double exact = bloom_bits_per_key(shape) / -log2(bloom_rate(shape));
        lab_find(l, LAB_EQUALS, exact, ratio, "bits per key / log2(1/ε), ε = %.4g, k = %u", wanted[i], shape.k);
        lab_find(l, LAB_AT_LEAST, 1 / log(2), ratio, "the same: at least 1/ln 2, ε = %.4g", wanted[i]);
        lab_known(l, exact);
        /* The slices of a filter are whole bits, and are rounded up. */
        double most = -1 / log1p(-WORST) / -log2(WORST) + shape.k / ((double)n * -log2(bloom_rate(shape)));
        lab_find(l, LAB_AT_MOST, most, ratio,
                 "the same: at most the largest ratio for an integer k, and a bit per slice, ε = %.4g", wanted[i]);
        lab_known(l, exact);
        lab_at(points, rate.value, lab_exact(bloom_bits_per_key(shape)));
        lab_at(files, rate.value, lab_exact(plan.bits_per_key));
    }
}

const lab_claim lab_B6 = {
    .id = "B6",
    .title = "bits per key",
    .sentence = "A Bloom filter needs 1.44 log2(1/ε) bits per key, 44% more than the lower bound for any filter.",
    .formula = "m/n = log_{2}(1/ε)/ln 2 = 1.44 log_{2}(1/ε)",
    .code = "src/plan/sizing.c",
    .decides = "bits per key / log2(1/ε), ε = 0.01, k = 7",
    .settings = {LAB_SIZE("n", 5000, 50000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("filters", 40, 100, 2, 1e6, "filters of each rate"),
                 LAB_SIZE("asked", 50000, 500000, 100, 1e8, "absent keys looked up in each"),
                 LAB_LIST("rate", "0.5,0.38196601125,0.25,0.1,1/16,0.03,0.01,1/256,0.001,1/2048",
                          "0.5,0.38196601125,0.25,0.1,1/16,0.03,0.01,1/256,0.001,1/2048", 1e-6, 0.9, 0.0001, 0.5,
                          "false positive rates")},
    .run = run,
};
