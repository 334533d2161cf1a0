/* build/repeats.h: removes repeats from an array of digests. */
#ifndef KITHI_BUILD_REPEATS_H
#define KITHI_BUILD_REPEATS_H

#include "core/alloc.h"

/* Keeps the first occurrence of each digest, in order. `firsts` is NULL or a bitmap in which a set bit means that the
 * digest certainly did not occur before; it saves a pass.
 *
 * *copy is NULL if there are no repeats. Otherwise it holds the *kept digests that remain, in a block of n * 8 bytes
 * that the caller must release. Returns false if there is no memory. Besides the copy it needs 1.2 to 3 bytes per
 * digest while it runs, and up to 34 if most digests are repeats. */
bool kithi_drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                        uint64_t **copy, size_t *kept);

#endif
