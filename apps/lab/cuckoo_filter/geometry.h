/* geometry.h: creates cuckoo filters of any geometry, and fills them until they refuse a key.
 *
 * The planner leaves some slots unused, so a planned filter reaches its capacity before its slots run out. To see what
 * a filter does beyond that point, or with fingerprints narrower than the planner would choose, the experiments use
 * filters of given parameters (kith/inspect.h; docs/format.md lists them). Their capacity is the number of their slots.
 *
 * They have no stash, unless the experiment is about it: with a stash, keys of one class that do not fit in its slots
 * are not refused until the stash is full.
 *
 * A key's *class* is the pair of its buckets together with its fingerprint. A filter cannot tell keys of one class
 * apart. For kind `overlap`, read window for bucket. */
#ifndef LAB_GEOMETRY_H
#define LAB_GEOMETRY_H

#include <math.h>

#include <lab/experiment.h>

typedef struct geometry {
    unsigned b;    /* slots per bucket; 0 means overlapping windows of two slots */
    unsigned f;    /* bits per fingerprint */
    uint64_t half; /* buckets in each half of a region */
    uint64_t regions;
    bool simple; /* alternate=simple */
} geometry;

/* The library searches regions of up to this many slots completely before it refuses a key. In larger ones a search
 * visits no more slots than this, and gives up at slightly lower loads. */
#define GEOMETRY_SEARCHED_SLOTS 16384

static inline uint64_t geometry_region_slots(const geometry *g) {
    return g->b != 0 ? 2 * g->half * g->b : 2 * (g->half + 1);
}

static inline uint64_t geometry_slots(const geometry *g) {
    return g->regions * geometry_region_slots(g);
}

/* The number of classes. A key is reported as present exactly when the filter holds a key of its class. */
static inline double geometry_classes(const geometry *g) {
    return (double)g->regions * (double)g->half * (double)((UINT64_C(1) << g->f) - 1);
}

/* The exact false-positive rate after n keys: P(one of them is of the class of an absent key). */
static inline double geometry_exact_rate(const geometry *g, double n) {
    return -expm1(n * log1p(-1 / geometry_classes(g)));
}

/* The load up to which random keys can be placed, in the limit of many slots. Keys are edges between two buckets. All
 * of them can be placed exactly when no set of buckets has more keys with both ends in the set than slots. For random
 * graphs (Fernholz and Ramachandran, 2007; Cain, Sanders and Wormald, 2007), with Q(x, j) = P(Poisson(x) >= j):
 *
 *     x Q(x, b) / Q(x, b + 1) = 2b,     load = x / (2 b Q(x, b))        b = 2: 0.8970, b = 4: 0.9804, b = 8: 0.9979 */
static inline double geometry_threshold(unsigned b) {
    if (b == 1)
        return 0.5;
    double low = 0.1, high = 8 * b;
    for (unsigned i = 0; i < 100; i++) {
        double x = (low + high) / 2;
        if (x * lab_poisson_above(x, b - 1) / lab_poisson_above(x, b) < 2 * b)
            low = x;
        else
            high = x;
    }
    return low / (2 * b * lab_poisson_above(low, b - 1));
}

enum { GEOMETRY_HALVES, GEOMETRY_SIMPLE, GEOMETRY_XOR };

/* The parameters of an empty filter. `max` is the limit of its random walks; 0: it searches. `stash` is the number of
 * entries for which each of its stashes has space. */
static inline kith_filter_parameters geometry_parameters(const geometry *g, unsigned alternate, uint64_t max,
                                                         uint64_t stash, uint64_t seed) {
    return (kith_filter_parameters){
        .kind = g->b != 0 ? "cuckoo" : "overlap",
        .values = {g->f + (g->b == 0), g->half, g->regions, g->b, alternate, max, stash},
        .rate = 0.5, /* nothing depends on it */
        .hash = {KITH_HASH_XXH3, seed, {0}},
    };
}

static inline kith_filter *geometry_make(lab *l, kith_filter_parameters parameters) {
    kith_filter *filter = NULL;
    lab_must(l, kith_filter_make(&parameters, NULL, &filter), "making a filter");
    return lab_keep(l, filter);
}

static inline kith_filter *geometry_filter_as(lab *l, const geometry *g, unsigned alternate, uint64_t stash) {
    return geometry_make(l, geometry_parameters(g, alternate, 0, stash, lab_random(l)));
}

static inline kith_filter *geometry_filter(lab *l, const geometry *g) {
    return geometry_filter_as(l, g, g->simple ? GEOMETRY_SIMPLE : GEOMETRY_HALVES, 0);
}

/* A filter with a stash of this many entries in each region, at most 64. */
static inline kith_filter *geometry_filter_stash(lab *l, const geometry *g, uint64_t stash) {
    return geometry_filter_as(l, g, g->simple ? GEOMETRY_SIMPLE : GEOMETRY_HALVES, stash);
}

/* A filter that inserts by random walks of at most `max` kicks. They start in the first bucket of the key
 * (start=first), or in a random one (start=random). */
static inline kith_filter *geometry_filter_walk(lab *l, const geometry *g, uint64_t max, bool first) {
    unsigned alternate = g->simple ? GEOMETRY_SIMPLE : GEOMETRY_HALVES;
    kith_filter_parameters parameters = geometry_parameters(g, alternate, max, 0, lab_random(l));
    parameters.values[7] = first;
    return geometry_make(l, parameters);
}

/* A filter with alternate=xor. g->half is a power of two. */
static inline kith_filter *geometry_filter_xor(lab *l, const geometry *g) {
    return geometry_filter_as(l, g, GEOMETRY_XOR, 0);
}

/* The slots that a lookup reads, those of the first bucket first, and the code that the key has in the first slot. */
typedef struct geometry_candidates {
    uint64_t slot[16], code;
    unsigned count;
} geometry_candidates;

static inline void geometry_note_slot(void *context, uint64_t slot, uint64_t holds, uint64_t wanted) {
    geometry_candidates *c = context;
    (void)holds;
    if (c->count == 0)
        c->code = wanted;
    if (c->count < sizeof c->slot / sizeof *c->slot)
        c->slot[c->count++] = slot;
}

static inline geometry_candidates geometry_look(const kith_filter *filter, uint64_t digest) {
    geometry_candidates c = {.count = 0};
    (void)kith_filter_look(filter, digest, geometry_note_slot, &c);
    return c;
}

/* Adds the keys first … first + n - 1 until one is refused, because there is no free slot for it or because the slots
 * of its class are full. Returns how many were added. */
static inline uint64_t geometry_fill(lab *l, kith_filter *filter, uint64_t first, uint64_t n) {
    uint64_t digests[1024], in = 0;
    kith_status status = KITH_OK;
    while (in < n && status == KITH_OK) {
        size_t count = n - in < 1024 ? (size_t)(n - in) : 1024, done = 0;
        lab_digests(l, filter, first + in, count, digests);
        status = kith_filter_add_many(filter, digests, count, NULL, &done);
        if (status != KITH_E_FULL && status != KITH_E_COPIES)
            lab_must(l, status, "adding keys");
        in += done;
    }
    return in;
}

/* Adds the same keys, but skips those that are refused. Returns how many were refused. */
static inline uint64_t geometry_fill_skipping(lab *l, kith_filter *filter, uint64_t first, uint64_t n) {
    uint64_t refused = 0;
    for (uint64_t at = 0; at < n; at++, refused++) {
        at += geometry_fill(l, filter, first + at, n - at);
        if (at == n)
            break;
    }
    return refused;
}

/* The false positive rate of filters with n keys, estimated from one number per filter. A key that is refused because
 * its class is full is still reported as present, so it counts as stored. With narrow fingerprints one filter in
 * thousands refuses a key because there is no free slot. This changes the mean by far less than the experiment can
 * detect. `done` is passed to lab_progress. */
static inline lab_estimate geometry_rate(lab *l, const geometry *g, uint64_t n, uint64_t filters, uint64_t lookups,
                                         double done) {
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = geometry_filter(l, g);
        (void)geometry_fill_skipping(l, f, 0, n);
        lab_sample_add(&rates, (double)lab_count_found(l, f, n, lookups) / (double)lookups);
        lab_drop(l, f);
        lab_progress(l, done);
    }
    return lab_mean(&rates);
}

#endif
