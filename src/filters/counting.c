/* counting: a Bloom filter that forgets (Fan, Cao, Almeida, Broder, "Summary Cache: A Scalable Wide-Area Web Cache
 * Sharing Protocol", 2000).
 *
 * Where bloom has a bit, this has a counter of 4 bits. A key adds 1 to k counters, one in each of k slices, at the
 * places where bloom would set its bits; removing it takes 1 from each; it is answered yes when none of them is 0:
 *
 *     |<---- slice 0 ---->|<---- slice 1 ---->|  …  |<--- slice k-1 --->|
 *      000010002001000F0030  0020010000010004000      00301000000020000100
 *
 *     counter c  =  low (c even) or high (c odd) half of byte c / 2
 *
 * So the rate, and the k and slice that the planner takes, are bloom's, and the filter is four times as large.
 *
 * Saturating and sticky. A counter that reaches 15 (F) may stand for more, so it stays at 15 for ever: taking 1 from
 * it could take a key away that is still in. It costs a little rate and never a key; stats().stuck says how many.
 *
 * Copies. A key may be added until the least of its counters is 14; one more is KITH_E_COPIES. So a key alone never
 * drives a counter to 15, and one that is added a million times harms nobody; counters stick only where keys meet, or
 * where filters are merged. copies() is the least counter of the key: never less than the truth, except that 15, which
 * takes a merge or k stuck counters, means "15 or more".
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
 * Order. The bytes are min(15, adds) in each counter, whatever the order of the adds that went in. Which adds are
 * refused may depend on it: a key whose counters are all shared may take 14 copies when it comes first, fewer when it
 * comes last.
 *
 * Invariants. Every add and every remove that succeeds changes one counter of each slice by 1, unless it is stuck: the
 * counters of a slice that has no stuck one add up to the count, even after removals of keys that were never added.
 * fill is the number of counters that are not 0; the guard against chosen keys is bloom's (family/bits.h).
 *
 * Parameters: 0 k, 1 counters in a slice, 7 fill limit. */
#include <math.h>

#include "core/sizing.h"
#include "family/slices.h"

#define TOP 15
#define COPIES_MAX (TOP - 1)

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
    if (n > COPIES_MAX) {
        double lambda = (double)n / (double)slice;
        double crowded = 0; /* log of lambda^14 / 14! */
        for (unsigned i = 1; i <= COPIES_MAX; i++)
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

#define CAPABILITIES (KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE | KITH_CAN_ANY_ORDER)

static kith_status shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_slices_shape(head, 4, shape);
    shape->max_copies = COPIES_MAX;
    shape->capabilities = CAPABILITIES;
    return status;
}

static inline unsigned counter_at(const uint8_t *body, uint64_t c) {
    return body[c / 2] >> (c % 2 * 4) & TOP;
}

static inline void counter_change(uint8_t *body, uint64_t c, int by) {
    body[c / 2] = (uint8_t)(body[c / 2] + by * (1 << (c % 2 * 4)));
}

static inline bool used(const uint8_t *body, uint64_t c) {
    return counter_at(body, c) != 0;
}

/* The least of a key's counters. */
static inline unsigned least_at(const kith_filter *f, const uint64_t *counters) {
    unsigned min = TOP;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        unsigned value = counter_at(f->body, counters[i]);
        min = value < min ? value : min;
    }
    return min;
}

static bool has(const kith_filter *f, uint64_t digest) {
    uint64_t i = 0, k = f->head.params[KITHI_K], slice = f->head.params[KITHI_SLICE];
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
    if (before >= COPIES_MAX)
        return KITH_E_COPIES;
    if (!kithi_bits_open(f))
        return KITH_E_FULL;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        unsigned value = counter_at(f->body, counters[i]);
        f->head.fill += value == 0;
        counter_change(f->body, counters[i], value != TOP);
    }
    f->head.count++;
    *was_new = before == 0;
    return KITH_OK;
}

static inline kith_status remove_at(kith_filter *f, const uint64_t *counters, bool *was_new) {
    (void)was_new;
    /* With a count of 0, a key that still answers yes does so by stuck counters. */
    if (f->head.count == 0 || least_at(f, counters) == 0)
        return KITH_E_ABSENT;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        unsigned value = counter_at(f->body, counters[i]);
        f->head.fill -= value == 1;
        counter_change(f->body, counters[i], -(value != TOP));
    }
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

KITHI_INLINE size_t has_body(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return kithi_slices_has_many(f, digests, n, maybe, used, 4);
}

KITHI_INLINE kith_status add_body(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    return kithi_slices_change_many(f, digests, n, was_new, done, add_at, 4);
}

KITHI_INLINE kith_status remove_body(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return kithi_slices_change_many(f, digests, n, NULL, done, remove_at, 4);
}

KITHI_HAS_MANY(has_body)
KITHI_ADD_MANY(add_body)
KITHI_REMOVE_MANY(remove_body)

/* ---- sixteen counters at a time ---- */

#define EACH_COUNTER UINT64_C(0x1111111111111111)
#define EVEN_COUNTERS UINT64_C(0x0f0f0f0f0f0f0f0f)

/* At most 16 * 15, which a byte holds. */
static inline unsigned sum_of(uint64_t x) {
    uint64_t pairs = (x & EVEN_COUNTERS) + (x >> 4 & EVEN_COUNTERS);
    return (unsigned)((pairs * UINT64_C(0x0101010101010101)) >> 56);
}

static inline unsigned used_of(uint64_t x) {
    return sum_of((x | x >> 1 | x >> 2 | x >> 3) & EACH_COUNTER);
}

static inline unsigned stuck_of(uint64_t x) {
    return sum_of(x & x >> 1 & x >> 2 & x >> 3 & EACH_COUNTER);
}

/* Even counters of both, each in a byte of its own: their sum, at most 15. */
static inline uint64_t add_even(uint64_t a, uint64_t b) {
    uint64_t sum = (a & EVEN_COUNTERS) + (b & EVEN_COUNTERS);
    uint64_t carry = sum & ~EVEN_COUNTERS; /* 16 in each byte that passed 15 */
    return (sum | (carry - (carry >> 4))) & EVEN_COUNTERS;
}

static inline uint64_t add_saturating(uint64_t a, uint64_t b) {
    return add_even(a, b) | add_even(a >> 4, b >> 4) << 4;
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    uint64_t count, fill = 0;
    if (!kithi_add(into->head.count, from->head.count, &count) || count > into->head.capacity)
        return KITH_E_FULL;
    for (uint64_t at = 0; at < into->head.body_bytes; at += 8)
        fill += used_of(kithi_load64(into->body + at) | kithi_load64(from->body + at));
    if (kithi_bits_full(into, fill))
        return KITH_E_FULL;
    for (uint64_t at = 0; at < into->head.body_bytes; at += 8)
        kithi_store64(into->body + at, add_saturating(kithi_load64(into->body + at), kithi_load64(from->body + at)));
    into->head.count = count;
    into->head.fill = fill;
    return KITH_OK;
}

typedef struct tally {
    uint64_t used;  /* not 0 */
    uint64_t stuck; /* at 15 */
    uint64_t sum;   /* of the others */
} tally;

/* Over counters from … to - 1. The body is whole words, so those that `from` and `to` lie in can be read. */
static tally tally_of(const kith_filter *f, uint64_t from, uint64_t to) {
    tally t = {0};
    for (uint64_t first = from / 16 * 16; first < to; first += 16) {
        uint64_t x = kithi_load64(f->body + first / 2);
        if (first < from)
            x &= UINT64_MAX << (from - first) * 4;
        if (to - first < 16)
            x &= ~(UINT64_MAX << (to - first) * 4);
        unsigned stuck = stuck_of(x);
        t.used += used_of(x);
        t.stuck += stuck;
        t.sum += sum_of(x) - stuck * TOP;
    }
    return t;
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    uint64_t slice = f->head.params[KITHI_SLICE];
    stats->keys_now = kithi_bloom_keys((unsigned)f->head.params[KITHI_K], slice, f->head.fill);
    stats->rate_now = 1;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        tally t = tally_of(f, i * slice, (i + 1) * slice);
        stats->stuck += t.stuck;
        stats->rate_now *= (double)t.used / (double)slice;
    }
}

static const char *check(const kith_filter *f) {
    uint64_t used = 0, slice = f->head.params[KITHI_SLICE];
    bool agrees = true;
    for (uint64_t i = 0; i < f->head.params[KITHI_K]; i++) {
        tally t = tally_of(f, i * slice, (i + 1) * slice);
        used += t.used;
        agrees = agrees && (t.stuck != 0 || t.sum == f->head.count);
    }
    if (used != f->head.fill)
        return "the number of counters in use is not what the header says";
    if (tally_of(f, f->shape.cells, 2 * f->head.body_bytes).used != 0)
        return "a counter past the last one is in use";
    if (!agrees)
        return "the counters of a slice do not add up to the count of keys";
    return NULL;
}

const kithi_kind kithi_kind_counting = {
    .id = 3,
    .params = 1 << KITHI_K | 1 << KITHI_SLICE | 1 << KITHI_FILL_LIMIT,
    .info =
        {
            .name = "counting",
            .summary = "bloom with 4-bit counters: keys go again",
            .capabilities = CAPABILITIES,
            .options = OPTIONS,
            .option_count = sizeof OPTIONS / sizeof *OPTIONS,
        },
    .choose = choose,
    .shape = shape,
    .expect = expect,
    .has = has,
    .add = add,
    .kernels = KITHI_KERNELS,
    .remove = remove_one,
    .copies = copies,
    .merge = merge,
    .stats = stats,
    .check = check,
};
