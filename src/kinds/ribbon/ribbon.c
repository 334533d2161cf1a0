/* ribbon: a static filter that is only 1% larger than the minimum, which is log2(1/rate) bits per key (Dillinger,
 * Hübschle-Schneider, Sanders, Walzer, "Fast Succinct Retrieval and Approximate Membership Using Ribbon", 2022: bumped
 * ribbon retrieval).
 *
 * Slots have f bits. A key has a fingerprint of f bits and a ribbon, which is 64 consecutive slots. About half of them,
 * chosen at random, are the slots of the key. The row of the key is the 64-bit mask of these slots. The filter is built
 * so that the XOR of the slots of each key is its fingerprint; has() computes this XOR and compares. For an absent key
 * the two are equal with probability 2^-f. That is the rate, for any number of keys, also for none.
 *
 * Each key is a linear equation over bits, with the slots as unknowns. Sorted by the start of their ribbon, the
 * equations form a narrow band, which Gaussian elimination solves in linear time (ribbon_build.c). But if there is one
 * slot per key, some ranges of slots have more equations than slots. So some keys are bumped, that is moved to the next
 * level: another ribbon filter, with a few percent as many slots and another hash function. The slots in which a ribbon
 * can start are divided into buckets of 128. Each bucket has a threshold of 0, 24, 48 or 128, and a key is bumped if
 * the distance from the beginning of the bucket to the start of its ribbon is below the threshold. Level 0 gets more
 * keys than it has slots, so that almost no slot is unused.
 *
 *     level 0   1.02 keys per slot: 2.4% of the keys are bumped, 0.5% of the slots are unused
 *     level 1   at most 1 key per slot. At that load, 1.1% of its keys are bumped, and 1.1% of its slots are unused
 *     level 2   at most 0.85 keys per slot: no thresholds. The rare key that does not fit is stored in the stash
 *     stash     digests, sorted
 *
 * Level 2 always exists. A small shard has no level 1, or neither level 0 nor level 1.
 *
 *     body    | shard 0 | shard 1 | …                          a digest belongs to shard digest * shards / 2^64
 *     shard   | 2 counts, seed | stash | marks of level 0, 1 | zeros | slots of level 0, 1, 2 | padding |
 *     counts  the number of keys, and the number of digests in the stash; 8 bytes each, as the seed
 *     marks   the thresholds, 2 bits per bucket; each level begins at a byte. Zeros up to a multiple of 64 bytes follow
 *     slots   | block of 64 slots | block | …                  block: f words of 64 bits. Word j has bit j of each slot
 *
 * A lookup reads the mark of a bucket in level 0 and, if the key was bumped there, in level 1. (Not every shard has
 * these levels.) Then it reads two adjacent blocks, 16 f bytes, of the level that the key is in. If they do not match
 * and this is level 2, it also searches the stash. Bit j of the XOR of a key's slots is the parity of (row AND w),
 * where w has bit j of the 64 slots of the ribbon: part of word j of the first block and part of word j of the second.
 * The marks of 10^6 keys take 2 KB and stay in cache.
 *
 * There are shards as in fuse, for the same reasons (fuse.c): they have 2^19.5 to 2^20.5 keys each, with space for 6
 * standard deviations more than the mean. Construction works in 15 to 30 MB per thread.
 *
 * Tries and attempts. A try fails if level 0 of a shard bumps more keys than the other levels and the stash have space
 * for, or if the last level refuses more keys than the stash has space for. If the digests are hashes, the probability
 * is less than 10^-9 per shard. The seed of the first try is 0; the seeds of the other tries (ribbon_build.c) depend on
 * all digests of the shard, so that nobody can choose digests that make these tries fail. If they all fail, the builder
 * plans the filter again and starts the next attempt (kithi_request.attempt):
 *
 *     attempt 1    1/16 more slots
 *     attempt 2    like attempt 0, but with a single shard for all keys
 *     attempt 3    like attempt 1, but with a single shard, and the stash has space for all keys: they always fit
 *
 * Attempts 1 and 2 are not made for a filter that has a single shard in attempt 0. Attempt 2 is for digests that are
 * not hashes: if there are several shards, all of these digests may belong to the same one.
 *
 * Parameters, by index: 0: f; 1 to 3: number of slots of levels 0 to 2; 4: number of digests that the stash has space
 * for; 5: number of shards. */
#include "kinds/ribbon/ribbon.h"

#include <math.h>

#include "core/batch.h"
#ifdef KITHI_HAVE_X86
#include "kernels/avx2.h"
#include "kernels/avx512.h"
#endif

#define SHARD_KEYS_MAX 1482910 /* 2^20.5 */
#define DIGEST_BITS 60         /* the most bits of a digest that select shard, start and fingerprint */
#define SPREAD 6.0             /* a shard has space for the mean number of keys plus this many standard deviations */
#define STASH_KEYS 5           /* digests; with the two counts and the seed they fill the first 64 bytes of a shard */
#define FIRST_UNSHARDED 2      /* this attempt and later ones have a single shard */

/* LOAD_i is the largest number of keys per slot at level i, and UNUSED_i is the share of the slots that stay unused at
 * this load. The shares were measured with ribbons of 64 slots, buckets of 128 starts and thresholds of 24 and 48.
 * UNUSED_1 is the measured 1.1% plus a margin, because level 1 has few keys. */
#define LOAD_0 1.02
#define UNUSED_0 0.0048
#define LOAD_1 1.0
#define UNUSED_1 0.0125
#define LOAD_2 0.85

static const kith_option OPTIONS[] = {
    {"f", "0..32", "0", "fingerprint bits; 0: as many as the rate needs"},
};

/* ---- planning ---- */

static uint64_t whole_blocks(double slots) {
    return ((uint64_t)ceil(slots) + KITHI_RIBBON_BLOCK - 1) & ~(uint64_t)(KITHI_RIBBON_BLOCK - 1);
}

/* The most keys that a level bumps if it gets n keys, for practical purposes. This is the mean, plus sqrt(n), plus 24
 * for the slots that are lost at the two ends of the level. The standard deviation is 0.15 sqrt(n) (measured), so
 * sqrt(n) is a little more than 6 standard deviations. */
static double most_bumped(double n, double load, double unused) {
    return n - n / load * (1 - unused) + sqrt(n) + 24;
}

/* Chooses the slots of a shard of n keys: one, two or three levels, whichever needs the fewest bytes. */
static void choose_slots(double n, kithi_ribbon_geometry *g) {
    double bumped_once = most_bumped(n, LOAD_0, UNUSED_0), bumped_twice = most_bumped(bumped_once, LOAD_1, UNUSED_1);
    kithi_ribbon_geometry tried[3] = {*g, *g, *g};
    tried[0].slots[KITHI_RIBBON_LAST] = whole_blocks(n / LOAD_2);
    tried[1].slots[0] = tried[2].slots[0] = whole_blocks(n / LOAD_0);
    tried[1].slots[KITHI_RIBBON_LAST] = whole_blocks(bumped_once / LOAD_2);
    tried[2].slots[1] = whole_blocks(bumped_once / LOAD_1);
    tried[2].slots[KITHI_RIBBON_LAST] = whole_blocks(bumped_twice / LOAD_2);
    for (unsigned i = 0; i < 3; i++) {
        kithi_ribbon_lay_out(&tried[i]);
        if (i == 0 || tried[i].shard_bytes < g->shard_bytes)
            *g = tried[i];
    }
}

/* The number of keys that each shard must have slots for. */
static double shard_keys(const kithi_request *request, uint64_t shards) {
    double mean = (double)request->capacity / (double)shards;
    double keys = shards == 1 ? mean : ceil(mean + SPREAD * sqrt(mean));
    return request->attempt % 2 == 0 ? keys : ceil(keys * 17 / 16);
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    kithi_ribbon_geometry g = {.bits = request->options[0], .shards = 1, .stash = STASH_KEYS};
    bool given = g.bits != 0;
    if (given && ldexp(1, -(int)g.bits) > request->rate)
        return KITH_E_OPTION_FIT;
    if (!given)
        g.bits = 1;
    while (ldexp(1, -(int)g.bits) > request->rate)
        if (++g.bits > KITHI_RIBBON_BITS_MAX)
            return KITH_E_FINGERPRINT;
    while (request->capacity / g.shards > SHARD_KEYS_MAX)
        g.shards *= 2;
    if (request->attempt > KITHI_LAST_ATTEMPT ||
        (g.shards == 1 && request->attempt != 0 && request->attempt != KITHI_LAST_ATTEMPT))
        return KITH_E_FULL;
    if (request->attempt >= FIRST_UNSHARDED)
        g.shards = 1;
    double keys = shard_keys(request, g.shards);
    if (keys > 0.8 * (double)KITHI_RIBBON_SLOTS_MAX) /* a level has at most 1 / LOAD_2 slots per key */
        return KITH_E_TOO_LARGE;
    choose_slots(keys, &g);
    if (log2((double)kithi_ribbon_shard_slots(&g)) + log2((double)g.shards) + (double)g.bits > DIGEST_BITS)
        return KITH_E_DIGEST_BITS;
    if (request->attempt >= KITHI_LAST_ATTEMPT)
        g.stash = request->capacity > STASH_KEYS ? request->capacity : STASH_KEYS;
    head->params[KITHI_PARAM_RIBBON_BITS] = g.bits;
    for (unsigned i = 0; i < KITHI_RIBBON_LEVELS; i++)
        head->params[KITHI_PARAM_RIBBON_SLOTS + i] = g.slots[i];
    head->params[KITHI_PARAM_RIBBON_STASH] = g.stash;
    head->params[KITHI_PARAM_RIBBON_SHARDS] = g.shards;
    return KITH_OK;
}

static uint64_t option(const kithi_head *head, unsigned index) {
    (void)index;
    return kithi_ribbon_decode(head).ribbon.bits;
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    (void)n;
    return (kithi_expectation){.rate = ldexp(1, -(int)kithi_ribbon_decode(head).ribbon.bits)};
}

/* ---- lookups ---- */

#define GROUP 64 /* digests that are looked up together; their results fill a word */

/* Looks up a group of at most GROUP digests. Bit i of the result is set if digest i may be in the set. The blocks of
 * all these digests are prefetched before the first is read. */
KITHI_INLINE uint64_t has_group(kithi_parities8 *parities, const kithi_ribbon_geometry *g, const uint8_t *body,
                                const uint64_t *digests, size_t count, unsigned bits) {
    kithi_ribbon_target targets[GROUP];
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        targets[i] = kithi_ribbon_find(g, kithi_ribbon_shard(g, body, digests[i]), digests[i], bits);
        for (unsigned at = 0; at < 16 * bits; at += 64)
            __builtin_prefetch(targets[i].block + at);
        if (bits % 8 != 0)
            __builtin_prefetch(targets[i].block + 16 * bits - 1);
    }
    for (size_t i = 0; i < count; i++) {
        bool maybe = kithi_ribbon_difference(parities, &targets[i], bits) == 0;
        if (targets[i].level == KITHI_RIBBON_LAST && !maybe)
            maybe = kithi_ribbon_is_stashed(g, kithi_ribbon_shard(g, body, digests[i]), digests[i]);
        word |= (uint64_t)maybe << i;
    }
    return word;
}

KITHI_INLINE size_t has_many_of_bits(kithi_parities8 *parities, const kith_filter *f, const uint64_t *digests, size_t n,
                                     uint64_t *maybe, unsigned bits) {
    const kithi_ribbon_geometry g = f->geometry.ribbon;
    size_t yes = 0;
    for (size_t at = 0; at < n; at += GROUP) {
        uint64_t word = has_group(parities, &g, f->body, digests + at, n - at < GROUP ? n - at : GROUP, bits);
        yes += kithi_popcount(word);
        if (maybe != NULL)
            maybe[at / GROUP] = word;
    }
    return yes;
}

/* Functions of the type kithi_parities8. */
#define parities_portable kithi_ribbon_parities_portable
#define parities_neon kithi_ribbon_parities_portable
#define parities_avx2 kithi_avx2_parities
#define parities_avx512 kithi_avx512_parities

#define KITHI_KERNELS "kinds/ribbon/kernels.h"
#include "kernels/each_set.h"

/* ---- introspection ---- */

/* Returns the value of a slot of a level. Its bit j is in word j of the block. */
static uint64_t slot_value(const kithi_ribbon_geometry *g, const uint8_t *shard, unsigned level, uint64_t slot) {
    const uint8_t *block = shard + g->slots_at[level] + slot / KITHI_RIBBON_BLOCK * g->bits * 8;
    uint64_t value = 0;
    for (unsigned j = 0; j < g->bits; j++)
        value |= (kithi_load64(block + j * 8) >> (slot % KITHI_RIBBON_BLOCK) & 1) << j;
    return value;
}

/* `holds ^ difference` is what a slot would have to hold, with the other slots as they are, for the XOR of all to be
 * the fingerprint. `difference` is the same for all slots, so either all of them hold that value or none does. */
static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    const uint8_t *shard = kithi_ribbon_shard(g, f->body, digest);
    kithi_ribbon_target t = kithi_ribbon_find(g, shard, digest, (unsigned)g->bits);
    uint64_t hash = kithi_ribbon_hash(digest, kithi_ribbon_seed(shard), t.level),
             difference = kithi_ribbon_difference(kithi_ribbon_parities_portable, &t, (unsigned)g->bits);
    kithi_ribbon r = kithi_ribbon_of(hash, g->starts[t.level], (unsigned)g->bits);
    uint64_t first_slot = kithi_mulhi(digest, g->shards) * kithi_ribbon_shard_slots(g) + r.start;
    for (unsigned i = 0; i < t.level; i++)
        first_slot += g->slots[i];
    for (unsigned i = 0; i < KITHI_RIBBON_BLOCK; i++) {
        if ((r.row >> i & 1) == 0)
            continue;
        uint64_t holds = slot_value(g, shard, t.level, r.start + i);
        report(context, first_slot + i, holds, holds ^ difference);
    }
    return difference == 0 || (t.level == KITHI_RIBBON_LAST && kithi_ribbon_is_stashed(g, shard, digest));
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    const uint8_t *shard = f->body + number / kithi_ribbon_shard_slots(g) * g->shard_bytes;
    unsigned level = 0;
    for (number %= kithi_ribbon_shard_slots(g); number >= g->slots[level]; level++)
        number -= g->slots[level];
    return slot_value(g, shard, level, number);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    stats->rate_now = ldexp(1, -(int)g->bits);
    for (uint64_t i = 0; i < g->shards; i++) {
        const uint8_t *words = f->body + i * g->shard_bytes + g->slots_at[0];
        for (uint64_t block = 0; block < kithi_ribbon_shard_slots(g) / KITHI_RIBBON_BLOCK; block++) {
            uint64_t used = 0;
            for (unsigned j = 0; j < g->bits; j++)
                used |= kithi_load64(words + (block * g->bits + j) * 8);
            stats->cells_used += kithi_popcount(used);
        }
    }
}

/* Returns whether all bits after the last mark of a level are 0, up to offset `end` in the shard. */
static bool spare_marks_are_zero(const kithi_ribbon_geometry *g, const uint8_t *shard, unsigned level, uint64_t end) {
    uint64_t buckets = (g->starts[level] + KITHI_RIBBON_BUCKET - 1) / KITHI_RIBBON_BUCKET;
    bool zero = true;
    for (uint64_t i = buckets; i < (end - g->marks_at[level]) * 4; i++)
        zero = zero && kithi_ribbon_mark(shard + g->marks_at[level], i) == 0;
    return zero;
}

static const char *check_shard(const kithi_ribbon_geometry *g, const uint8_t *shard) {
    uint64_t keys = kithi_load64(shard + KITHI_RIBBON_AT_KEYS);
    uint64_t stashed = kithi_load64(shard + KITHI_RIBBON_AT_STASHED);
    if (keys == 0 && !kithi_is_zero(shard, g->shard_bytes))
        return "a shard without keys has a byte that is not zero";
    if (stashed > g->stash || stashed > keys)
        return "a stash has more digests than it has space for, or than its shard has keys";
    const uint8_t *stash = shard + KITHI_RIBBON_HEAD_BYTES;
    for (uint64_t i = 1; i < stashed; i++)
        if (kithi_load64(stash + 8 * i - 8) >= kithi_load64(stash + 8 * i))
            return "the digests of a stash are not in increasing order";
    if (!kithi_is_zero(stash + 8 * stashed, 8 * (g->stash - stashed)))
        return "a byte after the last digest of a stash is not zero";
    if (!spare_marks_are_zero(g, shard, 0, g->marks_at[1]) || !spare_marks_are_zero(g, shard, 1, g->slots_at[0]))
        return "a threshold that belongs to no bucket is not zero";
    uint64_t end = g->slots_at[KITHI_RIBBON_LAST] + g->slots[KITHI_RIBBON_LAST] / KITHI_RIBBON_BLOCK * g->bits * 8;
    if (!kithi_is_zero(shard + end, g->shard_bytes - end))
        return "a byte after the last slot of a shard is not zero";
    return NULL;
}

static const char *check(const kith_filter *f) {
    const kithi_ribbon_geometry *g = &f->geometry.ribbon;
    uint64_t keys = 0;
    if (f->head.fill != 0)
        return "the header has a fill, which this kind does not use";
    for (uint64_t i = 0; i < g->shards; i++) {
        const char *broken = check_shard(g, f->body + i * g->shard_bytes);
        if (broken != NULL)
            return broken;
        if (!kithi_checked_add(keys, kithi_load64(f->body + i * g->shard_bytes), &keys) || keys > f->head.count)
            return "the shards have more keys than the count";
    }
    return keys == f->head.count ? NULL : "the shards have fewer keys than the count";
}

const kithi_kind kithi_kind_ribbon = {
    .lookup = &kithi_lookup_ribbon,
    .info =
        {
            .name = "ribbon",
            .summary = "static: built from a complete list of keys; the smallest",
            .capabilities = KITH_CAN_ANY_ORDER,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    .kernels = KITHI_EACH_SET(KERNELS),
    .build = {.region = kithi_ribbon_build, .bytes = kithi_ribbon_build_bytes},
    .look = look,
    .cell = cell,
    .stats = stats,
    .check = check,
};
