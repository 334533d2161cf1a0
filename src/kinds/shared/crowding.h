/* kinds/shared/crowding.h: refuses keys that were chosen to crowd some blocks of a blocked filter.
 *
 * The fill limit (kinds/shared/bit_cells.h) bounds the number of cells in use. In a blocked filter that is not
 * enough: somebody who knows the hash can choose keys whose cells are all in some of the blocks. If half of the blocks
 * are full, the rate is one half, but no more cells are in use than in an honest filter, that is, one whose keys nobody
 * has chosen. What matters is the rate itself, which is the mean of the rates of all blocks. A filter is crowded if its
 * rate is above
 *
 *     KITHI_CROWDING_MARGIN * the larger of kithi_blocked_rate_limit() and the promised rate
 *
 * Honest keys exceed the larger of these two rates in at most about one of 10^9 filters. The margin, 1.25, covers the
 * approximations in kithi_blocked_rate_limit() (plan/sizing.h). If the hash is public, the planner makes filters of 200
 * keys or more so large that kithi_blocked_rate_limit() is at most 1.6 times the promised rate. So such a filter is
 * never above 1.25 * 1.6 = 2 times the promise. A key with which the filter would be crowded is refused: KITH_E_FULL.
 *
 * Sums. In a filter of at most 4 MiB of bits or 32 MiB of counters, each add finds out whether the filter would be
 * crowded with the new key. For this the handle keeps the sum of the rates of all blocks. An add changes one block, so
 * it adds the difference of the rates of this block before and after. The sum consists of integers (weights), so it
 * has no rounding errors, and it is the same whatever the order of the adds was: it follows from the body. Nothing is
 * stored in the file. The first add to a filter that was opened, merged or built computes the sum in a pass over the
 * body (22 instructions per block with AVX2).
 *
 * A key is refused because of what the filter would be with it. As the sum never falls when keys are added, a list of
 * keys is accepted one by one, in any order, if and only if the filter with all of them is not crowded. So a build that
 * adds all keys at once or by parts (build/fill.c) does not sum, but makes one pass at the end, with the same result.
 *
 * Spot checks. In a larger filter, summing would make adds slower: they wait for memory, and the block is read once
 * more. There the rate is computed, in a pass over the body, only if there is a reason to suspect crowding. Whenever
 * the count is a multiple of `gap`, the add of a new key first examines a few blocks for such a reason. This is called
 * a spot check. (An adder makes one whenever it reserves capacity: adder.c.)
 *
 *     every spot check   Is the number of cells in use in the key's own block more than 4 standard deviations above the
 *                        mean for this count? (The count is rounded up to the next sixteenth of the capacity.) In
 *                        honest filters fewer than one block in 10^4 is so full. This finds keys that fill some
 *                        blocks far more than others.
 *     every 16th one     Is the mean rate of 32 blocks, which the count selects, above the limit? This finds keys that
 *                        fill most blocks a little more than they should. It also finds a filter that is crowded
 *                        already, even if the block of the new key is not.
 *
 * In both cases the result of an add depends only on the bytes of the filter and on the digest, so it is the same for
 * every instruction set, for a copy of the filter, and when a journal is replayed. As nothing changes when a key is
 * refused, the same key is refused again. The rate never falls when keys are added, so a filter that is not crowded
 * after all keys were added never was.
 *
 * Cost. An add that is summed takes 34 to 73 instructions more with AVX2 (docs/security.md). Without sums and spot
 * checks, every add would compare the count with the capacity, and the fill with the fill limit. With spot checks, it
 * compares the count with `next`, the smallest of three counts: that of the next spot check, the capacity, and the
 * count before which the fill limit cannot be exceeded, whatever keys are added. So this comparison replaces the other
 * two, and an add without a spot check takes no additional instruction. (In blocked_counting, removals can make the
 * third count wrong, so the fill is still compared: kithi_lanes_add_is_safe_after_removals().) Let B be the number of
 * blocks. gap is B/64. A spot check takes about 300 instructions, and every 16th about 2000 more. A pass over the body
 * takes about 50 instructions per block. Honest keys cause one pass or none before the filter is full. While a filter
 * is attacked, each spot check may cause a pass.
 *
 * What the attacker gains. With sums, nothing: whatever he knows and tries, the filter is not crowded. Spot checks are
 * no secret: somebody who knows the hash and the exact count can prepare a harmless key for each of them. Even if he
 * does not, he can add `gap` keys between two of them. One key raises the rate of its block most if it uses the last
 * unused cell of each lane: from (1 - 1/w)^lanes, where w is the number of cells in a lane, to 1. With 8 lanes that is
 * a rise of 0.12 in blocked and of 0.40 in blocked_counting, so the rate, which is the mean of B blocks, rises by at
 * most 0.12/64 = 0.002 or 0.40/64 = 0.006 between two spot checks. That is little at a promised rate of 1%, and many
 * times the promise at 0.01%. A hash with a secret key prevents all of this. tests/unit/crowding_grid.c measures the
 * rates that attacks reach. */
#ifndef KITHI_FILTERS_CROWDING_H
#define KITHI_FILTERS_CROWDING_H

#include "kinds/shared/bit_cells.h"
#include "kinds/shared/lanes_lookup.h"

#define KITHI_CROWDING_MARGIN 1.25
#define KITHI_SUSPECT_DEVIATIONS 4      /* a block that is fuller by this many standard deviations is suspect */
#define KITHI_SPOT_CHECK_GAP_DIVISOR 64 /* gap is B divided by this */
#define KITHI_SPOT_CHECK_SAMPLE 32      /* blocks */
#define KITHI_SPOT_CHECKS_PER_SAMPLE 16

/* A weight is the rate of keys that select a block, in units of 2^-KITHI_WEIGHT_BITS, rounded down. */
#define KITHI_WEIGHT_BITS 44
/* The largest number of blocks whose weights are summed: 4 MiB of bits, 32 MiB of counters. */
#define KITHI_SUMMED_BITS_MAX (UINT64_C(1) << 16)
#define KITHI_SUMMED_COUNTERS_MAX (UINT64_C(1) << 19)

static_assert(KITHI_SUMMED_COUNTERS_MAX <= UINT64_C(1) << (63 - KITHI_WEIGHT_BITS), "sums and limits fit in 64 bits");

/* What the kind provides. */
typedef struct kithi_crowding_ops {
    uint64_t (*weight)(const uint8_t *block, unsigned lanes);
    unsigned (*used)(const uint8_t *block);               /* the number of cells in use */
    double (*rate)(const uint8_t *block, unsigned lanes); /* the rate of keys that select this block */
    kithi_counts counts;                                  /* which keys count towards the capacity: plan/sizing.h */
} kithi_crowding_ops;

/* Returns the bytes of a block of f. If `with` is not f, returns the union of the blocks of this number in both
 * filters. The result is in the body or in `copy`. If `shared` is true, other threads may be setting bits in the block,
 * and `with` must be f. */
static inline const uint8_t *kithi_crowding_block(const kith_filter *f, const kith_filter *with, uint64_t block,
                                                  bool shared, uint8_t copy[KITHI_LANES_BLOCK_BYTES]) {
    const uint8_t *a = f->body + block * KITHI_LANES_BLOCK_BYTES, *b = with->body + block * KITHI_LANES_BLOCK_BYTES;
    if (a == b && !shared)
        return a;
    for (unsigned i = 0; i < KITHI_LANES_BLOCK_BYTES; i++)
        copy[i] = shared ? __atomic_load_n(a + i, __ATOMIC_RELAXED) : a[i] | b[i];
    return copy;
}

static inline unsigned kithi_crowding_lane_cells(const kith_filter *f) {
    return KITHI_LANES_BLOCK_BITS / f->shape.cell_bits / (unsigned)f->geometry.lanes.lanes;
}

/* Sets `gap` and `cells` of f->crowding, if they are not set. */
static inline void kithi_crowding_set_spot_checks(kith_filter *f) {
    if (f->crowding.gap != 0)
        return;
    uint64_t blocks = f->geometry.lanes.blocks;
    double cells[KITHI_CROWDING_STEPS];
    kithi_block_fill_limits((unsigned)f->geometry.lanes.lanes, kithi_crowding_lane_cells(f), blocks, f->head.capacity,
                            KITHI_SUSPECT_DEVIATIONS, KITHI_CROWDING_STEPS, cells);
    for (unsigned i = 0; i < KITHI_CROWDING_STEPS; i++)
        f->crowding.cells[i] = (uint16_t)cells[i];
    f->crowding.gap = blocks / KITHI_SPOT_CHECK_GAP_DIVISOR;
}

/* Returns whether the weights of the blocks of f are summed. */
static inline bool kithi_crowding_is_summed(const kith_filter *f) {
    return f->geometry.lanes.blocks <= (f->shape.cell_bits == 1 ? KITHI_SUMMED_BITS_MAX : KITHI_SUMMED_COUNTERS_MAX);
}

/* Returns the sum of the weights of a filter with this rate. */
static inline uint64_t kithi_crowding_sum_at(const kith_filter *f, double rate) {
    double sum = rate * (double)f->geometry.lanes.blocks * (double)(UINT64_C(1) << KITHI_WEIGHT_BITS);
    return sum < 0x1p63 ? (uint64_t)sum : UINT64_C(1) << 63;
}

/* Sets all limits, if they are not set. That takes some microseconds, so an add does
 * it only before the first sample or pass. */
static inline void kithi_crowding_set_limits(kith_filter *f, const kithi_crowding_ops *ops) {
    if (!kithi_crowding_is_summed(f))
        kithi_crowding_set_spot_checks(f);
    if (f->crowding.rate != 0)
        return;
    double rate = kithi_blocked_rate_limit((unsigned)f->geometry.lanes.lanes, kithi_crowding_lane_cells(f),
                                           f->geometry.lanes.blocks, f->head.capacity, ops->counts);
    f->crowding.rate = KITHI_CROWDING_MARGIN * (rate > f->head.rate ? rate : f->head.rate);
    f->crowding.limit = kithi_crowding_sum_at(f, f->crowding.rate);
}

/* Returns the exact rate of the union of two filters: the mean over its blocks. */
static inline double kithi_crowding_rate(const kith_filter *f, const kith_filter *with, bool shared,
                                         const kithi_crowding_ops *ops) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes;
    uint64_t blocks = f->geometry.lanes.blocks;
    uint8_t copy[KITHI_LANES_BLOCK_BYTES];
    double sum = 0;
    for (uint64_t i = 0; i < blocks; i++)
        sum += ops->rate(kithi_crowding_block(f, with, i, shared, copy), lanes);
    return sum / (double)blocks;
}

/* Returns the sum of the weights of the blocks of the union of two filters. */
static inline uint64_t kithi_crowding_sum(const kith_filter *f, const kith_filter *with, bool shared,
                                          const kithi_crowding_ops *ops) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes;
    uint64_t blocks = f->geometry.lanes.blocks, sum = 0;
    uint8_t copy[KITHI_LANES_BLOCK_BYTES];
    for (uint64_t i = 0; i < blocks; i++)
        sum += ops->weight(kithi_crowding_block(f, with, i, shared, copy), lanes);
    return sum;
}

/* Returns whether the rate of the union of two filters is above `rate`. */
static inline bool kithi_crowding_exceeds(const kith_filter *f, const kith_filter *with, bool shared, double rate,
                                          const kithi_crowding_ops *ops) {
    return kithi_crowding_is_summed(f) ? kithi_crowding_sum(f, with, shared, ops) > kithi_crowding_sum_at(f, rate)
                                       : kithi_crowding_rate(f, with, shared, ops) > rate;
}

/* Returns whether the union of two filters is crowded. */
static inline bool kithi_crowding_in_union(kith_filter *into, const kith_filter *from, const kithi_crowding_ops *ops) {
    kithi_crowding_set_limits(into, ops);
    return kithi_crowding_exceeds(into, from, false, into->crowding.rate, ops);
}

/* ---- sums ---- */

/* Sets the limit and the sum of a filter whose weights are summed, if they are not known. An empty filter needs no
 * pass over its body, which may not even be in memory yet. */
static inline void kithi_crowding_set_sum(kith_filter *f, const kithi_crowding_ops *ops) {
    if (f->crowding.summed || !kithi_crowding_is_summed(f))
        return;
    kithi_crowding_set_limits(f, ops);
    f->crowding.sum = f->head.fill == 0 ? 0 : kithi_crowding_sum(f, f, false, ops);
    f->crowding.summed = true;
}

/* Returns whether adds to f are summed. As long as this is true, the next one changes the sum (kithi_crowding_weigh)
 * and exceeds neither the capacity nor, if no key was removed, the fill limit. */
static inline bool kithi_crowding_adds_are_summed(const kith_filter *f) {
    return f->head.count < f->crowding.safe;
}

/* A block of f has changed from `before` to `block` by an add, and its weight is `more` larger. If f is now crowded,
 * restores the block and returns false. Otherwise updates the sum. */
KITHI_INLINE bool kithi_crowding_weigh(kith_filter *f, uint8_t *block, const uint8_t before[KITHI_LANES_BLOCK_BYTES],
                                       uint64_t more) {
    uint64_t sum = f->crowding.sum + more;
    if (__builtin_expect(sum > f->crowding.limit, 0)) {
        memcpy(block, before, KITHI_LANES_BLOCK_BYTES);
        return false;
    }
    f->crowding.sum = sum;
    return true;
}

/* The same for an add of an adder (adder.c), before it sets bits: adds `more` to the sum that all adders share, or
 * returns false. Two adders that change one block at the same moment do not see each other's bits, so the sum may
 * become slightly too small. It is computed again when the last adder has closed. */
static inline bool kithi_crowding_reserve(kith_filter *f, uint64_t more) {
    uint64_t sum = atomic_fetch_add_explicit(&f->crowding.shared_sum, more, memory_order_relaxed);
    if (sum <= f->crowding.limit && more <= f->crowding.limit - sum)
        return true;
    atomic_fetch_sub_explicit(&f->crowding.shared_sum, more, memory_order_relaxed);
    return false;
}

/* ---- spot checks ---- */

/* Returns whether the mean rate of the blocks that `count` selects is above the limit. */
static inline bool kithi_crowding_in_sample(const kith_filter *f, uint64_t count, bool shared,
                                            const kithi_crowding_ops *ops) {
    unsigned lanes = (unsigned)f->geometry.lanes.lanes;
    uint8_t copy[KITHI_LANES_BLOCK_BYTES];
    double sum = 0;
    for (uint64_t i = 0; i < KITHI_SPOT_CHECK_SAMPLE; i++) {
        uint64_t block = kithi_mulhi(kithi_mixed_word(count, i), f->geometry.lanes.blocks);
        sum += ops->rate(kithi_crowding_block(f, f, block, shared, copy), lanes);
    }
    return sum > KITHI_SPOT_CHECK_SAMPLE * f->crowding.rate;
}

/* Returns whether the block of this digest is suspect if the filter has `count` keys. */
static inline bool kithi_crowding_in_own_block(const kith_filter *f, uint64_t digest, uint64_t count, bool shared,
                                               const kithi_crowding_ops *ops) {
    uint8_t copy[KITHI_LANES_BLOCK_BYTES];
    uint64_t block = kithi_mulhi(digest, f->geometry.lanes.blocks);
    double step = KITHI_CROWDING_STEPS * ((double)count / (double)f->head.capacity);
    unsigned i = step < KITHI_CROWDING_STEPS ? (unsigned)step : KITHI_CROWDING_STEPS - 1;
    return ops->used(kithi_crowding_block(f, f, block, shared, copy)) > f->crowding.cells[i];
}

/* Returns whether the spot check at this count also examines a sample of blocks. */
static inline bool kithi_crowding_is_sampled(const kith_filter *f, uint64_t count) {
    return count / f->crowding.gap % KITHI_SPOT_CHECKS_PER_SAMPLE == 0;
}

/* Makes a spot check before this digest is added to a filter of `count` keys, and a pass over the body if something is
 * suspect. Returns whether the filter is crowded. If adds are summed, each decides for itself, and the result is false.
 * The limits must be set, unless nothing can be suspect. */
static inline bool kithi_crowding_spot_check(const kith_filter *f, uint64_t digest, uint64_t count, bool shared,
                                             const kithi_crowding_ops *ops) {
    if (kithi_crowding_is_summed(f))
        return false;
    bool suspect = kithi_crowding_in_own_block(f, digest, count, shared, ops) ||
                   (kithi_crowding_is_sampled(f, count) && kithi_crowding_in_sample(f, count, shared, ops));
    return suspect && kithi_crowding_exceeds(f, f, shared, f->crowding.rate, ops);
}

/* ---- fills ---- */

/* As kithi_kind.before_fill. */
static inline void kithi_crowding_before_fill(kith_filter *f, bool by_adders, const kithi_crowding_ops *ops) {
    if (!by_adders) {
        kithi_crowding_forget(&f->crowding);
        f->crowding.off = true;
        return;
    }
    kithi_crowding_set_limits(f, ops);
    kithi_crowding_set_sum(f, ops);
    atomic_store(&f->crowding.shared_sum, f->crowding.sum);
}

/* As kithi_kind.after_fill. Hardly any filter is crowded, and in small filters computing the limits takes longer than a
 * pass over the body. So the first pass compares with a rate that is at most the limit. */
static inline bool kithi_crowding_after_fill(kith_filter *f, bool judge, const kithi_crowding_ops *ops) {
    f->crowding.off = false;
    kithi_crowding_forget(&f->crowding);
    if (!judge || !kithi_crowding_exceeds(f, f, false, KITHI_CROWDING_MARGIN * f->head.rate, ops))
        return false;
    kithi_crowding_set_limits(f, ops);
    return kithi_crowding_exceeds(f, f, false, f->crowding.rate, ops);
}

/* ---- adding ---- */

/* Returns whether a new key may be added without a spot check, in a kind whose keys cannot be removed. As long as the
 * count is below `next`, neither the capacity nor the fill limit is exceeded. */
static inline bool kithi_lanes_add_is_safe(const kith_filter *f) {
    return f->head.count < f->crowding.next;
}

/* The same in a kind whose keys can be removed. A key may use more cells than the removal of another has freed, so the
 * fill limit may be exceeded at any count. */
static inline bool kithi_lanes_add_is_safe_after_removals(const kith_filter *f) {
    return kithi_lanes_add_is_safe(f) && !kithi_bits_above_limit(f, f->head.fill);
}

/* Returns whether this new key may be added, after one of the functions above has returned false. If it may, sets
 * crowding.next and, unless crowding.off is set, crowding.last. If adds are summed, sets crowding.safe instead, and the
 * add itself finds out whether the filter would be crowded. */
KITHI_OUTLINE bool kithi_lanes_check_add(kith_filter *f, uint64_t digest, const kithi_crowding_ops *ops) {
    if (!kithi_bits_can_add(f))
        return false;
    uint64_t count = f->head.count, next = f->head.capacity;
    /* A key uses at most `lanes` cells, so (fill_limit - fill) / lanes keys do not exceed the fill limit. One more key
     * may be added after them, even if it exceeds the limit. */
    uint64_t below_limit = (f->geometry.fill_limit - f->head.fill) / f->geometry.lanes.lanes + 1;
    if (next - count > below_limit)
        next = count + below_limit;
    if (!f->crowding.off && kithi_crowding_is_summed(f)) {
        kithi_crowding_set_sum(f, ops);
        f->crowding.safe = next;
        return true;
    }
    if (!f->crowding.off) {
        kithi_crowding_set_spot_checks(f);
        uint64_t since = count % f->crowding.gap;
        if (since == 0 && count != 0) {
            if (kithi_crowding_is_sampled(f, count) || kithi_crowding_in_own_block(f, digest, count, false, ops))
                kithi_crowding_set_limits(f, ops);
            if (kithi_crowding_spot_check(f, digest, count, false, ops))
                return false;
        }
        if (next - count > f->crowding.gap - since)
            next = count + f->crowding.gap - since;
        f->crowding.last = count - since;
    }
    f->crowding.next = next;
    return true;
}

/* Returns how many of the next n digests can be added without a spot check and without checking the limits: none of
 * them is refused, whatever they are. Only for kinds whose keys cannot be removed. */
static inline size_t kithi_lanes_safe_adds(const kith_filter *f, size_t n) {
    uint64_t safe = kithi_lanes_add_is_safe(f) ? f->crowding.next - f->head.count : 0;
    return safe < n ? (size_t)safe : n;
}

/* After a removal: if the count is now that of the last spot check or lower, another one is due before crowding.next.
 * Setting crowding.next to 0 makes the next add compute it again. */
static inline void kithi_crowding_note_removal(kith_filter *f) {
    if (f->head.count <= f->crowding.last)
        f->crowding.next = 0;
}

#endif
