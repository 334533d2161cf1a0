/* kinds/ribbon/lookup.h: the parameters of ribbon, where the ribbon of a digest is, and lookups. See ribbon.c for the
 * idea and the layout, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_RIBBON_LOOKUP_H
#define KITHI_FILTERS_RIBBON_LOOKUP_H

#include "core/mix.h"
#include "kinds/lookup.h"
#include "kernels/native.h"

#define KITHI_RIBBON_ID 9

#define KITHI_RIBBON_LEVELS 3
#define KITHI_RIBBON_LAST 2        /* the last level, which has no thresholds */
#define KITHI_RIBBON_BLOCK 64      /* slots in a block; also the width of a ribbon */
#define KITHI_RIBBON_BUCKET 128    /* slots in a bucket; the ribbons that start in them have a threshold in common */
#define KITHI_RIBBON_BITS_MAX 32   /* the most bits of a fingerprint */
#define KITHI_RIBBON_HEAD_BYTES 24 /* of a shard: see the next three */
#define KITHI_RIBBON_AT_KEYS 0     /* the number of its keys */
#define KITHI_RIBBON_AT_STASHED 8  /* the number of digests in its stash */
#define KITHI_RIBBON_AT_SEED 16    /* the seed of its hash functions */

#define KITHI_RIBBON_SLOTS_MAX (UINT64_C(1) << 40) /* in a level; also the most digests in a stash */

/* The indices of the parameters. */
enum {
    KITHI_PARAM_RIBBON_BITS,
    KITHI_PARAM_RIBBON_SLOTS, /* one for each level */
    KITHI_PARAM_RIBBON_STASH = KITHI_PARAM_RIBBON_SLOTS + KITHI_RIBBON_LEVELS,
    KITHI_PARAM_RIBBON_SHARDS
};
#define KITHI_RIBBON_PARAMS_MASK ((1 << (KITHI_PARAM_RIBBON_SHARDS + 1)) - 1)

/* The ribbon of a key, as an equation: the XOR of those slots start + i for which bit i of `row` is set equals
 * `fingerprint`. Bit 0 of `row` is always set. */
typedef struct kithi_ribbon {
    uint64_t start;
    uint64_t row;
    uint64_t fingerprint;
} kithi_ribbon;

/* The hash of a digest at a level. It is a bijection, so distinct digests always have distinct hashes. */
static inline uint64_t kithi_ribbon_hash(uint64_t digest, uint64_t seed, unsigned level) {
    return kithi_mixed_word(digest + seed, level);
}

static inline uint64_t kithi_ribbon_seed(const uint8_t *shard) {
    return kithi_load64(shard + KITHI_RIBBON_AT_SEED);
}

/* Returns the equation of a hash. `starts` is the number of slots in which a ribbon can start. hash * starts / 2^64 is
 * a number with an integer and a fractional part. The integer part is the start, and the first bits of the fraction are
 * the fingerprint, so the two are independent. The row is the XOR of both halves of another product, of the hash and an
 * odd constant without structure. So it depends on all bits of the hash. */
KITHI_INLINE kithi_ribbon kithi_ribbon_of(uint64_t hash, uint64_t starts, unsigned bits) {
    uint64_t rest, low;
    kithi_ribbon r;
    r.start = kithi_mul_wide(hash, starts, &rest);
    r.row = kithi_mul_wide(hash, UINT64_C(0xd6e8feb86659fd93), &low);
    r.row = (r.row ^ low) | 1;
    r.fingerprint = rest >> (64 - bits);
    return r;
}

/* Returns the threshold that a mark, a number of 2 bits, stands for. A key is bumped (not stored at this level, but at
 * the next) if the distance from the beginning of its bucket to the start of its ribbon is below the threshold. */
static inline uint64_t kithi_ribbon_threshold(unsigned mark) {
    return UINT64_C(0x80301800) >> (8 * mark) & 0xff; /* 0, 24, 48, 128 */
}

/* Marks have 2 bits each, four in a byte. */
static inline unsigned kithi_ribbon_mark(const uint8_t *marks, uint64_t bucket) {
    return marks[bucket / 4] >> (bucket % 4 * 2) & 3;
}

/* ---- sizes ---- */

/* Sets the fields that follow from bits, slots and stash. */
static inline void kithi_ribbon_lay_out(kithi_ribbon_geometry *g) {
    uint64_t at = KITHI_RIBBON_HEAD_BYTES + 8 * g->stash;
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++) {
        g->starts[i] = g->slots[i] != 0 ? g->slots[i] - (KITHI_RIBBON_BLOCK - 1) : 0;
        g->marks_at[i] = at;
        if (i != KITHI_RIBBON_LAST)
            at += (g->slots[i] + 4 * KITHI_RIBBON_BUCKET - 1) / (4 * KITHI_RIBBON_BUCKET);
    }
    at = (at + 63) & ~UINT64_C(63);
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++) {
        g->slots_at[i] = at;
        at += g->slots[i] / KITHI_RIBBON_BLOCK * g->bits * 8;
    }
    /* A lookup may read the block after the last one, and up to 7 words after that: it reads words in groups of 8. */
    g->shard_bytes = (at + g->bits * 8 + 7 * 8 + 63) & ~UINT64_C(63);
}

static inline kithi_geometry kithi_ribbon_decode(const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.fill_limit = UINT64_MAX;
    kithi_ribbon_geometry *g = &geometry.ribbon;
    g->bits = head->params[KITHI_PARAM_RIBBON_BITS];
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++)
        g->slots[i] = head->params[KITHI_PARAM_RIBBON_SLOTS + i];
    g->stash = head->params[KITHI_PARAM_RIBBON_STASH];
    g->shards = head->params[KITHI_PARAM_RIBBON_SHARDS];
    kithi_ribbon_lay_out(g);
    return geometry;
}

/* Returns the number of slots of a shard, in all levels. */
static inline uint64_t kithi_ribbon_shard_slots(const kithi_ribbon_geometry *g) {
    return g->slots[0] + g->slots[1] + g->slots[2];
}

static inline kith_status kithi_ribbon_shape(const kithi_head *head, kithi_shape *shape) {
    kithi_ribbon_geometry g = kithi_ribbon_decode(head).ribbon;
    bool valid = g.bits >= 1 && g.bits <= KITHI_RIBBON_BITS_MAX && g.stash <= KITHI_RIBBON_SLOTS_MAX && g.shards >= 1 &&
                 (g.shards & (g.shards - 1)) == 0 && g.slots[KITHI_RIBBON_LAST] != 0 &&
                 (g.slots[0] != 0 || g.slots[1] == 0);
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++)
        valid = valid && g.slots[i] <= KITHI_RIBBON_SLOTS_MAX && g.slots[i] % KITHI_RIBBON_BLOCK == 0;
    memset(shape, 0, sizeof *shape);
    if (!valid || !kithi_checked_mul(g.shards, kithi_ribbon_shard_slots(&g), &shape->cells) ||
        !kithi_checked_mul(g.shards, g.shard_bytes, &shape->body_bytes) || shape->body_bytes > UINT64_C(1) << 62)
        return KITH_E_CORRUPT;
    shape->regions = g.shards;
    shape->cell_bits = (unsigned)g.bits;
    shape->fingerprint_bits = (unsigned)g.bits;
    /* Two blocks have 16 * bits bytes. One line more, because they may begin in the middle of a cache line. The marks
     * are not counted, because they stay in cache. */
    shape->lines = (unsigned)(1 + (16 * g.bits + 63) / 64);
    shape->lookup_cells = KITHI_RIBBON_BLOCK; /* as many as a row has bits */
    shape->max_copies = 1;
    return KITH_OK;
}

/* ---- lookups ---- */

KITHI_INLINE const uint8_t *kithi_ribbon_shard(const kithi_ribbon_geometry *g, const uint8_t *body, uint64_t digest) {
    return body + kithi_mulhi(digest, g->shards) * g->shard_bytes;
}

/* Where to look for a digest. */
typedef struct kithi_ribbon_target {
    const uint8_t *block; /* the first of two blocks */
    uint64_t low, high;   /* the row as masks of the first and the second block: bit i is for slot i of the block */
    uint64_t fingerprint;
    unsigned level;
} kithi_ribbon_target;

KITHI_INLINE kithi_ribbon_target kithi_ribbon_target_at(const kithi_ribbon_geometry *g, const uint8_t *shard,
                                                        unsigned level, kithi_ribbon r, unsigned bits) {
    unsigned offset = (unsigned)(r.start % KITHI_RIBBON_BLOCK);
    kithi_ribbon_target t;
    t.block = shard + g->slots_at[level] + r.start / KITHI_RIBBON_BLOCK * bits * 8;
    t.low = r.row << offset;
    t.high = r.row >> 1 >> (KITHI_RIBBON_BLOCK - 1 - offset);
    t.fingerprint = r.fingerprint;
    t.level = level;
    return t;
}

/* Finds the level of a digest: the first one that does not bump the key to the next. */
KITHI_INLINE kithi_ribbon_target kithi_ribbon_find(const kithi_ribbon_geometry *g, const uint8_t *shard,
                                                   uint64_t digest, unsigned bits) {
    uint64_t seed = kithi_ribbon_seed(shard);
    for (unsigned level = 0; level < KITHI_RIBBON_LAST && g->slots[level] != 0; level++) {
        kithi_ribbon r = kithi_ribbon_of(kithi_ribbon_hash(digest, seed, level), g->starts[level], bits);
        unsigned mark = kithi_ribbon_mark(shard + g->marks_at[level], r.start / KITHI_RIBBON_BUCKET);
        if (r.start % KITHI_RIBBON_BUCKET >= kithi_ribbon_threshold(mark))
            return kithi_ribbon_target_at(g, shard, level, r, bits);
    }
    uint64_t hash = kithi_ribbon_hash(digest, seed, KITHI_RIBBON_LAST);
    return kithi_ribbon_target_at(g, shard, KITHI_RIBBON_LAST,
                                  kithi_ribbon_of(hash, g->starts[KITHI_RIBBON_LAST], bits), bits);
}

/* Returns 8 bits. Bit i is the parity of (word i of `first` AND low) XOR (word i of `second` AND high). */
typedef unsigned kithi_parities8(const uint8_t *first, const uint8_t *second, uint64_t low, uint64_t high);

KITHI_INLINE unsigned kithi_ribbon_parities_portable(const uint8_t *first, const uint8_t *second, uint64_t low,
                                                     uint64_t high) {
    unsigned parities = 0;
    for (unsigned i = 0; i < 8; i++)
        parities |=
            (unsigned)__builtin_parityll((kithi_load64(first + 8 * i) & low) ^ (kithi_load64(second + 8 * i) & high))
            << i;
    return parities;
}

/* Returns the XOR of a key's slots and its fingerprint: 0 if the key may be in the set. Word j of a block has bit j of
 * its slots. Words are read in groups of 8, and those from word `bits` on are ignored. */
KITHI_INLINE uint64_t kithi_ribbon_difference(kithi_parities8 *parities, const kithi_ribbon_target *t, unsigned bits) {
    uint64_t sum = 0;
    for (unsigned j = 0; j < bits; j += 8)
        sum |= (uint64_t)parities(t->block + 8 * j, t->block + 8 * (bits + j), t->low, t->high) << j;
    return (sum ^ t->fingerprint) & ((UINT64_C(1) << bits) - 1);
}

/* Returns whether a digest is in the stash of a shard, by binary search. */
static inline bool kithi_ribbon_is_stashed(const kithi_ribbon_geometry *g, const uint8_t *shard, uint64_t digest) {
    uint64_t low = 0, high = kithi_load64(shard + KITHI_RIBBON_AT_STASHED);
    high = high < g->stash ? high : g->stash; /* a damaged file may have any number there */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, found = kithi_load64(shard + KITHI_RIBBON_HEAD_BYTES + 8 * middle);
        if (found == digest)
            return true;
        if (found < digest)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

KITHI_INLINE bool kithi_ribbon_has_with(kithi_parities8 *parities, const kithi_ribbon_geometry *g, const uint8_t *body,
                                        uint64_t digest) {
    const uint8_t *shard = kithi_ribbon_shard(g, body, digest);
    kithi_ribbon_target t = kithi_ribbon_find(g, shard, digest, (unsigned)g->bits);
    return kithi_ribbon_difference(parities, &t, (unsigned)g->bits) == 0 ||
           (t.level == KITHI_RIBBON_LAST && kithi_ribbon_is_stashed(g, shard, digest));
}

/* A lookup with the best instruction set that the compiler may use here (kernels/native.h). */
static inline bool kithi_ribbon_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
#if defined(KITHI_NATIVE_AVX512)
    return kithi_ribbon_has_with(kithi_avx512_parities, &g->ribbon, body, digest);
#elif defined(KITHI_NATIVE_AVX2)
    return kithi_ribbon_has_with(kithi_avx2_parities, &g->ribbon, body, digest);
#else
    return kithi_ribbon_has_with(kithi_ribbon_parities_portable, &g->ribbon, body, digest);
#endif
}

static const kithi_lookup kithi_lookup_ribbon = {
    KITHI_RIBBON_ID,     KITHI_RIBBON_PARAMS_MASK, false, /* adds */
    kithi_ribbon_decode, kithi_ribbon_shape,       kithi_ribbon_has,
};

#endif
