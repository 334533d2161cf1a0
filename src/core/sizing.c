/* Formulas for Bloom kinds. Products of many near-one factors are taken in logarithms, with log1p and expm1 so that
 * nothing is lost where 1/slice is far below the rounding of 1. */
#include "core/sizing.h"

#include <math.h>

static const double LARGEST = 0x1p62;

double kithi_bloom_rate(unsigned k, uint64_t slice, uint64_t n) {
    double hit = -expm1((double)n * log1p(-1 / (double)slice)); /* a bit is 1 */
    return exp(k * log(hit));
}

uint64_t kithi_bloom_slice(unsigned k, uint64_t n, double rate) {
    /* 1 - (1 - 1/s)^n = rate^(1/k), solved for s; no difference of near-equal numbers, at either end. */
    double log_hit = log(rate) / k;
    double log_miss = log_hit < -1 ? log1p(-exp(log_hit)) : log(-expm1(log_hit));
    double slice = ceil(-1 / expm1(log_miss / (double)n));
    if (!(slice * k < LARGEST))
        return 0;
    uint64_t s = slice < 1 ? 1 : (uint64_t)slice;
    /* The last steps by the rate itself, whatever was rounded above. Where s is past 2^50 one step no longer moves a
     * double: down few steps, up in growing ones. */
    for (unsigned step = 0; step < 4 && s > 1 && kithi_bloom_rate(k, s - 1, n) <= rate; step++)
        s--;
    for (uint64_t step = 1; kithi_bloom_rate(k, s, n) > rate; step *= 2)
        s += step;
    return s;
}

bool kithi_bloom_choose(uint64_t n, double rate, unsigned given_k, unsigned *k, uint64_t *slice) {
    uint64_t best_cells = UINT64_MAX;
    for (unsigned trial = given_k != 0 ? given_k : 1; trial <= (given_k != 0 ? given_k : KITHI_BLOOM_K_MAX); trial++) {
        uint64_t trial_slice = kithi_bloom_slice(trial, n, rate);
        if (trial_slice != 0 && trial * trial_slice < best_cells) {
            best_cells = trial * trial_slice;
            *k = trial;
            *slice = trial_slice;
        }
    }
    return best_cells != UINT64_MAX;
}

double kithi_bloom_keys(unsigned k, uint64_t slice, uint64_t fill) {
    double cells = (double)k * (double)slice;
    double set = fmin((double)fill, cells - 0.5);
    if (slice == 1)
        return fill != 0;
    return log1p(-set / cells) / log1p(-1 / (double)slice);
}

/* x^lanes for lanes a power of two. */
static double lanes_power(double x, unsigned lanes) {
    for (; lanes > 1; lanes /= 2)
        x *= x;
    return x;
}

/* A given cell of a lane is hit `hits` times or more by x keys of its block, when none of them hits it with probability
 * `clear`. 1 less the other cases: good to 10^-15, which the fourth power or a higher one makes nothing. */
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
    double stay = 1 - 1 / (double)lane_cells; /* a key of the block leaves a given cell of it alone */
    /* A mean of 128 keys for each cell of a lane leaves one of 16 cells with 14 or fewer by less than 10^-12, even at half
     * that mean, which a block falls under with e^-1000. It also bounds the sum below: to some 3000 terms. */
    if (keys * p > 128.0 * lane_cells)
        return 1;
    double mode = blocks == 1 ? keys : floor((keys + 1) * p);
    double clear_at_mode = pow(stay, mode); /* a cell of a block of so many keys is 0 */
    if (blocks == 1)
        return lanes_power(cell_hit(keys, lane_cells, clear_at_mode, hits), lanes);
    /* Terms outward from the mode until they no longer count. Weights are relative to the mode's and divided by their
     * sum in the end: a binomial coefficient of n = 10^15 has no digits left when it comes out of lgamma. */
    double odds = p / (1 - p), least = 1e-30;
    double total = 0, weights = 0;
    double weight = 1, clear = clear_at_mode;
    for (double x = mode; x <= keys && weight > least; x++) {
        weights += weight;
        total += weight * lanes_power(cell_hit(x, lane_cells, clear, hits), lanes);
        weight *= (keys - x) / (x + 1) * odds;
        clear *= stay;
    }
    weight = mode / (keys - mode + 1) / odds;
    clear = clear_at_mode / stay;
    for (double x = mode - 1; x > 0 && weight > least; x--) {
        weights += weight;
        total += weight * lanes_power(cell_hit(x, lane_cells, clear, hits), lanes);
        weight *= x / (keys - x + 1) / odds;
        clear /= stay;
    }
    /* A block without keys has its weight in the sum, and answers no. */
    if (mode > 0 && weight > least)
        weights += weight;
    return total / weights;
}

double kithi_blocked_rate(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n) {
    return kithi_blocked_hit(lanes, lane_cells, blocks, n, 1);
}

uint64_t kithi_blocked_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate) {
    /* The rate falls as blocks are added. Bloom's size is near: from there outward, then bisection. */
    uint64_t most = UINT64_C(1) << 53;
    uint64_t start = kithi_bloom_slice(lanes, n, rate) / lane_cells;
    if (start == 0 || start > most)
        start = 1;
    uint64_t low = start, high = start;
    while (low > 0 && kithi_blocked_rate(lanes, lane_cells, low, n) <= rate) {
        high = low;
        low -= low / 8 + 1;
    }
    while (kithi_blocked_rate(lanes, lane_cells, high, n) > rate) {
        if (high == most)
            return 0;
        low = high;
        high += high / 8 + 1;
        if (high > most)
            high = most;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (kithi_blocked_rate(lanes, lane_cells, middle, n) > rate)
            low = middle;
        else
            high = middle;
    }
    return high;
}

uint64_t kithi_fill_limit(unsigned lanes, uint64_t lane_cells, uint64_t blocks, uint64_t n) {
    double w = (double)lane_cells, l = lanes, keys = (double)n;
    double cells = l * w * (double)blocks;
    double p = 1 / (w * (double)blocks); /* a key hits a given cell */
    if (p == 1)
        return lanes;
    /* The number of cells that are still 0 is a sum of indicators. Two cells are 0 with `one` squared, times 1 + apart
     * where no key can hit both (same lane, or another block), times 1 + together in two lanes of one block. Both
     * corrections are tiny and are multiplied by the number of pairs: they are taken by expm1, never as a difference
     * of near-equal numbers. */
    double one = exp(keys * log1p(-p));
    double hit = -expm1(keys * log1p(-p));
    double square = (p / (1 - p)) * (p / (1 - p));
    double apart = expm1(keys * log1p(-square));
    double together = expm1(keys * log1p(((double)blocks - 1) * square));
    double variance = cells * one * (hit - one * apart + one * (cells * apart + w * (l - 1) * (together - apart)));
    double limit = ceil(cells * hit + 6 * sqrt(fmax(0, variance)));
    return (uint64_t)fmin(limit, cells);
}
