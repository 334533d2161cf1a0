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
 * Bits are numbered from the least significant of byte 0, bytes of a word from its least significant. A byte for each
 * lane, rather than bits cut tightly out of the word, so that a vector unit makes the mask of a block in three steps:
 * widen bytes to lanes, shift right by a constant, shift 1 left by the result.
 *
 * What blocking costs. Blocks do not get equal shares of the keys, and those that get more answer yes more often than
 * those that get less make up for. The planner takes that from the exact binomial sum (core/sizing.h) and buys blocks
 * until the rate is kept: at a million keys 10.1 bits a key against bloom's 9.6 at 1%, 15.7 against 14.4 at 0.1%, 23.0
 * against 19.2 at 0.01%. It tries 4, 8 and 16 lanes and takes the fewest blocks: 4 above a rate of 1.8%, 16 below
 * 0.016%, 8 between. (2 lanes would need fewer above 14%, where hardly anyone asks; 32 lanes never down to 0.001%.)
 *
 * How full. A key hits one of blocks * width cells of each lane number, all equally likely: the mean number of bits set
 * and the estimate of keys from it are exactly those of a Bloom filter with `lanes` slices of that length. The spread
 * is larger, because all lanes of a crowded block are crowded together: at a million keys by 1% with 4 lanes, 4% with
 * 8, 11% to 17% with 16. kithi_fill_limit takes that in; without it the guard of 16 lanes would stand at 5.1 standard
 * deviations instead of 6. The guard watches the sum only: who knows the hash can crowd blocks and leave others empty,
 * and half of the blocks full is a rate of one half. Keys that a stranger chooses need siphash here more than in bloom.
 *
 * Parameters: 0 lanes, 1 blocks, 7 fill limit. The body is blocks * 64 bytes without padding. */
#include <assert.h>

#include "core/sizing.h"
#include "family/bits.h"
#include "kernels.h"
#ifdef KITHI_HAVE_X86
#include "simd/avx2.h"
#include "simd/avx512.h"
#elif defined(KITHI_HAVE_NEON)
#include "simd/neon.h"
#endif

enum { LANES, BLOCKS };

#define BLOCK_BITS 512
#define BLOCK_BYTES (BLOCK_BITS / 8)
#define BLOCKS_MAX (UINT64_C(1) << 53) /* what kithi_blocked_blocks finds; a double counts them exactly */

static_assert(BLOCK_BYTES == KITHI_BODY_ALIGNMENT, "a block is a line because the body is aligned to one");

static const unsigned LANE_COUNTS[] = {4, 8, 16};
#define LANE_COUNTS_COUNT (sizeof LANE_COUNTS / sizeof *LANE_COUNTS)

static const kith_option OPTIONS[] = {
    {"lanes", "auto|4|8|16", "auto",
     "bits that a key sets, one in each lane; auto: the number that needs the fewest bits"},
};

static kith_status choose(const kithi_request *request, kithi_head *head) {
    uint64_t best_blocks = UINT64_MAX;
    uint64_t given = request->options[0]; /* 0: auto; else a place in LANE_COUNTS, counted from 1 */
    for (uint64_t i = 0; i < LANE_COUNTS_COUNT; i++) {
        unsigned lanes = LANE_COUNTS[i];
        if (given != 0 && given != i + 1)
            continue;
        uint64_t blocks = kithi_blocked_blocks(lanes, BLOCK_BITS / lanes, request->capacity, request->rate);
        if (blocks != 0 && blocks < best_blocks) {
            best_blocks = blocks;
            head->params[LANES] = lanes;
        }
    }
    if (best_blocks == UINT64_MAX)
        return KITH_E_TOO_LARGE;
    head->params[BLOCKS] = best_blocks;
    unsigned lanes = (unsigned)head->params[LANES];
    head->params[KITHI_FILL_LIMIT] = kithi_fill_limit(lanes, BLOCK_BITS / lanes, best_blocks, request->capacity);
    return KITH_OK;
}

static bool lanes_known(uint64_t lanes) {
    for (size_t i = 0; i < LANE_COUNTS_COUNT; i++)
        if (LANE_COUNTS[i] == lanes)
            return true;
    return false;
}

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    uint64_t lanes = head->params[LANES], blocks = head->params[BLOCKS];
    if (!lanes_known(lanes) || blocks == 0 || blocks > BLOCKS_MAX ||
        head->params[KITHI_FILL_LIMIT] > blocks * BLOCK_BITS)
        return KITH_E_CORRUPT;
    *shape = (kithi_shape){
        .body_bytes = blocks * BLOCK_BYTES,
        .cells = blocks * BLOCK_BITS,
        .cell_bits = 1,
        .hashes = (unsigned)lanes,
        .lines = 1,
        .max_copies = 1,
        .capabilities = KITHI_BITS_CAPABILITIES,
    };
    return KITH_OK;
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    unsigned lanes = (unsigned)head->params[LANES];
    return (kithi_expectation){kithi_blocked_rate(lanes, BLOCK_BITS / lanes, head->params[BLOCKS], n), 0};
}

/* ---- a key in its block ----
 *
 * The verbs inline these with `lanes` a constant: three versions of one body. */

KITHI_INLINE uint8_t *block_of(const kith_filter *f, uint64_t digest) {
    return f->body + kithi_mulhi(digest, f->head.params[BLOCKS]) * BLOCK_BYTES;
}

typedef struct key_words {
    uint64_t at[2];
} key_words;

KITHI_INLINE key_words words_of(uint64_t digest, unsigned lanes) {
    return (key_words){{kithi_word(digest, 0), lanes > 8 ? kithi_word(digest, 1) : 0}};
}

/* The bit of lane j, counted from the start of the block. */
KITHI_INLINE unsigned bit_of(key_words words, unsigned lanes, unsigned j) {
    unsigned width = BLOCK_BITS / lanes;
    unsigned byte = (unsigned)(words.at[j / 8] >> (j % 8 * 8)) & 0xff;
    return j * width + byte * width / 256;
}

/* Lane after lane, in full: without vectors that shift each lane by its own amount (the baseline of x86-64 has none)
 * building a mask of eight words first is no faster, and here the bits that were new need no counting. Unrolled, every
 * index but the bit's own is a constant. */
KITHI_INLINE bool kithi_portable_block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    key_words words = words_of(digest, lanes);
    uint64_t present = 1;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = bit_of(words, lanes, j);
        present &= kithi_load64(block + bit / 64 * 8) >> (bit % 64);
    }
    return present != 0;
}

/* Sets the key's bits; answers how many were 0. */
KITHI_INLINE unsigned kithi_portable_block_add(uint8_t *block, uint64_t digest, unsigned lanes) {
    key_words words = words_of(digest, lanes);
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
KITHI_INLINE unsigned block_add_shared(uint8_t *block, uint64_t digest, unsigned lanes, bool commit) {
    key_words words = words_of(digest, lanes);
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

static bool has(const kith_filter *f, uint64_t digest) {
    const uint8_t *block = block_of(f, digest);
    switch (f->head.params[LANES]) {
    case 4:
        return kithi_portable_block_has(block, digest, 4);
    case 8:
        return kithi_portable_block_has(block, digest, 8);
    default:
        return kithi_portable_block_has(block, digest, 16);
    }
}

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    if (!kithi_bits_open(f))
        return has(f, digest) ? KITH_OK : KITH_E_FULL;
    uint8_t *block = block_of(f, digest);
    unsigned set_bits;
    switch (f->head.params[LANES]) {
    case 4:
        set_bits = kithi_portable_block_add(block, digest, 4);
        break;
    case 8:
        set_bits = kithi_portable_block_add(block, digest, 8);
        break;
    default:
        set_bits = kithi_portable_block_add(block, digest, 16);
    }
    kithi_bits_book(f, set_bits, was_new);
    return KITH_OK;
}

static unsigned add_shared(kith_filter *f, uint64_t digest, bool commit) {
    uint8_t *block = block_of(f, digest);
    switch (f->head.params[LANES]) {
    case 4:
        return block_add_shared(block, digest, 4, commit);
    case 8:
        return block_add_shared(block, digest, 8, commit);
    default:
        return block_add_shared(block, digest, 16, commit);
    }
}

/* A key hits each of the blocks * width cells of lane number j with the same probability: Bloom's estimate, with slices
 * of that length, whatever the blocks do to the spread. */
static double keys_at(const kith_filter *f, uint64_t fill) {
    unsigned lanes = (unsigned)f->head.params[LANES];
    return kithi_bloom_keys(lanes, f->head.params[BLOCKS] * (BLOCK_BITS / lanes), fill);
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    return kithi_bits_merge(into, from, keys_at);
}

static kith_status intersect(kith_filter *into, const kith_filter *from) {
    return kithi_bits_intersect(into, from, keys_at);
}

/* Of all keys that pick this block, the part that it answers yes. */
static double block_rate(const uint8_t *block, unsigned lanes) {
    unsigned width = BLOCK_BITS / lanes, step = width < 64 ? width : 64;
    double rate = 1;
    for (unsigned lane = 0; lane < BLOCK_BITS; lane += width) {
        unsigned set_bits = 0;
        for (unsigned bit = lane; bit < lane + width; bit += step)
            set_bits += kithi_popcount(kithi_load64(block + bit / 64 * 8) >> (bit % 64) << (64 - step));
        rate *= (double)set_bits / width;
    }
    return rate;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    double sum = 0;
    for (uint64_t i = 0; i < f->head.params[BLOCKS]; i++)
        sum += block_rate(f->body + i * BLOCK_BYTES, (unsigned)f->head.params[LANES]);
    stats->keys_now = keys_at(f, f->head.fill);
    stats->rate_now = sum / (double)f->head.params[BLOCKS];
}

/* ---- batches ----
 *
 * kithi_<set>_block_has and _add are the two functions above, or those of simd/ for a set. */

KITHI_INLINE void prefetch(const void *f, uint64_t digest) {
    __builtin_prefetch(block_of(f, digest));
}

#define LANES_FOR(set, TARGET, lanes)                                                                                  \
    TARGET static bool has_##set##_##lanes(const void *f, uint64_t digest) {                                           \
        return kithi_##set##_block_has(block_of(f, digest), digest, lanes);                                            \
    }                                                                                                                  \
    TARGET static unsigned add_##set##_##lanes(kith_filter *f, uint64_t digest) {                                      \
        return kithi_##set##_block_add(block_of(f, digest), digest, lanes);                                            \
    }
#define KERNELS_FOR(set, TARGET)                                                                                       \
    LANES_FOR(set, TARGET, 4)                                                                                          \
    LANES_FOR(set, TARGET, 8)                                                                                          \
    LANES_FOR(set, TARGET, 16)                                                                                         \
    TARGET static size_t has_many_##set(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {    \
        switch (f->head.params[LANES]) {                                                                               \
        case 4:                                                                                                        \
            return kithi_has_many(f, digests, n, maybe, has_##set##_4, prefetch);                                      \
        case 8:                                                                                                        \
            return kithi_has_many(f, digests, n, maybe, has_##set##_8, prefetch);                                      \
        default:                                                                                                       \
            return kithi_has_many(f, digests, n, maybe, has_##set##_16, prefetch);                                     \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static kith_status add_many_##set(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,     \
                                             size_t *done) {                                                           \
        switch (f->head.params[LANES]) {                                                                               \
        case 4:                                                                                                        \
            return kithi_bits_add_many(f, digests, n, was_new, done, 4, add_##set##_4, prefetch, add);                 \
        case 8:                                                                                                        \
            return kithi_bits_add_many(f, digests, n, was_new, done, 8, add_##set##_8, prefetch, add);                 \
        default:                                                                                                       \
            return kithi_bits_add_many(f, digests, n, was_new, done, 16, add_##set##_16, prefetch, add);               \
        }                                                                                                              \
    }

KERNELS_FOR(portable, )
#ifdef KITHI_HAVE_X86
KERNELS_FOR(avx2, KITHI_TARGET_AVX2)
KERNELS_FOR(avx512, KITHI_TARGET_AVX512)
#elif defined(KITHI_HAVE_NEON)
KERNELS_FOR(neon, )
#endif

const kithi_kind kithi_kind_blocked = {
    .id = 2,
    .params = 1 << LANES | 1 << BLOCKS | 1 << KITHI_FILL_LIMIT,
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
    .expect = expect,
    .has = has,
    .add = add,
    .kernels = KITHI_KERNELS_BY(KITHI_SET_THAT_KEEPS(portable), KITHI_SET_THAT_KEEPS(avx2),
                                KITHI_SET_THAT_KEEPS(avx512), KITHI_SET_THAT_KEEPS(neon)),
    .add_shared = add_shared,
    .full = kithi_bits_full,
    .merge = merge,
    .intersect = intersect,
    .subset = kithi_bits_subset,
    .stats = stats,
    .check = kithi_bits_check,
};
