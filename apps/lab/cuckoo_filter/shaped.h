/* shaped.h: cuckoo filters of any geometry, and filling them until they refuse a key.
 *
 * A plan leaves room to spare, so that a filter's capacity ends before its slots do. What a filter does beyond that, or
 * with fingerprints narrower than any plan takes, is seen in filters whose blocks are written here, byte for byte as
 * docs/format.md says (kinds 4 and 5), with a capacity of all their slots. */
#ifndef LAB_SHAPED_H
#define LAB_SHAPED_H

#include <string.h>

#include <lab/experiment.h>

typedef struct shaped_geometry {
    unsigned b; /* slots in a bucket; 0: windows of two slots that overlap */
    unsigned f; /* bits of a fingerprint */
    uint64_t half, regions;
    bool simple; /* alternate=simple */
} shaped_geometry;

static inline uint64_t shaped_region_slots(const shaped_geometry *g) {
    return g->b != 0 ? 2 * g->half * g->b : 2 * (g->half + 1);
}

static inline uint64_t shaped_slots(const shaped_geometry *g) {
    return g->regions * shaped_region_slots(g);
}

/* (pair of places, fingerprint): a key is answered yes exactly when its cell is not empty. */
static inline double shaped_cells(const shaped_geometry *g) {
    return (double)g->regions * (double)g->half * (double)((UINT64_C(1) << g->f) - 1);
}

/* The load at which random keys no longer have room, in the limit of many slots: keys are edges between two buckets,
 * and n of them have room exactly when no set of buckets has more keys among themselves than slots. For random graphs
 * (Fernholz and Ramachandran, 2007; Cain, Sanders and Wormald, 2007), with Q(x, j) = P(Poisson(x) >= j):
 *
 *     x Q(x, b) / Q(x, b + 1) = 2b,     load = x / (2 b Q(x, b))        b = 2: 0.8970, b = 4: 0.9804, b = 8: 0.9979 */
static inline double shaped_threshold(unsigned b) {
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

static inline void shaped_put(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline kith_filter *shaped_filter(lab *l, const shaped_geometry *g) {
    static const uint8_t SIGNATURE[8] = {0x8b, 'K', 'I', 'T', 'H', '\r', '\n', 0x1a};
    enum { HEADER = 192, CHUNK = 65536, CAPACITY = 64, RATE = 72, BODY = 96, PARAMETERS = 104 };
    const kith_hash checksum = {KITH_HASH_XXH3, 0, {0}};
    unsigned slot_bits = g->f + (g->b == 0);
    uint64_t region_bytes = ((shaped_region_slots(g) * slot_bits + 7) / 8 + 8 + 63) / 64 * 64;
    uint64_t body = g->regions * region_bytes, chunks = (body + CHUNK - 1) / CHUNK;
    const uint64_t parameters[] = {slot_bits, g->half, g->regions, g->b, g->simple};
    uint8_t *block = lab_take(l, HEADER + body + 8 * chunks), *sums = block + HEADER + body;
    memcpy(block, SIGNATURE, sizeof SIGNATURE);
    shaped_put(block + 8, 1, 2);
    shaped_put(block + 10, g->b != 0 ? 4 : 5, 2);
    shaped_put(block + 12, HEADER, 2);
    shaped_put(block + 40, lab_random(l), 8);
    shaped_put(block + CAPACITY, shaped_slots(g), 8);
    shaped_put(block + RATE, UINT64_C(0x3fe0000000000000), 8); /* 0.5: nothing depends on it */
    shaped_put(block + BODY, body, 8);
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        shaped_put(block + PARAMETERS + 8 * i, parameters[i], 8);
    for (uint64_t i = 0; i < chunks; i++) {
        uint64_t length = body - i * CHUNK < CHUNK ? body - i * CHUNK : CHUNK;
        shaped_put(sums + 8 * i, kith_digest(&checksum, block + HEADER + i * CHUNK, length), 8);
    }
    shaped_put(block + 176, kith_digest(&checksum, sums, 8 * chunks), 8);
    shaped_put(block + 184, kith_digest(&checksum, block, 184), 8);
    kith_filter *filter = NULL;
    lab_must(l, kith_filter_view(block, HEADER + body + 8 * chunks, KITH_OPEN_COPY, NULL, &filter), "reading a filter");
    lab_drop(l, block);
    return lab_keep(l, filter);
}

/* Adds the keys first … first + n - 1 up to the first that is refused, for lack of room or for too many of its cell;
 * answers how many went in. */
static inline uint64_t shaped_fill(lab *l, kith_filter *filter, uint64_t first, uint64_t n) {
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

/* Adds all of them but those that are refused; answers how many are refused. */
static inline uint64_t shaped_fill_past(lab *l, kith_filter *filter, uint64_t first, uint64_t n) {
    uint64_t refused = 0;
    for (uint64_t at = 0; at < n; at++, refused++) {
        at += shaped_fill(l, filter, first + at, n - at);
        if (at == n)
            break;
    }
    return refused;
}

/* The share of absent keys that are answered yes with n keys in, one number a filter. A key that is refused because its
 * cell is full is answered yes all the same and counts as one that is in; with narrow fingerprints one filter in
 * thousands refuses a key for lack of room, which shifts the mean by far less than can be seen. `done` is for
 * lab_going. */
static inline lab_estimate shaped_rate(lab *l, const shaped_geometry *g, uint64_t n, uint64_t filters, uint64_t asked,
                                       double done) {
    lab_sample rates = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = shaped_filter(l, g);
        (void)shaped_fill_past(l, f, 0, n);
        lab_sample_add(&rates, (double)lab_ask(l, f, n, asked) / (double)asked);
        lab_drop(l, f);
        lab_going(l, done);
    }
    return lab_mean(&rates);
}

#endif
