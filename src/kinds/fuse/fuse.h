/* fuse.h: what the construction of a fuse filter (fuse_build.c) shares with the rest of the kind (fuse.c). */
#ifndef KITHI_FILTERS_FUSE_H
#define KITHI_FILTERS_FUSE_H

#include "kinds/fuse/lookup.h"
#include "kinds/kind.h"

/* The more keys a shard has, the fewer tries are made to build it: the number changes at these (fuse_build.c). */
#define KITHI_FUSE_SMALL_KEYS 10000
#define KITHI_FUSE_LARGE_KEYS 100000
#define KITHI_FUSE_HUGE_KEYS 300000

/* Whether a filter of this attempt has more space than planned: see fuse.c. */
#define KITHI_FUSE_IS_RETRY(attempt) ((attempt) % 2 != 0)

/* The seed of the first try to build a shard in attempt 0. */
static inline uint64_t kithi_fuse_first_seed(void) {
    return kithi_mix(KITHI_GOLDEN);
}

/* As kithi_static_build.region. */
kith_status kithi_fuse_build(kith_filter *f, unsigned attempt, uint64_t region, const uint64_t *digests, size_t n);

/* As kithi_static_build.bytes. */
uint64_t kithi_fuse_build_bytes(const kithi_geometry *g, size_t n);

#endif
