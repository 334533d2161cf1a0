/* core/batch.h: the loop of every has_many: digests are asked in order, and the lines of those ahead are on their way.
 *
 * `has` and `prefetch` are static functions of the caller; the loop is inlined into it and they into the loop, so that a
 * batch costs no call a key. KITHI_HAS_MANY makes a kind's has_many of its verbs of those names. */
#ifndef KITHI_CORE_BATCH_H
#define KITHI_CORE_BATCH_H

#include "core/bits.h"

/* How many digests a batch runs ahead of itself: enough to cover a miss to memory (about 100 ns) at 5 ns a key. */
#define KITHI_AHEAD 16

static inline __attribute__((always_inline)) size_t
kithi_has_many(const void *context, const uint64_t *digests, size_t n, uint64_t *maybe,
               bool (*has)(const void *context, uint64_t digest),
               void (*prefetch)(const void *context, uint64_t digest)) {
    size_t yes = 0;
    for (size_t i = 0; i < n && i < KITHI_AHEAD; i++)
        prefetch(context, digests[i]);
    for (size_t from = 0; from < n; from += 64) {
        size_t count = n - from < 64 ? n - from : 64;
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++) {
            if (n - from - i > KITHI_AHEAD)
                prefetch(context, digests[from + i + KITHI_AHEAD]);
            word |= (uint64_t)has(context, digests[from + i]) << i;
        }
        if (maybe != NULL)
            maybe[from / 64] = word;
        yes += kithi_popcount(word);
    }
    return yes;
}

#define KITHI_HAS_MANY(has, prefetch)                                                                                  \
    static bool has_in_batch(const void *f, uint64_t digest) {                                                         \
        return has(f, digest);                                                                                         \
    }                                                                                                                  \
    static void prefetch_in_batch(const void *f, uint64_t digest) {                                                    \
        prefetch(f, digest);                                                                                           \
    }                                                                                                                  \
    static size_t has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {                 \
        return kithi_has_many(f, digests, n, maybe, has_in_batch, prefetch_in_batch);                                  \
    }

#endif
