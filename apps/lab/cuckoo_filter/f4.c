/* F4: how full a cuckoo filter gets before it refuses a key.
 *
 * In filters of up to GEOMETRY_SEARCHED_SLOTS slots, the library's search finds a free slot whenever one can be
 * reached, so the mean load at the first refusal is the threshold of random graphs (geometry.h). With b = 1 the step is
 * not sharp: a graph with half as many edges as vertices has no overfull component with probability √(2/3) in the
 * limit. At a finite size the deviation from that is of order slots^(-1/3), so the share is shown and not tested.
 * Fingerprints have 20 bits, so that equal fingerprints have no effect.
 *
 * [2] and [4] insert by random kicks, at most Max of them: insert=walk. The walk of [2] starts in a random bucket of
 * the key (start=random), that of [4] in the first one (start=first). A walk may give up although a free slot can be
 * reached, so the loads are lower. They are measured with Max = 500, as by Fan and others. */
#include <math.h>

#include "geometry.h"

typedef struct bucket {
    const char *name; /* the value of the setting b */
    unsigned b;
    double reached; /* by Fan and others in 2014, with random walks of 500 steps */
} bucket;

static const bucket BUCKETS[] = {{"1", 1, 0.50}, {"2", 2, 0.84}, {"4", 4, 0.95}, {"8", 8, 0.98}};
enum { BUCKET_COUNT = sizeof BUCKETS / sizeof *BUCKETS, WALK_MAX = 500, STARTS = 2 };
static const char *const START[STARTS] = {"random ([2])", "first ([4])"};

static void run(lab *l) {
    uint64_t slots = lab_number(l, "slots"), filters = lab_number(l, "filters");
    lab_parameter(l, "slots", "%llu", (unsigned long long)slots);
    lab_parameter(l, "filters of each b", "%llu", (unsigned long long)filters);
    unsigned width = (unsigned)lab_number(l, "f");
    lab_parameter(l, "f", "%u", width);
    lab_plot *plot = lab_draw(l, "Load at the first refusal", "slots per bucket, b", "load", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "threshold of random graphs"), *points = lab_points(plot, "search"),
               *walk_points[STARTS];
    for (unsigned s = 0; s < STARTS; s++)
        walk_points[s] = lab_points(plot, "random walk of 500 kicks, start=%s", START[s]);
    lab_plot *least = lab_draw(l, "Lowest load at the first refusal", "slots per bucket, b", "load", LAB_LOG_X);
    lab_series *worst_points = lab_points(least, "lowest of all filters");
    uint64_t halves = 0;
    for (unsigned i = 0; i < BUCKET_COUNT; i++) {
        unsigned b = BUCKETS[i].b;
        if (!lab_wants(l, "b", BUCKETS[i].name))
            continue;
        geometry g = {b, width, slots / (2 * b), 1, false};
        lab_sample loads = {0}, walks[STARTS] = {{0}};
        double worst = 1;
        for (uint64_t j = 0; j < filters; j++) {
            kith_filter *f = geometry_filter(l, &g);
            double load = (double)geometry_fill(l, f, 0, slots) / (double)slots;
            lab_sample_add(&loads, load);
            halves += b == 1 && load >= 0.5;
            worst = fmin(worst, load);
            lab_drop(l, f);
            for (unsigned s = 0; s < STARTS; s++) {
                f = geometry_filter_walk(l, &g, WALK_MAX, s == 1);
                lab_sample_add(&walks[s], (double)geometry_fill(l, f, 0, slots) / (double)slots);
                lab_drop(l, f);
            }
            lab_progress(l, (i + (double)j / (double)filters) / BUCKET_COUNT);
        }
        if (b != 1)
            lab_find(l, LAB_EQUALS, geometry_threshold(b), lab_mean(&loads), "b = %u: mean load, threshold", b);
        lab_find(l, LAB_AT_LEAST, BUCKETS[i].reached, lab_mean(&loads), "b = %u: mean load, reached by Fan and others",
                 b);
        /* With b = 1 a filter stops anywhere around one half, by a walk as by a search. */
        for (unsigned s = 0; s < STARTS; s++) {
            if (b != 1)
                lab_find(l, LAB_AT_LEAST, BUCKETS[i].reached, lab_mean(&walks[s]),
                         "b = %u: mean load by random walks of 500 kicks, start=%s, reached by Fan and others", b,
                         START[s]);
            else
                lab_find(l, LAB_SHOWN, 0, lab_mean(&walks[s]),
                         "b = %u: mean load by random walks of 500 kicks, start=%s", b, START[s]);
            lab_at(walk_points[s], b, lab_mean(&walks[s]));
        }
        lab_at(curve, b, lab_exact(geometry_threshold(b)));
        lab_at(points, b, lab_mean(&loads));
        lab_at(worst_points, b, lab_exact(worst));
    }
    if (lab_wants(l, "b", "1"))
        lab_find(l, LAB_SHOWN, sqrt(2.0 / 3), lab_share(halves, filters),
                 "b = 1: share of filters that fill half of their slots");
}

const lab_claim lab_F4 = {
    .id = "F4",
    .title = "loads that cuckoo filters reach",
    .sentence = "A cuckoo filter reaches loads of 0.5, 0.84, 0.95 and 0.98 with 1, 2, 4 and 8 slots per bucket.",
    .formula = "α = x/(2b·Q(x, b)), x·Q(x, b) = 2b·Q(x, b + 1)",
    .code = "src/kinds/shared/cuckoo_search.h",
    .decides = "b = 4: mean load, threshold",
    .settings = {LAB_SIZE("slots", 8192, 16384, 64, 16384, "slots of each filter"),
                 LAB_SIZE("filters", 40, 200, 2, 1e6, "filters of each shape"),
                 LAB_WORD("b", "all", "all 1 2 4 8", "slots per bucket"),
                 LAB_WHOLE("f", "20", 4, 32, 14, 32, "bits per fingerprint")},
    .run = run,
};
