/* fuse.h: what the construction of a fuse filter (fuse_build.c) shares with the rest of the kind (fuse.c). */
#ifndef KITHI_FILTERS_FUSE_H
#define KITHI_FILTERS_FUSE_H

#include "filters/fuse_lookup.h"
#include "kind.h"

/* A shard of this many keys or more has fewer tries, and one of KITHI_FUSE_LARGE_KEYS or more fewer still: see
 * fuse_build.c. */
#define KITHI_FUSE_SMALL_KEYS 10000
#define KITHI_FUSE_LARGE_KEYS 250000

/* The seed of the first try to build a shard. */
static inline uint64_t kithi_fuse_first_seed(void) {
    return kithi_mix(KITHI_GOLDEN);
}

/* The function `build` of kithi_kind. */
kith_status kithi_fuse_build(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n);

/* The function `build_bytes` of kithi_kind. */
uint64_t kithi_fuse_build_bytes(const kithi_geometry *g, size_t n);

#endif
