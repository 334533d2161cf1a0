/* B15: the rate if k is rounded to an integer.
 *
 * With c = m/n bits per key the best k is c ln 2, a real number, and its rate would be 2^(-k). With an integer k the
 * rate is (1 - e^(-k/c))^k. The error is largest where c ln 2 lies half-way between two integers: 2.9% of the rate
 * between 1 and 2 hashes, 0.9% between 2 and 3, and less and less for more. It depends on m/n and not on n and m
 * themselves, so at a fixed m/n it does not get smaller with more keys. */
#include "bloom.h"

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent keys looked up in each", asked);
    lab_plot *plot = lab_draw(l, "What rounding k costs", "m/n", "rate / 0.6185^(m/n)", 0);
    lab_series *curve = lab_curve(plot, "best integer k"), *points = lab_points(plot, "measured");
    for (double c = 1.5; c < 10; c += 0.05) {
        double best = 1;
        for (unsigned k = 1; k <= 12; k++)
            best = fmin(best, bloom_limit(c, k));
        lab_at(curve, c, lab_exact(best / exp2(-c * log(2))));
    }
    double worst = 0;
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    for (size_t i = 0; i < count; i++) {
        unsigned below = (unsigned)ks[i];
        double from = 0.8 * (double)i / (double)count, half = 0.4 / (double)count, c = (below + 0.5) / log(2),
               real = exp2(-c * log(2));
        lab_estimate best = {0};
        double exact = 1;
        for (unsigned k = below; k <= below + 1; k++) {
            bloom_shape shape = bloom_shape_of(n, c * (double)n, k);
            lab_estimate rate = bloom_measure(l, shape, filters, asked,
                                              (bloom_share){from + half * (k - below), from + half * (k - below + 1)});
            lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = %.3f, k = %u instead of %.1f: rate", c, k,
                     below + 0.5);
            best = k == below || rate.value < best.value ? rate : best;
            exact = fmin(exact, bloom_limit(c, k));
        }
        lab_estimate ratio = lab_scaled(best, 1 / real);
        lab_find_stated(l, LAB_MUST,
                        "[2]: \"the error incurred in doing so is generally very small, especially for large n and m\"",
                        LAB_AT_MOST, 1.03, ratio, "m/n = %.3f: rate with the best integer k / rate with k = %.1f", c,
                        below + 0.5);
        lab_find(l, LAB_SHOWN, 0, lab_exact(exact / real), "m/n = %.3f: the same ratio for any n, by the formula", c);
        lab_at(points, c, ratio);
        worst = fmax(worst, exact / real);
    }
    lab_find(l, LAB_AT_MOST, 1.03, lab_exact(worst), "largest of these ratios, by the formula");
    bloom_shape few = bloom_shape_of(n, 1.5 / log(2) * (double)n, 2),
                many = bloom_shape_of(16 * n, 1.5 / log(2) * 16 * (double)n, 2);
    lab_estimate small = bloom_measure(l, few, filters, asked, (bloom_share){0.8, 0.9}),
                 large = bloom_measure(l, many, filters, asked, (bloom_share){0.9, 1});
    double real = exp2(-1.5);
    lab_find(l, LAB_EQUALS, bloom_rate(many) / real, lab_scaled(large, 1 / real),
             "m/n = 2.164, k = 2, %llu keys: rate / rate with k = 1.5", (unsigned long long)(16 * n));
    lab_find(l, LAB_EQUALS, bloom_rate(few) / real, lab_scaled(small, 1 / real),
             "m/n = 2.164, k = 2, %llu keys: the same ratio with fewer keys", (unsigned long long)n);
}

const lab_claim lab_B15 = {
    .id = "B15",
    .title = "the rate with k rounded",
    .sentence =
        "Rounding the best k to an integer raises the rate by at most 3%, and by less the more bits there are per "
        "key; the number of keys does not matter.",
    .formula = "(1 − e^{−k/c})^{k} / 2^{−c·ln 2} ≤ 1.03, c = m/n",
    .code = "src/plan/sizing.c",
    .decides = "m/n = 2.164: rate with the best integer k",
    .note = "[2] says that the error is very small \"especially for large n and m\". It is small for a large m/n. At a "
            "fixed m/n it does not depend on n and m.",
    .settings = {LAB_SIZE("n", 1000, 4000, 10, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 60, 200, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WHOLES("k", "1,2,3,4", "1,2,3,4", 1, 10, 1, 4,
                            "m/n = (k + 1/2)/ln 2, so that the best number of hashes is half-way to k + 1")},
    .run = run,
};
