/* core/batch.h: what the loops over batches of digests share. A batch processes digests in order and prefetches the
 * cache lines of digests further ahead. */
#ifndef KITHI_CORE_BATCH_H
#define KITHI_CORE_BATCH_H

#include "core/bits.h"
#include "core/compiler.h"

/* How many cache lines ahead a batch prefetches: enough to cover a cache miss (about 100 ns) at 4 ns per key. A kind
 * that reads several cache lines per digest prefetches correspondingly fewer digests. */
#define KITHI_AHEAD 32

/* For the vector code of the cuckoo kinds: where the two places (buckets or windows) of each digest of a group are, and
 * which codes to look for there. The code of a key is what a slot that holds the key contains: its fingerprint, and in
 * windows a bit that says which slot of the window it is (filters/common/cuckoo.h). */
#define KITHI_PAIRS 32

typedef struct kithi_pairs {
    _Alignas(64) uint64_t at[2][KITHI_PAIRS]; /* offset in the body of the byte in which a place begins */
    uint64_t shift[2][KITHI_PAIRS];           /* the bit of that byte at which it begins */
    uint64_t codes[KITHI_PAIRS];              /* a place that has the code of the key in every slot */
} kithi_pairs;

/* What a place of a cuckoo filter (cf) is. A word is what code loads at once, at most 64 bits; a long word is in nine
 * bytes (kithi_cf_form in plan/geometry.h). */
typedef enum kithi_place_type {
    KITHI_CF_BUCKETS,      /* a bucket that is one word, long or not */
    KITHI_CF_WIDE_BUCKETS, /* a bucket of four slots of 17 bits or more. If place_bits % 8 is not 0, at[0] is the bucket
                              with the even number and at[1] the other. `shift` is not set, and codes[i] is only the
                              fingerprint */
    KITHI_CF_WINDOWS,      /* a window, which is one word, long or not */
} kithi_place_type;

/* Sets bit i of a bitmap that was all 0 to `value`; `bitmap` may be NULL. */
static inline void kithi_bitmap_set(uint64_t *bitmap, size_t i, bool value) {
    if (bitmap != NULL)
        bitmap[i / 64] |= (uint64_t)value << (i % 64);
}

/* Sets the bits at … at + n - 1 of a bitmap, which were all 0, to those of `word`. n is at most 64, and the bits of
 * `word` beyond the first n are 0. `bitmap` may be NULL. */
static inline void kithi_bitmap_set_word(uint64_t *bitmap, size_t at, uint64_t word, size_t n) {
    if (bitmap == NULL)
        return;
    bitmap[at / 64] |= word << (at % 64);
    if (at % 64 + n > 64)
        bitmap[at / 64 + 1] |= word >> (64 - at % 64);
}

#endif
