/* kinds/cuckoo/lookup.h: the layout of cuckoo, and lookups. See cuckoo.c for the idea, and lookup.h for the rules of
 * this header. */
#ifndef KITHI_FILTERS_CUCKOO_LOOKUP_H
#define KITHI_FILTERS_CUCKOO_LOOKUP_H

#include "kinds/shared/cf_lookup.h"

#define KITHI_CUCKOO_ID 4
#define KITHI_CUCKOO_PARAMS_MASK                                                                                       \
    (KITHI_CF_PARAMS_MASK | 1 << KITHI_PARAM_BUCKET_SLOTS | 1 << KITHI_PARAM_ALTERNATE | 1 << KITHI_PARAM_KICKS |      \
     1 << KITHI_PARAM_START)

/* The values of parameter KITHI_PARAM_ALTERNATE, the rule by which one bucket of a key is computed from the other: see
 * cuckoo.c. overlap has only the first rule; code that both kinds share calls it KITHI_ALTERNATE_PARTNER. */
enum { KITHI_CUCKOO_HALVES = KITHI_ALTERNATE_PARTNER, KITHI_CUCKOO_SIMPLE, KITHI_CUCKOO_XOR };

#define KITHI_CUCKOO_SLOT_BITS_MIN 4

/* The values of parameter KITHI_PARAM_START, the bucket of a new key in which a random walk starts. */
enum { KITHI_START_RANDOM, KITHI_START_FIRST };

/* The range and the default of the option `max`, the number of entries that a random walk may move. The default is that
 * of the original paper. */
enum { KITHI_KICKS_MIN = 50, KITHI_KICKS_MAX = 10000, KITHI_KICKS_DEFAULT = 500 };

/* The functions of kithi_cuckoo_layout below. kithi_cf_layout says what each does. */

static inline uint64_t kithi_cuckoo_region_slots(const kithi_cf_geometry *g) {
    return 2 * g->half * g->bucket_slots;
}

static inline uint64_t kithi_cuckoo_other_bucket(const kithi_cf_geometry *g, uint64_t bucket, uint64_t fingerprint) {
    if (g->alternate == KITHI_CUCKOO_HALVES)
        return kithi_partner(bucket, fingerprint, g->places);
    if (g->alternate == KITHI_CUCKOO_XOR)
        return kithi_xor_partner(bucket, fingerprint, g->places);
    /* alternate=simple. The low bits of the fingerprint may all be 0. A step of 1 keeps the two buckets distinct. */
    uint64_t step = fingerprint & (g->places - 1);
    return bucket ^ (step != 0 ? step : 1);
}

static inline uint64_t kithi_cuckoo_first_bit(const kithi_cf_geometry *g, uint64_t bucket) {
    return bucket * g->place_bits;
}

static inline unsigned kithi_cuckoo_place_slots(const kithi_cf_geometry *g) {
    return (unsigned)g->bucket_slots;
}

static inline void kithi_cuckoo_first_slots(const kithi_cf_geometry *g, uint64_t bucket, uint64_t fingerprint,
                                            uint32_t first[2]) {
    uint64_t b = g->bucket_slots;
    first[0] = (uint32_t)(bucket * b);
    first[1] = (uint32_t)(kithi_cuckoo_other_bucket(g, bucket, fingerprint) * b);
}

static inline bool kithi_cuckoo_decode_entry(const kithi_cf_geometry *g, uint32_t slot, uint32_t code, uint64_t *bucket,
                                             uint64_t *fingerprint) {
    *bucket = slot >> g->bucket_shift;
    *fingerprint = code;
    return true;
}

static const kithi_cf_layout kithi_cuckoo_layout = {
    false, /* windows */
    0,     /* window_bits */
    kithi_cuckoo_place_slots,
    kithi_cuckoo_other_bucket,
    kithi_cuckoo_first_bit,
    kithi_cuckoo_first_slots,
    kithi_cuckoo_decode_entry,
    kithi_cuckoo_region_slots,
};

static inline kithi_geometry kithi_cuckoo_decode_head(const kithi_head *head) {
    return kithi_cf_decode(&kithi_cuckoo_layout, head);
}

static inline kith_status kithi_cuckoo_shape(const kithi_head *head, kithi_shape *shape) {
    memset(shape, 0, sizeof *shape);
    kithi_cf_geometry g = kithi_cuckoo_decode_head(head).cf;
    uint64_t b = g.bucket_slots;
    if ((b != 1 && b != 2 && b != 4 && b != 8) || g.alternate > KITHI_CUCKOO_XOR ||
        g.slot_bits < KITHI_CUCKOO_SLOT_BITS_MIN ||
        (g.alternate != KITHI_CUCKOO_HALVES && (g.half & (g.half - 1)) != 0) ||
        (g.alternate == KITHI_CUCKOO_XOR && g.regions != 1) ||
        (g.kicks != 0 && (g.kicks < KITHI_KICKS_MIN || g.kicks > KITHI_KICKS_MAX)) ||
        g.start > (g.kicks != 0 ? KITHI_START_FIRST : KITHI_START_RANDOM))
        return KITH_E_CORRUPT;
    return kithi_cf_shape(&kithi_cuckoo_layout, &g, shape);
}

/* A lookup in a geometry whose byte_aligned is false. Otherwise (plan/geometry.h) every bucket is one word that begins
 * at bit 0 of a byte, so kithi_cf_has_byte_aligned() needs fewer instructions. */
KITHI_OUTLINE bool kithi_cuckoo_has_general(const kithi_cf_geometry *g, const uint8_t *body, uint64_t digest) {
    return kithi_cf_has(&kithi_cuckoo_layout, g, body, digest);
}

KITHI_INLINE bool kithi_cuckoo_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
    return g->cf.byte_aligned ? kithi_cf_has_byte_aligned(&g->cf, body, digest)
                              : kithi_cuckoo_has_general(&g->cf, body, digest);
}

static const kithi_lookup kithi_lookup_cuckoo = {
    KITHI_CUCKOO_ID,          KITHI_CUCKOO_PARAMS_MASK, true, /* adds */
    kithi_cuckoo_decode_head, kithi_cuckoo_shape,       kithi_cuckoo_has,
};

#endif
