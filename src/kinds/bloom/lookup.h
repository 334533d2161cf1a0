/* kinds/bloom/lookup.h: lookups in bloom. See bloom.c for the idea and the layout, and lookup.h for the rules of this
 * header. */
#ifndef KITHI_FILTERS_BLOOM_LOOKUP_H
#define KITHI_FILTERS_BLOOM_LOOKUP_H

#include "kinds/shared/slices_lookup.h"

#define KITHI_BLOOM_ID 1

static inline kith_status kithi_bloom_shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_slices_shape(head, 1, 0, shape);
    shape->max_copies = 1;
    return status;
}

/* Reads a word and not a byte, because this takes fewer instructions. */
KITHI_INLINE bool kithi_bloom_is_used(const uint8_t *body, uint64_t bit, unsigned cell_bits) {
    (void)cell_bits;
    return kithi_load64(body + bit / 64 * 8) >> (bit % 64) & 1;
}

static inline bool kithi_bloom_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
    return kithi_slices_has(&g->slices, body, digest, kithi_bloom_is_used, 1);
}

static const kithi_lookup kithi_lookup_bloom = {
    KITHI_BLOOM_ID,      KITHI_SLICES_PARAMS_MASK, true, /* adds */
    kithi_slices_decode, kithi_bloom_shape,        kithi_bloom_has,
};

#endif
