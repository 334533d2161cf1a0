/* build/repeats.h: removes repeats from an array of digests. */
#ifndef KITHI_BUILD_REPEATS_H
#define KITHI_BUILD_REPEATS_H

#include "core/alloc.h"

/* Keeps the first occurrence of each digest, in order. `firsts` is NULL or a bitmap, which saves a pass: if bit i is
 * set, digest i is certainly equal to none of the digests before it.
 *
 * *copy is NULL if there are no repeats. Otherwise it holds the *kept digests that remain, in a block of n * 8 bytes
 * that the caller must release. Returns false if there is no memory. Besides the copy it needs up to 3 bytes per digest
 * while it runs if few digests are repeats, and about 34 if most are. (Lists of at most 4096 digests have a larger
 * bitmap, which takes 8 bytes per digest: see repeats.c.) */
bool kithi_drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                        uint64_t **copy, size_t *kept);

/* Drops the repeats in each part of digests that are sorted by part (build/partition.h), on several threads. Afterwards
 * the first kept[p] digests of part p are the distinct ones. If `kept` is NULL, nothing is changed, and the distinct
 * digests are only counted. *total is their number in all parts. Returns false if there is no memory. */
bool kithi_drop_repeats_in_parts(const kith_allocator *allocator, uint64_t *by_part, const size_t *starts,
                                 unsigned parts, unsigned threads, size_t *kept, size_t *total);

/* Closes the gaps that the dropped repeats have left, and updates `starts`. */
void kithi_join_parts(uint64_t *by_part, size_t *starts, unsigned parts, const size_t *kept);

#endif
