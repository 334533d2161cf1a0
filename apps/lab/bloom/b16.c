/* B16: the entropy argument for half of the bits.
 *
 * [3] picks k so that each bit is 1 with probability 1/2: "This gives the maximum entropy and the maximum mutual
 * information." A bit that is 1 with probability p carries H(p) = -p log2 p - (1-p) log2(1-p) bits. The argument is
 * tested by measuring both sides of it for every k: the entropy of the bits, from the share of them that is set, and
 * the rate. The k with the highest entropy must be the one with the lowest rate. For real k this follows from B3: ln ε
 * is -(m/n) ln p ln(1-p), and both H(p) and ln p ln(1-p) have their only maximum at p = 1/2. m/n is chosen so that the
 * best k is an integer. */
#include "bloom.h"

enum { K_MOST = 12 };

static double entropy(double p) {
    return p <= 0 || p >= 1 ? 0 : -p * log2(p) - (1 - p) * log2(1 - p);
}

static void run(lab *l) {
    double bests[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", bests);
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), asked = lab_number(l, "asked");
    bloom_parameter(l, "n", n);
    bloom_parameter(l, "filters of each shape", filters);
    lab_plot *plot = lab_draw(l, "Entropy of a bit, and the rate", "entropy of a bit", "rate", LAB_LOG_Y);
    for (size_t i = 0; i < count; i++) {
        double wanted = bests[i], c = wanted / log(2);
        unsigned k_most = (unsigned)fmin(K_MOST, 4 * wanted); /* with more, nearly all bits are set */
        lab_estimate rates[K_MOST + 1], at_best = {1, 1, 1};
        lab_series *points = lab_points(plot, "m/n = %.2f, k = 1, 2, …", c);
        unsigned highest = 0;
        double highest_entropy = 0;
        for (unsigned k = 1; k <= k_most; k++) {
            bloom_shape shape = bloom_shape_of(n, c * (double)n, k);
            lab_sample rate = {0}, set = {0};
            for (uint64_t j = 0; j < filters; j++) {
                kith_filter *f = bloom_of(l, shape);
                lab_fill(l, f, 0, n);
                kith_filter_stats stats = bloom_stats(l, f);
                lab_sample_add(&set, (double)stats.cells_used / (double)stats.cells);
                lab_sample_add(&rate, (double)lab_count_found(l, f, n, asked) / (double)asked);
                lab_drop(l, f);
                lab_progress(l,
                             ((double)(i * K_MOST + k - 1) + (double)j / (double)filters) / (double)(count * K_MOST));
            }
            rates[k] = lab_mean(&rate);
            lab_estimate share = lab_mean(&set);
            lab_at(points, entropy(share.value), rates[k]);
            lab_find(l, LAB_EQUALS, 1 - bloom_zero_of(shape), share, "m/n = %.2f, k = %u: share of set bits", c, k);
            if (entropy(share.value) > highest_entropy) {
                highest_entropy = entropy(share.value);
                highest = k;
            }
            if (k == (unsigned)wanted)
                at_best = share;
        }
        lab_find_stated(l, LAB_MUST, "[3]: \"This gives the maximum entropy and the maximum mutual information\"",
                        LAB_EQUALS, highest, bloom_lowest(rates, k_most),
                        "m/n = %.2f: k of the lowest rate, and k of the highest entropy (%.5f bits per bit)", c,
                        highest_entropy);
        lab_find(l, LAB_EQUALS, wanted, lab_exact(highest), "m/n = %.2f: k of the highest entropy is (m/n) ln 2", c);
        lab_find(l, LAB_EQUALS, 1 - bloom_zero_of(bloom_shape_of(n, c * (double)n, (unsigned)wanted)), at_best,
                 "m/n = %.2f: share of set bits at that k, half of them", c);
    }
}

const lab_claim lab_B16 = {
    .id = "B16",
    .title = "the entropy argument for half of the bits",
    .sentence =
        "The number of hashes at which a bit carries the most information, because half of the bits are set, is "
        "the one with the lowest rate.",
    .formula = "H(p) = 1 at p = 1/2",
    .code = "src/plan/sizing.c",
    .decides = "k of the lowest rate, and k of the highest entropy",
    .note =
        "[3] gives the entropy as an intuition. It names the right k, but it is not the reason: the rate depends on p "
        "through ln p ln(1 − p), not through H(p). Both have their maximum at p = 1/2 because both are the same for "
        "p and 1 − p.",
    .settings = {LAB_SIZE("n", 800, 4000, 24, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 60, 300, 2, 1e6, "filters of each k"),
                 LAB_SIZE("asked", 8000, 40000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WHOLES("k", "3,5", "3,5", 2, 12, 2, 6, "the best number of hashes; m/n is k/ln 2")},
    .run = run,
};
