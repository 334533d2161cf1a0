/* counting: a Bloom filter that supports deletion (Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web
 * Cache Sharing Protocol", 2000).
 *
 * Each bit of bloom is replaced by a 4-bit counter. Adding a key adds 1 to k counters, one in each of k slices, at
 * the positions where bloom would set its bits. Removing it subtracts 1 from each. has() returns true when none of
 * them is 0:
 *
 *     |<---- slice 0 ---->|<---- slice 1 ---->|  …  |<--- slice k-1 --->|
 *      000010002001000F0030  0020010000010004000      00301000000020000100
 *
 * So the rate is that of bloom, and the filter is four times as large. (Every key is counted, so the planner need not
 * allow for keys that change nothing, as it does for bloom, and uses slightly fewer cells.)
 * filters/common/counter_cells.h describes the counters: saturation, and how many copies of a key can be added.
 *
 * Refused keys. A key that was not added before gets KITH_E_COPIES only if 14 other keys share each of its k
 * counters. With lambda = n/slice keys per counter on average, the probability that this happens to any of n distinct
 * keys is at most
 *
 *     failure = n * (lambda^14 / 14!)^k        (n^14/14! ways to choose 14 keys, each at the counter with 1/slice)
 *
 * which is 10^-84 at a million keys and 1%. It would matter only with one counter per key, which bloom uses above a
 * rate of 38.2% (where k = 1 and k = 2 need the same space): at 90%, one in 80 filters of a million keys would refuse
 * one of them. So rates above 38% are planned as 38%: k = 2, lambda = 0.96, failure under 10^-9 up to 2 * 10^13 keys.
 * Filters for more keys than that are planned at half the rate, which adds a counter per key.
 *
 * Invariants. Every successful add or remove changes one counter of each slice by 1, unless that counter is stuck. So
 * the counters of a slice without a stuck counter add up to the count, even after removals of keys that were never
 * added.
 *
 * Parameters: 0 k, 1 counters in a slice, 7 fill limit. */
#include <math.h>

#include "plan/sizing.h"
#include "filters/common/counter_cells.h"
#include "filters/common/slices.h"

#define FAILURE_MAX 1e-9

/* Below (3 - sqrt(5))/2 = 0.38197, where one counter per key takes as little space as two. */
static const double RATE_MAX = 0.38;

static const kith_option OPTIONS[] = {
    {"k", "0..64", "0", "counters per key; 0: the number that needs the least space"},
};

static uint64_t option(const kithi_head *head, unsigned index) {
    (void)index;
    return head->params[KITHI_K];
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_slices_geometry g = kithi_slices_decode(head).slices;
    unsigned k = (unsigned)g.k;
    uint64_t slice = g.slice;
    double failure = 0;
    if (n > KITHI_COUNTER_COPIES) {
        double lambda = (double)n / (double)slice;
        double crowded = 0; /* log of lambda^14 / 14! */
        for (unsigned i = 1; i <= KITHI_COUNTER_COPIES; i++)
            crowded += log(lambda / i);
        crowded = fmin(0, crowded);
        failure = fmin(1, exp(log((double)n) + k * crowded));
    }
    return (kithi_expectation){kithi_bloom_rate(k, slice, n), failure};
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    unsigned k, given = (unsigned)request->options[0];
    uint64_t slice;
    double rate = fmin(request->rate, RATE_MAX);
    do {
        if (!kithi_bloom_choose(request->capacity, rate, given, KITHI_COUNTS_ALL, &k, &slice))
            return KITH_E_TOO_LARGE;
        kithi_slices_encode(k, slice, request->capacity, head);
        rate /= 2;
    } while (given == 0 && expect(head, request->capacity).failure > FAILURE_MAX);
    return KITH_OK;
}

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_slices_shape(head, KITHI_COUNTER_BITS, shape);
    shape->max_copies = KITHI_COUNTER_COPIES;
    shape->capabilities = KITHI_COUNTERS_CAPABILITIES;
    return status;
}

static inline bool used(const uint8_t *body, uint64_t c) {
    return kithi_counter(body, c) != 0;
}

/* Returns the least of a key's counters. */
static inline unsigned least_at(const kith_filter *f, const uint64_t *counters) {
    unsigned min = KITHI_COUNTER_TOP;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++) {
        unsigned value = kithi_counter(f->body, counters[i]);
        min = value < min ? value : min;
    }
    return min;
}

static bool has(const kith_filter *f, uint64_t digest) {
    uint64_t i = 0, k = f->geometry.slices.k, slice = f->geometry.slices.slice;
    while (i < k && used(f->body, kithi_slice_cell(slice, digest, i)))
        i++;
    return i == k;
}

static uint64_t copies(const kith_filter *f, uint64_t digest) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slice_cells(f, digest, counters);
    return least_at(f, counters);
}

static inline kith_status add_at(kith_filter *f, const uint64_t *counters, bool *was_new) {
    unsigned before = least_at(f, counters);
    kith_status status = kithi_counters_can_add(f, before);
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++)
        f->head.fill += kithi_counter_raise(f->body, counters[i]);
    f->head.count++;
    *was_new = before == 0;
    return KITH_OK;
}

static inline kith_status remove_at(kith_filter *f, const uint64_t *counters, bool *was_new) {
    (void)was_new;
    kith_status status = kithi_counters_removable(f, least_at(f, counters));
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++)
        f->head.fill -= kithi_counter_lower(f->body, counters[i]);
    f->head.count--;
    return KITH_OK;
}

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slice_cells(f, digest, counters);
    return add_at(f, counters, was_new);
}

static kith_status remove_one(kith_filter *f, uint64_t digest) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slice_cells(f, digest, counters);
    return remove_at(f, counters, NULL);
}

KITHI_INLINE size_t has_many_body(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return kithi_slices_has_many(f, digests, n, maybe, used, KITHI_COUNTER_BITS);
}

KITHI_INLINE kith_status add_many_body(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                       size_t *done) {
    return kithi_slices_change_many(f, digests, n, was_new, done, add_at, KITHI_COUNTER_BITS);
}

KITHI_INLINE kith_status remove_many_body(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return kithi_slices_change_many(f, digests, n, NULL, done, remove_at, KITHI_COUNTER_BITS);
}

static size_t has_many_portable(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return has_many_body(f, digests, n, maybe);
}

static kith_status add_many_portable(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                     size_t *done) {
    return add_many_body(f, digests, n, was_new, done);
}

static kith_status remove_many_portable(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return remove_many_body(f, digests, n, done);
}

#ifdef KITHI_HAVE_X86
KITHI_TARGET_AVX2 static size_t has_many_avx2(const kith_filter *f, const uint64_t *digests, size_t n,
                                              uint64_t *maybe) {
    return has_many_body(f, digests, n, maybe);
}

KITHI_TARGET_AVX2 static kith_status add_many_avx2(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                                   size_t *done) {
    return add_many_body(f, digests, n, was_new, done);
}

KITHI_TARGET_AVX2 static kith_status remove_many_avx2(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return remove_many_body(f, digests, n, done);
}
#endif

static inline bool raise_cell(uint8_t *body, uint64_t c, bool *accepted) {
    *accepted |= kithi_counter(body, c) < KITHI_COUNTER_COPIES;
    return kithi_counter_raise(body, c);
}

static uint64_t add_cells(kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests, size_t n,
                          uint64_t *accepted) {
    return kithi_slices_add_cells(f, from, to, digests, n, accepted, raise_cell, KITHI_COUNTER_BITS);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    uint64_t slice = f->geometry.slices.slice;
    stats->keys_now = kithi_bloom_keys((unsigned)f->geometry.slices.k, slice, f->head.fill);
    stats->rate_now = 1;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++) {
        kithi_tally t = kithi_counters_tally(f, i * slice, (i + 1) * slice);
        stats->stuck += t.stuck;
        stats->rate_now *= (double)t.used / (double)slice;
    }
}

static const char *check(const kith_filter *f) {
    uint64_t used = 0, slice = f->geometry.slices.slice;
    bool agrees = true;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++) {
        kithi_tally t = kithi_counters_tally(f, i * slice, (i + 1) * slice);
        used += t.used;
        agrees = agrees && (t.stuck != 0 || t.sum == f->head.count);
    }
    if (used != f->head.fill)
        return "the number of counters in use is not what the header says";
    if (kithi_counters_tally(f, f->shape.cells, 2 * f->head.body_bytes).used != 0)
        return "a counter after the last cell is in use";
    if (!agrees)
        return "the counters of a slice do not add up to the count of keys";
    return NULL;
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_slices_look(f, digest, report, context, kithi_counters_cell);
}

const kithi_kind kithi_kind_counting = {
    .id = 3,
    .params = 1 << KITHI_K | 1 << KITHI_SLICE | 1 << KITHI_FILL_LIMIT,
    .info =
        {
            .name = "counting",
            .summary = "bloom with 4-bit counters: supports deletion",
            .capabilities = KITHI_COUNTERS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .choose = choose,
    .decode = kithi_slices_decode,
    .shape = shape,
    .option = option,
    .expect = expect,
    .look = look,
    .cell = kithi_counters_cell,
    .add = add,
    .kernels =
        {
            [KITHI_CPU_PORTABLE] = {has_many_portable, add_many_portable, remove_many_portable, has},
            [KITHI_CPU_NEON] = {has_many_portable, add_many_portable, remove_many_portable, has},
#ifdef KITHI_HAVE_X86
            [KITHI_CPU_AVX2] = {has_many_avx2, add_many_avx2, remove_many_avx2, has},
            [KITHI_CPU_AVX512] = {has_many_avx2, add_many_avx2, remove_many_avx2, has},
#endif
        },
    .add_cells = add_cells,
    .remove = remove_one,
    .full = kithi_bits_full,
    .copies = copies,
    .merge = kithi_counters_merge,
    .stats = stats,
    .check = check,
};
