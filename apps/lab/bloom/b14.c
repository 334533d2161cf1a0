/* B14: testing with two filters whether a set A is a subset of a set B.
 *
 * B is full, with half of its bits set. A contains some keys of B and r other keys. The test says yes if the bits of
 * all r other keys are set in B. In a slice with X set bits this has probability (X/slice)^r. Its mean over X is a
 * little more than the r-th power of the mean, since all r keys are tested against the same X. The slices are
 * independent, so the probability of a wrong yes is exactly
 *
 *     (E (X/slice)^r)^k,    about ε^r
 *
 * The filters are small, so that there can be many trials. Each trial has its own B, so trials are independent.
 *
 * With one other key, and where a wrong yes is too rare to be counted, it is measured in stages. A begins as a filter
 * of keys of B. In each stage the share of SPLIT absent keys is counted with which A still passes the test, and the
 * first of these keys stays in A. Given B, the stages are independent, so the product of their shares has the mean
 * P(yes | B), and the mean of the products over many B is P(yes). (This is importance sampling: the other keys are
 * drawn from those that B reports as present, and the weight of a draw is their share.) */
#include "bloom.h"

enum {
    OTHERS_MOST = 3,
    SHARED = 10,
    SPLIT = 1024,  /* absent keys in each stage */
    COUNTED = 200, /* a wrong yes that is expected less often in all trials is measured in stages */
};

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

/* The product of the shares of all stages, for one B. */
static double product_of_stages(lab *l, kith_filter *a, const kith_filter *b, uint64_t n, unsigned others) {
    kith_filter *with = bloom_like(l, a); /* a with one more key */
    double product = 1;
    lab_fill(l, a, 0, SHARED);
    for (unsigned stage = 0; stage < others; stage++) {
        uint64_t yes = 0, first = n + (uint64_t)stage * SPLIT, kept = 0;
        for (uint64_t key = first; key < first + SPLIT; key++) {
            lab_must(l, kith_filter_clear(with), "clearing");
            lab_must(l, kith_filter_merge(with, a), "merging");
            lab_fill(l, with, key, 1);
            if (is_subset(l, with, b) && yes++ == 0)
                kept = key;
        }
        product *= (double)yes / SPLIT;
        if (yes == 0)
            break;
        lab_fill(l, a, kept, 1);
    }
    lab_drop(l, with);
    return product;
}

static lab_estimate measure_in_stages(lab *l, bloom_shape shape, unsigned others, uint64_t filters) {
    lab_sample products = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *b = bloom_of(l, shape), *a = bloom_like(l, b);
        lab_fill(l, b, 0, shape.n);
        lab_sample_add(&products, product_of_stages(l, a, b, shape.n, others));
        lab_drop(l, a);
        lab_drop(l, b);
        lab_progress(l, 0.8 + 0.2 * (double)i / (double)filters);
    }
    return lab_mean(&products);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), trials = lab_number(l, "pairs"), staged = lab_number(l, "staged");
    uint64_t refused = 0;
    double ks[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "k", ks);
    bloom_parameter(l, "keys of B", n);
    lab_parameter(l, "keys of A", "%d keys of B, and 0 to %d others", SHARED, OTHERS_MOST);
    bloom_parameter(l, "pairs of filters", trials);
    bloom_parameter(l, "filters used in stages", staged);
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
            bloom_progress(l, (bloom_share){0.8 * (double)h / (double)count, 0.8 * (double)(h + 1) / (double)count}, t,
                           trials);
        }
        refused += trials - yes[0];
        lab_series *curve = lab_curve(plot, "k = %u, ε^r", shape.k),
                   *points = lab_points(plot, "k = %u, measured", shape.k);
        for (unsigned others = 0; others <= OTHERS_MOST; others++)
            lab_at(curve, others, lab_exact(pow(bloom_rate(shape), others)));
        for (unsigned others = 1; others <= OTHERS_MOST; others++) {
            double rate = pow(bloom_moment(l, shape.slice, n, others), shape.k);
            bool counted = others > 1 && rate * (double)trials >= COUNTED;
            lab_estimate measured =
                counted ? lab_share(yes[others], trials) : measure_in_stages(l, shape, others, staged);
            lab_find(l, LAB_EQUALS, rate, measured, "%u other key%s, k = %u%s", others, others > 1 ? "s" : "", shape.k,
                     counted ? "" : ", in stages");
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
    .settings = {LAB_SIZE("pairs", 20000, 400000, 100, 1e8, "pairs of filters of each kind"),
                 LAB_SIZE("staged", 1000, 4000, 2, 1e7, "filters of each kind that are used in stages"),
                 LAB_WHOLES("k", "1,2,4,7", "1,2,4,7", 1, 30, 1, 20, "hashes per key"),
                 LAB_WHOLE("n", "200", 10, 10000, 50, 2000, "keys of B")},
    .run = run,
};
