/* The formulas for the Bloom kinds (see the header). Products of many factors near 1 are computed as sums of
 * logarithms, with log1p and expm1, so that no precision is lost if 1/slice is far below the rounding error of 1. */
#include "plan/sizing.h"

#include <assert.h>
#include <math.h>

static const double CELLS_MAX = 0x1p62;

double kithi_bloom_rate(unsigned k, uint64_t slice, uint64_t n, kithi_cells_layout layout) {
    if (layout == KITHI_WHOLE)
        return kithi_whole_rate(k, slice, n);
    double hit = -expm1((double)n * log1p(-1 / (double)slice)); /* the probability that a bit is 1 */
    return exp(k * log(hit));
}

/* ---- the rate of a single filter ---- */

/* A normal variable is this many standard deviations or more above its mean with probability 1 in 1000. */
static const double QUANTILE_DEVIATIONS = 3.0902;

/* The fill limit is this many standard deviations above the mean. The rate limit of blocked filters is a quantile of a
 * lognormal distribution (lognormal_quantile), which is exceeded as rarely as this fill limit. Both limits protect
 * against keys that were chosen to fill or crowd the filter. */
static const double LIMIT_DEVIATIONS = 6;

/* The mean and variance of the number of cells that some keys have hit. See kithi_fill_limit() in the header. */
typedef struct moments {
    double mean, variance;
} moments;

static moments fill_moments(unsigned lanes, uint64_t lane_cells, uint64_t blocks, double keys) {
    double w = (double)lane_cells, l = lanes;
    double cells = l * w * (double)blocks;
    double p = 1 / (w * (double)blocks); /* the probability that a key hits a given cell */
    if (p == 1)
        return (moments){lanes, 0};
    /* The number of cells that are still 0 is a sum of indicators. `zero` is the probability that a given cell is 0.
     * The probability that two given cells are both 0 is zero^2 * (1 + apart) if no key can hit both (same lane, or
     * different blocks), and zero^2 * (1 + together) if they are in two lanes of one block. Both corrections are tiny
     * and are multiplied by the number of pairs, so they are computed with expm1 and never as a difference of nearly
     * equal numbers. */
    double log_zero = keys * log1p(-p);
    double zero = exp(log_zero), hit = -expm1(log_zero);
    double square = (p / (1 - p)) * (p / (1 - p));
    double apart = expm1(keys * log1p(-square));
    double together = expm1(keys * log1p(((double)blocks - 1) * square));
    double variance = cells * zero * (hit - zero * apart + zero * (cells * apart + w * (l - 1) * (together - apart)));
    /* cppcheck-suppress ignoredReturnValue ; it initialises the second member */
    return (moments){cells * hit, fmax(0, variance)};
}

/* Returns d log rate / d log n of a filter of k slices, in which a cell was hit by `hits` keys on average. The rate
 * depends nearly only on n / slice, so this is also -d log rate / d log slice. */
static double bloom_slope(unsigned k, double hits) {
    return hits > 0 ? k * hits * exp(-hits) / -expm1(-hits) : k;
}

/* Returns the rate that the filter has when it first refuses a key, divided by the rate with n keys. The quotient is
 * more than 1 if keys that change no bit are not counted. The filter has `lanes` lanes of `slice` cells. (In a blocked
 * filter, `slice` is the number of cells of one lane in all blocks together.)
 *
 * Let r be the rate with n keys (`rate`), and a = d log r / d log n (`slope`). The logarithm of the rate is a concave
 * function of log n, so with x keys the rate is at most r (x/n)^a. Let y n be the number of distinct keys that have
 * been added. By the integral of this bound from 0 to y n, at most n r/(1 + a) y^(1 + a) of them are expected to change
 * nothing. The count has reached n at the latest when
 *
 *     y = 1 + r/(1 + a) y^(1 + a)
 *
 * and the rate is y^a times as high by then: 1.008 times at a rate of 1%, 1.08 times at 10%. (At high rates the bound
 * r (x/n)^a is too high and there may be no such y.)
 *
 * The filter also refuses keys when it exceeds the fill limit. In large filters this happens first. The last key that
 * is accepted may exceed the fill limit by a few cells, so `limit` below is higher by one cell per lane. Let m be the
 * number of keys for which the expected number of set cells is `limit`. The filter reaches `limit` after about m keys,
 * so y is then m/n, which is `limit_y` below. */
static double growth_until_full(double rate, double slope, unsigned lanes, uint64_t slice, double n, moments fill,
                                kithi_counts counts) {
    if (counts == KITHI_COUNTS_ALL_KEYS)
        return 1;
    double cells = (double)lanes * (double)slice, limit = fill.mean + LIMIT_DEVIATIONS * sqrt(fill.variance) + lanes;
    double limit_y = limit < cells ? log1p(-limit / cells) / log1p(-1 / (double)slice) / n : INFINITY;
    double before = 0, y = 1;
    while (y < limit_y && y < 4 && y - before > 1e-6) {
        before = y;
        y = 1 + rate / (1 + slope) * pow(y, 1 + slope);
    }
    return pow(y < 4 ? fmin(y, limit_y) : limit_y, slope);
}

/* What the formulas for slices need in order to cover both layouts: the number of slices, and how many hashes each of
 * them gets. One array is one slice that gets all hashes of all keys. */
typedef struct hashing {
    unsigned slices;
    double hashes;
} hashing;

static hashing hashing_of(unsigned k, uint64_t n, kithi_cells_layout layout) {
    return layout == KITHI_WHOLE ? (hashing){1, (double)k * (double)n} : (hashing){k, (double)n};
}

/* Returns the expected rate. For one array of m cells it is an approximation with an error of the order 1/m^2. This is
 * enough for growth_until_full(); computing the exact rate would make plans slow. */
static double approximate_rate(unsigned k, uint64_t slice, uint64_t n, moments fill, kithi_cells_layout layout) {
    if (layout == KITHI_SLICES)
        return kithi_bloom_rate(k, slice, n, layout);
    double spread = 0.5 * k * (k - 1) * fill.variance / (fill.mean * fill.mean);
    return fmin(1, exp(k * log(fill.mean / (double)slice)) * (1 + spread));
}

/* As kithi_bloom_quantile(). Sets *slope to -d log rate / d log slice, or to 0 if that is not known. */
static double bloom_quantile(unsigned k, uint64_t slice, uint64_t n, kithi_counts counts, kithi_cells_layout layout,
                             double *slope) {
    /* The rate of a filter is the product of the fill fractions of its slices, in which x_1 … x_k cells are set. Slices
     * are independent, and the number of set cells in each is very nearly normally distributed, with some mean mu and
     * variance v. (It has the distribution of a sum of independent indicators: Vatutin and Mikhailov, 1982.) The sum X
     * over all slices is therefore nearly normal, too, with mean k mu and variance k v. X is a whole number, hence the
     * continuity correction of one half. For a given X the product is largest if all slices are equal, (X/(k slice))^k,
     * and on average it is lower by the factor exp(-(k - 1)/2 v/mu^2). The rate of one array is (X/m)^k without such a
     * factor. */
    hashing h = hashing_of(k, n, layout);
    double cells = (double)h.slices * (double)slice;
    moments fill = fill_moments(h.slices, slice, 1, h.hashes);
    double high = fill.mean + QUANTILE_DEVIATIONS * sqrt(fill.variance) + 0.5;
    /* A slice gets h.hashes hashes, which set at most h.hashes cells. So no filter has a rate above `bound`, and with
     * few keys most filters come close to it. */
    double bound = fmin(1, exp(k * log(h.hashes / (double)slice)));
    *slope = 0;
    if (high >= cells)
        return bound;
    double uneven = (h.slices - 1) * 0.5 * h.slices * fill.variance / (fill.mean * fill.mean);
    *slope = bloom_slope(k, h.hashes / (double)slice);
    double rate = approximate_rate(k, slice, n, fill, layout);
    double growth = growth_until_full(rate, *slope, h.slices, slice, h.hashes, fill, counts);
    return fmin(exp(k * log(high / cells) - uneven) * growth, bound);
}

double kithi_bloom_quantile(unsigned k, uint64_t slice, uint64_t n, kithi_counts counts, kithi_cells_layout layout) {
    double slope;
    return bloom_quantile(k, slice, n, counts, layout, &slope);
}

/* The search for the smallest slice, or number of blocks, whose quantile is at most `rate`. */
typedef struct search {
    /* Returns the quantile for a slice of x cells, or for x blocks. Sets *slope to -d log r / d log x, where r is the
     * mean rate, or to 0 if that is not known. */
    double (*quantile_at)(const struct search *s, uint64_t x, double *slope);
    unsigned k;          /* for blocks: the number of lanes */
    unsigned lane_cells; /* for blocks only */
    uint64_t n;
    double rate;
    kithi_counts counts;
    kithi_cells_layout layout;
} search;

static bool keeps_rate(const search *s, uint64_t x) {
    double slope;
    return s->quantile_at(s, x, &slope) <= s->rate;
}

/* Returns true only if x - 1 does not keep the rate. `quantile` and `slope` are those of x. Near x, the mean rate falls
 * like x^-slope. If the quantile fell as fast, that of x - 1 would be larger by a factor of at least 1 + slope/x. But
 * it may fall more slowly. At rates below 1/2 and for 16 to 10^6 blocks, the smallest factor that was measured is
 * 1 + 0.67 slope/x. At higher rates the factor is much smaller, so the result is always false there. 1 + 10^-4 allows
 * for quantiles that are not exact (ROUGH below). */
static bool is_smallest(const search *s, uint64_t x, double quantile, double slope) {
    return x >= 16 && s->rate < 0.5 && quantile * (1 + 0.6 * slope / (double)x) > (1 + 1e-4) * s->rate;
}

/* Finds the smallest x in 1 … most for which quantile_at(s, x) is at most s->rate; 0 if there is none. Quantiles fall
 * nearly as a power of x. So a few steps of the secant method on logarithms, beginning at `start`, come close to the
 * result, and may bracket it already. Otherwise steps of doubling size bracket it. Bisection then finds it. */
static uint64_t smallest_that_keeps_rate(const search *s, uint64_t start, uint64_t most) {
    assert(start > 0);
    uint64_t low = 0, high = most + 1; /* low does not keep the rate, or is 0; high does, or is more than `most` */
    uint64_t x = start > most ? most : start, x_before = 0;
    /* The first guess at the power is bloom_slope() of a filter in which half of the cells are set: k ln 2. */
    double power = 0.7 * s->k, quantile = 0.5, quantile_before = 0;
    for (unsigned step = 0; step < 5 && high - low > 1 && quantile > 0 && quantile < 1; step++) {
        double slope;
        quantile = s->quantile_at(s, x, &slope);
        if (quantile <= s->rate && is_smallest(s, x, quantile, slope))
            return x;
        *(quantile <= s->rate ? &high : &low) = x;
        double measured = x_before != 0 ? log(quantile_before / quantile) / log((double)x / (double)x_before) : 0;
        if (measured > 0.1 && measured < 200)
            power = measured;
        x_before = x;
        quantile_before = quantile;
        double to = ceil((double)x * fmin(4, fmax(0.25, pow(quantile / s->rate, 1 / power))));
        x = to <= (double)low ? low + 1 : to >= (double)high ? high - 1 : (uint64_t)to;
    }
    for (uint64_t step = 1; high > most; step *= 2) {
        if (low == most)
            return 0;
        x = most - low > step ? low + step : most;
        *(keeps_rate(s, x) ? &high : &low) = x;
    }
    for (uint64_t step = 1; low == 0 && high > step; step *= 2) {
        x = high - step;
        *(keeps_rate(s, x) ? &high : &low) = x;
    }
    while (high - low > 1) {
        x = low + (high - low) / 2;
        *(keeps_rate(s, x) ? &high : &low) = x;
    }
    return high;
}

/* Returns the slice whose expected rate is `rate`, as a real number. It is a lower bound on the slice whose quantile is
 * `rate`. */
static double expected_slice(unsigned k, double hashes, double rate) {
    /* Solves 1 - (1 - 1/s)^hashes = rate^(1/k) for s. The two forms of log_miss avoid differences of nearly equal
     * numbers, for small and for large rates. */
    double log_hit = log(rate) / k;
    double log_miss = log_hit < -1 ? log1p(-exp(log_hit)) : log(-expm1(log_hit));
    return -1 / expm1(log_miss / hashes);
}

static double bloom_quantile_at(const search *s, uint64_t slice, double *slope) {
    return bloom_quantile(s->k, slice, s->n, s->counts, s->layout, slope);
}

static search bloom_search(unsigned k, uint64_t n, double rate, kithi_counts counts, kithi_cells_layout layout) {
    return (search){.quantile_at = bloom_quantile_at, .k = k, .n = n, .rate = rate, .counts = counts, .layout = layout};
}

uint64_t kithi_bloom_slice(unsigned k, uint64_t n, double rate, kithi_counts counts, kithi_cells_layout layout) {
    hashing h = hashing_of(k, n, layout);
    double slice = expected_slice(k, h.hashes, rate);
    if (!(slice * h.slices < CELLS_MAX))
        return 0;
    search s = bloom_search(k, n, rate, counts, layout);
    return smallest_that_keeps_rate(&s, (uint64_t)slice, (uint64_t)CELLS_MAX / h.slices);
}

bool kithi_bloom_choose(uint64_t n, double rate, unsigned given_k, kithi_counts counts, kithi_cells_layout layout,
                        unsigned *k, uint64_t *slice) {
    /* The k that is best for large n is tried first. Another k is skipped without a search if even the lower bound of
     * expected_slice() takes more cells than the best k so far, or if the largest slice that would be an improvement
     * does not keep the rate. If several k need the same number of cells, the smallest is used. */
    double ideal = fmax(1, fmin(KITHI_BLOOM_K_MAX, -log2(rate)));
    unsigned first = given_k != 0 ? given_k : (unsigned)(ideal + 0.5);
    *slice = kithi_bloom_slice(first, n, rate, counts, layout);
    *k = first;
    for (unsigned trial = 1; trial <= KITHI_BLOOM_K_MAX && given_k == 0; trial++) {
        if (trial == first)
            continue;
        hashing h = hashing_of(trial, n, layout);
        search s = bloom_search(trial, n, rate, counts, layout);
        uint64_t fewest = kithi_bloom_cells(*k, *slice, layout), most = (fewest - (trial > *k)) / h.slices;
        double bound = h.slices * floor(expected_slice(trial, h.hashes, rate));
        if (*slice != 0 && bound > (double)fewest) {
            /* Beyond the ideal k the bound only increases, apart from rounding. With this many keys and a margin of
             * 10%, rounding does not matter, so no larger k can be better. */
            if (trial > ideal && n >= 100 && bound > 1.1 * (double)fewest)
                break;
            continue;
        }
        if (*slice != 0 && (most == 0 || !keeps_rate(&s, most)))
            continue;
        uint64_t trial_slice = kithi_bloom_slice(trial, n, rate, counts, layout);
        if (trial_slice != 0) {
            *k = trial;
            *slice = trial_slice;
        }
    }
    return *slice != 0;
}

double kithi_bloom_keys(unsigned k, uint64_t slice, uint64_t fill, kithi_cells_layout layout) {
    double hashes_of_key = hashing_of(k, 1, layout).hashes;
    double cells = (double)kithi_bloom_cells(k, slice, layout);
    double set = fmin((double)fill, cells - 0.5);
    if (slice == 1)
        return fill != 0;
    return log1p(-set / cells) / log1p(-1 / (double)slice) / hashes_of_key;
}

/* Returns x^lanes; lanes must be a power of two. */
static double lanes_power(double x, unsigned lanes) {
    for (; lanes > 1; lanes /= 2)
        x *= x;
    return x;
}

/* small_power() is used for exponents up to this, for which it is faster than pow(). */
#define SMALL_EXPONENT_MAX 4096

/* Returns x^n for 0 <= x <= 1. The relative error is up to n * 2^-53. */
static double small_power(double x, unsigned n) {
    double power = 1;
    for (; n > 0; n /= 2) {
        power *= n % 2 != 0 ? x : 1;
        x *= x;
    }
    return power;
}

/* Returns fmax(0, x) if x is not NaN. The compiler makes fmax itself a function call, which is slower. */
static inline double not_negative(double x) {
    return x > 0 ? x : 0;
}

/* Returns the probability that a given cell of a lane is hit `hits` times or more by the x keys of its block; `clear`
 * is the probability that none of them hits it. It is computed as 1 minus the probability of fewer hits. The rounding
 * error, 10^-15, does not matter, because the caller raises the result to the fourth or a higher power. */
static inline double cell_hit(double x, double lane_cells, double clear, unsigned hits) {
    double term = clear, fewer = clear;
    for (unsigned i = 1; i < hits; i++) {
        term *= (x - i + 1) / (i * (lane_cells - 1));
        fewer += term;
    }
    return fewer < 1 ? 1 - fewer : 0;
}

double kithi_blocked_hit(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, unsigned hits) {
    double keys = (double)n, p = 1 / (double)blocks;
    double miss = 1 - 1 / (double)lane_cells; /* the probability that a key of the block misses a given cell */
    /* If a cell is hit by more than 128 keys on average, the result is 1 up to rounding. Even in a block with half the
     * mean number of keys, one of the 16 cells of a key has 14 hits or fewer with a probability below 10^-12. A block
     * has fewer keys than that with a probability below e^-150. The limit also bounds the sum below to about 3000
     * terms. */
    if (keys * p > 128.0 * lane_cells)
        return 1;
    double mode = blocks == 1 ? keys : floor((keys + 1) * p); /* the most likely number of keys in a block */
    double clear_at_mode = pow(miss, mode); /* the probability that a given cell is 0 in a block of `mode` keys */
    if (blocks == 1)
        return lanes_power(cell_hit(keys, lane_cells, clear_at_mode, hits), lanes);
    /* Sum from the mode outwards until the terms are negligible. Weights are relative to the weight of the mode and are
     * divided by their sum at the end, because lgamma is not precise enough for binomial coefficients of n = 10^15. */
    double odds = p / (1 - p), negligible = 1e-30;
    double total = 0, weights = 0;
    double weight = 1, clear = clear_at_mode;
    for (double x = mode; x <= keys && weight > negligible; x++) {
        weights += weight;
        total += weight * lanes_power(cell_hit(x, lane_cells, clear, hits), lanes);
        weight *= (keys - x) / (x + 1) * odds;
        clear *= miss;
    }
    weight = mode / (keys - mode + 1) / odds;
    clear = clear_at_mode / miss;
    for (double x = mode - 1; x > 0 && weight > negligible; x--) {
        weights += weight;
        total += weight * lanes_power(cell_hit(x, lane_cells, clear, hits), lanes);
        weight *= x / (keys - x + 1) / odds;
        clear /= miss;
    }
    /* A block without keys counts in the weights, but adds nothing to the total. */
    if (mode > 0 && weight > negligible)
        weights += weight;
    return total / weights;
}

double kithi_blocked_rate(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n) {
    return kithi_blocked_hit(lanes, lane_cells, blocks, n, 1);
}

/* Sums over the number N of keys in a block. Each term is multiplied by a weight, which is proportional to the binomial
 * probability of N. `weight` is the sum of the weights alone. R is the rate of the block and D = N - mean: r2d, for
 * example, is the sum of R^2 D. */
typedef struct block_sums {
    double weight, r, r2, r3, rd, rd2, r2d, d2, d3;
} block_sums;

/* Factors for the moments of the share of the cells of a lane that are still 0 in a block of N keys. Let w be the
 * number of cells in a lane, and zi = (1 - i/w)^N the probability that i given cells of a lane are still 0. The mean
 * square of the share is square[0] z1 + square[1] z2, and its mean cube is cube[0] z1 + cube[1] z2 + cube[2] z3. (The
 * number of these cells has the factorial moments w z1, w (w - 1) z2 and w (w - 1) (w - 2) z3.) */
typedef struct lane_moments {
    unsigned lanes;
    double square[2], cube[3];
} lane_moments;

static lane_moments lane_moments_of(unsigned lanes, double w) {
    return (lane_moments){
        lanes, {1 / w, (w - 1) / w}, {1 / (w * w), 3 * (w - 1) / (w * w), (w - 1) * (w - 2) / (w * w)}};
}

/* Adds the terms for one N to the sums: z[i - 1] is zi of lane_moments, `deviation` is D. Lanes are independent, so the
 * moments of R given N are powers of the moments of one lane. */
static inline void add_block(block_sums *sums, const lane_moments *m, const double z[3], double deviation,
                             double weight) {
    double zeros = z[0], zeros2 = m->square[1] * z[1] + m->square[0] * z[0];
    double zeros3 = m->cube[2] * z[2] + m->cube[1] * z[1] + m->cube[0] * z[0];
    double r = not_negative(1 - zeros);
    double r2 = not_negative(1 - 2 * zeros + zeros2);
    double r3 = not_negative(1 - 3 * zeros + 3 * zeros2 - zeros3);
    for (unsigned lanes = m->lanes; lanes > 1; lanes /= 2) { /* as lanes_power(), for all three */
        r *= r;
        r2 *= r2;
        r3 *= r3;
    }
    r *= weight;
    r2 *= weight;
    sums->weight += weight;
    sums->r += r;
    sums->r2 += r2;
    sums->r3 += weight * r3;
    sums->rd += r * deviation;
    sums->rd2 += r * deviation * deviation;
    sums->r2d += r2 * deviation;
    sums->d2 += weight * deviation * deviation;
    sums->d3 += weight * deviation * deviation * deviation;
}

/* How precisely the sums over N are computed.
 *
 * EXACT: all terms from the mode outwards until they are negligible, as in kithi_blocked_hit().
 *
 * ROUGH: only every step-th of these terms. A step is 0.8 standard deviations of N, but at least 1 and at most
 * STEP_MAX. The sums are divided by the sum of the weights, and the terms of a binomial distribution are so regular
 * that leaving out most of them hardly changes the quotients. The sums also end earlier. Below the mode, they end when
 * the weight of the next term is below 10^-8. Above the mode, the last term must also have increased the sum of R^3 by
 * less than 10^-7 of that sum. (Crowded blocks count most in it.) If `mean`, the number of keys per block, is below 1,
 * the limit for the weight is 10^-8 * mean: only blocks that have keys have a rate above 0, and all of them together
 * weigh only about `mean`. At the sizes that plans use, the quantile differs from the exact one by less than 2 * 10^-5
 * of it (rates of 0.5 to 10^-9, 1 to 10^12 keys). */
typedef enum precision { EXACT, ROUGH } precision;

#define STEP_MAX 15 /* a product of this many numbers below 2^64 does not overflow a double */

static block_sums sum_blocks(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, precision how) {
    double keys = (double)n, w = lane_cells, p = 1 / (double)blocks, mean = keys * p;
    double mode = blocks == 1 ? keys : floor((keys + 1) * p);
    double miss[3] = {1 - 1 / w, 1 - 2 / w, 1 - 3 / w}, at_mode[3], z[3];
    lane_moments m = lane_moments_of(lanes, w);
    block_sums sums = {0};
    /* Lanes have at most 128 cells, and blocked_quantile() allows 32 keys per cell. */
    assert(mode <= SMALL_EXPONENT_MAX);
    for (unsigned i = 0; i < 3; i++)
        z[i] = at_mode[i] = how == ROUGH ? small_power(miss[i], (unsigned)mode) : pow(miss[i], mode);
    if (blocks == 1) {
        add_block(&sums, &m, z, 0, 1);
        return sums;
    }
    unsigned step = how == EXACT ? 1 : (unsigned)fmin(STEP_MAX, fmax(1, 0.8 * sqrt(mean * (1 - p))));
    double negligible = how == EXACT ? 1e-30 : 1e-8 * fmin(1, mean), negligible_r3 = how == EXACT ? 1 : 1e-7;
    /* step_odds and step_miss are odds and miss to the power of `step`. */
    double odds = p / (1 - p), step_odds = odds, step_miss[3] = {miss[0], miss[1], miss[2]};
    for (unsigned j = 1; j < step; j++) {
        step_odds *= odds;
        for (unsigned i = 0; i < 3; i++)
            step_miss[i] *= miss[i];
    }
    double weight = 1, x = mode, r3_added = 0;
    while (weight > negligible || r3_added > negligible_r3 * sums.r3) {
        double r3_before = sums.r3;
        add_block(&sums, &m, z, x - mean, weight);
        r3_added = sums.r3 - r3_before;
        double up = 1, down = 1;
        for (unsigned j = 0; j < step; j++, x++) {
            up *= keys - x; /* becomes 0, and the weight too, if x reaches the number of keys */
            down *= x + 1;
        }
        weight *= up / down * step_odds;
        for (unsigned i = 0; i < 3; i++)
            z[i] *= step_miss[i];
    }
    weight = 1;
    x = mode;
    for (unsigned i = 0; i < 3; i++)
        z[i] = at_mode[i];
    for (;;) {
        double up = 1, down = 1;
        for (unsigned j = 0; j < step; j++, x--) {
            down *= x; /* becomes 0, and the weight too, if x reaches 0 */
            up *= keys - x + 1;
        }
        weight *= down / up / step_odds;
        if (!(weight > negligible))
            return sums;
        for (unsigned i = 0; i < 3; i++)
            z[i] /= step_miss[i];
        add_block(&sums, &m, z, x - mean, weight);
    }
}

/* Consider the quantile that is `deviations` standard deviations above the mean in a normal distribution. Returns how
 * many standard deviations the same quantile is above the mean in a lognormal distribution of this skewness (in its
 * mirror image if the skewness is negative). The result increases with the skewness up to a maximum and would then
 * decrease. Beyond that point the maximum is returned. */
static double lognormal_quantile(double skewness, double deviations) {
    if (fabs(skewness) < 1e-6)
        return deviations;
    /* Let t^2 = exp(sigma^2) - 1. Then t^3 + 3 t is the skewness. */
    double half = fabs(skewness) / 2, root = cbrt(half + sqrt(half * half + 1)), t = root - 1 / root;
    double square = log1p(t * t), sigma = sqrt(square);
    if (skewness < 0)
        return -expm1(-deviations * sigma - square / 2) / t;
    if (sigma > deviations / 2) {
        sigma = deviations / 2;
        square = sigma * sigma;
        t = sqrt(expm1(square));
    }
    return expm1(deviations * sigma - square / 2) / t;
}

/* Returns the quantile of the rate of a blocked filter whose count is n. `deviations` says which quantile: see
 * lognormal_quantile(). Sets *slope to d log rate / d log n, or to 0 if that is not known. The rate depends nearly only
 * on n / blocks, so this is also -d log rate / d log blocks. */
static double blocked_quantile(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts,
                               double deviations, precision how, double *slope) {
    /* The rate of a filter is the mean of R, the rate of a block, over its blocks. The blocks share n keys, so a block
     * with more keys leaves fewer for the others. To first order this removes the part of R that is linear in N. The
     * mean over the blocks therefore varies like the mean of `blocks` independent variables
     *
     *     T = R - E R - beta (N - E N),        beta = cov(R, N) / var N
     *
     * R is far from normal (crowded blocks have many times as many false positives), and so is its mean over few
     * blocks. A lognormal distribution with the same mean, variance and skewness as this mean over the blocks matches
     * its upper tail closely. The quantile of 1 in 1000 leaves a margin: of full filters of 10 to 10^4 keys at rates of
     * 25% to 0.01%, 0 to 1.5 in 1000 exceeded it, and the promise is 1 in 200. */
    *slope = 0;
    if ((double)n / (double)blocks > 32.0 * lane_cells)
        return 1; /* fewer than one cell in 10^13 is still 0; the limit also bounds the number of terms below */
    block_sums s = sum_blocks(lanes, lane_cells, blocks, n, how);
    double b = (double)blocks, mean_keys = (double)n / b;
    double mean = s.r / s.weight, r2 = s.r2 / s.weight, r3 = s.r3 / s.weight, rd = s.rd / s.weight;
    double rd2 = s.rd2 / s.weight, r2d = s.r2d / s.weight, d2 = s.d2 / s.weight, d3 = s.d3 / s.weight;
    double beta = d2 > 0 ? rd / d2 : 0;
    double variance = r2 - mean * mean - beta * beta * d2;
    double third = r3 - 3 * (mean * r2 + beta * r2d) +
                   3 * (mean * mean * mean + 2 * mean * beta * rd + beta * beta * rd2) -
                   (mean * mean * mean + 3 * mean * beta * beta * d2 + beta * beta * beta * d3);
    double quantile = mean;
    if (variance > 1e-12 * mean * mean) /* otherwise it is only rounding error */
        quantile += lognormal_quantile(third / (variance * sqrt(variance * b)), deviations) * sqrt(variance / b);
    *slope = blocks > 1 ? not_negative(beta * mean_keys / mean) : bloom_slope(lanes, mean_keys / lane_cells);
    if (counts == KITHI_COUNTS_ALL_KEYS)
        return fmin(1, quantile);
    moments fill = fill_moments(lanes, lane_cells, blocks, (double)n);
    return fmin(1, quantile * growth_until_full(mean, *slope, lanes, lane_cells * blocks, (double)n, fill, counts));
}

double kithi_blocked_quantile(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts) {
    double slope;
    return blocked_quantile(lanes, lane_cells, blocks, n, counts, QUANTILE_DEVIATIONS, EXACT, &slope);
}

double kithi_blocked_rate_limit(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts) {
    double slope;
    return blocked_quantile(lanes, lane_cells, blocks, n, counts, LIMIT_DEVIATIONS, EXACT, &slope);
}

void kithi_block_fill_limits(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t keys, double deviations,
                             unsigned steps, double *cells) {
    assert(lane_cells > 2);
    /* The number N of keys in a block is binomial. Let w be the number of cells in a lane, q = 1/blocks and
     * a_i = 1 - i/w. Then z_i = E a_i^N = (1 - q i/w)^keys is the probability that i given cells of a lane are 0.
     * `square` is E a_1^(2N). Given N, lanes are independent. The variance of the number of cells in use is the sum of
     * `inside`, the mean of its variance given N, and `between`, the variance of its mean given N. */
    double w = lane_cells, q = 1 / (double)blocks;
    /* n is the number of keys in one step. step_z1, step_z2 and step_square are the factors by which a step changes z1,
     * z2 and `square`. */
    double n = (double)keys / steps;
    double step_z1 = exp(n * log1p(-q / w)), step_z2 = exp(n * log1p(-2 * q / w));
    double step_square = exp(n * log1p(-q * (2 - 1 / w) / w));
    double z1 = 1, z2 = 1, square = 1;
    for (unsigned i = 0; i < steps; i++) {
        z1 *= step_z1;
        z2 *= step_z2;
        square *= step_square;
        double inside = lanes * (w * z1 + w * (w - 1) * z2 - w * w * square);
        double between = lanes * w * (lanes * w) * (square - z1 * z1);
        cells[i] = lanes * w * (1 - z1) + deviations * sqrt(not_negative(inside + between));
    }
}

/* Returns the rough quantile, unless it is so close to s->rate that only the exact one shows which of the two is
 * larger. */
static double blocked_quantile_at(const search *s, uint64_t blocks, double *slope) {
    double rough = blocked_quantile(s->k, s->lane_cells, blocks, s->n, s->counts, QUANTILE_DEVIATIONS, ROUGH, slope);
    bool is_close = fabs(rough - s->rate) < 2e-4 * s->rate;
    return is_close ? kithi_blocked_quantile(s->k, s->lane_cells, blocks, s->n, s->counts) : rough;
}

/* Returns a lower bound of kithi_blocked_rate() that needs no sum over N, the number of keys in a block. Let
 * a = 1 - 1/lane_cells, so that a given cell of a block is still 0 with probability a^N. By inclusion and exclusion the
 * rate is the sum over j = 0 … lanes of (-1)^j (lanes choose j) E a^(jN), where E a^(jN) = (1 - (1 - a^j)/blocks)^n.
 * The sum loses digits, so a generous bound of its error is subtracted. The result is therefore useful only for high
 * rates. */
static double least_blocked_rate(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n) {
    double sum = 1, sign_choose = 1, power = 1, error = 1e-12;
    for (unsigned j = 1; j <= lanes; j++) {
        sign_choose *= -(double)(lanes - j + 1) / j;
        power *= 1 - 1 / (double)lane_cells;
        error *= 2;
        double hit = (1 - power) / (double)blocks;
        sum +=
            sign_choose * (n <= SMALL_EXPONENT_MAX ? small_power(1 - hit, (unsigned)n) : exp((double)n * log1p(-hit)));
    }
    return sum - error;
}

uint64_t kithi_blocked_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts,
                              uint64_t most) {
    /* A Bloom filter of `lanes` slices with as many cells as `bound` blocks has the expected rate `rate`. A blocked
     * filter of that size has a higher one, by Jensen's inequality: its rate is the mean of (1 - z)^lanes over the
     * blocks, where z is the share of cells that are still 0. So more than `bound` blocks are needed. (The factor 1 +
     * 10^-9 below makes up for rounding errors.) */
    double bound = expected_slice(lanes, (double)n, rate) / lane_cells;
    if (most == 0 || bound > (double)most * (1 + 1e-9))
        return 0;
    /* How many more blocks are needed depends on the number of keys per block and, because the rates of small filters
     * vary more, on the number of blocks. `start` is close to the result for filters of about 1000 keys, where the
     * search takes a large part of the time of a build. */
    double start = ceil(bound * (1 + (lanes / 3.0 + (3 + 1.2 * lanes) / sqrt(bound)) * bound / (double)n));
    search s = {blocked_quantile_at, lanes, lane_cells, n, rate, counts, KITHI_SLICES};
    if (most < KITHI_BLOCKS_MAX && (least_blocked_rate(lanes, lane_cells, most, n) > rate || !keeps_rate(&s, most)))
        return 0;
    return smallest_that_keeps_rate(&s, start < (double)most ? (uint64_t)start : most, most);
}

static double rate_limit_at(const search *s, uint64_t blocks, double *slope) {
    return blocked_quantile(s->k, s->lane_cells, blocks, s->n, s->counts, LIMIT_DEVIATIONS, EXACT, slope);
}

uint64_t kithi_blocked_public_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts,
                                     uint64_t most) {
    uint64_t blocks = kithi_blocked_blocks(lanes, lane_cells, n, rate, counts, most);
    search s = {rate_limit_at, lanes, lane_cells, n, KITHI_RATE_LIMIT_MAX * rate, counts, KITHI_SLICES};
    if (blocks == 0 || n < KITHI_RATE_LIMIT_KEYS || keeps_rate(&s, blocks))
        return blocks;
    return keeps_rate(&s, most) ? smallest_that_keeps_rate(&s, blocks, most) : 0;
}

static uint64_t fill_limit(unsigned lanes, uint64_t lane_cells, uint64_t blocks, double hashes) {
    moments fill = fill_moments(lanes, lane_cells, blocks, hashes);
    double cells = (double)lanes * (double)lane_cells * (double)blocks;
    return (uint64_t)fmin(ceil(fill.mean + LIMIT_DEVIATIONS * sqrt(fill.variance)), cells);
}

uint64_t kithi_fill_limit(unsigned lanes, uint64_t lane_cells, uint64_t blocks, uint64_t n) {
    return fill_limit(lanes, lane_cells, blocks, (double)n);
}

uint64_t kithi_bloom_fill_limit(unsigned k, uint64_t slice, uint64_t n, kithi_cells_layout layout) {
    hashing h = hashing_of(k, n, layout);
    return fill_limit(h.slices, slice, 1, h.hashes);
}
