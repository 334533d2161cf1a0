/* B14: testing with two filters whether a set A is a subset of a set B.
 *
 * B is full, with half of its bits set. A contains some keys of B and r other keys. The test says yes if the bits of
 * all r other keys are set in B. In a slice with X set bits this has probability (X/slice)^r. Its mean over X is a
 * little more than the r-th power of the mean, since all r keys are tested against the same X. The slices are
 * independent, so the probability of a wrong yes is exactly
 *
 *     (E (X/slice)^r)^k,    about ε^r
 *
 * The filters have few hashes, so that a wrong yes with more than one other key is frequent enough to be measured.
 * They are small, so that there can be many trials. Each trial has its own B, so trials are independent. */
#include "bloom.h"

enum { OTHERS_MOST = 3, SHARED = 10 };

static bool is_subset(lab *l, const kith_filter *part, const kith_filter *whole) {
    bool yes = false;
    lab_must(l, kith_filter_subset(part, whole, &yes), "comparing");
    return yes;
}

/* True if the test says that a filter of SHARED keys of B and `others` other keys is a subset of B. */
static bool test_says_yes(lab *l, kith_filter *a, const kith_filter *b, uint64_t n, uint64_t others) {
    lab_must(l, kith_filter_clear(a), "clearing");
    lab_fill(l, a, 0, SHARED);
    lab_fill(l, a, n, others);
    return is_subset(l, a, b);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), trials = lab_number(l, "trials"), refused = 0;
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    bloom_parameter(l, "keys of B", n);
    lab_parameter(l, "keys of A", "%d keys of B, and 0 to %d others", SHARED, OTHERS_MOST);
    bloom_parameter(l, "pairs of filters", trials);
    lab_plot *plot =
        lab_draw(l, "False positives of the subset test", "keys of A that are not in B", "rate", LAB_LOG_Y);
    for (size_t h = 0; h < count; h++) {
        bloom_shape shape = bloom_half_full(n, (unsigned)ks[h]);
        uint64_t yes[OTHERS_MOST + 1] = {0};
        for (uint64_t t = 0; t < trials; t++) {
            kith_filter *b = bloom_of(l, shape), *a = bloom_like(l, b);
            lab_fill(l, b, 0, n);
            for (unsigned others = 0; others <= OTHERS_MOST; others++)
                yes[others] += test_says_yes(l, a, b, n, others);
            lab_drop(l, a);
            lab_drop(l, b);
            bloom_progress(l, (bloom_share){(double)h / (double)count, (double)(h + 1) / (double)count}, t, trials);
        }
        refused += trials - yes[0];
        lab_series *curve = lab_curve(plot, "k = %u, ε^r", shape.k),
                   *points = lab_points(plot, "k = %u, measured", shape.k);
        for (unsigned others = 0; others <= OTHERS_MOST; others++)
            lab_at(curve, others, lab_exact(pow(bloom_rate(shape), others)));
        for (unsigned others = 1; others <= OTHERS_MOST; others++) {
            double rate = pow(bloom_moment(l, shape.slice, n, others), shape.k);
            lab_estimate measured = lab_share(yes[others], trials);
            lab_find(l, LAB_EQUALS, rate, measured, "%u other key%s, k = %u", others, others > 1 ? "s" : "", shape.k);
            if (yes[others] > 0)
                lab_at(points, others, measured);
        }
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)refused), "subsets of B for which the test says no");
}

const lab_claim lab_B14 = {
    .id = "B14",
    .title = "is A a subset of B?",
    .sentence =
        "Comparing the bits of two filters tests whether A is a subset of B. \"No\" is always right. If r keys of A "
        "are not in B, the test says \"yes\" with probability about ε^r, that of r false positives.",
    .formula = "P(yes) = (E (X/s)^{r})^{k} ≈ ε^{r}",
    .code = "src/kinds/shared/bit_cells.h",
    .decides = "3 other keys, k = 7",
    .settings = {LAB_SIZE("trials", 20000, 400000, 100, 1e8, "pairs of filters of each kind"),
                 LAB_WHOLES("k", "1,2,4,7", "1,2,4,7", 1, 30, 1, 20, "hashes per key"),
                 LAB_WHOLE("n", "200", 10, 10000, 50, 2000, "keys of B")},
    .run = run,
};
