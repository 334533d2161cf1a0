/* bloom: the classic Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970).
 *
 * A key sets k of the m bits, and has() returns true if all k bits of a key are set. By default (layout=slices) the m
 * bits are divided into k slices of equal length, and bit i of the key, i = 0 … k - 1, is in slice i:
 *
 *     |<---- slice 0 ---->|<---- slice 1 ---->|  …  |<--- slice k-1 --->|
 *      ........1...........  ..1................      ...............1....
 *
 *     bit i of digest d  =  i * slice + high half of (slice * probe word i of d)
 *
 * Here `slice` is the number of bits in a slice, and the probe words are 64-bit words that core/mix.h computes from the
 * digest. Each bit of a key has its own probe word. (Double hashing, a + i*b from two words, would raise the rate: see
 * core/mix.h.) The slices are independent, and each key sets exactly one bit of each slice. So the rate of n keys is
 * exactly (1 - (1 - 1/slice)^n)^k, for every n.
 *
 * With layout=whole, all k hashes share one array of m bits, as the textbooks draw it. Several hashes of a key may
 * select the same bit, and the key then sets fewer than k bits:
 *
 *     bit i of digest d  =  high half of (m * probe word i of d)
 *
 * If X of the m bits are set, the rate is (X/m)^k. The planner computes the exact mean of this (plan/whole_rate.c). The
 * textbook formula (1 - (1 - 1/m)^(kn))^k is not exact: with k = 7, three keys and 31 bits it is 18% too low. Slices
 * have a higher rate than one array of m bits, by a factor of about 1 + 0.19 k(k - 1)/m if half of the bits are set.
 * With k = 7, this adds 0.8% to the rate at a hundred keys, and 0.008% at ten thousand.
 *
 * Bits are numbered from the least significant bit of byte 0. The bytes do not depend on the order in which keys are
 * added, and the union of two filters is the OR of their bits. With the m and k that the planner chooses, about half of
 * the bits are set at capacity. To find a bit that is 0, a lookup of an absent key must then read two bits on average.
 * (has() reads four at a time.)
 *
 * Parameters, by index: 0: k; 1: bits in a slice (m for layout=whole); 2: layout (0 slices, 1 whole); 7: fill limit. */
#include <math.h>

#include "plan/sizing.h"
#include "kinds/bloom/lookup.h"
#include "kinds/shared/slices.h"
#include "handle/verbs.h"
#ifdef KITHI_HAVE_X86
#include "kernels/avx2_probes.h"
#endif

static const kith_option OPTIONS[] = {
    {"k", "0..64", "0", "bits per key; 0: the number that needs the least space"},
    {"layout", "slices|whole", "slices",
     "a separate slice of the bits for each of the k hashes, or one array that all k hashes share"},
};

static kith_status choose(const kithi_request *request, kithi_head *head) {
    unsigned k, given = (unsigned)request->options[0];
    uint64_t slice;
    kithi_cells_layout layout = (kithi_cells_layout)request->options[1];
    if (!kithi_bloom_choose(request->capacity, request->rate, given, KITHI_COUNTS_NEW_KEYS, layout, &k, &slice))
        return KITH_E_ADDRESS;
    kithi_slices_encode(k, slice, layout, request->capacity, head);
    return KITH_OK;
}

static uint64_t option(const kithi_head *head, unsigned index) {
    kithi_slices_geometry g = kithi_slices_decode(head).slices;
    return index == 0 ? g.k : g.layout;
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_slices_geometry g = kithi_slices_decode(head).slices;
    return (kithi_expectation){.rate = kithi_bloom_rate((unsigned)g.k, g.slice, n, kithi_slices_layout(&g))};
}

#define USUAL_K 7 /* what the planner chooses for a rate of 1% */

static bool is_usual(const kithi_geometry *g) {
    return g->slices.k == USUAL_K;
}

/* The geometry of a filter for which is_usual() returns true, with k as a constant. */
KITHI_INLINE kithi_slices_geometry usual_geometry(const kith_filter *f) {
    kithi_slices_geometry g = f->geometry.slices;
    g.k = USUAL_K;
    return g;
}

/* Sets a bit; adds 1 to *already if it was set before. The instruction bts leaves the old value of the bit in the carry
 * flag, and adc adds the flag to *already. There is no C expression that gcc compiles to these two instructions. On
 * x86, the C code for other processors would take 5% longer if the body is in the core's own caches, and 20% longer if
 * it is in the L3 cache. There the processor's queue fills up with instructions that wait for a word, and the C code
 * has more of them. */
KITHI_INLINE void set_bit(uint8_t *body, uint64_t bit, unsigned *already) {
    uint8_t *word = body + bit / 64 * 8;
    uint64_t bits = kithi_load64(word);
#ifdef KITHI_HAVE_X86
    __asm__("btsq %[bit], %[bits]\n\tadcl $0, %[already]"
            : [bits] "+r"(bits), [already] "+r"(*already)
            : [bit] "r"(bit)
            : "cc");
#else
    *already += bits >> (bit % 64) & 1;
    bits |= UINT64_C(1) << (bit % 64);
#endif
    kithi_store64(word, bits);
}

/* In the functions below, g is the geometry of the filter. If g.k is a compile-time constant (usual_geometry), the
 * loops over the bits of a key are unrolled. */

KITHI_INLINE bool has_inline(const kith_filter *f, kithi_slices_geometry g, uint64_t digest) {
    return kithi_slices_has(&g, f->body, digest, kithi_bloom_is_used, 1);
}

/* Sets the key's next `count` bits; adds to *already how many of them were set before. `count` is a constant. */
KITHI_INLINE void set_next_bits(uint8_t *body, kithi_probe *probe, kithi_slices_geometry g, unsigned count,
                                unsigned *already) {
#pragma GCC unroll 4
    for (unsigned i = 0; i < count; i++)
        set_bit(body, kithi_probe_cell(probe, g.slice, g.stride), already);
}

/* Sets the bits of a key; returns how many of them were 0. Sets them in groups of four: with a loop over single bits, a
 * sixth of all instructions would be those of the loop. */
KITHI_INLINE unsigned set_key_bits(uint8_t *body, kithi_slices_geometry g, uint64_t digest) {
    kithi_probe probe = kithi_probe_start(digest);
    unsigned already = 0;
    for (uint64_t groups = g.k / 4; groups > 0; groups--)
        set_next_bits(body, &probe, g, 4, &already);
    if ((g.k & 2) != 0)
        set_next_bits(body, &probe, g, 2, &already);
    if ((g.k & 1) != 0)
        set_next_bits(body, &probe, g, 1, &already);
    return (unsigned)g.k - already;
}

/* Not inlined into add_inline(), because every add would then save more registers. */
static __attribute__((noinline)) kith_status add_to_full(kith_filter *f, uint64_t digest, bool *was_new) {
    return kithi_bits_result_unchanged(has_inline(f, f->geometry.slices, digest), was_new);
}

KITHI_INLINE kith_status add_inline(kith_filter *f, kithi_slices_geometry g, uint64_t digest, bool *was_new) {
    if (__builtin_expect(!kithi_bits_can_add(f), 0))
        return add_to_full(f, digest, was_new);
    kithi_bits_count_add(f, set_key_bits(f->body, g, digest), was_new);
    return KITH_OK;
}

KITHI_INLINE void prefetch_key(const uint8_t *body, kithi_slices_geometry g, uint64_t digest) {
    kithi_probe probe = kithi_probe_start(digest);
    for (uint64_t i = 0; i < g.k; i++)
        __builtin_prefetch(body + kithi_probe_cell(&probe, g.slice, g.stride) / 8, 1);
}

/* Adds n digests without checking capacity and fill limit, which they cannot exceed. If digest i is new, sets bit
 * at + i of the bitmap `was_new`. */
typedef void add_unchecked_function(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t at);

KITHI_INLINE void add_unchecked(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t at) {
    kithi_slices_geometry g = f->geometry.slices;
    uint8_t *body = f->body;
    uint64_t count = 0, fill = 0;
    bool in_cache = kithi_slices_in_cache(f);
    for (size_t from = 0; from < n; from += KITHI_SLICES_ADD_GROUP) {
        size_t group_size = n - from < KITHI_SLICES_ADD_GROUP ? n - from : KITHI_SLICES_ADD_GROUP;
        for (size_t i = 0; i < group_size && !in_cache; i++)
            prefetch_key(body, g, digests[from + i]);
        uint64_t is_new = 0;
        for (size_t i = 0; i < group_size; i++) {
            unsigned set_bits = set_key_bits(body, g, digests[from + i]);
            fill += set_bits;
            is_new |= (uint64_t)(set_bits != 0) << i;
        }
        count += kithi_popcount(is_new);
        kithi_bitmap_set_word(was_new, at + from, is_new, group_size);
    }
    f->head.count += count;
    f->head.fill += fill;
}

/* Adds the next `safe` digests with `unchecked`: each sets at most k bits, so they cannot exceed the capacity or the
 * fill limit. Near a limit, where `safe` is 0, adds one digest after the other. */
KITHI_INLINE kith_status add_many_inline(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                         size_t *done, add_unchecked_function *unchecked) {
    while (*done < n) {
        size_t safe = kithi_bits_safe_adds(f, f->geometry.slices.k, n - *done);
        if (safe != 0) {
            unchecked(f, digests + *done, safe, was_new, *done);
            *done += safe;
            continue;
        }
        bool is_new = false;
        kith_status status = kithi_add_one(f, digests[*done], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, (*done)++, is_new);
    }
    return KITH_OK;
}

/* The same for filters for which is_usual() returns true. */
#define add_unchecked_usual_portable add_unchecked
#define add_unchecked_usual_neon add_unchecked

#ifdef KITHI_HAVE_X86
/* add_unchecked() with k as a constant. Before it sets the bits of a group of keys, it computes the cells (the numbers
 * of the bits) of the next group. It prefetches these while it sets the bits. */
KITHI_TARGET_AVX2 KITHI_INLINE void add_unchecked_usual_avx2(kith_filter *f, const uint64_t *digests, size_t n,
                                                             uint64_t *was_new, size_t at) {
    enum { GROUP = 16, KEY_CELLS = KITHI_AVX2_CELLS(USUAL_K) }; /* keys in a group; elements of `cells` for a key */
    kithi_slices_geometry g = usual_geometry(f);
    if (g.slice > KITHI_AVX2_SLICE_MAX) {
        add_unchecked(f, digests, n, was_new, at);
        return;
    }
    uint64_t cells[2][GROUP * KEY_CELLS], count = 0, fill = 0;
    uint8_t *body = f->body;
    bool in_cache = kithi_slices_in_cache(f);
    size_t group_size = n < GROUP ? n : GROUP;
    kithi_avx2_cells(digests, group_size, USUAL_K, g.slice, g.stride, cells[0]);
    for (size_t from = 0; from < n; from += GROUP) {
        const uint64_t *now = cells[from / GROUP % 2];
        uint64_t *next = cells[(from / GROUP + 1) % 2], is_new = 0;
        group_size = n - from < GROUP ? n - from : GROUP;
        size_t left = n - from - group_size, next_size = left < GROUP ? left : GROUP;
        kithi_avx2_cells(digests + from + group_size, next_size, USUAL_K, g.slice, g.stride, next);
        for (size_t i = 0; i < group_size; i++) {
            for (unsigned j = 0; j < USUAL_K && !in_cache && i < next_size; j++)
                __builtin_prefetch(body + next[i * KEY_CELLS + j] / 8, 1);
            unsigned already = 0;
            for (unsigned j = 0; j < USUAL_K; j++)
                set_bit(body, now[i * KEY_CELLS + j], &already);
            fill += USUAL_K - already;
            is_new |= (uint64_t)(already != USUAL_K) << i;
        }
        count += kithi_popcount(is_new);
        kithi_bitmap_set_word(was_new, at + from, is_new, group_size);
    }
    f->head.count += count;
    f->head.fill += fill;
}

#endif

#define KITHI_AVX2_IS_ENOUGH
#define KITHI_KERNELS "kinds/bloom/kernels.h"
#include "kernels/each_set.h"

/* The `change` of kithi_slices_add_cells(). */
static inline bool set_cell(uint8_t *body, uint64_t bit, bool *accepted, unsigned cell_bits) {
    unsigned already = 0;
    (void)cell_bits;
    set_bit(body, bit, &already);
    *accepted |= already == 0;
    return already == 0;
}

static uint64_t add_cells(kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests, size_t n,
                          uint64_t *accepted) {
    return kithi_slices_add_cells(f, from, to, digests, n, accepted, set_cell, 1);
}

static unsigned add_shared(kith_filter *f, uint64_t digest, kithi_shared_step step) {
    unsigned set_bits = 0;
    if (step == KITHI_SHARED_CHECK)
        return 0;
    kithi_slices_geometry g = f->geometry.slices;
    kithi_probe probe = kithi_probe_start(digest);
    for (uint64_t i = 0; i < g.k; i++) {
        uint64_t bit = kithi_probe_cell(&probe, g.slice, g.stride);
        uint8_t mask = (uint8_t)(1u << (bit % 8));
        uint8_t before = __atomic_load_n(&f->body[bit / 8], __ATOMIC_RELAXED);
        if (step == KITHI_SHARED_SET && (before & mask) == 0)
            before = __atomic_fetch_or(&f->body[bit / 8], mask, __ATOMIC_RELAXED);
        set_bits += (before & mask) == 0;
    }
    return set_bits;
}

static void prefetch(const void *filter, uint64_t digest) {
    const kith_filter *f = filter;
    prefetch_key(f->body, f->geometry.slices, digest);
}

static double keys_at(const kith_filter *f, uint64_t fill) {
    kithi_slices_geometry g = f->geometry.slices;
    return kithi_bloom_keys((unsigned)g.k, g.slice, fill, kithi_slices_layout(&g));
}

/* The exact rate of the union of two filters. With layout=slices, it is the product of the shares of bits that are set
 * in each slice; with layout=whole, the share of bits that are set in the array, to the power of k. */
static double rate_of_union(const kith_filter *a, const kith_filter *b) {
    uint64_t slice = a->geometry.slices.slice, k = a->geometry.slices.k;
    double rate = 1;
    if (a->geometry.slices.layout == KITHI_WHOLE)
        return pow((double)kithi_bits_in_range(a->body, b->body, KITHI_BITS_OR, 0, slice) / (double)slice, (double)k);
    for (uint64_t i = 0; i < k; i++)
        rate *=
            (double)kithi_bits_in_range(a->body, b->body, KITHI_BITS_OR, i * slice, (i + 1) * slice) / (double)slice;
    return rate;
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    return kithi_bits_merge(into, from, keys_at, rate_of_union, 1);
}

static kith_status intersect(kith_filter *into, const kith_filter *from) {
    return kithi_bits_intersect(into, from, keys_at);
}

/* A key has a bit in every slice. In one array, its bits may all be the same one. */
static bool disjoint(const kith_filter *a, const kith_filter *b) {
    kithi_slices_geometry g = a->geometry.slices;
    uint64_t slices = g.layout == KITHI_WHOLE ? 1 : g.k;
    for (uint64_t i = 0; i < slices; i++)
        if (kithi_bits_in_range(a->body, b->body, KITHI_BITS_AND, i * g.slice, (i + 1) * g.slice) == 0)
            return true;
    return false;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    stats->keys_now = keys_at(f, f->head.fill);
    stats->rate_now = rate_of_union(f, f);
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_slices_look(f, digest, report, context, kithi_bits_cell);
}

const kithi_kind kithi_kind_bloom = {
    .lookup = &kithi_lookup_bloom,
    .info =
        {
            .name = "bloom",
            .summary = "k bits per key: merges, intersects, compares",
            .capabilities = KITHI_BITS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    .look = look,
    .cell = kithi_bits_cell,
    .kernels = KITHI_EACH_SET(KERNELS),
    .is_usual = is_usual,
    .usual = KITHI_EACH_SET(USUAL),
    .add_cells = add_cells,
    .shared = {.add = add_shared, .prefetch = prefetch},
    .merge = merge,
    .intersect = intersect,
    .subset = kithi_bits_subset,
    .disjoint = disjoint,
    .stats = stats,
    .check = kithi_bits_check,
    .repair = {.salvage = kithi_cells_salvage, .recount = kithi_bits_recount},
};
