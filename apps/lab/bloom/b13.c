/* B13: bits that a look-up looks at.
 *
 * kith_filter_look tells them. A present key has all its k bits looked at. An absent one is refused at the first 0: with a
 * share p of the bits set it gets to bit j + 1 with p^j, so it looks at (1 - p^k)/(1 - p) bits on average, less than 2 where
 * half of them are set. The planner's filters have a few more set when its whole k lies above -log2 of the rate: at 1%,
 * k = 7, it is 2.05. The distribution, a geometric one cut off at k, is tested on small filters that are asked one key each,
 * since keys of one filter share its bits. */
#include "bloom.h"

enum { K_MOST = 12, SMALL = 32, SMALL_HASHES = 8 };

static void count(void *looks, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell;
    (void)holds;
    (void)wanted;
    ++*(unsigned *)looks;
}

static unsigned looks_at(lab *l, const kith_filter *f, uint64_t i) {
    unsigned looks = 0;
    uint64_t digest;
    lab_digests(l, f, i, 1, &digest);
    (void)kith_filter_look(f, digest, count, &looks);
    return looks;
}

/* 1 + p + … + p^(k-1): the term j is that the first j bits are set. */
static double looks_of(bloom_shape shape) {
    double looks = 0;
    for (unsigned j = 0; j < shape.k; j++)
        looks += pow(1 - bloom_zero_of(shape), j);
    return looks;
}

/* Looks a key on average, absent ones; adds to *other the looks of present keys that are not k. */
static lab_estimate measure(lab *l, bloom_shape shape, uint64_t filters, uint64_t asked, bloom_part part,
                            uint64_t *other) {
    lab_sample means = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = bloom_of(l, shape);
        uint64_t looks = 0;
        lab_fill(l, f, 0, shape.n);
        for (uint64_t a = 0; a < asked; a++) {
            looks += looks_at(l, f, shape.n + a);
            *other += looks_at(l, f, a % shape.n) != shape.k;
        }
        lab_sample_add(&means, (double)looks / (double)asked);
        lab_drop(l, f);
        bloom_going(l, part, i, filters);
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
        observed[looks_at(l, f, SMALL) - 1]++;
        lab_drop(l, f);
        bloom_going(l, (bloom_part){0.9, 1}, i, filters);
    }
    for (unsigned j = 0; j < SMALL_HASHES; j++)
        expected[j] = (double)filters * pow(set, j) * (j + 1 < SMALL_HASHES ? 1 - set : 1);
    lab_find_fit(l, LAB_MUST, observed, expected, SMALL_HASHES, 1, "bits looked at for an absent key, k = 8");
}

static void run(lab *l) {
    uint64_t n = lab_pick(l, 1000, 10000), filters = lab_pick(l, 50, 200), asked = lab_pick(l, 1500, 10000), other = 0;
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    bloom_parameter(l, "absent keys asked of each, and present ones", asked);
    lab_plot *plot = lab_draw(l, "Bits looked at, half of them set", "hashes, k", "bits a look-up", 0);
    lab_series *curve = lab_curve(plot, "absent keys, 2 (1 − 2^(−k))"), *present = lab_curve(plot, "present keys, k");
    lab_series *points = lab_points(plot, "measured, absent keys"), *all = lab_points(plot, "measured, present keys");
    for (unsigned k = 1; k <= K_MOST; k++) {
        bloom_shape shape = bloom_half_full(n, k);
        uint64_t off = 0;
        lab_estimate looks = measure(l, shape, filters, asked, (bloom_part){0.06 * (k - 1), 0.06 * k}, &off);
        lab_find(l, LAB_MUST, LAB_EQUALS, looks_of(shape), looks, "absent keys, half of the bits set, k = %u", k);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 2, looks, "fewer than 2, k = %u", k);
        lab_at(curve, k, lab_exact(2 - exp2(1.0 - k)));
        lab_at(present, k, lab_exact(k));
        lab_at(points, k, looks);
        if (off == 0)
            lab_at(all, k, lab_exact(k));
        other += off;
    }
    static const struct {
        double bits_a_key;
        unsigned k;
    } PLANS[] = {{4.81, 3}, {9.593, 7}};
    for (unsigned i = 0; i < 2; i++) {
        bloom_shape shape = bloom_shape_of(n, PLANS[i].bits_a_key * (double)n, PLANS[i].k);
        lab_estimate looks = measure(l, shape, filters, asked, (bloom_part){0.72 + 0.09 * i, 0.81 + 0.09 * i}, &other);
        lab_find(l, LAB_MUST, LAB_EQUALS, looks_of(shape), looks, "absent keys, rate %.3g, k = %u", bloom_rate(shape),
                 shape.k);
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)other), "present keys with other than k bits looked at");
    measure_distribution(l, lab_pick(l, 20000, 400000));
}

const lab_claim lab_B13 = {
    .id = "B13",
    .title = "bits looked at",
    .sentence = "A look-up looks at k bits for a key that is in, and at fewer than 2 on average for one that is not, "
                "where half of the bits are set.",
    .formula = "(1 − p^{k})/(1 − p), p = 1/2",
    .code = "src/family/slices.h",
    .run = run,
};
