/* blocked: a Bloom filter whose lookup touches one cache line (Putze, Sanders, Singler, "Cache-, Hash- and
 * Space-Efficient Bloom Filters", 2009). The lanes are those of the split block Bloom filters of Impala, Kudu and
 * Parquet.
 *
 * The digest selects one block of 512 bits, the 64 bytes of a cache line. In that block the key sets one bit in each
 * of 4, 8 or 16 lanes of w bits:
 *
 *     body     | block 0 | block 1 |  …  |  block B-1  |        block of digest d = high half of (d * B)
 *                   .---------'
 *     block    |..1.....|.....1..|1.......|…|.......1|          lane j = bits j * w … (j + 1) * w - 1
 *               lane 0   lane 1   lane 2       lane 7           w = 128, 64 or 32
 *
 *     bit in lane j  =  top log2(w) bits of byte j % 8 of lane word j / 8 of d
 *
 * Lane words 0 and 1 are 64-bit hashes of the digest (kithi_lane_word in core/mix.h).
 *
 * The code for blocks and lanes that does not depend on whether cells are bits or counters is in
 * kinds/shared/lanes.h. This kind shares it with blocked_counting.
 *
 * What blocking costs. Some blocks get more keys than others. The extra false positives of crowded blocks outweigh what
 * the emptier ones save. The rate of a filter depends on how its keys happen to be distributed. The planner computes
 * mean, variance and skewness of this rate from exact binomial sums (plan/sizing.h). It uses enough blocks to keep the
 * promised rate not only on average, but in nearly every filter. For a million keys, this takes 10.1 bits per key at a
 * rate of 1% (bloom takes 9.6), 15.8 at 0.1% (bloom 14.4), and 23.1 at 0.01% (bloom 19.2). The planner tries 4, 8 and
 * 16 lanes and uses the number that needs the fewest blocks: 4 above a rate of 1.85%, 16 below 0.016%, and 8 in
 * between. (2 lanes would need fewer blocks only above 14%, a rate that is hardly ever used. 32 lanes would not need
 * fewer blocks at any rate down to 0.001%.)
 *
 * Fill. Take lane j of every block: together they have blocks * w bits. A key sets one of these, and each is equally
 * likely. So they behave like a slice of a Bloom filter that has one slice per lane. The mean of the fill (the number
 * of bits set), and the estimate of the number of keys from the fill, are exactly those of such a Bloom filter. The
 * standard deviation of the fill is larger than in the Bloom filter, because all lanes of a crowded block are crowded
 * together. For a million keys, and with the number of lanes that the planner chooses, it is larger by 1% with 4 lanes,
 * by 4% to 5% with 8, and by 17% to 18% with 16. A filter whose fill is above the fill limit is full. The limit is the
 * mean at capacity plus 6 of these larger standard deviations (kithi_fill_limit). The smaller standard deviation of the
 * Bloom filter would not do: with 16 lanes, the limit would be only 5.1 of the larger ones above the mean. The fill
 * limit applies to all blocks together; kinds/shared/crowding.h stops keys that were chosen to crowd some blocks.
 *
 * Parameters, by index: 0: lanes; 1: number of blocks; 7: fill limit. The body is blocks * 64 bytes without padding. */
#include "kinds/blocked/lookup.h"
#include "kinds/shared/crowding.h"
#include "kinds/shared/lanes.h"
#include "handle/verbs.h"
#ifdef KITHI_HAVE_X86
#include "kernels/avx2.h"
#include "kernels/avx512.h"
#elif defined(KITHI_HAVE_NEON)
#include "kernels/neon.h"
#endif

static const kith_option OPTIONS[] = {
    {"lanes", "auto|4|8|16", "auto", "bits per key, one in each lane; auto: the number that needs the least space"},
};

static kith_status choose(const kithi_request *request, kithi_head *head) {
    return kithi_lanes_choose(request, request->rate, KITHI_LANES_BLOCK_BITS, KITHI_COUNTS_NEW_KEYS, head);
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_lanes_geometry g = kithi_lanes_decode(head).lanes;
    unsigned lanes = (unsigned)g.lanes;
    return (kithi_expectation){.rate = kithi_blocked_rate(lanes, KITHI_LANES_BLOCK_BITS / lanes, g.blocks, n)};
}

/* ---- a key in its block ---- */

/* Sets the key's bits; returns how many of them were 0. */
KITHI_INLINE unsigned block_set(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned set_bits = 0;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = kithi_blocked_bit(words, lanes, j);
        uint8_t *word = block + bit / 64 * 8;
        uint64_t before = kithi_load64(word);
        set_bits += (before >> (bit % 64) & 1) == 0;
        kithi_store64(word, before | UINT64_C(1) << (bit % 64));
    }
    return set_bits;
}

/* Returns how many bits adding this digest would set. If `commit` is true, also sets them, with atomic ORs of bytes. */
KITHI_INLINE unsigned block_add_shared(uint8_t *block, uint64_t digest, bool commit, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned set_bits = 0;
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = kithi_blocked_bit(words, lanes, j);
        uint8_t mask = (uint8_t)(1u << (bit % 8));
        uint8_t before = __atomic_load_n(&block[bit / 8], __ATOMIC_RELAXED);
        if (commit && (before & mask) == 0)
            before = __atomic_fetch_or(&block[bit / 8], mask, __ATOMIC_RELAXED);
        set_bits += (before & mask) == 0;
    }
    return set_bits;
}

KITHI_INLINE unsigned bits_used(uint64_t word) {
    return kithi_popcount(word);
}

KITHI_INLINE uint64_t block_product(const uint8_t *block, unsigned lanes) {
    return kithi_lanes_product(block, 1, lanes, bits_used);
}

/* ---- operations ----
 *
 * In this section, a function whose name ends in _for_lanes is compiled for 4, 8 and 16 lanes. A function whose name
 * ends in _inline calls the version for the filter's number of lanes (kithi_by_lanes). `ops` has the block functions of
 * one instruction set (kithi_lanes_block_ops in lanes.h). kernels.h compiles functions that use `ops` for each set. */

KITHI_INLINE uint64_t set_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, unsigned lanes) {
    return ops->set(kithi_lanes_block_of(args->f, args->digest), args->digest, lanes);
}

/* Does what kithi_lanes_block_ops.set_many does, also if ops->set_many is NULL. */
KITHI_INLINE uint64_t set_up_to_64(const kithi_lanes_block_ops *ops, uint8_t *body, uint64_t blocks,
                                   const uint64_t *digests, size_t n, size_t prefetch, unsigned lanes, uint64_t *fill) {
    if (ops->set_many != NULL)
        return ops->set_many(body, blocks, digests, n, prefetch, lanes, fill);
    uint64_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        if (prefetch != 0)
            __builtin_prefetch(body + kithi_mulhi(digests[i + prefetch], blocks) * KITHI_LANES_BLOCK_BYTES);
        uint8_t *block = body + kithi_mulhi(digests[i], blocks) * KITHI_LANES_BLOCK_BYTES;
        unsigned set_bits = ops->set(block, digests[i], lanes);
        *fill += set_bits;
        changed |= (uint64_t)(set_bits != 0) << i;
    }
    return changed;
}

/* Adds a key without checking whether the filter is full. */
KITHI_INLINE kith_status add_unchecked_inline(const kithi_lanes_block_ops *ops, kith_filter *f, uint64_t digest,
                                              bool *was_new) {
    uint64_t set_bits = kithi_by_lanes(set_for_lanes, ops, (kithi_lanes_args){.f = f, .digest = digest});
    kithi_bits_count_add(f, (unsigned)set_bits, was_new);
    return KITH_OK;
}

/* Adds a key and its share of the sum of the block rates (kinds/shared/crowding.h), or returns KITH_E_FULL. */
KITHI_INLINE uint64_t add_summed_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                           unsigned lanes) {
    kith_filter *f = args->writable;
    uint8_t *block = kithi_lanes_block_of(f, args->digest), before[KITHI_LANES_BLOCK_BYTES];
    memcpy(before, block, sizeof before);
    uint64_t products[2];
    unsigned set_bits;
    if (ops->set_product != NULL) {
        set_bits = ops->set_product(block, args->digest, lanes, products);
    } else {
        set_bits = ops->set(block, args->digest, lanes);
        products[0] = ops->product(before, lanes);
        products[1] = ops->product(block, lanes);
    }
    uint64_t more = kithi_lanes_weight_of(products[1], 1, lanes) - kithi_lanes_weight_of(products[0], 1, lanes);
    if (set_bits != 0 && !kithi_crowding_weigh(f, block, before, more))
        return kithi_bits_result_unchanged(false, args->was_new);
    kithi_bits_count_add(f, set_bits, args->was_new);
    return KITH_OK;
}

KITHI_INLINE kith_status add_summed_inline(const kithi_lanes_block_ops *ops, kith_filter *f, uint64_t digest,
                                           bool *was_new) {
    return (kith_status)kithi_by_lanes(add_summed_for_lanes, ops,
                                       (kithi_lanes_args){.f = f, .writable = f, .digest = digest, .was_new = was_new});
}

/* Adds up to 64 digests at once as long as adds are summed; returns how many were added, or 0 if the filter would be
 * crowded with all of them: then nothing has changed. */
KITHI_INLINE size_t add_up_to_64_summed(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, bool in_cache,
                                        unsigned lanes) {
    kith_filter *f = args->writable;
    uint8_t before[64][KITHI_LANES_BLOCK_BYTES];
    const uint64_t *digests = args->digests + *args->done;
    uint64_t blocks = f->geometry.lanes.blocks, fill = 0, more, is_new, safe = f->crowding.safe - f->head.count;
    size_t left = args->n - *args->done, count = left < 64 ? left : 64;
    int shift = kithi_lanes_weight_shift(1, lanes);
    count = safe < count ? (size_t)safe : count;
    if (!in_cache && count == 64 && left >= 64 + KITHI_AHEAD)
        is_new = ops->set_many_weighed(f->body, blocks, digests, 64, KITHI_AHEAD, lanes, shift, before, &fill, &more);
    else
        is_new = ops->set_many_weighed(f->body, blocks, digests, count, 0, lanes, shift, before, &fill, &more);
    if (__builtin_expect(more > f->crowding.limit - f->crowding.sum, 0)) {
        for (size_t i = count; i-- > 0;)
            memcpy(kithi_lanes_block_of(f, digests[i]), before[i], sizeof before[i]);
        return 0;
    }
    f->crowding.sum += more;
    f->head.count += kithi_popcount(is_new);
    f->head.fill += fill;
    kithi_bitmap_set_word(args->bitmap, *args->done, is_new, count);
    return count;
}

/* Adds digests as long as adds are summed. */
KITHI_INLINE kith_status add_many_summed(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args, bool in_cache,
                                         unsigned lanes) {
    kith_filter *f = args->writable;
    kithi_lanes_args one = {.f = f, .writable = f};
    size_t added = 1;
    /* The sum is above the limit in a filter that was crowded when it was opened. */
    while (ops->set_many_weighed != NULL && added > 0 && *args->done < args->n && kithi_crowding_adds_are_summed(f) &&
           f->crowding.sum <= f->crowding.limit)
        *args->done += added = add_up_to_64_summed(ops, args, in_cache, lanes);
    for (; *args->done < args->n && kithi_crowding_adds_are_summed(f); ++*args->done) {
        bool is_new;
        if (!in_cache && args->n - *args->done > KITHI_AHEAD)
            kithi_lanes_prefetch(f, args->digests[*args->done + KITHI_AHEAD]);
        one.digest = args->digests[*args->done];
        one.was_new = &is_new;
        kith_status status = (kith_status)add_summed_for_lanes(ops, &one, lanes);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(args->bitmap, *args->done, is_new);
    }
    return KITH_OK;
}

/* Adds n digests. Each round of the loop adds, without checks, as many as certainly are not refused and need no spot
 * check (kithi_lanes_safe_adds). If there are none, it adds the next digest with all checks. */
KITHI_INLINE uint64_t add_many_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                         unsigned lanes) {
    kith_filter *f = args->writable;
    const uint64_t *digests = args->digests;
    size_t n = args->n, *done = args->done;
    uint8_t *body = f->body;
    uint64_t blocks = f->geometry.lanes.blocks;
    bool in_cache = kithi_lanes_in_cache(f);
    if (!in_cache)
        kithi_lanes_prefetch_first(f, digests, n);
    while (*done < n) {
        kith_status summed = add_many_summed(ops, args, in_cache, lanes);
        if (summed != KITH_OK)
            return summed;
        if (*done == n)
            break;
        size_t to = *done + kithi_lanes_safe_adds(f, n - *done);
        if (to == *done) {
            bool is_new = false;
            kith_status status = kithi_add_one(f, digests[*done], &is_new);
            if (status != KITH_OK)
                return status;
            kithi_bitmap_set(args->bitmap, (*done)++, is_new);
            continue;
        }
        uint64_t added = 0, fill = 0;
        while (*done < to) {
            size_t count = to - *done < 64 ? to - *done : 64;
            bool ahead = !in_cache && count == 64 && n - *done >= 64 + KITHI_AHEAD;
            uint64_t is_new = ahead ? set_up_to_64(ops, body, blocks, digests + *done, 64, KITHI_AHEAD, lanes, &fill)
                                    : set_up_to_64(ops, body, blocks, digests + *done, count, 0, lanes, &fill);
            added += kithi_popcount(is_new);
            kithi_bitmap_set_word(args->bitmap, *done, is_new, count);
            *done += count;
        }
        f->head.count += added;
        f->head.fill += fill;
    }
    return KITH_OK;
}

static const kithi_lanes_block_ops OPS_portable = {
    .has = kithi_blocked_block_has, .set = block_set, .product = block_product};

#ifdef KITHI_HAVE_X86
static const kithi_lanes_block_ops OPS_avx2 = {
    .has = kithi_avx2_bits_has,
    .set = kithi_avx2_bits_set,
    .set_many = kithi_avx2_bits_set_many,
    .product = kithi_avx2_bits_product,
    .set_product = kithi_avx2_bits_set_product,
    .set_many_weighed = kithi_avx2_bits_set_many_weighed,
};

static const kithi_lanes_block_ops OPS_avx512 = {
    .has = kithi_avx512_bits_has,
    .set = kithi_avx512_bits_set,
    .set_many = kithi_avx512_bits_set_many,
    .product = kithi_avx2_bits_product,
    .set_product = kithi_avx2_bits_set_product,
    .set_many_weighed = kithi_avx2_bits_set_many_weighed,
};
#elif defined(KITHI_HAVE_NEON)
static const kithi_lanes_block_ops OPS_neon = {
    .has = kithi_neon_bits_has, .set = kithi_neon_bits_set, .product = block_product};
#endif

/* Called when neither kithi_lanes_add_is_safe() nor kithi_crowding_adds_are_summed() is true: the filter may be full, a
 * spot check for crowded blocks may be due, or their sum may not be known (kinds/shared/crowding.h). Adds the key, or
 * returns KITH_E_FULL. These calls are rare, so this function uses portable code. Only the spot check and the sum,
 * which take longer, use functions for the instruction set (`crowding`). */
KITHI_OUTLINE kith_status add_or_refuse(kith_filter *f, uint64_t digest, bool *was_new,
                                        const kithi_crowding_ops *crowding) {
    bool has = kithi_lanes_has(OPS_portable.has, &f->geometry, f->body, digest);
    if (has || !kithi_lanes_check_add(f, digest, crowding))
        return kithi_bits_result_unchanged(has, was_new);
    return kithi_crowding_adds_are_summed(f) ? add_summed_inline(&OPS_portable, f, digest, was_new)
                                             : add_unchecked_inline(&OPS_portable, f, digest, was_new);
}

#define CELL_BITS 1
#define KITHI_KERNELS "kinds/blocked/kernels.h"
#include "kernels/each_set.h"

static bool is_usual(const kithi_geometry *g) {
    return g->lanes.lanes == 8;
}

/* ---- crowded blocks ---- */

/* Returns the functions for the instruction set in use. */
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

/* ---- shared adds ---- */

KITHI_INLINE uint64_t add_shared_for_lanes(const kithi_lanes_block_ops *ops, const kithi_lanes_args *args,
                                           unsigned lanes) {
    (void)ops;
    kith_filter *f = args->writable;
    uint8_t *block = kithi_lanes_block_of(f, args->digest), before[KITHI_LANES_BLOCK_BYTES],
            after[KITHI_LANES_BLOCK_BYTES];
    if (!args->commit || !kithi_crowding_is_summed(f))
        return block_add_shared(block, args->digest, args->commit, lanes);
    (void)kithi_crowding_block(f, f, kithi_mulhi(args->digest, f->geometry.lanes.blocks), true, before);
    memcpy(after, before, sizeof after);
    if (block_set(after, args->digest, lanes) == 0)
        return 0;
    uint64_t more =
        kithi_lanes_weight(after, block_product, 1, lanes) - kithi_lanes_weight(before, block_product, 1, lanes);
    if (!kithi_crowding_reserve(f, more))
        return KITHI_SHARED_REFUSED;
    return block_add_shared(block, args->digest, true, lanes);
}

static unsigned add_shared(kith_filter *f, uint64_t digest, kithi_shared_step step) {
    bool commit = step == KITHI_SHARED_SET;
    uint64_t count = atomic_load_explicit(&f->shared_count, memory_order_relaxed);
    if (step == KITHI_SHARED_CHECK)
        return kithi_crowding_spot_check(f, digest, count, true, crowding_now()) ? KITHI_SHARED_REFUSED : 0;
    return (unsigned)kithi_by_lanes(add_shared_for_lanes, NULL,
                                    (kithi_lanes_args){.f = f, .writable = f, .digest = digest, .commit = commit});
}

/* ---- statistics and two filters ---- */

static double rate_of_union(const kith_filter *a, const kith_filter *b) {
    return kithi_crowding_rate(a, b, false, crowding_now());
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    kithi_crowding_set_limits(into, crowding_now());
    return kithi_bits_merge(into, from, kithi_lanes_keys, rate_of_union, into->crowding.rate);
}

static kith_status intersect(kith_filter *into, const kith_filter *from) {
    return kithi_bits_intersect(into, from, kithi_lanes_keys);
}

/* A key has a bit in every lane of its block. */
static bool block_may_share(const kith_filter *a, const kith_filter *b, uint64_t block) {
    unsigned lanes = (unsigned)a->geometry.lanes.lanes, width = KITHI_LANES_BLOCK_BITS / lanes;
    uint64_t first = block * KITHI_LANES_BLOCK_BITS;
    for (unsigned j = 0; j < lanes; j++)
        if (kithi_bits_in_range(a->body, b->body, KITHI_BITS_AND, first + (uint64_t)j * width,
                                first + (uint64_t)(j + 1) * width) == 0)
            return false;
    return true;
}

static bool disjoint(const kith_filter *a, const kith_filter *b) {
    for (uint64_t block = 0; block < a->geometry.lanes.blocks; block++)
        if (block_may_share(a, b, block))
            return false;
    return true;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->keys_now = kithi_lanes_keys(f, f->head.fill);
    stats->rate_now = rate_of_union(f, f);
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_lanes_look(f, digest, report, context, kithi_bits_cell);
}

const kithi_kind kithi_kind_blocked = {
    .lookup = &kithi_lookup_blocked,
    .info =
        {
            .name = "blocked",
            .summary = "one cache line per lookup: the fastest",
            .capabilities = KITHI_BITS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = kithi_lanes_option, .expect = expect},
    .look = look,
    .cell = kithi_bits_cell,
    .kernels = KITHI_EACH_SET(KERNELS),
    .is_usual = is_usual,
    .usual = KITHI_EACH_SET(USUAL),
    .shared = {.add = add_shared, .prefetch = kithi_lanes_prefetch},
    .before_fill = before_fill,
    .after_fill = after_fill,
    .merge = merge,
    .intersect = intersect,
    .subset = kithi_bits_subset,
    .disjoint = disjoint,
    .stats = stats,
    .check = kithi_bits_check,
    .repair = {.salvage = kithi_cells_salvage, .recount = kithi_bits_recount},
};
