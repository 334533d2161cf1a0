/* fuse.h: what the construction of a fuse filter (fuse_build.c) shares with the rest of the kind (fuse.c). */
#ifndef KITHI_FILTERS_FUSE_H
#define KITHI_FILTERS_FUSE_H

#include "filters/fuse_lookup.h"
#include "kind.h"

/* The seed of try 1, 2, … to build a shard. Never 0: that is the seed of a shard without keys. */
static inline uint64_t kithi_fuse_seed(unsigned try) {
    return kithi_mix(try * KITHI_GOLDEN);
}

/* The function `build` of kithi_kind. */
kith_status kithi_fuse_build(kith_filter *f, uint64_t region, const uint64_t *digests, size_t n);

/* The function `build_bytes` of kithi_kind. */
uint64_t kithi_fuse_build_bytes(const kithi_geometry *g, size_t n);

/* Returns whether kithi_fuse_build() can have used this seed. */
bool kithi_fuse_seed_valid(uint64_t seed);

#endif
