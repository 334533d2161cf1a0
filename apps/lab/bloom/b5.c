/* B5: the bits and hashes that a rate needs, for 100 keys at 1%.
 *
 * The formula gives 958.5 bits and 6.64 hashes. [2] rounds them to 959 and 7, and promises "a maximum rate of 0.01".
 * 959 bits are 7 slices of 137, so exactly this filter can be created. The document's own filter, with 7 hashes over
 * all bits, is measured as a filter of 959 bits with one hash, to which 7 keys are added for each key. If X of its
 * bits are set, a lookup of an absent key, with 7 independent hashes, returns true with probability (X/959)^7. Both
 * filters exceed 1%, by 1.9% and by 1.1% of it. More than 10^4 filters are needed to see that. The planner's filters
 * are measured at three rates, and their number of bits is compared with the fewest of all shapes. */
#include "bloom.h"

enum { KEYS = 100, HASHES = 7, BITS = 959 };

static const double RATES[] = {0.1, 0.01, 0.001};

static kith_plan plan_of(lab *l, uint64_t n, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = "bloom";
    spec.capacity = n;
    spec.rate = rate;
    lab_must(l, kith_filter_plan(&spec, &plan), "planning");
    return plan;
}

/* The rate of the document's filter, computed from the share of set bits. */
static lab_estimate measure_whole(lab *l, uint64_t filters, bloom_part part) {
    bloom_shape shape = {(uint64_t)HASHES * KEYS, 1, BITS};
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        lab_fill(l, f, 0, shape.n);
        lab_sample_add(&rates, pow(bloom_stats(l, f).load, HASHES));
        lab_drop(l, f);
        bloom_progress(l, part, i, filters);
    }
    return lab_mean(&rates);
}

/* The planner promises the rate of the filter that is made, not of filters on average. So it takes more bits than the
 * expectation needs, and at most 1 filter in 200 has a higher rate than promised. */
static void measure_plans(lab *l, uint64_t filters, uint64_t asked) {
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++) {
        bloom_shape least = bloom_fewest(KEYS, RATES[i]);
        kith_plan plan = plan_of(l, KEYS, RATES[i]);
        bloom_shape shape = {KEYS, plan.hashes, plan.cells / plan.hashes};
        double formula = -KEYS * log(RATES[i]) / (log(2) * log(2));
        lab_find(l, LAB_AT_LEAST, bloom_bits(least), lab_exact((double)plan.cells),
                 "bits planned for 100 keys at %g (formula: %.1f), and the fewest that keep it on average", RATES[i],
                 formula);
        lab_find(l, LAB_AT_MOST, 1, lab_exact(fabs(plan.hashes + log2(RATES[i]))),
                 "difference between the %u planned hashes and −log2 %g", plan.hashes, RATES[i]);
        lab_sample rates = {0};
        uint64_t above = 0;
        for (uint64_t t = 0; t < filters; t++) {
            kith_filter *f = lab_filter(l, "bloom", KEYS, RATES[i], 0, NULL);
            lab_fill(l, f, 0, KEYS);
            lab_sample_add(&rates, (double)lab_count_found(l, f, KEYS, asked) / (double)asked);
            above += bloom_stats(l, f).rate_now > RATES[i];
            lab_drop(l, f);
            bloom_progress(l, (bloom_part){0.4 + 0.2 * (double)i, 0.6 + 0.2 * (double)i}, t, filters);
        }
        lab_find(l, LAB_EQUALS, bloom_rate(shape), lab_mean(&rates), "rate of the planned filter, %g promised",
                 RATES[i]);
        lab_find(l, LAB_AT_MOST, 1 / 200.0, lab_share(above, filters),
                 "share of the planned filters whose rate is above the %g promised", RATES[i]);
    }
}

static void draw_plans(lab *l) {
    lab_plot *plot = lab_draw(l, "Bits for a rate of 1%", "keys, n", "bits per key", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "−ln ε/(ln 2)²"), *whole = lab_curve(plot, "k = 7, many keys");
    lab_series *points = lab_points(plot, "kith_filter_plan");
    for (double n = 10; n < 2e6; n *= sqrt(10)) {
        lab_at(curve, n, lab_exact(-log(0.01) / (log(2) * log(2))));
        lab_at(whole, n, lab_exact(-HASHES / log1p(-pow(0.01, 1.0 / HASHES))));
        lab_at(points, floor(n), lab_exact((double)plan_of(l, (uint64_t)n, 0.01).cells / floor(n)));
    }
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", KEYS);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    draw_plans(l);
    lab_estimate whole = measure_whole(l, 2 * filters, (bloom_part){0, 0.2});
    lab_find(l, LAB_EQUALS, bloom_moment(l, BITS, (uint64_t)HASHES * KEYS, HASHES), whole,
             "rate of 959 bits, 7 hashes over all of them");
    lab_find_stated(l, LAB_LOOSE,
                    "[2]: \"a maximum false positive rate of 0.01, then I would need a bit array of approximately 959 "
                    "bits …, and 7 hash functions\"",
                    LAB_AT_MOST, 0.01, whole, "rate of 959 bits and 7 hashes, 100 keys");
    bloom_shape sliced = {KEYS, HASHES, BITS / HASHES};
    lab_estimate rate = bloom_measure(l, sliced, filters, asked, (bloom_part){0.2, 0.4});
    lab_find(l, LAB_EQUALS, bloom_rate(sliced), rate, "rate of 959 bits in 7 slices");
    measure_plans(l, filters / 4, asked);
}

const lab_claim lab_B5 = {
    .id = "B5",
    .title = "bits and hashes for a rate",
    .sentence = "n keys at rate ε need m = −n ln ε/(ln 2)² bits and k = −log2 ε hashes: 959 and 7 for 100 keys at 1%.",
    .formula = "m = −n ln ε/(ln 2)^{2}, k = −log_{2} ε",
    .code = "src/plan/sizing.c",
    .note =
        "959 bits and 7 hashes do not keep 1%: hashes come in whole numbers, and with 7 of them the formula itself "
        "gives "
        "1.0015%, the exact "
        "expectation is 1.011%, and 1.019% in slices. Slices that keep 1% on average take 966 bits. A plan promises "
        "the rate of the filter that is made, not of the average one, and takes 1043.",
    .decides = "rate of 959 bits",
    .settings = {LAB_SIZE("filters", 10000, 60000, 30, 1e7, "filters of 959 bits"),
                 LAB_SIZE("asked", 2000, 3000, 100, 1e7, "absent keys looked up in each")},
    .run = run,
};
