/* B14: a query that is itself a filter: is A within B?
 *
 * B is full, half of its bits set; A has some keys of B and r others. It is answered yes when the bits of all r others are
 * set in B. In one slice with X of its bits set that is (X/slice)^r, on average over X a little more than the r-th power of
 * its mean, since r keys share the luck of one slice; the slices are independent. So, exactly,
 *
 *     (E (X/slice)^r)^k,    about ε^r
 *
 * Few hashes, so that more than one key can be wrong often enough to be seen, and small filters, so that there are many:
 * every trial has a B of its own, and the trials are independent. */
#include "bloom.h"

enum { OTHERS_MOST = 3, SHARED = 10 };

static const unsigned HASHES[] = {1, 2, 4, 7};

static bool within(lab *l, const kith_filter *part, const kith_filter *whole) {
    bool yes = false;
    lab_must(l, kith_filter_subset(part, whole, &yes), "comparing");
    return yes;
}

/* Is a filter of SHARED keys of B and so many others answered to be within B? */
static bool asks_yes(lab *l, kith_filter *a, const kith_filter *b, uint64_t n, uint64_t others) {
    lab_must(l, kith_filter_clear(a), "clearing");
    lab_fill(l, a, 0, SHARED);
    lab_fill(l, a, n, others);
    return within(l, a, b);
}

static void run(lab *l) {
    uint64_t n = 200, trials = lab_pick(l, 20000, 400000), refused = 0;
    bloom_parameter(l, "keys of B", n);
    lab_parameter(l, "keys of A", "%d of B, and 0 to %d others", SHARED, OTHERS_MOST);
    bloom_parameter(l, "pairs of filters", trials);
    lab_plot *plot =
        lab_draw(l, "Wrong answers to \"is A within B?\"", "keys of A that are not in B", "rate", LAB_LOG_Y);
    for (unsigned h = 0; h < sizeof HASHES / sizeof *HASHES; h++) {
        bloom_shape shape = bloom_half_full(n, HASHES[h]);
        uint64_t yes[OTHERS_MOST + 1] = {0};
        for (uint64_t t = 0; t < trials; t++) {
            kith_filter *b = bloom_of(l, shape), *a = bloom_like(l, b);
            lab_fill(l, b, 0, n);
            for (unsigned others = 0; others <= OTHERS_MOST; others++)
                yes[others] += asks_yes(l, a, b, n, others);
            lab_drop(l, a);
            lab_drop(l, b);
            bloom_going(l, (bloom_part){h / 4.0, (h + 1) / 4.0}, t, trials);
        }
        refused += trials - yes[0];
        lab_series *curve = lab_curve(plot, "k = %u, ε^r", shape.k),
                   *points = lab_points(plot, "k = %u, measured", shape.k);
        for (unsigned others = 0; others <= OTHERS_MOST; others++)
            lab_at(curve, others, lab_exact(pow(bloom_rate(shape), others)));
        for (unsigned others = 1; others <= OTHERS_MOST; others++) {
            double rate = pow(bloom_moment(l, shape.slice, n, others), shape.k);
            lab_estimate measured = lab_share(yes[others], trials);
            lab_find(l, LAB_MUST, LAB_EQUALS, rate, measured, "%u other key%s, k = %u", others, others > 1 ? "s" : "",
                     shape.k);
            if (yes[others] > 0)
                lab_at(points, others, measured);
        }
    }
    lab_find(l, LAB_MUST, LAB_EQUALS, 0, lab_exact((double)refused), "A within B that is answered no");
}

const lab_claim lab_B14 = {
    .id = "B14",
    .title = "is A within B?",
    .sentence =
        "Whether A is within B is told by their bits: no is certain, and yes is wrong, with r keys of A not in B, "
        "about as often as all r are answered yes, ε^r.",
    .formula = "P(yes) = (E (X/s)^{r})^{k} ≈ ε^{r}",
    .code = "src/family/bits.h",
    .run = run,
};
