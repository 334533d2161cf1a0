/* build/partition.h: sorts digests by the part of the filter that they belong to.
 *
 * Adds at random positions of a large body wait for memory. They do not if the digests are sorted by parts of the body
 * that fit in a core's cache. build/fill.c makes parts of about 128 KiB or less. (In bodies above 64 MiB the parts are
 * larger, because there are at most KITHI_PARTS_MAX.) Parts share no byte, so different threads can fill them at the
 * same time. Sorting reads each digest twice, sequentially, and writes it once, sequentially within each part. That is
 * several times as fast as random access to cache lines.
 *
 *     region of digest d  =  high half of (d * regions)        the same in all kinds that have regions (lookup.h)
 *     part                =  region * parts / regions          so each part is nearly the same number of whole regions
 *
 * The order within a part is that of the input, so a filter that is filled part by part gets the same bytes as one that
 * is filled in order. */
#ifndef KITHI_BUILD_PARTITION_H
#define KITHI_BUILD_PARTITION_H

#include "core/alloc.h"
#include "core/bits.h"

#define KITHI_PARTS_MAX 512

/* Maps digests to parts. */
typedef struct kithi_part_map {
    uint64_t regions;
    uint64_t scale; /* 2^32 * count / regions, rounded down */
    unsigned count; /* number of parts */
} kithi_part_map;

/* Divides the regions into `count` parts. `count` must be at most `regions` and at most KITHI_PARTS_MAX. */
static inline kithi_part_map kithi_part_map_of(uint64_t regions, unsigned count) {
    return (kithi_part_map){regions, ((uint64_t)count << 32) / regions, count};
}

static inline unsigned kithi_part_of(kithi_part_map parts, uint64_t digest) {
    return (unsigned)(kithi_mulhi(digest, parts.regions) * parts.scale >> 32);
}

/* Returns the first region of part p. For p = parts.count returns the number of regions. */
static inline uint64_t kithi_first_region(kithi_part_map parts, unsigned p) {
    uint64_t region = (((uint64_t)p << 32) + parts.scale - 1) / parts.scale;
    return region < parts.regions ? region : parts.regions;
}

/* Copies n digests to `out`, sorted by part: part p is out[starts[p]] … out[starts[p + 1] - 1]. Allocates 8 bytes per
 * part and thread while it runs. Returns false if there is no memory for them. */
bool kithi_partition(const kith_allocator *allocator, const uint64_t *digests, size_t n, kithi_part_map parts,
                     unsigned threads, uint64_t *out, size_t *starts);

#endif
