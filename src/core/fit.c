/* The constants of `rule_of` were measured with the search of filters/nest.c (breadth-first, 32,768 slots at most) on
 * regions of 2^10 to 2^18 slots, 30 to 90,000 seeds each. Load at the first key that found no room:
 *
 *     places          mean at 2^18   spread * sqrt(slots)   threshold for unlimited search
 *     windows of 2       0.9608             0.31                       0.9650
 *     b = 2              0.8954             0.43                       0.8970
 *     b = 4              0.9796             0.19                       0.9803
 *     b = 8              0.9976             0.07                       0.9978
 *
 * In smaller regions the search is exhaustive and the mean is the threshold; the lower figure is used for all. The tail
 * of small regions is heavier than normal: `spread` grows by 2/sqrt(slots), and the count of c + 1 keys on one pair of
 * places is taken four times, for the larger knots that go with it. With both the formula was above every measured
 * failure probability between 10^-1 and 10^-7, for n from 5 to 1000. tests/unit/fit.c measures again. */
#include "core/fit.h"

#include <math.h>

#define ROOM_FAILURE_MAX 1e-9
#define CROWDING_MAX 1e-8
#define SLOT_BITS_MAX 32
#define SLOT_BITS_MIN 4
#define REGION_SLOTS (UINT64_C(1) << 18)
#define HALF_MAX (UINT64_C(1) << 29)

typedef struct rule {
    double load, spread;
} rule;

static rule rule_of(const kithi_fit *fit) {
    if (fit->windows)
        return (rule){0.960, 0.31};
    switch (fit->place_slots) {
    case 1:
        return (rule){0.48, 1};
    case 2:
        return (rule){0.8945, 0.44};
    case 4:
        return (rule){0.979, 0.19};
    default:
        return (rule){0.997, 0.07};
    }
}

uint64_t kithi_fit_region_slots(const kithi_fit *fit, uint64_t half) {
    return fit->windows ? 2 * (half + 1) : 2 * half * fit->place_slots;
}

uint64_t kithi_fit_top(const kithi_fit *fit, unsigned slot_bits) {
    return (UINT64_C(1) << (slot_bits - fit->code_bits)) - 1;
}

static double cells_of(const kithi_fit *fit, const kithi_fit_size *size) {
    return (double)size->regions * (double)size->half * (double)kithi_fit_top(fit, size->slot_bits);
}

/* Slots that a key may lie in: c. */
static double key_slots(const kithi_fit *fit) {
    return 2.0 * fit->place_slots;
}

static double log_choose(double n, double k) {
    return n < k ? -INFINITY : lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double kithi_fit_rate(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    return -expm1((double)n * log1p(-1 / cells_of(fit, size)));
}

double kithi_fit_crowding(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    double cells = cells_of(fit, size), c = key_slots(fit), keys = (double)n;
    if (keys <= c)
        return 0;
    return fmin(1, exp((c + 1) * log(keys / cells) + log(cells) - lgamma(c + 2)));
}

static double room_failure(const kithi_fit *fit, double regions, double half, double keys) {
    double c = key_slots(fit);
    if (keys <= c)
        return 0; /* any j <= c keys have c slots between them at least */
    rule stop = rule_of(fit);
    double slots = fit->windows ? 2 * (half + 1) : half * c;
    double share = keys / regions;
    double load = share / slots;
    if (load >= stop.load)
        return 1;
    /* c + 1 keys on one pair of places, in any region. */
    double larger_knots = fit->place_slots > 1 ? 4 : 4 / pow(1 - load / stop.load, 3);
    double knot = larger_knots * exp(log_choose(keys, c + 1) - c * log(regions) - 2 * c * log(half));
    /* More keys than the region takes. */
    double stop_spread = (stop.spread + 2 / sqrt(slots)) / sqrt(slots);
    double share_spread = sqrt(share * (1 - 1 / regions)) / slots;
    double deviations = (stop.load - load) / hypot(stop_spread, share_spread);
    double overrun = erfc(deviations / sqrt(2)) / 2;
    return fmin(1, regions * overrun + knot);
}

double kithi_fit_room_failure(const kithi_fit *fit, const kithi_fit_size *size, uint64_t n) {
    return room_failure(fit, (double)size->regions, (double)size->half, (double)n);
}

/* The smallest x in [1, limit] for which the failure is small enough when it is given to one of the two; 0: none. */
static uint64_t smallest_half(const kithi_fit *fit, uint64_t regions, uint64_t n, uint64_t limit) {
    uint64_t low = 0, high = limit;
    if (room_failure(fit, (double)regions, (double)limit, (double)n) > ROOM_FAILURE_MAX)
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (room_failure(fit, (double)regions, (double)middle, (double)n) > ROOM_FAILURE_MAX)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static uint64_t power_of_two_from(uint64_t x) {
    uint64_t power = 1;
    while (power < x)
        power *= 2;
    return power;
}

/* Places in a half of a region at most. A key of b = 1 has two slots, and small regions make knots of three keys much
 * more likely: one region for all. */
static uint64_t half_limit(const kithi_fit *fit, unsigned slot_bits) {
    uint64_t limit = fit->windows ? REGION_SLOTS / 2 - 1 : REGION_SLOTS / 2 / fit->place_slots;
    if (fit->place_slots == 1)
        limit = HALF_MAX;
    if (fit->power_of_two && slot_bits - 1 < 31 && limit > UINT64_C(1) << (slot_bits - 1))
        limit = UINT64_C(1) << (slot_bits - 1);
    return limit;
}

/* Regions and half for n keys and at least `places` places in halves over all regions. */
static bool split(const kithi_fit *fit, uint64_t n, double places, kithi_fit_size *size) {
    uint64_t limit = half_limit(fit, size->slot_bits);
    double regions = fmax(1, ceil(fmax(places, (double)n / (key_slots(fit) * rule_of(fit).load)) / (double)limit));
    while (regions < 0x1p40) {
        size->regions = (uint64_t)regions;
        uint64_t half = smallest_half(fit, size->regions, n, limit);
        double by_rate = ceil(places / regions);
        if (half != 0 && by_rate <= (double)limit) {
            size->half = (uint64_t)fmax((double)half, by_rate);
            if (fit->power_of_two)
                size->half = power_of_two_from(size->half); /* the limit is one, too */
            return true;
        }
        regions = ceil(regions * 1.001 + 0.5);
    }
    return false;
}

bool kithi_fit_choose(const kithi_fit *fit, uint64_t n, double rate, unsigned slot_bits, kithi_fit_size *size) {
    double c = key_slots(fit), keys = (double)n;
    double cells_for_rate = -1 / expm1(log1p(-rate) / keys);
    double cells_for_crowd = exp(((c + 1) * log(keys) - lgamma(c + 2) - log(CROWDING_MAX)) / c);
    if (slot_bits != 0 || keys <= c)
        cells_for_crowd = 0;
    /* Rounding upwards of the last digits: the rate must not come out above what was asked. */
    double cells = fmax(cells_for_rate, cells_for_crowd) * (1 + 1e-12);
    double best_bits = INFINITY;
    unsigned from = slot_bits != 0 ? slot_bits : SLOT_BITS_MIN + fit->code_bits;
    unsigned to = slot_bits != 0 ? slot_bits : SLOT_BITS_MAX;
    for (unsigned bits = from; bits <= to; bits++) {
        kithi_fit_size trial = {.slot_bits = bits};
        double places = ceil(cells / (double)kithi_fit_top(fit, bits));
        if (!split(fit, n, places, &trial))
            continue;
        double total = (double)trial.regions * (double)kithi_fit_region_slots(fit, trial.half) * bits;
        if (total < best_bits) {
            best_bits = total;
            *size = trial;
        }
    }
    return best_bits < INFINITY;
}
