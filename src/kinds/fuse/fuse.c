/* fuse: the binary fuse filter, a static filter (Graf, Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor
 * Filters", 2022).
 *
 * Cells have f bits. A key has a fingerprint of f bits and 3 (or 4) cells. The filter is built so that the XOR of the
 * cells of each key is its fingerprint; has() computes this XOR and compares. The XOR of an absent key's cells equals
 * its fingerprint with probability 2^-f. That is the rate, for any number of keys, also for none.
 *
 * n keys need at least n cells, because each key determines the value of one. Construction by peeling (fuse_build.c)
 * succeeds with 1.125 n cells if a key has 3 cells, and with 1.075 n if it has 4. So few are enough because the cells
 * of a key are in consecutive segments: the cells at the ends of the array have fewer keys, so that peeling can start
 * there and continue inwards. If n is less than about 10^6, more cells per key are needed (choose_segments). A key
 * cannot be added later, because changing a cell breaks the keys that share it.
 *
 *     body    | shard 0 | shard 1 | …                           a digest belongs to shard digest * shards / 2^64
 *     shard   | seed, 8 bytes | cells of f bits, packed | padding: 7 bytes or more, to a multiple of 64 |
 *
 *     cells   |<- segment ->|<- segment ->|<- segment ->|<- segment ->|  …         segment: a power of two
 *                     x           x                x                               the 3 cells of a key: one in each of
 *                                                                                  3 consecutive segments
 *
 * Shards. More than 2^20.5 keys are divided by the high bits of the digest into shards of 2^19.5 to 2^20.5 keys, each
 * with its own seed. Construction then works in 18 to 36 MB of memory per thread, mostly in cache, and a shard that
 * fails is tried again alone, with another seed. All shards have the same size: each has cells for the mean number of
 * keys plus 6 standard deviations. A shard gets more keys than that with probability 10^-9. Even then they usually fit,
 * because peeling still works with a few percent more keys.
 *
 * Attempts. If a shard cannot be built with any of the seeds that are tried (fuse_build.c), the builder plans the
 * filter again and starts the next attempt (kithi_request.attempt):
 *
 *     attempt 1    1/8 more cells in segments that are eight times as long, so that far fewer seeds fail
 *     attempt 2    like attempt 0, but with a single shard for all keys
 *     attempt 3    like attempt 1, but with a single shard for all keys
 *
 * Attempts 2 and 3 are for digests that are not hashes: if there are several shards, all of these digests may belong to
 * the same one. They are made only if a shard had more keys than planned: otherwise a single shard would fail as often,
 * and take longer. A single shard can be built from any distinct digests, because their hashes (kithi_fuse_hash) are
 * distinct, too, and depend on the seed. A filter that has a single shard in attempt 0 has no attempts 2 and 3; if it
 * is not large, it has no attempt 1 either, because more seeds are tried in attempt 0.
 *
 * The seed of a shard without keys is 0, and its cells are 0. lookup.h says how a hash becomes cells and
 * fingerprint.
 *
 * Parameters, by index: 0: f; 1: cells per key; 2: cells in a segment; 3: number of segments in which the first cell of
 * a key can be (2 or 3 more follow); 4: number of shards. */
#include "kinds/fuse/fuse.h"

#include <math.h>

#include "core/batch.h"

#define SHARD_KEYS_MAX 1482910 /* 2^20.5 */
#define DIGEST_BITS 60         /* the most bits of a digest that select shard, first cell and fingerprint */
#define SPREAD 6.0             /* a shard has space for the mean number of keys plus this many standard deviations */
#define FIRST_UNSHARDED 2      /* this attempt and later ones have a single shard */

static const kith_option OPTIONS[] = {
    {"f", "0..32", "0", "fingerprint bits, 4 or more; 0: as many as the rate needs"},
    {"arity", "3|4", "3", "cells per key: 4 needs 4% less space, and lookups are slower"},
};

/* ---- planning ---- */

/* Sets the length and the number of segments for n keys, by formulas that Graf and Lemire found by experiment. The
 * length grows more slowly than n, so a larger shard has more segments. With 3 cells per key, the code below has 1.75
 * where Graf and Lemire have 2.25. With their constant the segments are longer, and sometimes so few that most seeds
 * fail. For example, 11,521 keys would get 14 segments of 1,024 cells (12 that can hold the first cell of a key, and 2
 * more), and only about one seed in 90 would succeed. With 1.75, the length doubles only when there are enough
 * segments. Graf and Lemire have 10^6 and 6 * 10^5 for all n. With a little more space, at most 1%, large shards rarely
 * need another seed, so that few seeds are enough for them (fuse_build.c).
 *
 * A retry has room to spare, so that its segments can be longer. That makes it less likely that two keys have the same
 * cells. */
static void choose_segments(double n, bool retry, kithi_fuse_geometry *g) {
    n = n > 2 ? n : 2;
    bool large = n >= KITHI_FUSE_LARGE_KEYS;
    double log2_segment, cells_per_key;
    if (g->arity == 3) {
        log2_segment = floor(log(n) / log(3.33) + 1.75);
        cells_per_key = fmax(1.125, 0.875 + 0.25 * log(large ? 1.3e6 : 1e6) / log(n));
    } else {
        log2_segment = floor(log(n) / log(2.91) - 0.5);
        cells_per_key = fmax(1.075, 0.77 + 0.305 * log(large ? 9e5 : 6e5) / log(n));
    }
    g->segment_cells = (uint64_t)exp2(fmax(log2_segment + (retry ? 3 : 0), 0));
    if (g->segment_cells > kithi_fuse_segment_max(g->arity))
        g->segment_cells = kithi_fuse_segment_max(g->arity);
    uint64_t all_segments = (uint64_t)ceil(round(n * cells_per_key) / (double)g->segment_cells);
    g->segments = all_segments > g->arity ? all_segments - (g->arity - 1) : 1;
}

/* The most keys that a shard has, if the digests are hashes. */
static double shard_keys(const kithi_request *request, uint64_t shards) {
    double mean = (double)request->capacity / (double)shards;
    return shards == 1 ? mean : ceil(mean + SPREAD * sqrt(mean));
}

/* Returns whether this attempt is made, for a filter that has `shards` shards in attempt 0. */
static bool is_made(const kithi_request *request, uint64_t shards) {
    if (shards == 1)
        return request->attempt == 0 || (request->attempt == 1 && request->capacity >= KITHI_FUSE_LARGE_KEYS);
    if (request->attempt >= FIRST_UNSHARDED && (double)request->largest <= shard_keys(request, shards))
        return false;
    return request->attempt <= KITHI_LAST_ATTEMPT;
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    kithi_fuse_geometry g = {.cell_bits = request->options[0], .arity = 3 + request->options[1], .shards = 1};
    bool given = g.cell_bits != 0;
    if (given && g.cell_bits < KITHI_FUSE_CELL_BITS_MIN)
        return KITH_E_OPTION_VALUE;
    if (given && ldexp(1, -(int)g.cell_bits) > request->rate)
        return KITH_E_OPTION_FIT;
    if (!given)
        g.cell_bits = KITHI_FUSE_CELL_BITS_MIN;
    while (ldexp(1, -(int)g.cell_bits) > request->rate)
        if (++g.cell_bits > KITHI_FUSE_CELL_BITS_MAX)
            return KITH_E_FINGERPRINT;
    while (request->capacity / g.shards > SHARD_KEYS_MAX)
        g.shards *= 2;
    if (!is_made(request, g.shards))
        return KITH_E_FULL;
    if (request->attempt >= FIRST_UNSHARDED)
        g.shards = 1;
    double keys = shard_keys(request, g.shards);
    if (KITHI_FUSE_IS_RETRY(request->attempt))
        keys = ceil(keys * 9 / 8);
    if (keys > 0.8 * (double)KITHI_FUSE_SHARD_CELLS_LIMIT) /* there are 1.125 cells per key */
        return KITH_E_TOO_LARGE;
    choose_segments(keys, KITHI_FUSE_IS_RETRY(request->attempt), &g);
    if (log2((double)kithi_fuse_shard_cells(&g)) + log2((double)g.shards) + (double)g.cell_bits > DIGEST_BITS)
        return KITH_E_DIGEST_BITS;
    head->params[KITHI_PARAM_FUSE_CELL_BITS] = g.cell_bits;
    head->params[KITHI_PARAM_FUSE_ARITY] = g.arity;
    head->params[KITHI_PARAM_FUSE_SEGMENT_CELLS] = g.segment_cells;
    head->params[KITHI_PARAM_FUSE_SEGMENTS] = g.segments;
    head->params[KITHI_PARAM_FUSE_SHARDS] = g.shards;
    return KITH_OK;
}

static uint64_t option(const kithi_head *head, unsigned index) {
    kithi_fuse_geometry g = kithi_fuse_decode(head).fuse;
    return index == 0 ? g.cell_bits : g.arity - 3;
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    (void)n;
    return (kithi_expectation){.rate = ldexp(1, -(int)kithi_fuse_decode(head).fuse.cell_bits)};
}

/* ---- lookups ---- */

#define GROUP 64                         /* digests that are looked up together; their results fill a word */
#define PREFETCH_MIN ((uint64_t)2 << 20) /* bytes; a smaller body is in cache, where prefetching only costs time */

/* Looks up a group of at most GROUP digests. Bit i of the result is set if digest i may be in the set. */
KITHI_INLINE uint64_t has_group(const kithi_fuse_geometry *g, const uint8_t *body, const uint64_t *digests,
                                size_t count, unsigned arity, unsigned cell_bits, bool one_shard) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *shard = one_shard ? body : kithi_fuse_shard(g, body, digests[i]);
        uint64_t hash = kithi_fuse_hash(digests[i], kithi_load64(shard));
        uint64_t difference = kithi_fuse_difference(g, shard + KITHI_FUSE_SEED_BYTES, hash, arity, cell_bits);
        word |= (uint64_t)(difference == 0) << i;
    }
    return word;
}

/* The same, but prefetches the cache lines of the whole group before it reads the first cell. */
KITHI_INLINE uint64_t has_group_prefetched(const kithi_fuse_geometry *g, const uint8_t *body, const uint64_t *digests,
                                           size_t count, unsigned arity, unsigned cell_bits) {
    const uint8_t *cells[GROUP];
    uint64_t hashes[GROUP], word = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *shard = kithi_fuse_shard(g, body, digests[i]);
        uint64_t at[KITHI_FUSE_ARITY_MAX];
        hashes[i] = kithi_fuse_hash(digests[i], kithi_load64(shard));
        cells[i] = shard + KITHI_FUSE_SEED_BYTES;
        (void)kithi_fuse_cells(g, hashes[i], arity, cell_bits, at);
        for (unsigned j = 0; j < arity; j++)
            __builtin_prefetch(cells[i] + at[j] * cell_bits / 8);
    }
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)(kithi_fuse_difference(g, cells[i], hashes[i], arity, cell_bits) == 0) << i;
    return word;
}

KITHI_INLINE size_t has_many_inline(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                    unsigned arity, unsigned cell_bits) {
    const kithi_fuse_geometry g = f->geometry.fuse;
    const uint8_t *body = f->body;
    bool prefetch = f->head.body_bytes >= PREFETCH_MIN;
    size_t yes = 0;
    for (size_t at = 0; at < n; at += GROUP) {
        size_t count = n - at < GROUP ? n - at : GROUP;
        uint64_t word;
        if (prefetch)
            word = has_group_prefetched(&g, body, digests + at, count, arity, cell_bits);
        else if (g.shards == 1)
            word = has_group(&g, body, digests + at, count, arity, cell_bits, true);
        else
            word = has_group(&g, body, digests + at, count, arity, cell_bits, false);
        yes += kithi_popcount(word);
        if (maybe != NULL)
            maybe[at / GROUP] = word;
    }
    return yes;
}

KITHI_INLINE size_t has_many_of_arity(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                      unsigned arity) {
    switch (f->geometry.fuse.cell_bits) {
    case 8:
        return has_many_inline(f, digests, n, maybe, arity, 8);
    case 16:
        return has_many_inline(f, digests, n, maybe, arity, 16);
    case 32:
        return has_many_inline(f, digests, n, maybe, arity, 32);
    default:
        return has_many_inline(f, digests, n, maybe, arity, (unsigned)f->geometry.fuse.cell_bits);
    }
}

#define KITHI_AVX2_IS_ENOUGH
#define KITHI_KERNELS "kinds/fuse/kernels.h"
#include "kernels/each_set.h"

/* ---- introspection ---- */

/* `holds ^ difference` is what a cell would have to hold, with the other cells as they are, for the XOR of all to be
 * the fingerprint. `difference` is the same for all cells, so either all of them hold that value or none does. */
static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    const uint8_t *shard = kithi_fuse_shard(g, f->body, digest), *cells = shard + KITHI_FUSE_SEED_BYTES;
    unsigned arity = (unsigned)g->arity, cell_bits = (unsigned)g->cell_bits;
    uint64_t at[KITHI_FUSE_ARITY_MAX], hash = kithi_fuse_hash(digest, kithi_load64(shard));
    uint64_t difference = kithi_fuse_difference(g, cells, hash, arity, cell_bits);
    (void)kithi_fuse_cells(g, hash, arity, cell_bits, at);
    uint64_t shard_first = kithi_mulhi(digest, g->shards) * kithi_fuse_shard_cells(g);
    for (unsigned i = 0; i < arity; i++) {
        uint64_t holds = kithi_fuse_get(cells, at[i], cell_bits);
        report(context, shard_first + at[i], holds, holds ^ difference);
    }
    return difference == 0;
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    const uint8_t *shard = f->body + number / kithi_fuse_shard_cells(g) * g->shard_bytes;
    return kithi_fuse_get(shard + KITHI_FUSE_SEED_BYTES, number % kithi_fuse_shard_cells(g), (unsigned)g->cell_bits);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    stats->rate_now = ldexp(1, -(int)g->cell_bits);
    for (uint64_t i = 0; i < f->shape.cells; i++)
        stats->cells_used += cell(f, i) != 0;
}

static const char *check(const kith_filter *f) {
    const kithi_fuse_geometry *g = &f->geometry.fuse;
    uint64_t shards_with_keys = 0, used_bits = 8 * KITHI_FUSE_SEED_BYTES + kithi_fuse_shard_cells(g) * g->cell_bits;
    if (f->head.fill != 0)
        return "the header has a fill, which this kind does not use";
    for (uint64_t i = 0; i < g->shards; i++) {
        const uint8_t *shard = f->body + i * g->shard_bytes;
        uint64_t seed = kithi_load64(shard);
        shards_with_keys += seed != 0;
        if (seed == 0 && !kithi_is_zero(shard, g->shard_bytes))
            return "a shard without keys has a cell that is not zero";
        if (!kithi_is_zero_from(shard, used_bits, g->shard_bytes))
            return "a byte after the last cell of a shard is not zero";
    }
    if (shards_with_keys > f->head.count || (shards_with_keys == 0 && f->head.count != 0))
        return "the count does not agree with the number of shards that have keys";
    return NULL;
}

const kithi_kind kithi_kind_fuse = {
    .lookup = &kithi_lookup_fuse,
    .info =
        {
            .name = "fuse",
            .summary = "static: built from a complete list of keys; small, and built fast",
            .capabilities = KITH_CAN_ANY_ORDER,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    .kernels = KITHI_EACH_SET(KERNELS),
    .build = {.region = kithi_fuse_build, .bytes = kithi_fuse_build_bytes},
    .look = look,
    .cell = cell,
    .stats = stats,
    .check = check,
};
