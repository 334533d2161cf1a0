/* B13: the number of bits that a lookup reads.
 *
 * kith_filter_look() reports them. A lookup of a present key reads all k bits. A lookup of an absent key ends at the
 * first 0. If a share p of the bits is set, it reaches bit j + 1 with probability p^j, so it reads (1 - p^k)/(1 - p)
 * bits on average, which is less than 2 if half of the bits are set. The planner's filters have slightly more set
 * bits if their integer k is above -log2 of the rate: at 1%, with k = 7, the average is 2.05. The number of bits has
 * a geometric distribution, cut off at k. It is tested on small filters with one lookup each, since lookups in one
 * filter read the same bits and are not independent. */
#include "bloom.h"

enum { SMALL = 32, SMALL_HASHES = 8 };

static void count(void *bits, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell;
    (void)holds;
    (void)wanted;
    ++*(unsigned *)bits;
}

static unsigned bits_read(lab *l, const kith_filter *f, uint64_t i) {
    unsigned bits = 0;
    uint64_t digest;
    lab_digests(l, f, i, 1, &digest);
    (void)kith_filter_look(f, digest, count, &bits);
    return bits;
}

/* 1 + p + … + p^(k-1), where p^j is the probability that the first j bits are set. */
static double mean_bits_read(bloom_shape shape) {
    double bits = 0;
    for (unsigned j = 0; j < shape.k; j++)
        bits += pow(1 - bloom_zero_of(shape), j);
    return bits;
}

/* Returns the mean number of bits read for an absent key. Adds to *other the number of lookups of present keys that
 * did not read exactly k bits. */
static lab_estimate measure(lab *l, bloom_shape shape, uint64_t filters, uint64_t asked, bloom_share share,
                            uint64_t *other) {
    lab_sample means = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        uint64_t bits = 0;
        lab_fill(l, f, 0, shape.n);
        for (uint64_t a = 0; a < asked; a++) {
            bits += bits_read(l, f, shape.n + a);
            *other += bits_read(l, f, a % shape.n) != shape.k;
        }
        lab_sample_add(&means, (double)bits / (double)asked);
        lab_drop(l, f);
        bloom_progress(l, share, i, filters);
    }
    return lab_mean(&means);
}

static void measure_distribution(lab *l, uint64_t filters) {
    bloom_shape shape = bloom_half_full(SMALL, SMALL_HASHES);
    uint64_t observed[SMALL_HASHES] = {0};
    double expected[SMALL_HASHES], set = 1 - bloom_zero_of(shape);
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        lab_fill(l, f, 0, SMALL);
        observed[bits_read(l, f, SMALL) - 1]++;
        lab_drop(l, f);
        bloom_progress(l, (bloom_share){0.9, 1}, i, filters);
    }
    for (unsigned j = 0; j < SMALL_HASHES; j++)
        expected[j] = (double)filters * pow(set, j) * (j + 1 < SMALL_HASHES ? 1 - set : 1);
    lab_find_fit(l, observed, expected, SMALL_HASHES, 1, "bits read for an absent key, k = 8");
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked"), other = 0;
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent and present keys looked up in each", asked);
    lab_plot *plot = lab_draw(l, "Bits read per lookup, half of the bits set", "hashes, k", "bits per lookup", 0);
    lab_series *curve = lab_curve(plot, "absent keys, 2 (1 − 2^(−k))"), *present = lab_curve(plot, "present keys, k");
    lab_series *points = lab_points(plot, "measured, absent keys"), *all = lab_points(plot, "measured, present keys");
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    for (size_t i = 0; i < count; i++) {
        unsigned k = (unsigned)ks[i];
        bloom_shape shape = bloom_half_full(n, k);
        uint64_t off = 0;
        lab_estimate bits =
            measure(l, shape, filters, asked,
                    (bloom_share){0.72 * (double)i / (double)count, 0.72 * (double)(i + 1) / (double)count}, &off);
        lab_find(l, LAB_EQUALS, mean_bits_read(shape), bits, "absent keys, half of the bits set, k = %u", k);
        lab_find(l, LAB_AT_MOST, 2, bits, "absent keys, half of the bits set: fewer than 2, k = %u", k);
        lab_known(l, mean_bits_read(shape));
        lab_at(curve, k, lab_exact(2 - exp2(1.0 - k)));
        lab_at(present, k, lab_exact(k));
        lab_at(points, k, bits);
        if (off == 0)
            lab_at(all, k, lab_exact(k));
        other += off;
    }
    static const struct {
        double bits_per_key;
        unsigned k;
    } PLANS[] = {{4.81, 3}, {9.593, 7}};
    for (unsigned i = 0; i < 2; i++) {
        bloom_shape shape = bloom_shape_of(n, PLANS[i].bits_per_key * (double)n, PLANS[i].k);
        lab_estimate bits = measure(l, shape, filters, asked, (bloom_share){0.72 + 0.09 * i, 0.81 + 0.09 * i}, &other);
        lab_find(l, LAB_EQUALS, mean_bits_read(shape), bits, "absent keys, rate %.3g, k = %u", bloom_rate(shape),
                 shape.k);
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)other), "lookups of present keys that do not read k bits");
    measure_distribution(l, lab_number(l, "small_filters"));
}

const lab_claim lab_B13 = {
    .id = "B13",
    .title = "bits read per lookup",
    .sentence = "A lookup reads k bits if the key is present and, if half of the bits are set, fewer than 2 on average "
                "if it is absent.",
    .formula = "(1 − p^{k})/(1 − p), p = 1/2",
    .code = "src/kinds/shared/slices.h",
    .decides = "half of the bits set, k = 7",
    .settings = {LAB_SIZE("n", 1000, 10000, 10, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 50, 200, 2, 1e6, "filters of each k"),
                 LAB_SIZE("asked", 1500, 10000, 100, 1e7, "absent and present keys looked up in each"),
                 LAB_SIZE("small_filters", 20000, 400000, 1000, 1e8, "filters for the distribution"),
                 LAB_WHOLES("k", "1,2,3,4,5,6,7,8,9,10,11,12", "1,2,3,4,5,6,7,8,9,10,11,12", 1, 30, 1, 30,
                            "hashes per key")},
    .run = run,
};
