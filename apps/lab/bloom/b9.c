/* B9: the false-positive rate of the AND of two filters, which depends on the sets that a key is in.
 *
 * A has twice as many keys as B, so that their rates differ, and the sets have some keys in common. Keys of four
 * kinds are looked up: in both sets, in neither, only in A and only in B. A bit of the AND is 1 unless it is 0 in A
 * or in B. With q = 1 - 1/slice it is 0 in A with probability q^|A|, and 0 in both with probability q^|A ∪ B|. So a
 * lookup of a key in neither set returns true with probability
 *
 *     (1 - q^|A| - q^|B| + q^|A ∪ B|)^k
 *
 * All bits of a key in A are set in A, so the result for a key only in A depends on B alone. For comparison a filter
 * is built from the keys that are in both sets; its set bits are a subset of those of the AND. */
#include "bloom.h"

/* The measured rates. The first PLOTTED of them are in the plot. */
enum { NEITHER, ONLY_A, ONLY_B, BUILT, PLOTTED, ALONE_A = PLOTTED, ALONE_B, RATE_COUNT };

typedef struct sets {
    uint64_t a, b, common; /* A: keys 0 … a-1, B: keys a-common … a-common+b-1 */
} sets;

static double share(lab *l, const kith_filter *f, uint64_t first, uint64_t n) {
    return (double)lab_count_found(l, f, first, n) / (double)n;
}

static void predict(bloom_shape shape, sets s, double *rates) {
    double slice = (double)shape.slice, a = (double)s.a, b = (double)s.b, both = (double)s.common, k = shape.k;
    double zero_a = bloom_zero(slice, a), zero_b = bloom_zero(slice, b), zero_either = bloom_zero(slice, a + b - both);
    rates[NEITHER] = pow(1 - zero_a - zero_b + zero_either, k);
    rates[ONLY_A] = rates[ALONE_B] = pow(1 - zero_b, k);
    rates[ONLY_B] = rates[ALONE_A] = pow(1 - zero_a, k);
    rates[BUILT] = pow(1 - bloom_zero(slice, both), k);
}

/* Adds the rates of one pair of filters to `rates`. Returns the number of faults: keys of both sets that are not
 * found in the AND, plus 1 if a bit of the built filter is not set in the AND. */
static uint64_t try_pair(lab *l, bloom_shape shape, sets s, uint64_t asked, lab_sample *rates) {
    kith_filter *a = bloom_of(l, shape), *b = bloom_like(l, a), *built = bloom_like(l, a);
    uint64_t b_first = s.a - s.common, end = b_first + s.b;
    lab_fill(l, a, 0, s.a);
    lab_fill(l, b, b_first, s.b);
    lab_fill(l, built, b_first, s.common);
    lab_sample_add(&rates[ALONE_A], share(l, a, end, asked));
    lab_sample_add(&rates[ALONE_B], share(l, b, end, asked));
    lab_sample_add(&rates[BUILT], share(l, built, end, asked));
    lab_must(l, kith_filter_intersect(a, b), "intersecting");
    lab_sample_add(&rates[NEITHER], share(l, a, end, asked));
    lab_sample_add(&rates[ONLY_A], share(l, a, 0, s.a - s.common));
    lab_sample_add(&rates[ONLY_B], share(l, a, s.a, s.b - s.common));
    bool within;
    lab_must(l, kith_filter_subset(built, a, &within), "comparing");
    uint64_t faults = s.common - lab_count_found(l, a, b_first, s.common) + !within;
    lab_drop(l, built);
    lab_drop(l, b);
    lab_drop(l, a);
    return faults;
}

static void judge(lab *l, const double *predicted, const lab_sample *rates, double common) {
    lab_estimate neither = lab_mean(&rates[NEITHER]);
    lab_find(l, LAB_EQUALS, predicted[NEITHER], neither, "AND, keys in neither, |A ∩ B| = %g |B|", common);
    lab_find(l, LAB_EQUALS, predicted[ONLY_A], lab_mean(&rates[ONLY_A]),
             "AND, keys only in A: the rate of B, |A ∩ B| = %g |B|", common);
    lab_find(l, LAB_EQUALS, predicted[ONLY_B], lab_mean(&rates[ONLY_B]),
             "AND, keys only in B: the rate of A, |A ∩ B| = %g |B|", common);
    lab_find(l, LAB_EQUALS, predicted[ALONE_A], lab_mean(&rates[ALONE_A]), "A alone, keys in neither, |A ∩ B| = %g |B|",
             common);
    lab_find(l, LAB_EQUALS, predicted[ALONE_B], lab_mean(&rates[ALONE_B]), "B alone, keys in neither, |A ∩ B| = %g |B|",
             common);
    lab_find(l, LAB_AT_MOST, predicted[ALONE_B], neither,
             "AND, keys in neither: at most the rate of B, |A ∩ B| = %g |B|", common);
    lab_find(l, LAB_EQUALS, predicted[BUILT], lab_mean(&rates[BUILT]),
             "filter built from the keys of A ∩ B, |A ∩ B| = %g |B|", common);
    lab_find(l, LAB_AT_LEAST, predicted[BUILT], neither,
             "AND, keys in neither: at least the rate of the filter built from A ∩ B, |A ∩ B| = %g |B|", common);
    lab_find_stated(l, LAB_WRONG,
                    "[2]: \"the resulting Bloom filter has a false positive rate equal to the maximum rate of the two "
                    "input filters\"",
                    LAB_EQUALS, predicted[ALONE_A], neither,
                    "AND, keys in neither, compared with the rate of A, the larger one, |A ∩ B| = %g |B|", common);
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), pairs = lab_number(l, "pairs"), asked = lab_number(l, "asked"), faults = 0;
    lab_parameter(l, "|A|, |B|", "%llu, %llu", (unsigned long long)(2 * n), (unsigned long long)n);
    unsigned k = (unsigned)lab_number(l, "k");
    double overlaps[LAB_NUMBERS_MAX];
    size_t steps = lab_list(l, "overlap", overlaps);
    bloom_parameter(l, "k", k);
    bloom_parameter(l, "pairs of filters at each overlap", pairs);
    bloom_parameter(l, "keys in neither looked up in each", asked);
    bloom_shape shape = bloom_half_full(2 * n, k);
    static const char *const NAMES[] = {"AND, keys in neither", "AND, keys only in A", "AND, keys only in B",
                                        "filter built from A ∩ B"};
    lab_plot *plot = lab_draw(l, "False positives of an intersection, |A| = 2 |B|", "|A ∩ B| / |B|", "rate", LAB_LOG_Y);
    for (unsigned which = 0; which < PLOTTED; which++) {
        lab_series *curve = lab_curve(plot, "%s, predicted", NAMES[which]);
        for (uint64_t common = n / 10; common < n; common += n / 20) {
            double predicted[RATE_COUNT];
            predict(shape, (sets){2 * n, n, common}, predicted);
            lab_at(curve, (double)common / (double)n, lab_exact(predicted[which]));
        }
    }
    lab_series *document = lab_curve(plot, "AND according to [2]: the larger rate, that of A");
    for (unsigned i = 0; i < 2; i++) {
        double predicted[RATE_COUNT];
        predict(shape, (sets){2 * n, n, n / 2}, predicted);
        lab_at(document, 0.1 + 0.85 * i, lab_exact(predicted[ALONE_A]));
    }
    lab_series *points[PLOTTED];
    for (unsigned which = 0; which < PLOTTED; which++)
        points[which] = lab_points(plot, "%s", NAMES[which]);
    for (size_t i = 0; i < steps; i++) {
        sets s = {2 * n, n, (uint64_t)(overlaps[i] * (double)n)};
        lab_require(l, s.common > 0 && s.common < n, "an overlap of no key or of all keys: set a larger n");
        lab_sample rates[RATE_COUNT] = {0};
        double predicted[RATE_COUNT], common = (double)s.common / (double)n;
        for (uint64_t t = 0; t < pairs; t++) {
            faults += try_pair(l, shape, s, asked, rates);
            bloom_progress(l, (bloom_share){(double)i / (double)steps, (double)(i + 1) / (double)steps}, t, pairs);
        }
        predict(shape, s, predicted);
        for (unsigned which = 0; which < PLOTTED; which++)
            if (lab_mean(&rates[which]).low > 0) /* 0 cannot be drawn on a log scale */
                lab_at(points[which], common, lab_mean(&rates[which]));
        if (common >= 0.5) /* where all rates are large enough to be measured */
            judge(l, predicted, rates, common);
    }
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)faults),
             "keys of both sets not found, and filters built from A ∩ B with a bit that the AND does not have");
}

const lab_claim lab_B9 = {
    .id = "B9",
    .title = "intersection by AND",
    .sentence =
        "The AND of two filters contains every key that is in both sets. Its false-positive rate is at most the larger "
        "rate of the two filters, and at least the rate of a filter built from the common keys.",
    .formula = "ε = (1 − q^{|A|} − q^{|B|} + q^{|A ∪ B|})^{k}, q = 1 − k/m",
    .code = "src/kinds/shared/bit_cells.h",
    .note =
        "[2] says that the rate of the AND is equal to the maximum of the two rates. That is only an upper bound. For "
        "a key in neither set the rate is lower than that of either filter. For a key only in A it is the rate of B, "
        "and for a key only in B it is the rate of A.",
    .decides = "AND, keys in neither, |A ∩ B| = 0.5",
    .settings = {LAB_SIZE("n", 1000, 4000, 20, 1e7, "keys of B; A has twice as many"),
                 LAB_SIZE("pairs", 200, 400, 2, 1e6, "pairs of filters at each overlap"),
                 LAB_SIZE("asked", 8000, 40000, 100, 1e8, "absent keys looked up in each"),
                 LAB_LIST("overlap", "0.1,0.3,0.5,0.7,0.9", "0.1,0.3,0.5,0.7,0.9", 0.01, 0.99, 0.05, 0.95,
                          "keys in both sets / keys of B; from 0.5 on they are judged"),
                 LAB_WHOLE("k", "4", 1, 20, 2, 6, "hashes")},
    .run = run,
};
