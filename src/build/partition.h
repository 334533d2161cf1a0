/* build/partition.h: digests sorted by stretches of the filter that they belong to.
 *
 * Adds and lookups at random all over a large body wait for memory. Sorted by stretches of it that fit in a core's
 * cache, they do not; and stretches that share no byte can be worked on in several threads. Sorting reads and writes
 * each digest once, in order, which memory does several times as fast as random lines.
 *
 *     region of digest d  =  high half of (d * regions)        all kinds that have regions place them so
 *     part                =  region * parts / regions          whole regions, as equal as can be
 *
 * The order within a part is that of the input, so a filter that is filled part by part gets the bytes of one that is
 * filled in order. */
#ifndef KITHI_BUILD_PARTITION_H
#define KITHI_BUILD_PARTITION_H

#include "core/alloc.h"
#include "core/bits.h"

#define KITHI_PARTS_MAX 512

typedef struct kithi_cut {
    uint64_t regions;
    uint64_t scale; /* parts / regions, times 2^32 */
    unsigned parts;
} kithi_cut;

/* parts <= regions, and at most KITHI_PARTS_MAX. */
static inline kithi_cut kithi_cut_of(uint64_t regions, unsigned parts) {
    return (kithi_cut){regions, ((uint64_t)parts << 32) / regions, parts};
}

static inline unsigned kithi_part_of(kithi_cut cut, uint64_t digest) {
    return (unsigned)(kithi_mulhi(digest, cut.regions) * cut.scale >> 32);
}

/* The first region of part p; of p = parts, the number of regions. */
static inline uint64_t kithi_first_region(kithi_cut cut, unsigned p) {
    uint64_t region = (((uint64_t)p << 32) + cut.scale - 1) / cut.scale;
    return region < cut.regions ? region : cut.regions;
}

/* Copies n digests to `out`: part p is out[starts[p]] … out[starts[p + 1] - 1]. Takes 8 bytes a part and thread while it
 * runs. False: it could not have them. */
bool kithi_partition(const kith_allocator *allocator, const uint64_t *digests, size_t n, kithi_cut cut,
                     unsigned threads, uint64_t *out, size_t *starts);

#endif
