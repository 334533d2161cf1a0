/* counting: a Bloom filter that forgets (Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web Cache
 * Sharing Protocol", 2000).
 *
 * Where bloom has a bit, this has a counter of 4 bits. A key adds 1 to k counters, one in each of k slices, at the
 * places where bloom would set its bits; removing it takes 1 from each; it is answered yes when none of them is 0:
 *
 *     |<---- slice 0 ---->|<---- slice 1 ---->|  …  |<--- slice k-1 --->|
 *      000010002001000F0030  0020010000010004000      00301000000020000100
 *
 * So the rate, and the k and slice that the planner takes, are bloom's, and the filter is four times as large. What a
 * counter is, that it saturates, and how many copies of a key go in: family/counters.h.
 *
 * Room. KITH_E_COPIES for a key that is not in needs 14 others at each of its k counters. With lambda = n/slice keys a
 * counter on average, one of n distinct keys meets it with probability at most
 *
 *     failure = n * (lambda^14 / 14!)^k        (n^14/14! ways to choose 14 keys, each at the counter with 1/slice)
 *
 * which is 10^-84 at a million keys and 1%. Only one counter a key, which bloom takes above a rate of 38.2% (there
 * k = 1 and k = 2 need the same), would make it felt: at 90% one filter of a million keys in 80 would refuse one of
 * them. So rates above 38% are planned as 38%: k = 2, lambda = 0.96, failure under 10^-9 up to 2 * 10^13 keys; more keys than that
 * are planned at half the rate, with a counter more.
 *
 * Invariants. Every add and every remove that succeeds changes one counter of each slice by 1, unless it is stuck: the
 * counters of a slice that has no stuck one add up to the count, even after removals of keys that were never added.
 *
 * Parameters: 0 k, 1 counters in a slice, 7 fill limit. */
#include <math.h>

#include "core/batch.h"
#include "core/sizing.h"
#include "family/counters.h"

#define FAILURE_MAX 1e-9

/* Under (3 - sqrt(5))/2 = 0.38197, where one counter a key becomes as cheap as two. */
static const double RATE_MAX = 0.38;

static const kith_option OPTIONS[] = {
    {"k", "0..64", "0", "counters that a key adds to; 0: the number that needs the fewest"},
};

static kithi_expectation expect(const kithi_head *head, uint64_t n) {
    unsigned k = (unsigned)head->params[KITHI_K];
    uint64_t slice = head->params[KITHI_SLICE];
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
        if (!kithi_bloom_choose(request->capacity, rate, given, &k, &slice))
            return KITH_E_TOO_LARGE;
        head->params[KITHI_K] = k;
        head->params[KITHI_SLICE] = slice;
        rate /= 2;
    } while (given == 0 && expect(head, request->capacity).failure > FAILURE_MAX);
    head->params[KITHI_FILL_LIMIT] = kithi_fill_limit(k, slice, 1, request->capacity);
    return KITH_OK;
}

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_slice_shape(head, KITHI_COUNTER_BITS, shape);
    shape->max_copies = KITHI_COUNTER_COPIES;
    shape->capabilities = KITHI_COUNTERS_CAPABILITIES;
    return status;
}

/* The least counter of a key; stops at 0. */
static unsigned least(const kith_filter *f, uint64_t digest) {
    unsigned min = KITHI_COUNTER_TOP;
    for (uint64_t i = 0; i < f->head.params[KITHI_K] && min != 0; i++) {
        unsigned value = kithi_counter(f->body, kithi_slice_cell(f, digest, i));
        if (value < min)
            min = value;
    }
    return min;
}

static void prefetch(const kith_filter *f, uint64_t digest) {
    kithi_slice_prefetch(f, digest, 2);
}

static bool has(const kith_filter *f, uint64_t digest) {
    return least(f, digest) != 0;
}

static uint64_t copies(const kith_filter *f, uint64_t digest) {
    return least(f, digest);
}

static kith_status add(kith_filter *f, uint64_t digest, bool *was_new) {
    unsigned before = least(f, digest);
    kith_status status = kithi_counters_open(f, before);
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++)
        f->head.fill += kithi_counter_raise(f->body, kithi_slice_cell(f, digest, i));
    f->head.count++;
    *was_new = before == 0;
    return KITH_OK;
}

static kith_status remove_one(kith_filter *f, uint64_t digest) {
    kith_status status = kithi_counters_removable(f, least(f, digest));
    if (status != KITH_OK)
        return status;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++)
        f->head.fill -= kithi_counter_lower(f->body, kithi_slice_cell(f, digest, i));
    f->head.count--;
    return KITH_OK;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    uint64_t slice = f->head.params[KITHI_SLICE];
    stats->keys_now = kithi_bloom_keys((unsigned)f->head.params[KITHI_K], slice, f->head.fill);
    stats->rate_now = 1;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        kithi_tally t = kithi_counters_tally(f, i * slice, (i + 1) * slice);
        stats->stuck += t.stuck;
        stats->rate_now *= (double)t.used / (double)slice;
    }
}

static const char *check(const kith_filter *f) {
    uint64_t used = 0, slice = f->head.params[KITHI_SLICE];
    bool agrees = true;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        kithi_tally t = kithi_counters_tally(f, i * slice, (i + 1) * slice);
        used += t.used;
        agrees = agrees && (t.stuck != 0 || t.sum == f->head.count);
    }
    if (used != f->head.fill)
        return "the number of counters in use is not what the header says";
    if (kithi_counters_tally(f, f->shape.cells, 2 * f->head.body_bytes).used != 0)
        return "a counter past the last one is in use";
    if (!agrees)
        return "the counters of a slice do not add up to the count of keys";
    return NULL;
}

KITHI_HAS_MANY(has, prefetch)

const kithi_kind kithi_kind_counting = {
    .id = 3,
    .params = 1 << KITHI_K | 1 << KITHI_SLICE | 1 << KITHI_FILL_LIMIT,
    .info =
        {
            .name = "counting",
            .summary = "bloom with 4-bit counters: keys go again",
            .capabilities = KITHI_COUNTERS_CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .choose = choose,
    .shape = shape,
    .expect = expect,
    .has = has,
    .add = add,
    .prefetch = prefetch,
    .has_many = has_many,
    .remove = remove_one,
    .copies = copies,
    .merge = kithi_counters_merge,
    .stats = stats,
    .check = check,
};
