/* core/batch.h: the loop for batch lookups, which prefetches the digests ahead of the current one.
 *
 * `has` and `prefetch` are static functions of the caller. The loop is inlined into the caller and they are inlined
 * into the loop, so that a batch makes no function call per key. */
#ifndef KITHI_CORE_BATCH_H
#define KITHI_CORE_BATCH_H

#include "core/bits.h"
#include "core/compiler.h"

/* How many digests ahead of the current one a batch prefetches: enough to hide a miss to memory (about 100 ns) at 4 ns
 * per key. */
#define KITHI_AHEAD 32

/* A body of at most this many bytes fits in a core's own cache. Prefetching would then only cost time: a sixth of a
 * lookup that reads one cache line. */
#define KITHI_NEAR_BYTES (256 << 10)

/* Looks up n digests in order and returns how many `has` accepts. Sets bit i of `maybe` if digest i is one of them;
 * bits past n are 0. `maybe` may be NULL. If `near` is true, the body is in cache and nothing is prefetched. */
KITHI_INLINE size_t kithi_has_many(const void *context, const uint64_t *digests, size_t n, uint64_t *maybe, bool near,
                                   bool (*has)(const void *context, uint64_t digest),
                                   void (*prefetch)(const void *context, uint64_t digest)) {
    size_t yes = 0;
    for (size_t i = 0; i < n && i < KITHI_AHEAD && !near; i++)
        prefetch(context, digests[i]);
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++) {
            if (!near && n - from - i > KITHI_AHEAD)
                prefetch(context, digests[from + i + KITHI_AHEAD]);
            word |= (uint64_t)has(context, digests[from + i]) << i;
        }
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

/* Sets bit i, which must be 0, to `value`. `bitmap` may be NULL. */
static inline void kithi_bitmap_set(uint64_t *bitmap, size_t i, bool value) {
    if (bitmap != NULL)
        bitmap[i / 64] |= (uint64_t)value << (i % 64);
}

#endif
