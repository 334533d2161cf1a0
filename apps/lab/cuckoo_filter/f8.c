/* F8: the simplified cuckoo filter: the other place is the first XOR the fingerprint itself, without a hash.
 *
 * A key's places then agree in all but the lowest f bits: they lie in one aligned stretch of 2^f buckets, of which
 * every other bucket can be the alternate, and less than 2^f apart. A filter of more buckets falls apart into stretches
 * of S = 2^f b slots that can't help each other. Alone a stretch fills to the load of any cuckoo filter; but of n keys
 * the R stretches get unequal shares, and the filter is full at the latest when one of them has more than S:
 *
 *     P(n keys go in) <= P(binomial(n, 1/R) <= S)^R
 *
 * which, summed over n, bounds the mean load at the first refusal. halves, with its hash, has one graph of all buckets
 * and loses nothing. The library's plans for alternate=simple therefore take a wide fingerprint or many regions. */
#include <math.h>

#include "shaped.h"

enum { B = 4, BITS = 8, STRETCH = (1 << BITS) * B };

typedef struct pair {
    uint64_t cell[2 * B];
    unsigned count;
} pair;

static void note(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    pair *p = context;
    (void)holds, (void)wanted;
    if (p->count < 2 * B)
        p->cell[p->count++] = cell;
}

/* Looks at many digests of a filter of `buckets` buckets and f bits: how far apart the two places are, and how many
 * alternates the bucket with the fewest has. */
static void reach(lab *l, bool simple, unsigned bits, uint64_t buckets, uint64_t *farthest, uint64_t *fewest) {
    shaped_geometry g = {B, bits, buckets / 2, 1, simple};
    kith_filter *f = shaped_filter(l, &g);
    uint8_t *seen = lab_take(l, buckets * buckets);
    uint64_t looks = 30 * buckets * ((UINT64_C(1) << bits) - 1); /* a pair is missed with e^-30 */
    *farthest = 0;
    *fewest = buckets;
    for (uint64_t i = 0; i < looks; i++) {
        pair p = {.count = 0};
        (void)kith_filter_look(f, lab_random(l), note, &p);
        uint64_t from = p.cell[0] / B, to = p.cell[B] / B, apart = from > to ? from - to : to - from;
        lab_require(l, from < buckets && to < buckets, "a place is out of range");
        *farthest = apart > *farthest ? apart : *farthest;
        seen[from * buckets + to] = 1;
        if (i % 65536 == 0)
            lab_going(l, 0.05);
    }
    for (uint64_t from = 0; from < buckets; from++) {
        uint64_t alternates = 0;
        for (uint64_t to = 0; to < buckets; to++)
            alternates += seen[from * buckets + to];
        *fewest = alternates < *fewest ? alternates : *fewest;
    }
    lab_drop(l, seen);
    lab_drop(l, f);
}

static double load_bound(uint64_t stretches) {
    uint64_t slots = stretches * STRETCH, step = slots / 1024;
    double keys = 0;
    for (uint64_t n = 0; n < slots; n += step) /* in steps, each with the highest of its terms */
        keys +=
            (double)step * exp((double)stretches * log1p(-lab_binomial_above(n + 1, 1 / (double)stretches, STRETCH)));
    return keys / (double)slots;
}

static lab_estimate load_reached(lab *l, bool simple, uint64_t stretches, uint64_t filters) {
    shaped_geometry g = {B, BITS, stretches * STRETCH / (2 * B), 1, simple};
    lab_sample loads = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = shaped_filter(l, &g);
        lab_sample_add(&loads, (double)shaped_fill(l, f, 0, shaped_slots(&g)) / (double)shaped_slots(&g));
        lab_drop(l, f);
        lab_going(l, 0.1 + 0.8 * (double)stretches / 128);
    }
    return lab_mean(&loads);
}

static void run(lab *l) {
    uint64_t filters = lab_pick(l, 40, 150), most = lab_pick(l, 16, 64), farthest, fewest;
    double threshold = shaped_threshold(B);
    lab_parameter(l, "b, f", "%d, %d", B, BITS);
    lab_parameter(l, "buckets", "2^%d to 2^%d times %llu", BITS, BITS, (unsigned long long)most);
    lab_parameter(l, "filters of each size", "%llu", (unsigned long long)filters);
    for (unsigned bits = 4; bits <= 6; bits += 2) {
        uint64_t stretch = UINT64_C(1) << bits;
        for (uint64_t buckets = stretch; buckets <= 4 * stretch; buckets *= 4) {
            reach(l, true, bits, buckets, &farthest, &fewest);
            lab_find(l, LAB_MUST, LAB_AT_MOST, (double)stretch - 1, lab_exact((double)farthest),
                     "simple, f = %u, %llu buckets: farthest alternate", bits, (unsigned long long)buckets);
            lab_find(l, LAB_MUST, LAB_EQUALS, (double)stretch - 1, lab_exact((double)fewest),
                     "simple, f = %u, %llu buckets: alternates of a bucket", bits, (unsigned long long)buckets);
        }
        reach(l, false, bits, 4 * stretch, &farthest, &fewest);
        lab_find(l, LAB_MUST, LAB_AT_LEAST, (double)stretch, lab_exact((double)farthest),
                 "halves, f = %u, %llu buckets: farthest alternate", bits, (unsigned long long)(4 * stretch));
    }
    lab_plot *plot = lab_draw(l, "Load at the first refusal, b = 4, f = 8", "slots", "load", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "simple: bound"), *step = lab_curve(plot, "threshold of b = 4");
    lab_series *simple = lab_points(plot, "simple"), *halves = lab_points(plot, "halves");
    for (uint64_t stretches = 1; stretches <= most; stretches *= 4) {
        double slots = (double)(stretches * STRETCH), top = stretches == 1 ? threshold : load_bound(stretches);
        lab_estimate with_hash = load_reached(l, false, stretches, filters);
        lab_estimate without = load_reached(l, true, stretches, filters);
        lab_find(l, LAB_MUST, LAB_EQUALS, threshold, with_hash, "halves, %.0f slots: load at the first refusal", slots);
        lab_find(l, LAB_MUST, stretches == 1 ? LAB_EQUALS : LAB_AT_MOST, top, without,
                 "simple, %.0f slots, stretches: %llu: load at the first refusal", slots,
                 (unsigned long long)stretches);
        lab_at(bound, slots, lab_exact(top));
        lab_at(step, slots, lab_exact(threshold));
        lab_at(halves, slots, with_hash);
        lab_at(simple, slots, without);
    }
}

const lab_claim lab_F8 = {
    .id = "F8",
    .title = "the simplified filter",
    .sentence = "With place XOR fingerprint as the other place, alternates lie less than 2^f apart, and large filters "
                "lose load.",
    .formula = "p' = p ⊕ φ, |p − p'| < 2^{f}",
    .code = "src/filters/cuckoo.c",
    .run = run,
};
