/* F8: the simplified cuckoo filter, in which the other bucket is the first one XOR the fingerprint itself, without a
 * hash.
 *
 * The two buckets of a key then differ only in the lowest f bits. So they are in the same aligned range of 2^f buckets
 * and less than 2^f apart. Within the range every other bucket can be the alternate. A filter with more buckets
 * consists of several ranges of S = 2^f b slots, and keys cannot move from one range to another. A single range reaches
 * the load of any cuckoo filter. But R ranges get unequal shares of n keys, and the filter is full at the latest when
 * one of them has more than S:
 *
 *     P(n keys can be added) <= P(binomial(n, 1/R) <= S)^R
 *
 * Summed over n, this bounds the mean load at the first refusal. alternate=halves, which uses a hash, has one graph of
 * all buckets and loses nothing. (In filters of more than GEOMETRY_SEARCHED_SLOTS slots it loses a little for another
 * reason, which is not about the hash: searches are bounded. There it must still exceed the bound for simple.) The
 * library's plans for alternate=simple therefore use a wide fingerprint or many regions. */
#include <math.h>

#include "geometry.h"

enum { B = 4, BITS = 8, RANGE_SLOTS = (1 << BITS) * B };
enum { LEAST_BITS = 4 }; /* the narrowest fingerprint of the library */

/* Looks up many digests in a filter of `buckets` buckets with fingerprints of `bits` bits. *farthest is the largest
 * distance between the two buckets of a digest, *fewest the number of alternates of the bucket that has the fewest. */
static void measure_alternates(lab *l, bool simple, unsigned bits, uint64_t buckets, uint64_t *farthest,
                               uint64_t *fewest) {
    geometry g = {B, bits, buckets / 2, 1, simple};
    kith_filter *f = geometry_filter(l, &g);
    uint8_t *seen = lab_take(l, buckets * buckets);
    uint64_t looks = 30 * buckets * ((UINT64_C(1) << bits) - 1); /* a pair is missed with probability e^-30 */
    *farthest = 0;
    *fewest = buckets;
    for (uint64_t i = 0; i < looks; i++) {
        geometry_candidates c = geometry_look(f, lab_random(l));
        uint64_t from = c.slot[0] / B, to = c.slot[B] / B, apart = from > to ? from - to : to - from;
        lab_require(l, from < buckets && to < buckets, "a bucket is out of range");
        *farthest = apart > *farthest ? apart : *farthest;
        seen[from * buckets + to] = 1;
        if (i % 65536 == 0)
            lab_progress(l, 0.05);
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

static double load_bound(uint64_t ranges) {
    uint64_t slots = ranges * RANGE_SLOTS, step = slots / 1024;
    double keys = 0;
    for (uint64_t n = 0; n < slots; n += step) /* each step uses its largest term */
        keys += (double)step * exp((double)ranges * log1p(-lab_binomial_above(n + 1, 1 / (double)ranges, RANGE_SLOTS)));
    return keys / (double)slots;
}

static lab_estimate load_reached(lab *l, bool simple, uint64_t ranges, uint64_t filters) {
    geometry g = {B, BITS, ranges * RANGE_SLOTS / (2 * B), 1, simple};
    lab_sample loads = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = geometry_filter(l, &g);
        lab_sample_add(&loads, (double)geometry_fill(l, f, 0, geometry_slots(&g)) / (double)geometry_slots(&g));
        lab_drop(l, f);
        lab_progress(l, 0.1 + 0.8 * (double)ranges / 128);
    }
    return lab_mean(&loads);
}

/* Eppstein's upper bound: f = O(log n/b) is enough. Filters with a fingerprint of log2(n)/(2b) bits, rounded up, and
 * EXTRA more get n keys, at half the load of the threshold, where the lower bound (F7) needs log2(n)/(2b). */
enum { EXTRA = 2 };

static void measure_enough(lab *l, uint64_t filters, lab_plot *plot) {
    filters *= 5;
    for (unsigned b = 1; b <= 4; b *= 2) {
        lab_series *points = lab_points(plot, "simple, b = %u", b), *half = lab_curve(plot, "one half, b = %u", b);
        for (unsigned power = 10; power <= 16; power += 2) {
            uint64_t slots = UINT64_C(1) << power, holding = 0;
            uint64_t n = (uint64_t)(0.5 * geometry_threshold(b) * (double)slots);
            unsigned bits = (unsigned)ceil(log2((double)n) / (2 * b)) + EXTRA;
            geometry g = {b, bits < LEAST_BITS ? LEAST_BITS : bits, slots / (2 * b), 1, true};
            for (uint64_t i = 0; i < filters; i++) {
                kith_filter *f = geometry_filter(l, &g);
                holding += geometry_fill(l, f, 0, n) == n;
                lab_drop(l, f);
                lab_progress(l, 0.9);
            }
            lab_find_stated(l, LAB_MUST,
                            "[4]: \"this lower bound is tight by giving an upper bound of f = O(log n/b)\"",
                            LAB_AT_LEAST, 0.5, lab_share(holding, filters),
                            "simple, b = %u, n = %llu, f = %u: share of filters that hold all n keys", b,
                            (unsigned long long)n, g.f);
            lab_at(points, (double)n, lab_share(holding, filters));
            lab_at(half, (double)n, lab_exact(0.5));
        }
    }
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters"), most = lab_number(l, "ranges"), farthest, fewest;
    double threshold = geometry_threshold(B);
    lab_parameter(l, "b, f", "%d, %d", B, BITS);
    lab_parameter(l, "buckets", "2^%d to 2^%d times %llu", BITS, BITS, (unsigned long long)most);
    lab_parameter(l, "filters of each size", "%llu", (unsigned long long)filters);
    double widths[LAB_NUMBERS_MAX];
    size_t width_count = lab_list(l, "f", widths);
    for (size_t i = 0; i < width_count; i++) {
        unsigned bits = (unsigned)widths[i];
        uint64_t range = UINT64_C(1) << bits;
        for (uint64_t buckets = range; buckets <= 4 * range; buckets *= 4) {
            measure_alternates(l, true, bits, buckets, &farthest, &fewest);
            lab_find(l, LAB_AT_MOST, (double)range - 1, lab_exact((double)farthest),
                     "simple, f = %u, %llu buckets: distance of the farthest alternate", bits,
                     (unsigned long long)buckets);
            lab_find(l, LAB_EQUALS, (double)range - 1, lab_exact((double)fewest),
                     "simple, f = %u, %llu buckets: alternates of a bucket, minimum", bits,
                     (unsigned long long)buckets);
        }
        measure_alternates(l, false, bits, 4 * range, &farthest, &fewest);
        lab_find(l, LAB_AT_LEAST, (double)range, lab_exact((double)farthest),
                 "halves, f = %u, %llu buckets: distance of the farthest alternate", bits,
                 (unsigned long long)(4 * range));
    }
    lab_plot *plot = lab_draw(l, "Load at the first refusal, b = 4, f = 8", "slots", "load", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "simple: bound"), *step = lab_curve(plot, "threshold for b = 4");
    lab_series *simple = lab_points(plot, "simple"), *halves = lab_points(plot, "halves");
    for (uint64_t ranges = 1; ranges <= most; ranges *= 4) {
        double slots = (double)(ranges * RANGE_SLOTS), top = ranges == 1 ? threshold : load_bound(ranges);
        lab_estimate with_hash = load_reached(l, false, ranges, filters);
        lab_estimate without = load_reached(l, true, ranges, filters);
        if (slots <= GEOMETRY_SEARCHED_SLOTS)
            lab_find(l, LAB_EQUALS, threshold, with_hash, "halves, %.0f slots: load at the first refusal", slots);
        else
            lab_find(l, LAB_AT_LEAST, top, with_hash, "halves, %.0f slots: load at the first refusal, bound for simple",
                     slots);
        lab_find(l, ranges == 1 ? LAB_EQUALS : LAB_AT_MOST, top, without,
                 "simple, %.0f slots, %llu range%s: load at the first refusal", slots, (unsigned long long)ranges,
                 ranges == 1 ? "" : "s");
        lab_at(bound, slots, lab_exact(top));
        lab_at(step, slots, lab_exact(threshold));
        lab_at(halves, slots, with_hash);
        lab_at(simple, slots, without);
    }
    measure_enough(l, filters, lab_draw(l, "f = log2(n)/(2b) + 2 bits", "keys, n", "share that holds all", LAB_LOG_X));
}

const lab_claim lab_F8 = {
    .id = "F8",
    .title = "the simplified filter",
    .sentence = "If the other bucket is bucket XOR fingerprint, the two buckets of a key are less than 2^f apart, and "
                "large filters reach lower loads.",
    .formula = "p' = p ⊕ φ, |p − p'| < 2^{f}",
    .code = "src/kinds/cuckoo/cuckoo.c",
    .decides = "simple, 16384 slots, 16 ranges",
    .settings = {LAB_SIZE("filters", 40, 150, 2, 100000, "filters of each size"),
                 LAB_SIZE("ranges", 16, 64, 1, 1024, "the most ranges"),
                 LAB_WHOLES("f", "4,6", "4,6", 4, 8, 4, 8,
                            "bits per fingerprint, for the distances between the buckets of a key")},
    .run = run,
};
