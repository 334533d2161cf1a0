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

/* Bit i of a bitmap that was all 0; `bitmap` may be NULL. */
static inline void kithi_bitmap_set(uint64_t *bitmap, size_t i, bool value) {
    if (bitmap != NULL)
        bitmap[i / 64] |= (uint64_t)value << (i % 64);
}

#endif
