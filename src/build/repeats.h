/* build/repeats.h: which of many digests came before. */
#ifndef KITHI_BUILD_REPEATS_H
#define KITHI_BUILD_REPEATS_H

#include "core/alloc.h"

/* The digests without repeats, each where it first occurs. `firsts` is NULL or a bitmap: those with a bit set have surely
 * not come before, which saves a pass. *copy is NULL when there are no repeats: the digests are as they should be. Else it
 * holds *kept of them, in n * 8 bytes that are to be released. False: no memory. Beside the copy it takes 1.2 to 3 bytes a
 * digest while it runs, and up to 34 where most are repeats. */
bool kithi_drop_repeats(const kith_allocator *allocator, const uint64_t *digests, size_t n, const uint64_t *firsts,
                        uint64_t **copy, size_t *kept);

#endif
