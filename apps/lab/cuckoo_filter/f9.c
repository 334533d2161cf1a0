/* F9: removing a key that was never added.
 *
 * The filter cannot tell: it removes an entry of that key's class if there is one. This happens at the false positive
 * rate, for a share of 1 - (1 - 1/C)^n of all absent keys, with C = M (2^f - 1) classes. If the class had one key, that
 * key is lost. If it had more, the entries of the others still make it appear present, until they are removed. So
 * removing an absent key loses another key with the probability that its class has exactly one,
 *
 *     P(lost) = (n/C) (1 - 1/C)^(n - 1)
 *
 * which is exact. (A key that is refused because its class is full counts as stored, since it is reported as present.
 * With 4 bits one filter in thousands refuses a key because there is no free slot; the effect is too small to be
 * detected.) After each removal all n keys are looked up. Then the absent key is added, which restores the entry, so
 * that every trial starts with the same number of entries. Each filter gives one number. */
#include <math.h>

#include "geometry.h"

typedef struct shares {
    lab_sample removed, lost;
    uint64_t lost_several; /* removals that lost more than one key */
    uint64_t inconsistent; /* removals whose status contradicts kith_filter_has */
} shares;

static void one_filter(lab *l, const geometry *g, uint64_t n, uint64_t absent, shares *s) {
    kith_filter *f = geometry_filter(l, g);
    uint64_t removed = 0, lost = 0;
    uint64_t refused = geometry_fill_skipping(l, f, 0, n), found = lab_count_found(l, f, 0, n);
    lab_require(l, n - found <= refused, "a key that was added is not found");
    for (uint64_t i = 0; i < absent; i++) {
        uint64_t key = lab_key(l, n + i);
        bool has = kith_filter_has(f, &key, sizeof key);
        kith_status status = kith_filter_remove(f, &key, sizeof key);
        s->inconsistent += (status == KITH_OK) != has;
        if (status == KITH_E_ABSENT)
            continue;
        lab_must(l, status, "removing a key");
        uint64_t missing = found - lab_count_found(l, f, 0, n);
        removed++;
        lost += missing != 0;
        s->lost_several += missing > 1;
        lab_must(l, kith_filter_add(f, &key, sizeof key, NULL), "restoring an entry");
    }
    lab_sample_add(&s->removed, (double)removed / (double)absent);
    lab_sample_add(&s->lost, (double)lost / (double)absent);
    lab_drop(l, f);
}

static void run(lab *l) {
    uint64_t filters = lab_number(l, "filters");
    double load = lab_real(l, "load");
    lab_parameter(l, "b, slots, load", "4, 256, %g", load);
    lab_parameter(l, "filters of each f", "%llu", (unsigned long long)filters);
    lab_plot *plot = lab_draw(l, "Keys lost by removing absent keys", "bits per fingerprint, f",
                              "share of attempted removals", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(n/C)(1 − 1/C)^(n−1)"), *points = lab_points(plot, "measured");
    double widths[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "f", widths);
    for (size_t w = 0; w < count; w++) {
        unsigned bits = (unsigned)widths[w];
        geometry g = {4, bits, 32, 1, false};
        uint64_t n = (uint64_t)(load * (double)geometry_slots(&g)),
                 absent = bits < 10 ? UINT64_C(200) << (bits / 2) : 12800;
        double classes = geometry_classes(&g);
        shares s = {{0}, {0}, 0, 0};
        for (uint64_t i = 0; i < filters; i++) {
            one_filter(l, &g, n, absent, &s);
            lab_progress(l, ((double)w + (double)i / (double)filters) / (double)count);
        }
        double lost = (double)n / classes * pow(1 - 1 / classes, (double)n - 1);
        lab_find(l, LAB_EQUALS, lost, lab_mean(&s.lost), "f = %u: share of removals that lose another key", bits);
        lab_find(l, LAB_EQUALS, -expm1((double)n * log1p(-1 / classes)), lab_mean(&s.removed),
                 "f = %u: share of removals that succeed", bits);
        lab_find(l, LAB_EQUALS, 0, lab_exact((double)(s.lost_several + s.inconsistent)),
                 "f = %u: removals that lose two keys or contradict the lookup before", bits);
        lab_at(curve, bits, lab_exact(lost));
        lab_at(points, bits, lab_mean(&s.lost));
    }
}

const lab_claim lab_F9 = {
    .id = "F9",
    .title = "removing a key that was never added",
    .sentence = "Removing a key that was never added can lose another key, with about the false positive rate.",
    .formula = "P(lost) = (n/C)·(1 − 1/C)^{n−1}, C = M·(2^{f} − 1)",
    .code = "src/kinds/shared/cuckoo_search.h",
    .decides = "f = 8: share of removals that lose another key",
    .settings = {LAB_WHOLES("f", "4,6,8,10", "4,6,8,10,12,14,16", 4, 32, 4, 20, "bits per fingerprint"),
                 LAB_NUMBER("load", "0.75", 0.05, 0.95, 0.1, 0.75, "keys per slot"),
                 LAB_SIZE("filters", 40, 300, 2, 1e6, "filters of each f")},
    .run = run,
};
