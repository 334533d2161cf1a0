/* blocked_counting: a counting Bloom filter whose add, remove and lookup touch one cache line.
 *
 * It is to counting (Fan, Cao, Almeida, Broder, 2000) what blocked is to bloom (Putze, Sanders, Singler, 2009). The
 * digest selects one block, the 64 bytes of a cache line, which are 128 counters of 4 bits. The key has one counter
 * in each of 4, 8 or 16 lanes of w counters:
 *
 *     body     | block 0 | block 1 |  …  |  block B-1  |        block of digest d = high half of (d * B)
 *                   .---------'
 *     block    |0010000020000100|0000001000200001|…|0100|       lane j = counters j * w … (j + 1) * w - 1
 *                    lane 0           lane 1                    w = 32, 16 or 8
 *
 *     counter in lane j  =  top log2(w) bits of byte j % 8 of lane word j / 8 of d
 *
 * Lane words 0 and 1 are 64-bit hashes of the digest (kithi_lane_word in core/mix.h).
 *
 * With 8 lanes a lane is one 64-bit word, with 16 lanes one 32-bit word, with 4 lanes two 64-bit words. Adding a key
 * adds 1 << 4 * i to one word of each lane, where i is the index of the key's counter in that word; removing the key
 * subtracts the same. A counter that has reached 15 is stuck: it is never changed again. kinds/shared/counter_cells.h
 * describes stuck counters, and how many copies of a key can be added. kinds/shared/lanes.h describes blocks and
 * lanes.
 *
 * What blocking costs. A block has a quarter of the cells that a block of the kind blocked has, and so fewer keys. The
 * fewer keys a block has on average, the more their number varies from block to block, relative to the mean. So
 * blocking costs more than in the kind blocked. For a million keys, this kind takes 45.8 bits per key at a rate of 1%
 * (counting takes 38.4), 77.9 at 0.1% (counting 57.5), and 131 at 0.01% (counting 77). Of 4, 8 and 16 lanes the planner
 * uses the number that needs the fewest blocks: 4 above a rate of 1.2%, 16 below 0.0008%, and 8 in between.
 *
 * Refused keys. Let n distinct keys be added once each. A key gets KITH_E_COPIES only if each of its counters is shared
 * by at least 14 other keys. The probability that this happens to any of the n keys is at most
 *
 *     failure = n * sum over N of P(N) P(Binomial(N, 1/w) >= 14)^lanes
 *
 * where P(N) is the probability that the block of a key has N other keys. This bound is 10^-55 at a million keys and a
 * rate of 1%. It should be below 10^-9. A filter planned for a rate of 90% would have 116 keys per block, and the bound
 * would be 10^-10 at a million keys and above 10^-9 from 15 million keys on. So rates above 50% are planned as 50%. The
 * bound is then n * 3.2 * 10^-28 with 4 lanes, and less with more lanes. It is below 10^-9 even in the largest filter,
 * which has 2^53 blocks of 58 keys.
 *
 * Fill. As in blocked, the mean of the fill (the number of counters that are not 0), and the estimate of the number of
 * keys from the fill, are those of the kind counting with one slice of blocks * w counters per lane. The standard
 * deviation of the fill is larger than in counting: by 2% to 4% with 4 lanes, 16% to 19% with 8, and 65% with 16 (for a
 * million keys). As in blocked, kinds/shared/crowding.h stops keys that were chosen to crowd some blocks.
 *
 * Invariants. Every successful add or remove changes one counter of each lane of one block by 1, unless that counter
 * is stuck. So in a block, all lanes that have no stuck counter have the same sum, which is the number of keys in that
 * block. If every block has such a lane, these numbers add up to the count. Both statements hold even after removals of
 * keys that were never added.
 *
 * Parameters, by index: 0: lanes; 1: number of blocks; 7: fill limit. The body is blocks * 64 bytes without padding. */
#include <math.h>

#include "kinds/shared/counter_cells.h"
#include "kinds/blocked_counting/lookup.h"
#include "kinds/shared/crowding.h"
#include "kinds/shared/lanes.h"
#ifdef KITHI_HAVE_X86
#include "kernels/avx2.h"
#include "kernels/avx512.h"
#elif defined(KITHI_HAVE_NEON)
#include "kernels/neon.h"
#endif

static const double RATE_MAX = 0.5; /* see "Refused keys" above */

static const kith_option OPTIONS[] = {
    {"lanes", "auto|4|8|16", "auto", "counters per key, one in each lane; auto: the number that needs the least space"},
};

static kith_status choose(const kithi_request *request, kithi_head *head) {
    return kithi_lanes_choose(request, fmin(request->rate, RATE_MAX), KITHI_BLOCK_COUNTERS, KITHI_COUNTS_ALL_KEYS,
                              head);
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_lanes_geometry g = kithi_lanes_decode(head).lanes;
    unsigned lanes = (unsigned)g.lanes, lane_cells = KITHI_BLOCK_COUNTERS / lanes;
    uint64_t blocks = g.blocks;
    double refused =
        n > KITHI_COUNTER_COPIES ? kithi_blocked_hit(lanes, lane_cells, blocks, n - 1, KITHI_COUNTER_COPIES) : 0;
    return (kithi_expectation){.rate = kithi_blocked_rate(lanes, lane_cells, blocks, n),
                               .failure = fmin(1, (double)n * refused)};
}

/* ---- a key in its block ---- */

/* Returns the least counter of the key. */
KITHI_INLINE unsigned least_counter(const uint8_t *block, kithi_lane_words words, unsigned lanes) {
    unsigned least = KITHI_COUNTER_TOP;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned value = kithi_counter(block, kithi_blocked_counter(words, lanes, j), KITHI_COUNTER_BITS);
        least = value < least ? value : least;
    }
    return least;
}

/* Calls `change`, which is kithi_counter_raise or kithi_counter_lower, for all counters of the key. Returns how many of
 * them were 0 (raise) or are 0 now (lower). */
KITHI_INLINE unsigned change_counters(uint8_t *block, kithi_lane_words words,
                                      bool (*change)(uint8_t *counters, uint64_t c, unsigned width), unsigned lanes) {
    unsigned zeros = 0;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++)
        zeros += change(block, kithi_blocked_counter(words, lanes, j), KITHI_COUNTER_BITS);
    return zeros;
}

KITHI_INLINE bool block_raise(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    if (least_counter(block, words, lanes) >= KITHI_COUNTER_COPIES)
        return false;
    *zeros = change_counters(block, words, kithi_counter_raise, lanes);
    return true;
}

KITHI_INLINE bool block_lower(uint8_t *block, uint64_t digest, unsigned lanes, unsigned *zeros) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    if (least_counter(block, words, lanes) == 0)
        return false;
    *zeros = change_counters(block, words, kithi_counter_lower, lanes);
    return true;
}

KITHI_INLINE unsigned block_least(const uint8_t *block, uint64_t digest, unsigned lanes) {
    return least_counter(block, kithi_lane_words_of(digest, lanes), lanes);
}

/* ---- crowded blocks ---- */

KITHI_INLINE unsigned counters_used(uint64_t word) {
    return kithi_counters_used(word);
}

KITHI_INLINE uint64_t block_product(const uint8_t *block, unsigned lanes) {
    return kithi_lanes_product(block, KITHI_COUNTER_BITS, lanes, counters_used);
}

static unsigned block_used(const uint8_t *block) {
    return kithi_lanes_block_used(block, counters_used);
}

static double block_rate(const uint8_t *block, unsigned lanes) {
    return kithi_lanes_block_rate(block, lanes, lanes == 8 ? 0x1p-32 : lanes == 4 ? 0x1p-20 : 0x1p-48, counters_used);
}

/* ---- operations ----
 *
 * A function whose name ends in _for_lanes is compiled for 4, 8 and 16 lanes (kithi_by_lanes). `ops` has the block
 * functions of one instruction set (kithi_lanes_block_ops in lanes.h). kernels.h compiles functions that use `ops` for
 * each set. */

static const kithi_lanes_block_ops OPS_portable = {.has = kithi_blocked_counting_block_has,
                                                   .raise = block_raise,
                                                   .lower = block_lower,
                                                   .least = block_least,
                                                   .product = block_product};

#ifdef KITHI_HAVE_X86
static const kithi_lanes_block_ops OPS_avx2 = {.has = kithi_avx2_counters_has,
                                               .raise = kithi_avx2_counters_raise,
                                               .lower = kithi_avx2_counters_lower,
                                               .least = kithi_avx2_counters_least,
                                               .product = kithi_avx2_counters_product};

static const kithi_lanes_block_ops OPS_avx512 = {.has = kithi_avx512_counters_has,
                                                 .raise = kithi_avx512_counters_raise,
                                                 .lower = kithi_avx512_counters_lower,
                                                 .least = kithi_avx2_counters_least,
                                                 .product = kithi_avx2_counters_product};
#elif defined(KITHI_HAVE_NEON)
static const kithi_lanes_block_ops OPS_neon = {.has = kithi_neon_counters_has,
                                               .raise = kithi_neon_counters_raise,
                                               .lower = kithi_neon_counters_lower,
                                               .least = block_least,
                                               .product = block_product};
#endif

/* Returns the functions for the instruction set in use. */
static const kithi_crowding_ops *crowding_now(void);

/* Returns by how much the weight of the block `after` exceeds that of `before`. */
KITHI_INLINE uint64_t weight_gained(const kithi_lanes_block_ops *ops, const uint8_t *before, const uint8_t *after,
                                    unsigned lanes) {
    return kithi_lanes_weight(after, ops->product, KITHI_COUNTER_BITS, lanes) -
           kithi_lanes_weight(before, ops->product, KITHI_COUNTER_BITS, lanes);
}

KITHI_INLINE uint64_t copies_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes) {
    return ops->least(kithi_lanes_block_of(args->f, args->digest), args->digest, lanes);
}

/* Returns whether an add changes the sum of the block rates (kinds/shared/crowding.h) and exceeds neither the
 * capacity nor the fill limit. */
static inline bool adds_are_summed(const kith_filter *f) {
    return kithi_crowding_adds_are_summed(f) && !kithi_bits_above_limit(f, f->head.fill);
}

/* Adds a key, or returns the reason why it cannot be added. If both KITH_E_COPIES and KITH_E_FULL apply, the result is
 * KITH_E_COPIES, so the counters are read even if the filter is full. */
KITHI_INLINE uint64_t add_with_reason_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                                unsigned lanes) {
    kith_filter *f = args->writable;
    uint8_t *block = kithi_lanes_block_of(f, args->digest), before[KITHI_LANES_BLOCK_BYTES];
    kithi_lane_words words = kithi_lane_words_of(args->digest, lanes);
    unsigned least = least_counter(block, words, lanes);
    if (least >= KITHI_COUNTER_COPIES)
        return KITH_E_COPIES;
    if (!kithi_lanes_add_is_safe_after_removals(f) && !adds_are_summed(f) &&
        !kithi_lanes_check_add(f, args->digest, crowding_now()))
        return KITH_E_FULL;
    memcpy(before, block, sizeof before);
    unsigned zeros = change_counters(block, words, kithi_counter_raise, lanes);
    if (kithi_crowding_adds_are_summed(f) && zeros != 0 &&
        !kithi_crowding_weigh(f, block, before, weight_gained(ops, before, block, lanes)))
        return KITH_E_FULL;
    f->head.fill += zeros;
    f->head.count++;
    if (args->was_new != NULL)
        *args->was_new = least == 0;
    return KITH_OK;
}

KITHI_OUTLINE kith_status add_with_reason(kith_filter *f, uint64_t digest, bool *was_new) {
    return (kith_status)kithi_by_lanes(add_with_reason_for_lanes, &OPS_portable,
                                       (kithi_lanes_args){.f = f, .writable = f, .digest = digest, .was_new = was_new});
}

KITHI_INLINE kith_status remove_key_for_lanes(const kithi_lanes_block_ops *ops, kith_filter *f, uint64_t digest,
                                              unsigned lanes) {
    unsigned zeros;
    uint8_t *block = kithi_lanes_block_of(f, digest), before[KITHI_LANES_BLOCK_BYTES];
    memcpy(before, block, sizeof before);
    if (f->head.count == 0 || !ops->lower(block, digest, lanes, &zeros))
        return KITH_E_ABSENT;
    if (f->crowding.summed && zeros != 0)
        f->crowding.sum -= weight_gained(ops, block, before, lanes);
    f->head.fill -= zeros;
    f->head.count--;
    kithi_crowding_note_removal(f);
    return KITH_OK;
}

KITHI_INLINE uint64_t remove_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes) {
    return remove_key_for_lanes(ops, args->writable, args->digest, lanes);
}

/* Adds a key with ops->raise, if no check is needed (kithi_lanes_add_is_safe_after_removals) or adds are summed.
 * Otherwise, or if raise fails, calls add_with_reason(). That makes a spot check if one is due, and adds the key or
 * returns the reason why it cannot. */
KITHI_INLINE kith_status add_key_for_lanes(const kithi_lanes_block_ops *ops, kith_filter *f, uint64_t digest,
                                           unsigned lanes, bool *was_new) {
    unsigned zeros;
    uint8_t *block = kithi_lanes_block_of(f, digest), before[KITHI_LANES_BLOCK_BYTES];
    bool summed = adds_are_summed(f);
    if (summed)
        memcpy(before, block, sizeof before);
    if ((!summed && !kithi_lanes_add_is_safe_after_removals(f)) || !ops->raise(block, digest, lanes, &zeros))
        return add_with_reason(f, digest, was_new);
    if (summed && zeros != 0 && !kithi_crowding_weigh(f, block, before, weight_gained(ops, before, block, lanes)))
        return KITH_E_FULL;
    f->head.fill += zeros;
    f->head.count++;
    if (was_new != NULL)
        *was_new = zeros != 0;
    return KITH_OK;
}

KITHI_INLINE uint64_t add_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes) {
    return add_key_for_lanes(ops, args->writable, args->digest, lanes, args->was_new);
}

/* Adds or, if `remove` is true, removes a batch, one key after the other. */
KITHI_INLINE uint64_t change_many(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes,
                                  bool remove) {
    kith_filter *f = args->writable;
    const uint64_t *digests = args->digests;
    kithi_lanes_prefetch_first(f, digests, args->n);
    for (size_t i = 0; i < args->n; i++) {
        if (args->n - i > KITHI_AHEAD)
            kithi_lanes_prefetch(f, digests[i + KITHI_AHEAD]);
        bool is_new = false;
        kith_status status = remove ? remove_key_for_lanes(ops, f, digests[i], lanes)
                                    : add_key_for_lanes(ops, f, digests[i], lanes, &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(args->bitmap, i, is_new);
        ++*args->done;
    }
    return KITH_OK;
}

KITHI_INLINE uint64_t add_many_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                         unsigned lanes) {
    return change_many(ops, args, lanes, false);
}

KITHI_INLINE uint64_t remove_many_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                            unsigned lanes) {
    return change_many(ops, args, lanes, true);
}

#define CELL_BITS KITHI_COUNTER_BITS
#define KITHI_KERNELS "kinds/blocked_counting/kernels.h"
#include "kernels/each_set.h"

/* ---- crowded blocks ---- */

static const kithi_crowding_ops *crowding_now(void) {
    static const kithi_crowding_ops *const OF_SET[KITHI_CPU_COUNT] = KITHI_EACH_SET(CROWDING);
    return OF_SET[kithi_cpu_now()];
}

static void before_fill(kith_filter *f, bool by_adders) {
    kithi_crowding_before_fill(f, by_adders, crowding_now());
}

static bool after_fill(kith_filter *f, bool judge) {
    return kithi_crowding_after_fill(f, judge, crowding_now());
}

/* ---- statistics ---- */

static kithi_tally lane_tally(const kith_filter *f, uint64_t block, uint64_t lane) {
    uint64_t lane_cells = KITHI_BLOCK_COUNTERS / f->geometry.lanes.lanes,
             first = block * KITHI_BLOCK_COUNTERS + lane * lane_cells;
    return kithi_counters_tally(f, first, first + lane_cells);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->stuck = kithi_counters_tally(f, 0, f->shape.cells).stuck;
    stats->keys_now = kithi_lanes_keys(f, f->head.fill);
    stats->rate_now = kithi_crowding_rate(f, f, false, crowding_now());
}

static const char *check(const kith_filter *f) {
    uint64_t used = 0, keys = 0;
    bool lanes_agree = true, keys_known = true;
    for (uint64_t block = 0; block < f->geometry.lanes.blocks; block++) {
        /* The number of keys in the block: the sum of a lane without a stuck counter. UINT64_MAX: none found yet. */
        uint64_t in_block = UINT64_MAX;
        for (uint64_t lane = 0; lane < f->geometry.lanes.lanes; lane++) {
            kithi_tally t = lane_tally(f, block, lane);
            used += t.used;
            if (t.stuck != 0)
                continue;
            lanes_agree = lanes_agree && (in_block == UINT64_MAX || in_block == t.sum);
            in_block = t.sum;
        }
        keys_known = keys_known && in_block != UINT64_MAX;
        keys += in_block;
    }
    if (used != f->head.fill)
        return "the number of counters in use is not what the header says";
    if (!lanes_agree)
        return "the lanes of a block do not add up to the same number of keys";
    if (keys_known && keys != f->head.count)
        return "the counters do not add up to the count of keys";
    return NULL;
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    if (kithi_crowding_in_union(into, from, crowding_now()))
        return KITH_E_FULL;
    kithi_crowding_forget(&into->crowding);
    return kithi_counters_merge(into, from);
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_lanes_look(f, digest, report, context, kithi_counters_cell);
}

const kithi_kind kithi_kind_blocked_counting = {
    .lookup = &kithi_lookup_blocked_counting,
    .info =
        {
            .name = "blocked_counting",
            .summary = "counting in one cache line: supports deletion, fast",
            .capabilities = KITHI_COUNTERS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = kithi_lanes_option, .expect = expect},
    .look = look,
    .cell = kithi_counters_cell,
    .kernels = KITHI_EACH_SET(KERNELS),
    .before_fill = before_fill,
    .after_fill = after_fill,
    .merge = merge,
    .stats = stats,
    .check = check,
    .repair = {.salvage = kithi_cells_salvage, .recount = kithi_counters_recount},
};
