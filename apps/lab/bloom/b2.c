/* B2: the false-positive rate of a full Bloom filter.
 *
 * Filters of many shapes are compared with the exact rate (bloom.h). The formula of the claim is a limit for many
 * keys, so filters with few keys are measured too, with 10 bits per key and 7 hashes. Their numbers of keys are
 * multiples of 7, so that all bits are in slices. Their rate is above the formula: by 28% with 7 keys, by half a
 * percent with 350. */
#include "bloom.h"

static const struct {
    double bits_per_key;
    unsigned k;
} SHAPES[] = {{4, 3}, {6, 4}, {8, 6}, {10, 7}, {10, 3}, {10, 14}, {12, 8}, {16, 11}};

static const uint64_t FEW[] = {7, 14, 35, 70, 140, 350};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, FEW_COUNT = sizeof FEW / sizeof *FEW };

static void measure_shapes(lab *l, uint64_t n, uint64_t filters, uint64_t asked) {
    lab_plot *plot = lab_draw(l, "False positives of a full filter", "bits per key, m/n", "rate", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(1 − e^(−kn/m))^k, k = (m/n) ln 2");
    lab_series *best = lab_points(plot, "measured, k close to (m/n) ln 2"),
               *others = lab_points(plot, "measured, k = 3 and 14");
    for (double c = 3; c <= 17; c += 0.25)
        lab_at(curve, c, lab_exact(bloom_limit(c, c * log(2))));
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        bloom_shape shape = bloom_shape_of(n, SHAPES[i].bits_per_key * (double)n, SHAPES[i].k);
        lab_estimate rate = bloom_measure(
            l, shape, filters, asked, (bloom_part){0.5 * (double)i / SHAPE_COUNT, 0.5 * (double)(i + 1) / SHAPE_COUNT});
        lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = %g, k = %u", SHAPES[i].bits_per_key, shape.k);
        lab_at(fabs(shape.k - SHAPES[i].bits_per_key * log(2)) < 1 ? best : others, bloom_bits_per_key(shape), rate);
    }
}

static void measure_few(lab *l, uint64_t filters, uint64_t asked) {
    lab_plot *plot = lab_draw(l, "Few keys, where the formula is only a limit: m/n = 10, k = 7", "keys, n",
                              "rate / (1 − e^(−kn/m))^k", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "(1 − (1 − k/m)^n)^k, exact"), *points = lab_points(plot, "measured");
    double limit = bloom_limit(10, 7);
    for (double n = 6; n < 500; n *= 1.1)
        lab_at(curve, n, lab_exact(pow(1 - bloom_zero(10 * n / 7, n), 7) / limit));
    for (size_t i = 0; i < FEW_COUNT; i++) {
        bloom_shape shape = bloom_shape_of(FEW[i], 10 * (double)FEW[i], 7);
        lab_estimate rate =
            bloom_measure(l, shape, filters, asked,
                          (bloom_part){0.5 + 0.5 * (double)i / FEW_COUNT, 0.5 + 0.5 * (double)(i + 1) / FEW_COUNT});
        lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = 10, k = 7, n = %u", (unsigned)FEW[i]);
        lab_at(points, (double)FEW[i], lab_scaled(rate, 1 / limit));
    }
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    uint64_t small = lab_number(l, "small"), small_asked = lab_number(l, "small_asked");
    lab_parameter(l, "n", "%llu, and 7 to 350", (unsigned long long)n);
    lab_parameter(l, "filters", "%llu, and %llu small ones", (unsigned long long)filters, (unsigned long long)small);
    lab_parameter(l, "absent keys looked up in each", "%llu, and %llu", (unsigned long long)asked,
                  (unsigned long long)small_asked);
    measure_shapes(l, n, filters, asked);
    measure_few(l, small, small_asked);
}

const lab_claim lab_B2 = {
    .id = "B2",
    .title = "rate of a full Bloom filter",
    .sentence = "A lookup of an absent key returns true with probability (1 − e^(−kn/m))^k.",
    .formula = "ε = (1 − e^{−kn/m})^{k}",
    .code = "src/filters/common/slices.h",
    .decides = "m/n = 10, k = 7",
    .settings = {LAB_SIZE("n", 2000, 20000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("filters", 50, 200, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_SIZE("small", 4000, 40000, 30, 1e7, "filters of few keys"),
                 LAB_SIZE("small_asked", 300, 1000, 10, 1e6, "absent keys looked up in each of those")},
    .run = run,
};
