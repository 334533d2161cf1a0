/* core/batch.h: what the loops over batches of digests share. A batch processes digests in order and prefetches the
 * cache lines of digests further ahead. */
#ifndef KITHI_CORE_BATCH_H
#define KITHI_CORE_BATCH_H

#include "core/bits.h"
#include "core/compiler.h"

/* How many cache lines ahead a batch prefetches: enough to cover a cache miss (about 100 ns) if a key takes 4 ns and
 * needs one cache line. The cuckoo kinds, and kith_adder_add_many() on a filter of kind bloom (adder.c), need several
 * cache lines per digest and prefetch correspondingly fewer digests. Kinds that prefetch for a whole group of digests
 * before they read the first have their own constants. */
#define KITHI_AHEAD 32

/* The distance, in digests, at which some batches prefetch the array of digests itself: 2 KiB. */
#define KITHI_DIGESTS_AHEAD 256

/* Called by batches that work in groups of `group` digests, before each group. `digests` points to the first digest of
 * the group, and `left` is the number of digests from there on. Prefetches the `group` digests that are
 * KITHI_DIGESTS_AHEAD further on. The hardware prefetcher normally covers an array that is read in order, but not if
 * the loads of a group's cache lines come in between. Without this call, has_many of overlap takes twice as long on
 * Zen 4 if the digests are not in the core's own caches. Batches that do not work in groups gain nothing. */
KITHI_INLINE void kithi_prefetch_digests(const uint64_t *digests, size_t group, size_t left) {
    for (size_t i = KITHI_DIGESTS_AHEAD; i < KITHI_DIGESTS_AHEAD + group && i < left; i += 64 / sizeof *digests)
        __builtin_prefetch(digests + i);
}

/* For the vector code of the cuckoo kinds. It looks up digests in groups of KITHI_PAIRS. Each digest has a pair of
 * places, and kithi_pairs says where the places of a group are and which codes to look for there.
 *
 * A place is a bucket or, in the kind overlap, a window: two neighbouring slots. Neighbouring windows share a slot. The
 * code of a key is what a slot that holds the key contains: its fingerprint and, in windows, a bit that is 0 in the
 * first slot of the key's window and 1 in the second (kinds/overlap/overlap.c). A word is up to 64 bits of adjacent
 * slots. It may begin in the middle of a byte. If it then extends over nine bytes, it is called long, and takes two
 * loads (kithi_cf_form in plan/geometry.h). */
#define KITHI_PAIRS 32

/* at[j][i], shift[j][i] and codes[i] are for digest i of the group and its place j. */
typedef struct kithi_pairs {
    _Alignas(64) uint64_t at[2][KITHI_PAIRS]; /* offset in the body of the byte in which a place begins */
    uint64_t shift[2][KITHI_PAIRS];           /* the bit of that byte at which the place begins */
    /* The key's codes, packed like the slots of a word. Field n (bits n * slot_bits … (n + 1) * slot_bits - 1) is the
     * code that the key has in slot n of a place. */
    uint64_t codes[KITHI_PAIRS];
} kithi_pairs;

/* What a place of a cuckoo filter (cf) is, and how kithi_pairs describes it. */
typedef enum kithi_place_type {
    KITHI_CF_BUCKETS,      /* a bucket that is one word, long or not */
    KITHI_CF_WIDE_BUCKETS, /* a bucket of four slots of 17 bits or more, which is more than one word. `codes` has only
                              the fingerprints. `shift` is not set, because it follows from the number of the bucket: 0
                              if that is even, place_bits % 8 if it is odd. A key always has one bucket of each sort
                              (kithi_partner in core/mix.h). If place_bits % 8 is not 0, at[0] is for the bucket with
                              the even number and at[1] for the other one, so that each has a fixed shift */
    KITHI_CF_WINDOWS,      /* a window, which is one word, long or not */
} kithi_place_type;

/* Sets bit i of a bitmap to `value`. The bit must be 0 before. `bitmap` may be NULL. */
static inline void kithi_bitmap_set(uint64_t *bitmap, size_t i, bool value) {
    if (bitmap != NULL)
        bitmap[i / 64] |= (uint64_t)value << (i % 64);
}

/* Sets bits `at` … `at` + n - 1 of a bitmap to the lowest n bits of `word`. These bits of the bitmap must be 0 before.
 * The other bits of `word` must be 0. n is at most 64. `bitmap` may be NULL. */
static inline void kithi_bitmap_set_word(uint64_t *bitmap, size_t at, uint64_t word, size_t n) {
    if (bitmap == NULL)
        return;
    bitmap[at / 64] |= word << (at % 64);
    if (at % 64 + n > 64)
        bitmap[at / 64 + 1] |= word >> (64 - at % 64);
}

#endif
