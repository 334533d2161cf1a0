/* B2: the false-positive rate of a full Bloom filter.
 *
 * Filters of many shapes are compared with the exact rate (bloom.h). The formula of the claim is a limit for many
 * keys, so filters with few keys are measured too, with 10 bits per key and 7 hashes, in slices and as one array. Their
 * numbers of keys are multiples of 7, so that all bits are in slices. Their rate is above the formula: by 28% with 7
 * keys, by half a percent with 350. */
#include "bloom.h"

static const struct {
    double bits_per_key;
    unsigned k;
} SHAPES[] = {{4, 3}, {6, 4}, {8, 6}, {10, 7}, {10, 3}, {10, 14}, {12, 8}, {16, 11}};

static const uint64_t FEW[] = {7, 14, 35, 70, 140, 350};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, FEW_COUNT = sizeof FEW / sizeof *FEW };

/* The shapes above or, if the user sets m/n or k, every combination of the two lists. */
typedef struct grid {
    double bits[LAB_NUMBERS_MAX], ks[LAB_NUMBERS_MAX];
    size_t bits_count, k_count;
    bool is_set;
} grid;

static grid grid_of(lab *l) {
    grid g = {.is_set = lab_is_set(l, "m_per_n") || lab_is_set(l, "k")};
    g.bits_count = lab_list(l, "m_per_n", g.bits);
    g.k_count = lab_list(l, "k", g.ks);
    return g;
}

static void measure_shapes(lab *l, uint64_t n, uint64_t filters, uint64_t asked) {
    lab_plot *plot = lab_draw(l, "False positives of a full filter", "bits per key, m/n", "rate", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(1 − e^(−kn/m))^k, k = (m/n) ln 2");
    lab_series *best = lab_points(plot, "measured, k close to (m/n) ln 2"),
               *others = lab_points(plot, "measured, k = 3 and 14");
    for (double c = 3; c <= 17; c += 0.25)
        lab_at(curve, c, lab_exact(bloom_limit(c, c * log(2))));
    grid g = grid_of(l);
    size_t count = g.is_set ? g.bits_count * g.k_count : SHAPE_COUNT;
    for (size_t i = 0; i < count; i++) {
        double c = g.is_set ? g.bits[i / g.k_count] : SHAPES[i].bits_per_key;
        unsigned k = g.is_set ? (unsigned)g.ks[i % g.k_count] : SHAPES[i].k;
        bloom_shape shape = bloom_shape_of(n, c * (double)n, k);
        if (k > 2.2 * c) { /* nearly all bits would be set, and no plan has such a filter */
            lab_find(l, LAB_SHOWN, 0, lab_exact(bloom_limit(c, k)), "m/n = %g, k = %u: the formula only", c, k);
            continue;
        }
        lab_estimate rate =
            bloom_measure(l, shape, filters, asked,
                          (bloom_share){0.5 * (double)i / (double)count, 0.5 * (double)(i + 1) / (double)count});
        lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = %g, k = %u", c, k);
        lab_at(fabs(k - c * log(2)) < 1 ? best : others, bloom_bits_per_key(shape), rate);
    }
}

static void measure_few(lab *l, uint64_t filters, uint64_t asked) {
    lab_plot *plot = lab_draw(l, "Few keys, where the formula is only a limit: m/n = 10, k = 7", "keys, n",
                              "rate / (1 − e^(−kn/m))^k", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "(1 − (1 − k/m)^n)^k, exact"), *points = lab_points(plot, "measured, slices"),
               *wholes = lab_points(plot, "measured, one array");
    double limit = bloom_limit(10, 7);
    for (double n = 6; n < 500; n *= 1.1)
        lab_at(curve, n, lab_exact(pow(1 - bloom_zero(10 * n / 7, n), 7) / limit));
    for (size_t i = 0; i < FEW_COUNT; i++) {
        bloom_shape shape = bloom_shape_of(FEW[i], 10 * (double)FEW[i], 7);
        bloom_array array = {FEW[i], 7, 10 * FEW[i]};
        bloom_share share = {0.5 + 0.5 * (double)i / FEW_COUNT, 0.5 + 0.5 * (double)(i + 1) / FEW_COUNT};
        if (lab_wants(l, "layout", "slices")) {
            lab_estimate rate = bloom_measure(l, shape, filters, asked, share);
            lab_find(l, LAB_EQUALS, bloom_rate(shape), rate, "m/n = 10, k = 7, n = %u, slices", (unsigned)FEW[i]);
            lab_at(points, (double)FEW[i], lab_scaled(rate, 1 / limit));
        }
        if (lab_wants(l, "layout", "whole")) {
            lab_estimate rate = bloom_array_measure(l, array, filters, asked, share);
            lab_find(l, LAB_EQUALS, bloom_array_rate(l, array), rate, "m/n = 10, k = 7, n = %u, one array",
                     (unsigned)FEW[i]);
            lab_at(wholes, (double)FEW[i], lab_scaled(rate, 1 / limit));
        }
    }
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    uint64_t small = lab_number(l, "small_filters"), small_asked = lab_number(l, "small_asked");
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
    .code = "src/kinds/shared/slices.h",
    .decides = "m/n = 10, k = 7",
    .settings = {LAB_SIZE("n", 2000, 20000, 10, 1e7, "keys of each filter"),
                 LAB_SIZE("filters", 50, 200, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_SIZE("small_filters", 4000, 40000, 30, 1e7, "filters of few keys"),
                 LAB_SIZE("small_asked", 300, 1000, 10, 1e6, "absent keys looked up in each of those"),
                 LAB_LIST("m_per_n", "4,6,8,10,12,16", "4,6,8,10,12,16", 1, 60, 3, 20,
                          "bits per key (with k: every pair; by default eight pairs)"),
                 LAB_WHOLES("k", "3,4,6,7,8,11,14", "3,4,6,7,8,11,14", 1, 40, 1, 20, "hashes per key"),
                 LAB_WORD("layout", "both", "both whole slices",
                          "filters of few keys: one array for all hashes, or one slice per hash")},
    .run = run,
};
