/* blocked: a Bloom filter whose lookup touches one cache line (Putze, Sanders, Singler, "Cache-, Hash- and
 * Space-Efficient Bloom Filters", 2009; the split form is that of Impala, Kudu and Parquet).
 *
 * A key picks one block of 512 bits, the 64 bytes of a cache line, and in it sets one bit in each of 4, 8 or 16 lanes
 * of equal width:
 *
 *     body     | block 0 | block 1 |  …  |  block B-1  |        block of digest d = high half of (d * B)
 *                   .---------'
 *     block    |..1.....|.....1..|1.......|…|.......1|          lane j = bits j * width … of the block
 *               lane 0   lane 1   lane 2       lane 7           width = 128, 64 or 32
 *
 *     bit in lane j  =  top log2(width) bits of byte j % 8 of word_(j / 8)(d)
 *
 * What every blocked kind does, whatever its cells are, is in filters/common/lanes.h.
 *
 * What blocking costs. Blocks do not get equal shares of the keys, and those that get more answer yes more often than
 * those that get less make up for. The planner takes mean, variance and skewness of that from exact binomial sums
 * (plan/sizing.h) and takes enough blocks that single filters keep the rate: at a million keys 10.1 bits per key
 * against bloom's 9.6 at 1%, 15.8 against 14.4 at 0.1%, 23.1 against 19.2 at 0.01%. It tries 4, 8 and 16 lanes and
 * takes the fewest blocks: 4 above a rate of 1.85%, 16 below 0.016%, 8 between. (2 lanes would need fewer above 14%,
 * where hardly anyone asks; 32 lanes never down to 0.001%.)
 *
 * How full. A key hits one of blocks * width cells of each lane number, all equally likely: the mean number of bits set
 * and the estimate of keys from it are exactly those of a Bloom filter with `lanes` slices of that length. The spread
 * is larger, because all lanes of a crowded block are crowded together: at a million keys by 1% with 4 lanes, 4% with
 * 8, 11% to 17% with 16. kithi_fill_limit takes that in; without it the guard of 16 lanes would stand at 5.1 standard
 * deviations instead of 6. The guard watches the sum only: who knows the hash can crowd blocks and leave others empty,
 * and half of the blocks full is a rate of one half. Keys that a stranger chooses need siphash here more than in bloom.
 *
 * Parameters: 0 lanes, 1 blocks, 7 fill limit. The body is blocks * 64 bytes without padding. */
#include "filters/common/lanes.h"
#ifdef KITHI_HAVE_X86
#include "simd/avx2.h"
#include "simd/avx512.h"
#elif defined(KITHI_HAVE_NEON)
#include "simd/neon.h"
#endif

static const kith_option OPTIONS[] = {
    KITHI_LANES_OPTION("bits that a key sets, one in each lane; auto: the number that needs the fewest bits"),
};

static kith_status choose(const kithi_request *request, kithi_head *head) {
    return kithi_lanes_choose(request->options[0], KITHI_BLOCK_BITS, request->capacity, request->rate,
                              KITHI_COUNTS_CHANGES, head);
}

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_lanes_shape(head, 1, shape);
    shape->max_copies = 1;
    shape->capabilities = KITHI_BITS_CAPABILITIES;
    return status;
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    unsigned lanes = (unsigned)head->params[KITHI_LANES];
    return (kithi_expectation){kithi_blocked_rate(lanes, KITHI_BLOCK_BITS / lanes, head->params[KITHI_BLOCKS], n), 0};
}

/* ---- a key in its block ---- */

KITHI_INLINE unsigned bit_of(kithi_lane_words words, unsigned lanes, unsigned j) {
    return kithi_lane_cell(words, KITHI_BLOCK_BITS / lanes, j);
}

/* Lane after lane, in full: without vectors that shift each lane by its own amount (the baseline of x86-64 has none)
 * building a mask of eight words first is no faster, and here the bits that were new need no counting. Unrolled, every
 * index but the bit's own is a constant. */
KITHI_INLINE bool block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    uint64_t present = 1;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = bit_of(words, lanes, j);
        present &= kithi_load64(block + bit / 64 * 8) >> (bit % 64);
    }
    return present != 0;
}

/* Sets the key's bits; answers how many were 0. */
KITHI_INLINE unsigned block_add(uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned set_bits = 0;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = bit_of(words, lanes, j);
        uint8_t *word = block + bit / 64 * 8;
        uint64_t before = kithi_load64(word);
        set_bits += (before >> (bit % 64) & 1) == 0;
        kithi_store64(word, before | UINT64_C(1) << (bit % 64));
    }
    return set_bits;
}

/* The same by atomic ORs of bytes, or, without commit, only the number. */
KITHI_INLINE unsigned block_add_shared(uint8_t *block, uint64_t digest, bool commit, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned set_bits = 0;
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = bit_of(words, lanes, j);
        uint8_t mask = (uint8_t)(1u << (bit % 8));
        uint8_t before = __atomic_load_n(&block[bit / 8], __ATOMIC_RELAXED);
        if (commit && (before & mask) == 0)
            before = __atomic_fetch_or(&block[bit / 8], mask, __ATOMIC_RELAXED);
        set_bits += (before & mask) == 0;
    }
    return set_bits;
}

/* ---- verbs ---- */

KITHI_LANES_HAS(has, , block_has)

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    if (!kithi_bits_open(f))
        return has(f, digest) ? KITH_OK : KITH_E_FULL;
    uint8_t *block = kithi_block_of(f, digest);
    unsigned set_bits;
    KITHI_BY_LANES(f, set_bits, block_add, block, digest);
    kithi_bits_count_add(f, set_bits, was_new);
    return KITH_OK;
}

static unsigned add_shared(kith_filter *f, uint64_t digest, bool commit) {
    uint8_t *block = kithi_block_of(f, digest);
    unsigned set_bits;
    KITHI_BY_LANES(f, set_bits, block_add_shared, block, digest, commit);
    return set_bits;
}

/* Of all keys that pick this block, the part that the union of two filters answers yes. */
static double block_rate(const uint8_t *a, const uint8_t *b, unsigned lanes) {
    unsigned width = KITHI_BLOCK_BITS / lanes;
    double rate = 1;
    for (unsigned lane = 0; lane < KITHI_BLOCK_BITS; lane += width)
        rate *= (double)kithi_bits_in_union(a, b, lane, lane + width) / width;
    return rate;
}

/* The exact rate of the union of two filters: the mean over their blocks. */
static double rate_of(const kith_filter *a, const kith_filter *b) {
    uint64_t blocks = a->head.params[KITHI_BLOCKS];
    double sum = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t at = i * KITHI_BLOCK_BYTES;
        sum += block_rate(a->body + at, b->body + at, (unsigned)a->head.params[KITHI_LANES]);
    }
    return sum / (double)blocks;
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    return kithi_bits_merge(into, from, kithi_lanes_keys, rate_of);
}

static kith_status intersect(kith_filter *into, const kith_filter *from) {
    return kithi_bits_intersect(into, from, kithi_lanes_keys);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->keys_now = kithi_lanes_keys(f, f->head.fill);
    stats->rate_now = rate_of(f, f);
}

/* ---- batches, of the functions above or of those of simd/ ---- */

#define ADD_IN(set, TARGET, add_of, lanes)                                                                             \
    TARGET static unsigned add_##set##_##lanes(kith_filter *f, uint64_t digest) {                                      \
        return add_of(kithi_block_of(f, digest), digest, lanes);                                                       \
    }
#define ADD_MANY(set, TARGET, add_of)                                                                                  \
    ADD_IN(set, TARGET, add_of, 4)                                                                                     \
    ADD_IN(set, TARGET, add_of, 8)                                                                                     \
    ADD_IN(set, TARGET, add_of, 16)                                                                                    \
    TARGET static kith_status add_many_##set(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,     \
                                             size_t *done) {                                                           \
        switch (f->head.params[KITHI_LANES]) {                                                                         \
        case 4:                                                                                                        \
            return kithi_bits_add_many(f, digests, n, was_new, done, 4, add_##set##_4, kithi_lanes_prefetch, add);     \
        case 8:                                                                                                        \
            return kithi_bits_add_many(f, digests, n, was_new, done, 8, add_##set##_8, kithi_lanes_prefetch, add);     \
        default:                                                                                                       \
            return kithi_bits_add_many(f, digests, n, was_new, done, 16, add_##set##_16, kithi_lanes_prefetch, add);   \
        }                                                                                                              \
    }
#define KERNELS(set, TARGET, has_of, add_of)                                                                           \
    KITHI_LANES_HAS_MANY(set, TARGET, has_of)                                                                          \
    ADD_MANY(set, TARGET, add_of)

KERNELS(portable, , block_has, block_add)
#ifdef KITHI_HAVE_X86
KERNELS(avx2, KITHI_TARGET_AVX2, kithi_avx2_bits_has, kithi_avx2_bits_set)
KERNELS(avx512, KITHI_TARGET_AVX512, kithi_avx512_bits_has, kithi_avx512_bits_set)
#elif defined(KITHI_HAVE_NEON)
KERNELS(neon, , kithi_neon_bits_has, kithi_neon_bits_set)
#endif

static bool look(const kith_filter *f, uint64_t digest, kith_look told, void *context) {
    return kithi_lanes_look(f, digest, told, context, kithi_bits_cell);
}

const kithi_kind kithi_kind_blocked = {
    .id = 2,
    .params = KITHI_LANES_PARAMS,
    .info =
        {
            .name = "blocked",
            .summary = "one cache line a lookup: the fastest",
            .capabilities = KITHI_BITS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .choose = choose,
    .shape = shape,
    .option = kithi_lanes_option,
    .expect = expect,
    .has = has,
    .look = look,
    .cell = kithi_bits_cell,
    .add = add,
    .regions = kithi_lanes_regions,
    .kernels = KITHI_KERNELS_BY(KITHI_SET_THAT_KEEPS(portable, has_portable), KITHI_SET_THAT_KEEPS(avx2, has_avx2),
                                KITHI_SET_THAT_KEEPS(avx512, has_avx512), KITHI_SET_THAT_KEEPS(neon, has_neon)),
    .add_shared = add_shared,
    .prefetch = kithi_lanes_prefetch,
    .full = kithi_bits_full,
    .merge = merge,
    .intersect = intersect,
    .subset = kithi_bits_subset,
    .stats = stats,
    .check = kithi_bits_check,
};
