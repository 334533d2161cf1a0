/* ribbon.h: what the construction of a ribbon filter (ribbon_build.c) shares with the rest of the kind (ribbon.c). */
#ifndef KITHI_FILTERS_RIBBON_H
#define KITHI_FILTERS_RIBBON_H

#include "kinds/ribbon/lookup.h"
#include "kinds/kind.h"

/* The seed of the first try to build a shard. */
#define KITHI_RIBBON_FIRST_SEED 0

/* The inverse of kithi_ribbon_hash(): the digest that has this hash at this level. */
static inline uint64_t kithi_ribbon_digest(uint64_t hash, uint64_t seed, unsigned level) {
    return kithi_unmix(hash) - (level + 1) * KITHI_GOLDEN - seed;
}

/* As kithi_static_build.region. */
kith_status kithi_ribbon_build(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n);

/* As kithi_static_build.bytes. */
uint64_t kithi_ribbon_build_bytes(const kithi_geometry *g, size_t n);

#endif
