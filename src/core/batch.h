/* core/batch.h: the loops over batches of digests: they are worked on in order, and the lines of those ahead are on their
 * way.
 *
 * The verbs are static functions of the caller; a loop is inlined into it and they into the loop, so that a batch costs no
 * call a key. */
#ifndef KITHI_CORE_BATCH_H
#define KITHI_CORE_BATCH_H

#include "core/bits.h"
#include "core/compiler.h"

/* How many digests a batch runs ahead of itself: enough to cover a miss to memory (about 100 ns) at 4 ns a key. */
#define KITHI_AHEAD 32

/* A body of so many bytes or fewer is in a core's own cache, and asking ahead would only take time: a sixth of a look-up in
 * one line. */
#define KITHI_NEAR_BYTES (256 << 10)

/* has_many: `maybe` may be NULL; bits past n are 0. `near`: lines need not be asked for. */
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

/* Bit i of a bitmap that was all 0; `bitmap` may be NULL. */
static inline void kithi_bitmap_set(uint64_t *bitmap, size_t i, bool value) {
    if (bitmap != NULL)
        bitmap[i / 64] |= (uint64_t)value << (i % 64);
}

#endif
