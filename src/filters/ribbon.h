/* ribbon.h: where the ribbon of a digest is, shared by lookups (ribbon.c) and construction (ribbon_build.c). */
#ifndef KITHI_FILTERS_RIBBON_H
#define KITHI_FILTERS_RIBBON_H

#include "core/compiler.h"
#include "core/mix.h"
#include "kind.h"

#define KITHI_RIBBON_LEVELS 3
#define KITHI_RIBBON_LAST 2        /* the level without thresholds */
#define KITHI_RIBBON_BLOCK 64      /* slots in a block; also the width of a ribbon */
#define KITHI_RIBBON_BUCKET 128    /* starts that have a threshold in common */
#define KITHI_RIBBON_BITS_MAX 32   /* the most bits of a fingerprint */
#define KITHI_RIBBON_HEAD_BYTES 16 /* of a shard: the number of its keys, the number of digests in its stash */

/* One equation: the XOR of the slots start + i for which bit i of `row` is set is `fingerprint`. Bit 0 is set. */
typedef struct kithi_ribbon {
    uint64_t start;
    uint64_t row;
    uint64_t fingerprint;
} kithi_ribbon;

/* The hash of a digest at a level. A bijection, so distinct digests have distinct hashes, whatever they are. */
static inline uint64_t kithi_ribbon_hash(uint64_t digest, uint64_t salt, unsigned level) {
    return kithi_word(digest, salt * KITHI_RIBBON_LEVELS + level);
}

/* The digest of a hash. */
static inline uint64_t kithi_ribbon_digest(uint64_t hash, uint64_t salt, unsigned level) {
    return kithi_unmix(hash) - (salt * KITHI_RIBBON_LEVELS + level + 1) * KITHI_GOLDEN;
}

/* hash * starts / 2^64 is a number with an integer and a fractional part. The integer part is the start, and the
 * fingerprint is the first bits of the fraction: they are independent. Both halves of a second product, by an odd
 * constant without structure, give the row: it depends on all bits of the hash. */
KITHI_INLINE kithi_ribbon kithi_ribbon_of(uint64_t hash, uint64_t starts, unsigned bits) {
    uint64_t rest, low;
    kithi_ribbon r;
    r.start = kithi_mul_wide(hash, starts, &rest);
    r.row = kithi_mul_wide(hash, UINT64_C(0xd6e8feb86659fd93), &low);
    r.row = (r.row ^ low) | 1;
    r.fingerprint = rest >> (64 - bits);
    return r;
}

/* The threshold that 2 bits stand for. A key is not stored at this level if the distance from the first start of its
 * bucket to its own start is below this. */
static inline uint64_t kithi_ribbon_threshold(unsigned mark) {
    return UINT64_C(0x80301800) >> (8 * mark) & 0xff; /* 0, 24, 48, 128 */
}

/* Marks have 2 bits each, four in a byte. */
static inline unsigned kithi_ribbon_mark(const uint8_t *marks, uint64_t bucket) {
    return marks[bucket / 4] >> (bucket % 4 * 2) & 3;
}

/* The function `build` of kithi_kind. */
kith_status kithi_ribbon_build(kith_filter *f, uint64_t region, const uint64_t *digests, size_t n);

#endif
