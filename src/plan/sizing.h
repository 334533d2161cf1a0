/* plan/sizing.h: the formulas behind the plans of the Bloom and counting kinds. n is the number of keys.
 *
 * Functions named kithi_…_rate() return the mean of a filter's false-positive rate over random hash functions. Their
 * formulas are exact for every n. But a plan promises the rate of the one filter that is built, and the rates of single
 * filters vary around the mean. Functions named kithi_…_quantile() return a bound that the rate of a single filter
 * exceeds with a probability of about 1 in 1000. Sizes are chosen so that this bound is at most the promised rate. The
 * promise (kith_plan.rate) allows 1 in 200; the margin covers the errors of the approximations.
 * tests/unit/plan_quantiles.c compares the bounds with exact distributions, and single_filters_keep_the_promised_rate
 * in tests/contract compares them with real filters. */
#ifndef KITHI_PLAN_SIZING_H
#define KITHI_PLAN_SIZING_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/geometry.h"

/* ---- Bloom filters with k hashes per key, in two layouts ----
 *
 * KITHI_SLICES: k slices of `slice` bits; each key sets one bit per slice. Slices are independent, and a key misses a
 * given bit of a slice with probability 1 - 1/slice, so for every n, not only in the limit,
 *
 *     rate = (1 - (1 - 1/slice)^n)^k
 *
 * KITHI_WHOLE: one array of m bits for all k hashes; `slice` is m. The k hashes of a key are independent and may
 * coincide. If X bits are set, a lookup returns true with probability (X/m)^k. The rate is the mean of (X/m)^k. It is
 * larger than the k-th power of the mean of X/m: with three keys, m = 29 and k = 7 it is 1.28% and not 1.05%. */
double kithi_bloom_rate(unsigned k, uint64_t slice, uint64_t n, kithi_cells_layout layout);

/* The exact rate of KITHI_WHOLE, with a relative error of about 10^-12 for all m and n (plan/whole_rate.c). */
double kithi_whole_rate(unsigned k, uint64_t m, uint64_t n);

/* Each cell of an array of m cells has some property with probability q, independently of the other cells. Returns the
 * probability that all cells that a key's k hashes select have this property. If hashes coincide, these are fewer than
 * k cells. */
double kithi_whole_all_cells_have(unsigned k, uint64_t m, double q);

/* What a filter counts towards its capacity.
 *
 * KITHI_COUNTS_NEW_KEYS: only keys that change a bit are counted. Some distinct keys are false positives when they are
 * added, and change nothing. So the count reaches n only after more than n distinct keys, and the rate is then slightly
 * higher than with n keys.
 *
 * KITHI_COUNTS_ALL_KEYS: every key is counted. */
typedef enum kithi_counts { KITHI_COUNTS_NEW_KEYS, KITHI_COUNTS_ALL_KEYS } kithi_counts;

/* Returns the quantile of the rate of a filter whose count is n. */
double kithi_bloom_quantile(unsigned k, uint64_t slice, uint64_t n, kithi_counts counts, kithi_cells_layout layout);

/* Returns the smallest slice whose quantile is at most `rate`, or 0 if the filter would be larger than 2^62 cells. */
uint64_t kithi_bloom_slice(unsigned k, uint64_t n, double rate, kithi_counts counts, kithi_cells_layout layout);

/* Finds the k and slice that need the fewest cells, among those whose quantile is at most `rate`. If `given_k` is not
 * 0, that k is used; otherwise k is at most KITHI_BLOOM_K_MAX, which is the best k for a rate of 2^-64 (the probability
 * that two digests are equal). Returns false if the filter would be larger than 2^62 cells. */
bool kithi_bloom_choose(uint64_t n, double rate, unsigned given_k, kithi_counts counts, kithi_cells_layout layout,
                        unsigned *k, uint64_t *slice);

/* Returns the number of cells: k * slice, or m for one array. */
static inline uint64_t kithi_bloom_cells(unsigned k, uint64_t slice, kithi_cells_layout layout) {
    return layout == KITHI_WHOLE ? slice : k * slice;
}

/* Estimates how many keys were added to a filter with `fill` set bits: the number for which this fill is expected. A
 * full filter is treated as if half a bit were still clear. */
double kithi_bloom_keys(unsigned k, uint64_t slice, uint64_t fill, kithi_cells_layout layout);

/* ---- Blocked filters ----
 *
 * There are blocks of `lanes` lanes of `lane_cells` cells; each key sets one cell per lane of one block. The number N
 * of keys in a block is binomial (n trials with probability 1/blocks). P(N) is the probability of N keys. Given N, the
 * lanes are independent:
 *
 *     rate = sum over N of P(N) (1 - (1 - 1/lane_cells)^N)^lanes           (lanes a power of two, 4 to 16)
 */
double kithi_blocked_rate(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n);

/* Returns the probability that each of a key's cells was hit by `hits` (1 to 15) keys or more. The rate is the case
 * hits = 1:
 *
 *     sum over N of P(N) P(Binomial(N, 1/lane_cells) >= hits)^lanes        (inaccurate if below 10^-30)
 */
double kithi_blocked_hit(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, unsigned hits);

/* Returns the quantile of the rate of a filter whose count is n (lane_cells at least 4). It accounts for blocks that
 * have more keys than others. */
double kithi_blocked_quantile(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts);

/* Returns the largest rate that is plausible for a filter whose count is n. A higher rate means that keys were chosen
 * to crowd some blocks: by chance, only about one in 10^9 filters exceeds the limit. (This is the probability with
 * which a normal variable exceeds its mean by 6 standard deviations.) The limit is computed like
 * kithi_blocked_quantile(), whose bound is exceeded more often. */
double kithi_blocked_rate_limit(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts);

/* Let X be the number of cells in use in one block. For i = 0 … steps - 1, sets cells[i] to the mean of X plus
 * `deviations` standard deviations of X, in a filter that has keys * (i + 1) / steps keys. lane_cells must be at least
 * 3. */
void kithi_block_fill_limits(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t keys, double deviations,
                             unsigned steps, double *cells);

/* Returns the smallest number of blocks whose quantile is at most `rate`, or 0 if that is more than `most`. If `most`
 * is less than KITHI_BLOCKS_MAX, a result of 0 takes no search: the quantile is computed only for a filter with
 * exactly `most` blocks, if at all. */
uint64_t kithi_blocked_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts,
                              uint64_t most);

/* The largest rate limit, as a multiple of the promised rate, that the plan of a filter may have if others can choose
 * keys for it (kithi_request.is_public), and the fewest keys from which on plans keep to it. The guard against crowded
 * blocks tolerates 1.25 times the limit (kinds/shared/crowding.h), so it keeps twice the promised rate. */
#define KITHI_RATE_LIMIT_MAX 1.6
#define KITHI_RATE_LIMIT_KEYS 200

/* As kithi_blocked_blocks(), but from KITHI_RATE_LIMIT_KEYS keys on the rate limit must also be at most
 * KITHI_RATE_LIMIT_MAX * rate. */
uint64_t kithi_blocked_public_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts,
                                     uint64_t most);

/* ---- Fill limit ----
 *
 * Returns the largest number of set cells that is plausible after n keys: the mean plus 6 standard deviations, rounded
 * up. By chance, fewer than one in 10^9 filters with n keys exceed it. So more set cells mean that more than n distinct
 * keys were added, or that keys were chosen to fill the filter. There are `blocks` blocks of `lanes` lanes of
 * `lane_cells` cells, and each key hits one cell in every lane of one block. (A plain Bloom filter is one block whose
 * slices are the lanes.) Mean and deviation are exact. The lanes of a block fill together, which makes the deviation of
 * a blocked filter larger than that of the same number of independent lanes, by 1% (4 lanes of 128 cells) to 65% (16
 * lanes of 8 cells). */
uint64_t kithi_fill_limit(unsigned lanes, uint64_t lane_cells, uint64_t blocks, uint64_t n);

/* The same for the layouts of a Bloom filter. */
uint64_t kithi_bloom_fill_limit(unsigned k, uint64_t slice, uint64_t n, kithi_cells_layout layout);

#endif
