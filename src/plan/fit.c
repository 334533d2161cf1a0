/* Sizes cuckoo filters by the formulas of fit.h. docs/loads.md has the measurements behind the constants here.
 *
 * b is the number of slots in a bucket, c the number of slots in which a key can be (2b, or 4 with windows), x the
 * distance of a load from the one at which regions fail, and z the same in standard deviations.
 *
 *     overload        the tail of a normal distribution whose spread is 15% larger than the measured one; to make its
 *                     left tail heavier, 0.67 (z^2 - 1) / slots is subtracted from the load
 *     overfull_pairs  the expected number of sets of c + 1 keys on one pair of places, doubled to account for larger
 *                     sets; with b = 1 times 4 / (1 - load/0.48)^3 instead
 *     stashes         the expected number of sets of c + 1 keys with equal fingerprints, times stash_factor()
 *     searches, walks the share of those that are longer than i falls like e^(-g i), with g = a x^2 / (x + s)
 *
 * A walk may also be trapped in one pair of places, if the new key and all but one of the 2b entries there have the
 * same pair: it leaves the pair only when it kicks out the one other entry, with probability 1/(2b) per kick.
 *
 * Fingerprints of few bits lead from a place to only a few other places, so searches get longer: load_loss() is added
 * to the load. The shortest ones also lower the load at which a region fails without a bound on searches, so `overload`
 * uses the loss only for fingerprints shorter than those that plans use by themselves (`chosen_bits_min`).
 *
 * Large filters are planned for loads (`planned` in limits_of()) at which a search is still short, not for those at
 * which regions fail. */
#include "plan/fit.h"

#include <math.h>
#include <string.h>

/* The highest probabilities of a failure that plans accept: see kithi_fit_choose(). */
#define ROOM_FAILURE_MAX 1e-9
#define WALK_FAILURE_MAX 9e-7
#define OVERFLOW_MAX 1e-8
#define SPARSE_OVERFLOW_MAX 1e-7 /* for windows with fingerprints of 2 bits: see is_sparse() */

#define SLOT_BITS_MAX 32
#define REGION_SLOTS (UINT64_C(1) << 18) /* the most slots in a region, unless b = 1 or `one_region` is set */
#define REGIONS_MAX 0x1p52               /* their number is computed in doubles, which are exact up to this */
/* The most slots in half a region if b = 1 or `one_region` is set. POWER_HALF_MAX is for layouts in which the number of
 * places must be a power of two (`power_of_two`), ANY_HALF_MAX for those in which it may be any even number. With
 * ANY_HALF_MAX a region has at most 2^28 places, so that all of them are about equally likely (core/mix.h). */
#define POWER_HALF_MAX (UINT64_C(1) << 29)
#define ANY_HALF_MAX (UINT64_C(1) << 27)

/* The exponent g = a x^2 / (x + s) at a load that is lower than `load` by x. */
typedef struct exponent {
    double load, a, s;
} exponent;

/* The loads of a layout. */
typedef struct load_limits {
    double load, spread;      /* mean and spread of the load at which a region fails */
    double planned;           /* the highest load that plans use */
    double a, s;              /* of the exponent g of random walks, whose x is the distance from the `load` above */
    exponent search;          /* g of bounded searches */
    unsigned chosen_bits_min; /* the fewest fingerprint bits that plans choose; the option f may ask for fewer */
} load_limits;

static load_limits limits_of(const kithi_fit_layout *layout) {
    if (layout->windows)
        return (load_limits){0.9646, 0.230, 0.945, 0, 0, {0.9646, 1.05, 0.0268}, 4};
    switch (layout->place_slots) {
    case 1:
        return (load_limits){0.48, 1, 0.4, 2.8, 0, {0.48, 2.8, 0}, 6};
    case 2:
        return (load_limits){0.8967, 0.436, 0.875, 3, 0.215, {0.8952, 43, 1}, 6};
    case 4:
        return (load_limits){0.9800, 0.190, 0.96, 4, 0.085, {0.9800, 6.5, 0.022}, 5};
    default:
        return (load_limits){0.9976, 0.067, 0.985, 8, 0.057, {0.9976, 12, 0.00115}, 4};
    }
}

/* The load that fingerprints of this width cost: see "Short fingerprints" in docs/loads.md. */
static double load_loss(const kithi_fit_layout *layout, unsigned slot_bits) {
    static const double WINDOWS[] = {[2] = 0.2, [3] = 0.017, [4] = 0.0035, [5] = 0.002};
    static const double BUCKETS_OF_2[] = {[4] = 0.021, [5] = 0.008, [6] = 0.003};
    unsigned bits = slot_bits - layout->window_bits;
    if (layout->windows)
        return bits < sizeof WINDOWS / sizeof *WINDOWS ? WINDOWS[bits] : 0;
    return layout->place_slots == 2 && bits < sizeof BUCKETS_OF_2 / sizeof *BUCKETS_OF_2 ? BUCKETS_OF_2[bits] : 0;
}

#define SPARSE_LOAD 0.645 /* the highest planned load of windows with fingerprints of 2 bits */
#define SPARSE_GROWTH 1.7 /* there the expected number of sets of c + i keys has another factor, 1.7^(i - 1) */

static bool is_sparse(const kithi_fit_layout *layout, unsigned slot_bits) {
    return layout->windows && slot_bits - layout->window_bits == 2;
}

static double overflow_max(const kithi_fit_layout *layout, unsigned slot_bits) {
    return is_sparse(layout, slot_bits) ? SPARSE_OVERFLOW_MAX : OVERFLOW_MAX;
}

static double slots_of(const kithi_fit_layout *layout, double half) {
    return layout->windows ? 2 * (half + 1) : 2 * half * layout->place_slots;
}

uint64_t kithi_fit_region_slots(const kithi_fit_layout *layout, uint64_t half) {
    return (uint64_t)slots_of(layout, (double)half); /* exact, because half is far below 2^50 */
}

uint64_t kithi_fit_fingerprint_max(const kithi_fit_layout *layout, unsigned slot_bits) {
    return (UINT64_C(1) << (slot_bits - layout->window_bits)) - 1;
}

/* The number of candidate slots of a key: c. */
static unsigned key_slots(const kithi_fit_layout *layout) {
    return 2 * layout->place_slots;
}

double kithi_fit_rate(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n) {
    double combinations =
        (double)size->regions * (double)size->half * (double)kithi_fit_fingerprint_max(layout, size->slot_bits);
    return -expm1((double)n * log1p(-1 / combinations));
}

#define EXCESS_MAX 8                 /* sets of more than c + 8 keys are too rare to matter */
#define SET_MAX (2 * 8 + EXCESS_MAX) /* keys in the largest set that is counted; c is at most 16 */

/* The number of keys n, and terms of the formulas that depend only on n and c. They are computed once for all sizes
 * that are tried. */
typedef struct key_terms {
    double n;
    double log_sets;                          /* the logarithm of (n choose c + 1) */
    double log_smaller_sets;                  /* of (n choose c) */
    double stirling[EXCESS_MAX][SET_MAX + 1]; /* [i - 1][j]: S(c + i, j), see count_collision_sets() */
} key_terms;

static double log_choose(double n, unsigned k) {
    double sum = 0;
    for (unsigned i = 0; i < k && n >= k; i++)
        sum += log((n - i) / (i + 1));
    return n >= k ? sum : -INFINITY;
}

static key_terms key_terms_of(const kithi_fit_layout *layout, double n) {
    unsigned c = key_slots(layout);
    key_terms keys = {.n = n, .log_sets = log_choose(n, c + 1), .log_smaller_sets = log_choose(n, c)};
    double row[SET_MAX + 1] = {1};
    for (unsigned k = 1; k <= c + EXCESS_MAX; k++) {
        for (unsigned j = k; j > 0; j--)
            row[j] = j * row[j] + row[j - 1];
        row[0] = 0;
        if (k > c)
            memcpy(keys.stirling[k - c - 1], row, sizeof row);
    }
    return keys;
}

/* Returns the expected number of sets of c + 1 keys that would have the same pair of places if all fingerprints were
 * different. `log_sets` is the logarithm of the number of all sets of c + 1 keys. Here c is key_slots() or, for the
 * sets of 2b keys in which a walk is trapped, key_slots() - 1. */
static double overfull_pairs(unsigned c, double regions, double half, double log_sets) {
    return exp(log_sets - c * log(regions) - 2 * c * log(half));
}

double kithi_fit_walk_failure(const kithi_fit_layout *layout, double load, double keys) {
    load_limits limits = limits_of(layout);
    double x = limits.load - load;
    if (x <= 0)
        return 1;
    return fmin(1, keys * exp(-(double)layout->kicks * limits.a * x * x / (x + limits.s)));
}

/* Returns the factor by which the expected number of the smallest overfull sets is multiplied to account for larger
 * ones; `load` is below the one at which regions fail. */
static double larger_sets_factor(const kithi_fit_layout *layout, double load) {
    return layout->place_slots > 1 ? 2 : 4 / pow(1 - load / limits_of(layout).load, 3);
}

double kithi_fit_search_tail(const kithi_fit_layout *layout, double load, double places) {
    exponent e = limits_of(layout).search;
    double x = e.load - load;
    return x <= 0 ? 1 : exp(-places * e.a * x * x / (x + e.s));
}

/* Returns the expected number of searches that reach their bound while the filter is filled, in all regions together.
 * The final load of a region is taken to be normally distributed, with the mean `load` and this deviation. The sum is
 * over k, the number of deviations by which the load of a region is above the mean. Regions below the mean contribute
 * next to nothing. */
static double search_failure(const kithi_fit_layout *layout, double regions, double half, double load,
                             double deviation) {
    enum { K_MAX = 14 };
    double places = (double)KITHI_FIT_SEARCH_SLOTS / layout->place_slots, slots = slots_of(layout, half), sum = 0;
    if (2 * half <= places || layout->kicks != 0)
        return 0;
    exponent e = limits_of(layout).search;
    double fullest = load + (K_MAX - 1) * deviation;
    if (kithi_fit_search_tail(layout, fullest, places) == 0)
        return 0;                          /* all terms of the sum are 0, as for most sizes that are tried */
    for (unsigned i = 0; i < K_MAX; i++) { /* smaller steps change the sum by less than a factor of two */
        double k = i, x = e.load - load - k * deviation;
        if (x <= 0) /* regions as full as this, or fuller, fail */
            return sum + regions * erfc((k - 0.5) / sqrt(2)) / 2;
        double slope = e.a * x * (x + 2 * e.s) / ((x + e.s) * (x + e.s)); /* dg / dx */
        /* Only the last keys of a region matter: if the load is lower by 1 / (slope * places), the probability that a
         * search fails is lower by a factor of e. */
        double last_keys = fmin(load * slots, slots / (slope * places));
        double density = exp(-k * k / 2) / sqrt(2 * acos(-1));
        sum += regions * density * fmin(1, last_keys * kithi_fit_search_tail(layout, e.load - x, places));
    }
    return sum;
}

static double room_failure(const kithi_fit_layout *layout, unsigned slot_bits, double regions, double half,
                           const key_terms *keys) {
    unsigned c = key_slots(layout);
    if (keys->n <= c)
        return 0; /* any j <= c keys have at least c candidate slots together */
    load_limits limits = limits_of(layout);
    double slots = slots_of(layout, half);
    double region_keys = keys->n / regions, load = region_keys / slots;
    /* Where short fingerprints matter, they act like a higher load. */
    double loss = load_loss(layout, slot_bits), search_load = load + (regions > 1 ? loss : 0);
    if (slot_bits - layout->window_bits < limits.chosen_bits_min)
        search_load = load = load + loss;
    if (load >= limits.load)
        return 1;
    /* Solves load = limits.load - z * deviation - skew * (z^2 - 1) for z. The deviation has two independent parts: that
     * of the load at which a region fails, and that of the number of its keys, which is binomial. */
    double skew = 0.67 / slots;
    double deviation = hypot(1.15 * limits.spread / sqrt(slots), sqrt(region_keys * (1 - 1 / regions)) / slots);
    double z = (sqrt(deviation * deviation + 4 * skew * (limits.load + skew - load)) - deviation) / (2 * skew);
    double overload = regions * erfc(z / sqrt(2)) / 2;
    double failure = overload + larger_sets_factor(layout, load) * overfull_pairs(c, regions, half, keys->log_sets) +
                     search_failure(layout, regions, half, search_load, deviation);
    if (layout->kicks != 0)
        failure += kithi_fit_walk_failure(layout, load + 5 * deviation, keys->n) +
                   larger_sets_factor(layout, load) * overfull_pairs(c - 1, regions, half, keys->log_smaller_sets) *
                       exp(layout->kicks * log1p(-1.0 / c));
    return fmin(1, failure);
}

double kithi_fit_room_failure(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n) {
    key_terms keys = key_terms_of(layout, (double)n);
    return room_failure(layout, size->slot_bits, (double)size->regions, (double)size->half, &keys);
}

/* Sets means[i - 1] to M(i) of fit.h, i = 1 … EXCESS_MAX. Stirling's number S(k, j) is the number of ways to divide
 * k = c + i keys into j groups, where the keys of a group have equal fingerprints:
 *
 *     M(i) = sets * sum over j < k of S(k, j) x^(k - j)        x = half / fingerprint_max
 *
 * `sets` is the expected number of sets of k keys that would have the same pair of places if all fingerprints were
 * different: overfull_pairs(), with k - 1 in place of c. There is a factor x for each key of a group except the first.
 * To have the same pair, a key with another fingerprint must have two places in common with the others, with
 * probability 1 / half^2. A key of the same group has the fingerprint and one place in common, with probability
 * 1 / (fingerprint_max * half), which is x times as high.
 *
 * The term j = k, where all fingerprints differ, is already counted by room_failure(). If x > 1, most of the sum is the
 * term j = 1. */
static void count_collision_sets(const kithi_fit_layout *layout, double regions, double half, double fingerprint_max,
                                 const key_terms *keys, double means[EXCESS_MAX]) {
    unsigned c = key_slots(layout);
    double x = half / fingerprint_max, sets = overfull_pairs(c, regions, half, keys->log_sets);
    for (unsigned k = c + 1; k <= c + EXCESS_MAX; k++) {
        const double *stirling = keys->stirling[k - c - 1];
        double sum = 0;
        for (unsigned j = 1; j < k; j++)
            sum = (sum + stirling[j]) * x;
        means[k - c - 1] = sum * sets;
        sets *= fmax(0, keys->n - k) / (k + 1) / regions / half / half; /* sets of one key more */
    }
}

/* The fingerprint collisions in a filter (fit.h). means[i - 1] is an upper estimate of the expected number, per region,
 * of sets of c + i keys that have the same pair of places, at least two of them with equal fingerprints. `sets` is the
 * sum of these means. `entries` is an upper estimate of the expected number of stash entries that a region needs for
 * all these sets. */
typedef struct collisions {
    double regions, means[EXCESS_MAX], sets, entries;
} collisions;

/* Returns the factor by which the expected number of sets of colliding keys is multiplied: see
 * "Entries in stashes" in docs/loads.md. */
static double stash_factor(const kithi_fit_layout *layout, unsigned slot_bits, double load) {
    bool is_crowded = layout->place_slots == 2 && !layout->windows && slot_bits == 4 && load > 0.7;
    return is_crowded ? 4 : larger_sets_factor(layout, load);
}

static collisions collisions_of(const kithi_fit_layout *layout, unsigned slot_bits, double regions, double half,
                                const key_terms *keys) {
    collisions expected = {.regions = regions};
    double load = keys->n / regions / slots_of(layout, half);
    if (load >= limits_of(layout).load) {
        expected.sets = expected.entries = INFINITY;
        return expected;
    }
    double fingerprint_max = (double)kithi_fit_fingerprint_max(layout, slot_bits);
    count_collision_sets(layout, regions, half, fingerprint_max, keys, expected.means);
    double factor = stash_factor(layout, slot_bits, load) / regions;
    for (unsigned i = 0; i < EXCESS_MAX; i++) {
        expected.means[i] *= factor;
        factor *= is_sparse(layout, slot_bits) ? SPARSE_GROWTH : 1;
        expected.sets += expected.means[i];
        expected.entries += (i + 1) * expected.means[i];
    }
    return expected;
}

#define STASH_SIZES (KITHI_FIT_STASH_MAX + 1) /* a stash has 0 … KITHI_FIT_STASH_MAX entries */

/* Sets overflow[s], s = 0 … KITHI_FIT_STASH_MAX, to an upper estimate of the probability that one of the regions needs
 * more than s entries. */
static void compute_overflow(const collisions *expected, double overflow[STASH_SIZES]) {
    enum { TERMS = 2 * KITHI_FIT_STASH_MAX };
    double p[TERMS + 1]; /* p[k]: the probability that a region needs k entries, by Panjer's recursion */
    bool too_many = !(expected->entries <= KITHI_FIT_STASH_MAX);
    p[0] = exp(-expected->sets);
    for (unsigned k = 1; k <= TERMS && !too_many; k++) {
        double sum = 0;
        for (unsigned i = 1; i <= EXCESS_MAX && i <= k; i++)
            sum += i * expected->means[i - 1] * p[k - i];
        p[k] = sum / k;
    }
    double sum = 0; /* p[k] + p[k + 1] + …, added from the end, so that nothing cancels */
    for (unsigned k = TERMS; k > 0; k--) {
        sum += too_many ? 1 : p[k];
        if (k <= STASH_SIZES)
            overflow[k - 1] = fmin(1, expected->regions * sum);
    }
}

/* Returns whether a stash of this many entries is large enough. */
static bool stash_is_large_enough(unsigned stash, const kithi_fit_layout *layout, unsigned slot_bits, double regions,
                                  double half, const key_terms *keys) {
    collisions expected = collisions_of(layout, slot_bits, regions, half, keys);
    /* A set needs at most EXCESS_MAX entries, so more than `stash` entries are needed only for
     * m = stash / EXCESS_MAX + 1 sets or more. A Poisson variable of mean `sets` is m or more with a probability of at
     * most sets^m. */
    /* NOLINTNEXTLINE(bugprone-integer-division): m is a whole number */
    if (regions * pow(expected.sets, stash / EXCESS_MAX + 1) <= overflow_max(layout, slot_bits))
        return true;
    double overflow[STASH_SIZES];
    compute_overflow(&expected, overflow);
    return overflow[stash] <= overflow_max(layout, slot_bits);
}

static collisions collisions_of_size(const kithi_fit_layout *layout, const kithi_fit_size *size,
                                     const key_terms *keys) {
    return collisions_of(layout, size->slot_bits, (double)size->regions, (double)size->half, keys);
}

double kithi_fit_overflow(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n) {
    key_terms keys = key_terms_of(layout, (double)n);
    collisions expected = collisions_of_size(layout, size, &keys);
    double overflow[STASH_SIZES];
    compute_overflow(&expected, overflow);
    return overflow[size->stash];
}

/* Returns the smallest stash whose overflow is improbable enough, or the largest stash if none is. n keys never need
 * more than n - c entries. */
static unsigned choose_stash(const kithi_fit_layout *layout, const kithi_fit_size *size, uint64_t n,
                             const key_terms *keys) {
    uint64_t c = key_slots(layout);
    if (layout->kicks != 0 || n <= c)
        return 0;
    double most = overflow_max(layout, size->slot_bits);
    collisions expected = collisions_of_size(layout, size, keys);
    if (expected.regions * expected.sets <= most)
        return 0; /* the probability that there is any set is at most the expected number of sets */
    double overflow[STASH_SIZES];
    compute_overflow(&expected, overflow);
    unsigned stash = 0;
    while (stash < KITHI_FIT_STASH_MAX && stash < n - c && overflow[stash] > most)
        stash++;
    return stash;
}

/* The input of the search for a size: the layout, the number of keys, the width of the slots, the size of a stash, and
 * whether any number of fingerprint collisions is accepted. */
typedef struct task {
    const kithi_fit_layout *layout;
    key_terms keys;
    unsigned slot_bits, stash;
    bool any_collisions;
} task;

static bool fits(const task *t, double regions, double half) {
    bool sparse = is_sparse(t->layout, t->slot_bits);
    double planned = sparse ? SPARSE_LOAD : limits_of(t->layout).planned;
    return t->keys.n <= planned * regions * slots_of(t->layout, half) &&
           room_failure(t->layout, t->slot_bits, regions, half, &t->keys) <=
               (t->layout->kicks != 0 ? WALK_FAILURE_MAX : ROOM_FAILURE_MAX) &&
           ((t->any_collisions && !sparse) ||
            stash_is_large_enough(t->stash, t->layout, t->slot_bits, regions, half, &t->keys));
}

/* Returns the smallest `half`, but at least `least`, with which the keys fit into this many regions. They are known to
 * fit with `limit`. */
static uint64_t smallest_half(const task *t, double regions, uint64_t least, uint64_t limit) {
    if (least >= limit || fits(t, regions, (double)least))
        return least;
    uint64_t low = least, high = limit;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fits(t, regions, (double)middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static uint64_t power_of_two_from(uint64_t x) {
    uint64_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

/* Returns the largest allowed number of places in half a region. With b = 1 a key has only two candidate slots. In
 * smaller regions it is more likely that three keys have the same two, so regions are as large as possible. */
static uint64_t half_limit(const kithi_fit_layout *layout, unsigned slot_bits) {
    uint64_t limit = layout->windows ? REGION_SLOTS / 2 - 1 : REGION_SLOTS / 2 / layout->place_slots;
    if (layout->place_slots == 1 || layout->one_region)
        limit = (layout->power_of_two ? POWER_HALF_MAX : ANY_HALF_MAX) / layout->place_slots;
    if (layout->power_of_two && !layout->one_region && limit > UINT64_C(1) << (slot_bits - 1))
        limit = UINT64_C(1) << (slot_bits - 1);
    return limit;
}

/* Chooses the number of regions and their size. `pairs` is the least number of pairs of places that a fingerprint must
 * have, in all regions together (R * P in fit.h): regions * half is at least `pairs`. Returns false if there is no such
 * size, or if a lower bound of its bits is already `bits` or more. Even if the result is true, the size may have more
 * than `bits` bits: the caller must check that. */
static bool choose_regions(const task *t, double pairs, double bits, kithi_fit_size *size) {
    uint64_t limit = half_limit(t->layout, size->slot_bits);
    double largest = (double)limit, region_bits = slots_of(t->layout, largest) * size->slot_bits;
    if (slots_of(t->layout, pairs) * size->slot_bits >= bits)
        return false;
    double low = 0, high = fmax(1, ceil(pairs / largest));
    if (t->layout->one_region && (high > 1 || !fits(t, 1, largest)))
        return false;
    /* Finds the fewest regions of the largest size that fit, by doubling and then bisection. */
    while (!fits(t, high, largest)) {
        if (high * region_bits >= bits)
            return false;
        low = high;
        high *= 2;
    }
    if (high > REGIONS_MAX)
        return false;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (middle * largest >= pairs && fits(t, middle, largest))
            high = middle;
        else
            low = middle;
    }
    double least = fmax(1, ceil(pairs / high));
    if (fmax((high - 1) * region_bits, high * slots_of(t->layout, least) * size->slot_bits) >= bits)
        return false;
    size->regions = (uint64_t)high;
    size->half = smallest_half(t, high, (uint64_t)least, limit);
    if (t->layout->power_of_two)
        size->half = power_of_two_from(size->half); /* the limit is a power of two, too */
    return true;
}

/* The bits of slots and stashes. A region without a stash has 8 bytes of padding instead (kithi_cf_stride). */
static double total_bits(const kithi_fit_layout *layout, const kithi_fit_size *size) {
    return (double)size->regions *
           ((double)kithi_fit_region_slots(layout, size->half) * size->slot_bits + 64 * fmax(1, size->stash));
}

/* A filter of at most this many slots may need fewer bits in total with a smaller stash and a few more slots, because
 * additional slots make fingerprint collisions less likely. (In a larger filter a stash is less than 2% of the
 * bits.) */
#define SMALL_FILTER_SLOTS (UINT64_C(1) << 12)

/* Chooses regions and stash for *size, whose slot_bits are set. Returns false if that takes more than `bits` bits. */
static bool choose_regions_and_stash(task *t, double pairs, double bits, uint64_t n, kithi_fit_size *size) {
    t->stash = t->layout->kicks != 0 ? 0 : KITHI_FIT_STASH_MAX;
    if (!choose_regions(t, pairs, bits + 1, size))
        return false;
    size->stash = choose_stash(t->layout, size, n, &t->keys);
    bool is_small =
        size->regions * kithi_fit_region_slots(t->layout, size->half) <= SMALL_FILTER_SLOTS && !t->any_collisions;
    for (t->stash = size->stash; t->stash > 0 && is_small;) {
        t->stash--;
        kithi_fit_size trial = {.slot_bits = size->slot_bits, .stash = t->stash};
        if (choose_regions(t, pairs, total_bits(t->layout, size), &trial) &&
            total_bits(t->layout, &trial) < total_bits(t->layout, size))
            *size = trial;
    }
    return total_bits(t->layout, size) <= bits;
}

/* Returns the slot width, `from` … `to`, that probably gives the smallest size. For each width it counts only the
 * slots that are certainly needed. Their number is the larger of two: n / planned, and the number of slots with which
 * there are `combinations` combinations of a pair and a fingerprint. */
static unsigned expected_width(const kithi_fit_layout *layout, double n, double combinations, unsigned from,
                               unsigned to) {
    unsigned best = from;
    double best_bits = INFINITY;
    for (unsigned width = from; width <= to; width++) {
        double pairs = ceil(combinations / (double)kithi_fit_fingerprint_max(layout, width));
        double bits = width * fmax(n / limits_of(layout).planned, slots_of(layout, pairs));
        if (bits <= best_bits) {
            best = width;
            best_bits = bits;
        }
    }
    return best;
}

/* The smallest size so far. */
typedef struct smallest {
    kithi_fit_size size;
    double bits;
    bool found;
} smallest;

/* Replaces *best by a size with slots of this width if that is smaller. If both have the same size, the one with wider
 * slots is better, because its rate is lower. */
static void try_width(task *t, unsigned width, double combinations, uint64_t n, smallest *best) {
    kithi_fit_size size = {.slot_bits = width};
    t->slot_bits = width;
    double fingerprint_max = (double)kithi_fit_fingerprint_max(t->layout, width);
    if (t->keys.n / limits_of(t->layout).planned * width > best->bits ||
        !choose_regions_and_stash(t, ceil(combinations / fingerprint_max), best->bits, n, &size))
        return;
    double bits = total_bits(t->layout, &size);
    if (!best->found || bits < best->bits || width > best->size.slot_bits)
        *best = (smallest){size, bits, true};
}

bool kithi_fit_choose(const kithi_fit_layout *layout, uint64_t n, double rate, unsigned slot_bits,
                      kithi_fit_size *size) {
    /* With this many combinations of a pair and a fingerprint the rate is kept whatever the keys are (fit.h). The
     * factor makes up for rounding errors. */
    double combinations = (double)n / rate * (1 + 1e-12);
    unsigned from = slot_bits != 0 ? slot_bits : limits_of(layout).chosen_bits_min + layout->window_bits;
    unsigned to = slot_bits != 0 ? slot_bits : SLOT_BITS_MAX;
    unsigned first = expected_width(layout, (double)n, combinations, from, to);
    task t = {.layout = layout, .keys = key_terms_of(layout, (double)n), .any_collisions = slot_bits != 0};
    smallest best = {.bits = 0x1p62};
    /* The first width tried is probably the best. try_width() then rejects most other widths early, because they need
     * more bits than that one. */
    for (unsigned width = first; width <= to; width++)
        try_width(&t, width, combinations, n, &best);
    for (unsigned width = first; width > from; width--)
        try_width(&t, width - 1, combinations, n, &best);
    if (best.found)
        *size = best.size;
    return best.found;
}
