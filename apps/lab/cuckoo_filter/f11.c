/* F11: the second open problem of [4]: do the results about cuckoo hashing hold for cuckoo filters?
 *
 * The two buckets of a key in a filter are not independent: the second follows from the first and the fingerprint. So
 * the proofs about cuckoo hashing do not apply. With one slot per bucket and two halves of M buckets the graph of a
 * filter has an edge from bucket p to bucket (H(φ) - p) mod M of the other half. If there are many fingerprints, that
 * is close to a random edge, and a filter must hold n keys as often as a cuckoo table does, which is known exactly
 * (cuckoo_hashing/graph_probability.h). With few fingerprints many edges are equal, and three keys of one class do not
 * fit, so it must hold them less often.
 *
 * For the loads reached, F4 gives the same answer: with wide fingerprints they are the thresholds of cuckoo hashing. */
#include "geometry.h"

#include <lab/cuckoo_hashing/graph_probability.h>

/* The share of filters with one slot per bucket that hold n keys. */
static lab_estimate share_that_fits(lab *l, unsigned f, uint64_t slots, uint64_t n, uint64_t filters, double done) {
    geometry g = {1, f, slots / 2, 1, false};
    uint64_t fit = 0;
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *filter = geometry_filter(l, &g);
        bool holds_all = geometry_fill(l, filter, 0, n) == n;
        lab_require(l, !holds_all || lab_count_found(l, filter, 0, n) == n, "a filter has lost a key");
        fit += holds_all;
        lab_drop(l, filter);
        if (i % 64 == 0)
            lab_progress(l, done);
    }
    return lab_share(fit, filters);
}

static void run(lab *l) {
    double widths[LAB_NUMBERS_MAX];
    size_t width_count = lab_list(l, "f", widths);
    uint64_t slots = lab_number(l, "slots") / 2 * 2, filters = lab_number(l, "filters");
    double loads[LAB_NUMBERS_MAX];
    size_t load_count = lab_list(l, "load", loads);
    lab_parameter(l, "slots", "%llu", (unsigned long long)slots);
    lab_parameter(l, "filters of each width and load", "%llu", (unsigned long long)filters);
    lab_plot *plot = lab_draw(l, "Filters that hold all keys, b = 1", "load", "share of filters", 0);
    lab_series *curve = lab_curve(plot, "cuckoo hashing, exact"), *points[LAB_NUMBERS_MAX];
    for (size_t w = 0; w < width_count; w++)
        points[w] = lab_points(plot, "f = %.0f", widths[w]);
    for (size_t a = 0; a < load_count; a++) {
        uint64_t n = (uint64_t)(loads[a] * (double)slots + 0.5);
        double exact = probability_all_fit_halves(n, slots);
        lab_at(curve, loads[a], lab_exact(exact));
        for (size_t w = 0; w < width_count; w++) {
            unsigned f = (unsigned)widths[w];
            lab_estimate share = share_that_fits(l, f, slots, n, filters,
                                                 ((double)a + (double)w / (double)width_count) / (double)load_count);
            lab_at(points[w], loads[a], share);
            lab_find(l, f >= 16 ? LAB_EQUALS : LAB_AT_MOST, exact, share,
                     "f = %u, %llu slots, load %.3g: share of filters that hold all keys, as for cuckoo hashing", f,
                     (unsigned long long)slots, loads[a]);
        }
    }
}

const lab_claim lab_F11 = {
    .id = "F11",
    .title = "open problem: the theory of cuckoo hashing for filters",
    .sentence = "With wide fingerprints a cuckoo filter holds n keys with the same probability as a cuckoo table; with "
                "narrow ones less often.",
    .formula = "P(n keys fit)",
    .code = "src/kinds/shared/cuckoo_search.h",
    .decides = "f = 16, 64 slots, load 0.4",
    .note =
        "[4] lists this as an open problem. Measured with one slot per bucket, a filter with 16 bits per fingerprint "
        "cannot be told from a cuckoo table; with 4 bits it holds the keys less often. The lower bound f = Ω(log n/b) "
        "shows why there is no theorem for narrow fingerprints (F7).",
    .settings = {LAB_SIZE("slots", 64, 64, 8, 16000, "slots of each filter"),
                 LAB_LIST("load", "0.3,0.4,0.5", "0.2,0.3,0.4,0.5,0.6", 0.01, 1, 0.01, 1, "loads"),
                 LAB_SIZE("filters", 4000, 60000, 30, 1e7, "filters of each width and load"),
                 LAB_WHOLES("f", "4,8,16,24", "4,8,16,24", 4, 32, 4, 32, "bits per fingerprint")},
    .run = run,
};
