/* Where the numbers come from. Regions of 2^10 to 2^18 slots were filled until a key found no room, with the search of
 * filters/common/cuckoo_search.h, 80 to 310,000 seeds each. The load reached has a mean that does not depend on the size, a standard
 * deviation of spread / sqrt(slots), and a left tail heavier than normal:
 *
 *     places         mean load   spread     seen in 90,000 to 270,000 regions of 1024 slots: once in 10^4 under
 *     windows of 2     0.9650     0.230       0.9336
 *     b = 2            0.8970     0.436       0.8398
 *     b = 4            0.9803     0.190       0.9541
 *     b = 8            0.9978     0.067       0.9854
 *
 * `overrun` is a normal tail with a spread 15% larger and a term for the skew, 0.67 (z^2 - 1) / slots. `knots` counts
 * c + 1 keys on one pair of places, twice, for the larger knots that go with them. Their sum was above the measured
 * probability of failure at 142 points between 10^-1 and 10^-7, n from 5 to 2000, but for one of 7 failures where it was
 * 12% under; tests/unit/fits.c measures again. Large filters are not planned to that brink but to the loads of `rule_of`,
 * where a search is still short: slot by slot, windows at 0.945 took 6 slots on average and 3,400 at worst, at 0.96 22 and
 * 34,000, for one and a half percent of the bytes. At b = 1 failures are knots of every size, and 4 / (1 - load/0.48)^3 of the
 * smallest stands for them. */
#include "plan/fit.h"

#include <math.h>

#define ROOM_FAILURE_MAX 1e-9
#define CROWDING_MAX 1e-8
#define SLOT_BITS_MAX 32
#define SLOT_BITS_MIN 4
#define REGION_SLOTS (UINT64_C(1) << 18)
#define HALF_MAX (UINT64_C(1) << 29)

typedef struct rule {
    double load, spread; /* where a region stops */
    double planned;      /* the highest load that is planned for */
} rule;

static rule rule_of(const kithi_fit *fit) {
    if (fit->windows)
        return (rule){0.9646, 0.230, 0.945};
    switch (fit->place_slots) {
    case 1:
        return (rule){0.48, 1, 0.4};
    case 2:
        return (rule){0.8967, 0.436, 0.875};
    case 4:
        return (rule){0.9800, 0.190, 0.96};
    default:
        return (rule){0.9976, 0.067, 0.985};
    }
}

static double slots_of(const kithi_fit *fit, double half) {
    return fit->windows ? 2 * (half + 1) : 2 * half * fit->place_slots;
}

uint64_t kithi_fit_region_slots(const kithi_fit *fit, uint64_t half) {
    return (uint64_t)slots_of(fit, (double)half); /* exact: half is far below 2^50 */
}

uint64_t kithi_fit_top(const kithi_fit *fit, unsigned slot_bits) {
    return (UINT64_C(1) << (slot_bits - fit->code_bits)) - 1;
}

/* Slots that a key may lie in: c. */
static unsigned key_slots(const kithi_fit *fit) {
    return 2 * fit->place_slots;
}

double kithi_fit_rate(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    double cells = (double)size->regions * (double)size->half * (double)kithi_fit_top(fit, size->slot_bits);
    return -expm1((double)n * log1p(-1 / cells));
}

/* Expected number of sets of c + 1 keys with one pair of places, were fingerprints all different. */
static double knots(unsigned c, double regions, double half, double keys) {
    if (keys <= c)
        return 0;
    double log_sets = 0; /* of (keys choose c + 1) */
    for (unsigned i = 0; i <= c; i++)
        log_sets += log((keys - i) / (i + 1));
    return exp(log_sets - c * log(regions) - 2 * c * log(half));
}

static double room_failure(const kithi_fit *fit, double regions, double half, double keys) {
    unsigned c = key_slots(fit);
    if (keys <= c)
        return 0; /* any j <= c keys have c slots between them at least */
    rule stop = rule_of(fit);
    double slots = slots_of(fit, half);
    double share = keys / regions, load = share / slots;
    if (load >= stop.load)
        return 1;
    double larger_knots = fit->place_slots > 1 ? 2 : 4 / pow(1 - load / stop.load, 3);
    /* load = stop - z * deviation - skew * (z^2 - 1), solved for z; shares of regions are binomial. */
    double skew = 0.67 / slots;
    double deviation = hypot(1.15 * stop.spread / sqrt(slots), sqrt(share * (1 - 1 / regions)) / slots);
    double z = (sqrt(deviation * deviation + 4 * skew * (stop.load + skew - load)) - deviation) / (2 * skew);
    double overrun = regions * erfc(z / sqrt(2)) / 2;
    return fmin(1, overrun + larger_knots * knots(c, regions, half, keys));
}

double kithi_fit_room_failure(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    return room_failure(fit, (double)size->regions, (double)size->half, (double)n);
}

/* Of k = c + 1 keys on one pair, those with equal fingerprints share the pair for certain once they share a place. Over
 * the ways to part k keys into j groups of equal fingerprint, Stirling's S(k, j) of them:
 *
 *     knots * sum over j of S(k, j) x^(k - j)        x = half / top
 *
 * The term of j = k, all different, is that of room; the rest is crowding, and for x > 1 most of it is j = 1. */
static double crowding(const kithi_fit *fit, double regions, double half, double top, double keys) {
    unsigned k = key_slots(fit) + 1;
    double stirling[2 * 8 + 2] = {1}; /* row 0, then row by row; b is at most 8 */
    for (unsigned row = 1; row <= k; row++) {
        for (unsigned j = row; j > 0; j--)
            stirling[j] = j * stirling[j] + stirling[j - 1];
        stirling[0] = 0;
    }
    double x = half / top, sum = 0;
    for (unsigned j = 1; j < k; j++)
        sum += stirling[j] * pow(x, k - j);
    return fmin(1, sum * knots(k - 1, regions, half, keys));
}

double kithi_fit_crowding(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    return crowding(fit, (double)size->regions, (double)size->half, (double)kithi_fit_top(fit, size->slot_bits),
                    (double)n);
}

/* What is being fitted: n keys, fingerprints up to `top`, and whether crowding counts. */
typedef struct task {
    const kithi_fit *fit;
    double keys, top;
    bool any_crowding;
} task;

static bool fits(const task *t, double regions, double half) {
    return t->keys <= rule_of(t->fit).planned * regions * slots_of(t->fit, half) &&
           room_failure(t->fit, regions, half, t->keys) <= ROOM_FAILURE_MAX &&
           (t->any_crowding || crowding(t->fit, regions, half, t->top, t->keys) <= CROWDING_MAX);
}

/* The smallest half that fits in so many regions; `limit` does. */
static uint64_t smallest_half(const task *t, double regions, uint64_t limit) {
    uint64_t low = 0, high = limit;
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

/* Places in a half of a region at most. A key of b = 1 has two slots only, and knots of three keys are the more likely
 * the smaller the regions: one region for all. */
static uint64_t half_limit(const kithi_fit *fit, unsigned slot_bits) {
    uint64_t limit = fit->windows ? REGION_SLOTS / 2 - 1 : REGION_SLOTS / 2 / fit->place_slots;
    if (fit->place_slots == 1)
        limit = HALF_MAX;
    if (fit->power_of_two && limit > UINT64_C(1) << (slot_bits - 1))
        limit = UINT64_C(1) << (slot_bits - 1);
    return limit;
}

/* Regions and half for at least `places` places in the left halves of all regions, in fewer than `bits` bits. */
static bool split(const task *t, double places, double bits, kithi_fit_size *size) {
    uint64_t limit = half_limit(t->fit, size->slot_bits);
    double largest = (double)limit, region_bits = slots_of(t->fit, largest) * size->slot_bits;
    double low = 0, high = fmax(1, ceil(places / largest));
    /* The fewest regions that fit at their largest: doubling, then bisection. */
    while (!fits(t, high, largest)) {
        if (high * region_bits >= bits)
            return false;
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (middle * largest >= places && fits(t, middle, largest))
            high = middle;
        else
            low = middle;
    }
    if ((high - 1) * region_bits >= bits)
        return false;
    size->regions = (uint64_t)high;
    size->half = (uint64_t)fmax((double)smallest_half(t, high, limit), ceil(places / high));
    if (t->fit->power_of_two)
        size->half = power_of_two_from(size->half); /* the limit is one, too */
    return true;
}

bool kithi_fit_choose(const kithi_fit *fit, uint64_t n, double rate, unsigned slot_bits, kithi_fit_size *size) {
    /* So many cells that no filter of n keys, whatever the keys, exceeds the rate; rounded up in the last digits. */
    double cells = (double)n / rate * (1 + 1e-12);
    double best_bits = 0x1p62;
    unsigned from = slot_bits != 0 ? slot_bits : SLOT_BITS_MIN + fit->code_bits;
    unsigned to = slot_bits != 0 ? slot_bits : SLOT_BITS_MAX;
    bool found = false;
    for (unsigned bits = to; bits >= from; bits--) { /* wide slots fit soonest, and then bound the search */
        kithi_fit_size trial = {.slot_bits = bits};
        task t = {fit, (double)n, (double)kithi_fit_top(fit, bits), slot_bits != 0};
        if (!split(&t, ceil(cells / t.top), best_bits, &trial))
            continue;
        double total = (double)trial.regions * (double)kithi_fit_region_slots(fit, trial.half) * bits;
        if (total < best_bits) {
            best_bits = total;
            *size = trial;
            found = true;
        }
    }
    return found;
}
