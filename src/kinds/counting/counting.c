/* counting: a Bloom filter that supports deletion (Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web
 * Cache Sharing Protocol", 2000).
 *
 * Each bit of bloom is replaced by a counter of 4 bits (or, with the option width, 2 to 8). Adding a key adds 1 to k
 * counters, one in each of k slices, at the positions where bloom would set its bits. Removing the key subtracts 1 from
 * each of these counters. has() returns true when none of them is 0:
 *
 *     |<---- slice 0 ---->|<---- slice 1 ---->|  …  |<--- slice k-1 --->|
 *      000010002001000F0030  0020010000010004000      00301000000020000100
 *
 * So the rate is that of bloom, and the filter is about four times as large. (There are slightly fewer counters than
 * bloom has bits. bloom does not count a new key that sets no bit, so it accepts more distinct keys than its capacity,
 * and its plan has bits for them. counting counts every key.)
 *
 * A counter that has reached its largest value is stuck: it is never changed again. kinds/shared/counter_cells.h
 * describes stuck counters, and how many copies of a key can be added.
 *
 * With layout=whole, all k hashes share one array of counters, as in bloom. If several hashes of a key hit the same
 * counter, an add still adds only 1 to it. Otherwise copies() could return a multiple of the number of copies, and a
 * few copies of one key would make such a counter stuck.
 *
 * Refused keys. Let n distinct keys be added once each. A key gets KITH_E_COPIES only if each of its k counters is
 * shared by at least c = 2^width - 2 other keys. Let `slice` be the number of counters in a slice. The number of keys
 * that share a counter is binomial, with mean lambda = n/slice. The probability that it is c or more is less than
 * P(N >= c), where N is a Poisson variable with the same mean. Slices are independent. So the probability that any of
 * the n keys is refused is at most
 *
 *     failure = n * P(N >= c)^k
 *
 * (failure_of() below has the formula for layout=whole.) The failure is 10^-86 at a million keys and a rate of 1% with
 * 4 bits (c = 14). With 4 bits, it would matter only with one counter per key. k = 1 and k = 2 need the same space at a
 * rate of 38.2%, and above that bloom uses k = 1. With k = 1 and a rate of 90%, about one in 100 filters of a million
 * keys would refuse a key. So rates above 38% are planned as 38%: k = 2, lambda = 0.96.
 *
 * Even so, the failure can be above 10^-9 with more than 10^14 keys, or with counters of 2 or 3 bits. For each k the
 * planner then lengthens the slices until the failure is at most 10^-9, and it uses the k that needs the fewest
 * counters in total. (If k is given as an option, the slices are not lengthened, and the failure is accepted.) Because
 * of the longer slices, 2 bits do not pay: width=2 refuses a key as soon as each of its counters is shared by two
 * others. At a million keys and a rate of 1%, width=2 takes 52 bits per key, width=3 takes 29, and width=4 takes 38.
 *
 * Invariants. Every successful add or remove changes one counter of each slice by 1, unless that counter is stuck. So
 * the counters of a slice without a stuck counter add up to the count, even after removals of keys that were never
 * added. With layout=whole a key has 1 to k different counters, so the sum of all counters is usually not the count. It
 * need not even be between count and k * count: a removed key that was never added may have more or fewer counters than
 * the keys that were added.
 *
 * Parameters, by index: 0: k; 1: counters in a slice (in the array, with layout=whole); 2: layout (0 slices, 1 whole);
 * 3: width (0 for 4 bits); 7: fill limit. */
#include <math.h>

#include "plan/sizing.h"
#include "kinds/shared/counter_cells.h"
#include "kinds/shared/slices.h"
#include "kinds/counting/lookup.h"

#define FAILURE_MAX 1e-9 /* see "Refused keys" above */

/* Slightly less than (3 - sqrt(5))/2 = 0.38197, the rate at which k = 1 and k = 2 need the same space. */
static const double RATE_MAX = 0.38;

static const kith_option OPTIONS[] = {
    {"k", "0..64", "0", "counters per key; 0: the number that needs the least space"},
    {"layout", "slices|whole", "slices",
     "a separate slice of the counters for each of the k hashes, or one array that all k hashes share"},
    {"width", "2..8", "4", "bits in a counter; a key can be added 2^width - 2 times"},
};

static uint64_t option(const kithi_head *head, unsigned index) {
    kithi_slices_geometry g = kithi_counting_decode(head).slices;
    return index == 0 ? g.k : index == 1 ? g.layout : g.width;
}

/* Returns an upper bound of P(X >= least) for a binomial variable X with this mean. If the mean is at most least - 1,
 * the bound is P(N >= least) for a Poisson variable N with the same mean. For larger means that need not be an upper
 * bound, and the result is 1. */
static double poisson_tail(double mean, unsigned least) {
    if (mean > least - 1.0)
        return 1;
    double log_term = -mean, sum = 0, term = 1;
    for (unsigned i = 1; i <= least; i++)
        log_term += log(mean / i);
    /* exp(log_term) is P(N = least). `sum` and `term` are multiples of it. */
    for (unsigned i = least + 1; term > 1e-17 * sum; i++) {
        sum += term;
        term *= mean / i;
    }
    /* cppcheck-suppress invalidFunctionArg ; the loop adds at least its first term, 1 */
    return fmin(1, exp(log_term + log(sum)));
}

/* Returns an upper bound of the probability that one of n distinct keys is refused because other keys share its
 * counters. */
static double failure_of(const kithi_slices_geometry *g, uint64_t n) {
    unsigned k = (unsigned)g->k, copies = kithi_counter_top((unsigned)g->width) - 1;
    if (n <= copies)
        return 0;
    if (g->layout == KITHI_WHOLE) {
        /* At least the probability that `copies` or more keys have a given counter. */
        double at_limit = poisson_tail((double)k * (double)n / (double)g->slice, copies);
        return fmin(1, (double)n * kithi_whole_all_cells_have(k, g->slice, at_limit));
    }
    return fmin(1, (double)n * exp(k * log(poisson_tail((double)n / (double)g->slice, copies))));
}

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    kithi_slices_geometry g = kithi_counting_decode(head).slices;
    return (kithi_expectation){.rate = kithi_bloom_rate((unsigned)g.k, g.slice, n, kithi_slices_layout(&g)),
                               .failure = failure_of(&g, n)};
}

/* Returns the smallest length of a slice, at least g.slice, for which the failure is at most FAILURE_MAX; 0 if a slice
 * cannot be so long. */
static uint64_t reliable_slice(kithi_slices_geometry g, uint64_t n) {
    uint64_t low = g.slice - 1, most = (UINT64_C(1) << 62) / g.k;
    for (; failure_of(&g, n) > FAILURE_MAX; g.slice *= 2) {
        if (g.slice > most / 2)
            return 0;
        low = g.slice;
    }
    for (uint64_t high = g.slice; high - low > 1;) {
        g.slice = low + (high - low) / 2;
        *(failure_of(&g, n) > FAILURE_MAX ? &low : &high) = g.slice;
    }
    return low + 1;
}

/* Sets k and the length of a slice so that the fewest counters keep both the rate and FAILURE_MAX. Returns false if no
 * k does. */
static bool choose_reliable(uint64_t n, double rate, kithi_slices_geometry *g) {
    kithi_cells_layout layout = kithi_slices_layout(g);
    uint64_t fewest = UINT64_MAX;
    for (unsigned k = 1; k <= KITHI_BLOOM_K_MAX; k++) {
        kithi_slices_geometry trial = *g;
        trial.k = k;
        trial.slice = kithi_bloom_slice(k, n, rate, KITHI_COUNTS_ALL_KEYS, layout);
        if (trial.slice != 0)
            trial.slice = reliable_slice(trial, n);
        if (trial.slice == 0 || kithi_bloom_cells(k, trial.slice, layout) >= fewest)
            continue;
        fewest = kithi_bloom_cells(k, trial.slice, layout);
        *g = trial;
    }
    return fewest != UINT64_MAX;
}

static kith_status choose(const kithi_request *request, kithi_head *head) {
    unsigned k, given = (unsigned)request->options[0];
    kithi_slices_geometry g = {.layout = request->options[1], .width = request->options[2]};
    kithi_cells_layout layout = kithi_slices_layout(&g);
    uint64_t n = request->capacity;
    double rate = fmin(request->rate, RATE_MAX);
    if (!kithi_bloom_choose(n, rate, given, KITHI_COUNTS_ALL_KEYS, layout, &k, &g.slice))
        return KITH_E_ADDRESS;
    g.k = k;
    if (given == 0 && failure_of(&g, n) > FAILURE_MAX && !choose_reliable(n, rate, &g))
        return KITH_E_ADDRESS;
    kithi_slices_encode((unsigned)g.k, g.slice, layout, n, head);
    head->params[KITHI_PARAM_WIDTH] = g.width != KITHI_COUNTER_BITS ? g.width : 0;
    return KITH_OK;
}

static unsigned width_of(const kith_filter *f) {
    return (unsigned)f->geometry.slices.width;
}

/* Returns the least value of a key's counters. `counters` has the k indices of these counters. */
KITHI_INLINE unsigned least_at(const kith_filter *f, const uint64_t *counters, unsigned width) {
    unsigned min = kithi_counter_top(width);
    for (uint64_t i = 0; i < f->geometry.slices.k; i++) {
        unsigned value = kithi_counter(f->body, counters[i], width);
        min = value < min ? value : min;
    }
    return min;
}

/* add_at() and remove_at() change each counter once, even if several hashes of the key hit it (layout=whole): counter i
 * is skipped if it is the same as one of the counters 0 … i - 1 of the key. */
KITHI_INLINE kith_status add_at(kith_filter *f, const uint64_t *counters, bool *was_new, unsigned width) {
    unsigned before = least_at(f, counters, width);
    kith_status status = kithi_counters_add_status(f, before, width);
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++)
        if (!kithi_slices_is_duplicate(counters, f->geometry.slices.stride, 0, i))
            f->head.fill += kithi_counter_raise(f->body, counters[i], width);
    f->head.count++;
    if (was_new != NULL)
        *was_new = before == 0;
    return KITH_OK;
}

KITHI_INLINE kith_status remove_at(kith_filter *f, const uint64_t *counters, bool *was_new, unsigned width) {
    (void)was_new;
    kith_status status = kithi_counters_remove_status(f, least_at(f, counters, width));
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->geometry.slices.k; i++)
        if (!kithi_slices_is_duplicate(counters, f->geometry.slices.stride, 0, i))
            f->head.fill -= kithi_counter_lower(f->body, counters[i], width);
    f->head.count--;
    return KITH_OK;
}

#define KITHI_AVX2_IS_ENOUGH
#define KITHI_KERNELS "kinds/counting/kernels.h"
#include "kernels/each_set.h"

/* The `change` of kithi_slices_add_cells(). */
static inline bool raise_cell(uint8_t *body, uint64_t c, bool *accepted, unsigned width) {
    *accepted |= kithi_counter(body, c, width) < kithi_counter_top(width) - 1;
    return kithi_counter_raise(body, c, width);
}

static uint64_t add_cells(kith_filter *f, uint64_t from, uint64_t to, const uint64_t *digests, size_t n,
                          uint64_t *accepted) {
    return width_of(f) == KITHI_COUNTER_BITS
               ? kithi_slices_add_cells(f, from, to, digests, n, accepted, raise_cell, KITHI_COUNTER_BITS)
               : kithi_slices_add_cells(f, from, to, digests, n, accepted, raise_cell, width_of(f));
}

/* Returns the number of slices; one array counts as one slice. */
static uint64_t slice_count(const kithi_slices_geometry *g) {
    return g->layout == KITHI_WHOLE ? 1 : g->k;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    kithi_slices_geometry g = f->geometry.slices;
    stats->keys_now = kithi_bloom_keys((unsigned)g.k, g.slice, f->head.fill, kithi_slices_layout(&g));
    stats->rate_now = 1;
    for (uint64_t i = 0; i < slice_count(&g); i++) {
        kithi_tally t = kithi_counters_tally(f, i * g.slice, (i + 1) * g.slice);
        stats->stuck += t.stuck;
        stats->rate_now *= (double)t.used / (double)g.slice;
    }
    if (g.layout == KITHI_WHOLE)
        stats->rate_now = pow(stats->rate_now, (double)g.k);
}

static const char *check(const kith_filter *f) {
    kithi_slices_geometry g = f->geometry.slices;
    uint64_t used = 0, count = f->head.count;
    bool sums_agree = true;
    for (uint64_t i = 0; i < slice_count(&g); i++) {
        kithi_tally t = kithi_counters_tally(f, i * g.slice, (i + 1) * g.slice);
        used += t.used;
        sums_agree = sums_agree && (g.layout == KITHI_WHOLE || t.stuck != 0 || t.sum == count);
    }
    if (used != f->head.fill)
        return "the number of counters in use is not what the header says";
    if (!kithi_is_zero_from(f->body, f->shape.cells * width_of(f), f->head.body_bytes))
        return "a counter after the last cell is in use";
    if (!sums_agree)
        return "the counters of a slice do not add up to the count of keys";
    return NULL;
}

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_slices_look(f, digest, report, context, kithi_counters_cell);
}

const kithi_kind kithi_kind_counting = {
    .lookup = &kithi_lookup_counting,
    .info =
        {
            .name = "counting",
            .summary = "bloom with counters: supports deletion",
            .capabilities = KITHI_COUNTERS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .plan = {.choose = choose, .option = option, .expect = expect},
    .look = look,
    .cell = kithi_counters_cell,
    .kernels = KITHI_EACH_SET(KERNELS),
    .add_cells = add_cells,
    .merge = kithi_counters_merge,
    .stats = stats,
    .check = check,
    .repair = {.salvage = kithi_cells_salvage, .recount = kithi_counters_recount},
};
