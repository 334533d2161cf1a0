/* plan/sizing.h: the formulas behind the plans of Bloom kinds. n keys, m bits or slots, k hashes, rate epsilon.
 *
 * `rate` functions return the expectation of a filter's false-positive rate over a random hash, exactly and for every
 * n. But a plan promises the rate of the one filter that is built, and the rates of single filters scatter around
 * their expectation. `quantile` functions return a bound that the rate of a single filter passes with a probability
 * of about 1 in 1000, and sizes are chosen so that this bound is at most the promised rate. The promise is 1 in 200;
 * the margin covers the approximations. tests/unit/quantiles.c compares them with exact distributions,
 * single_filters_keep_the_promised_rate in tests/contract with the filters themselves. */
#ifndef KITHI_PLAN_SIZING_H
#define KITHI_PLAN_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/* ---- Bloom filters in k slices of `slice` bits, one bit of each slice a key ----
 *
 * Slices are independent, and a key misses a given bit of a slice with 1 - 1/slice, so for every n, not only in the
 * limit,
 *
 *     rate = (1 - (1 - 1/slice)^n)^k
 */
double kithi_bloom_rate(unsigned k, uint64_t slice, uint64_t n);

/* When a filter is at capacity.
 *
 * KITHI_COUNTS_CHANGES: only keys that change a bit are counted. Some of the first n distinct keys are false positives
 * and change nothing, so the filter takes more than n of them before its count is n, and its rate at that moment is a
 * little higher than with n keys.
 * KITHI_COUNTS_ALL: every key is counted. */
typedef enum kithi_counts { KITHI_COUNTS_CHANGES, KITHI_COUNTS_ALL } kithi_counts;

/* The quantile of the rate of a filter whose count is n. */
double kithi_bloom_quantile(unsigned k, uint64_t slice, uint64_t n, kithi_counts counts);

/* The smallest slice whose quantile is at most `rate`; 0 if the filter would be larger than 2^62 cells. */
uint64_t kithi_bloom_slice(unsigned k, uint64_t n, double rate, kithi_counts counts);

/* The k and slice with the fewest cells whose quantile is at most `rate`; `given_k`, if not 0, is used as it is. False
 * if the filter would be larger than 2^62 cells. k = 64 is best for a rate of 2^-64, and two digests are equal as often
 * as that. */
#define KITHI_BLOOM_K_MAX 64
bool kithi_bloom_choose(uint64_t n, double rate, unsigned given_k, kithi_counts counts, unsigned *k, uint64_t *slice);

/* Keys that leave `fill` of k * slice bits set, by the expectation turned round. A full filter answers as if half a
 * bit were left. */
double kithi_bloom_keys(unsigned k, uint64_t slice, uint64_t fill);

/* ---- Blocked: blocks of `lanes` lanes of `lane_cells` cells, one cell of each lane of one block a key ----
 *
 * A block has N keys with the binomial weight of n and 1/blocks, its lanes are independent given N:
 *
 *     rate = sum over N of P(N) (1 - (1 - 1/lane_cells)^N)^lanes           (lanes a power of two, 4 to 16)
 */
double kithi_blocked_rate(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n);

/* The same for `hits` (1 to 15) keys or more at each of the cells, of which the rate is the case 1:
 *
 *     sum over N of P(N) P(Binomial(N, 1/lane_cells) >= hits)^lanes        (to within 10^-30 where it is less than that)
 */
double kithi_blocked_hit(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, unsigned hits);

/* The quantile of the rate of a filter whose count is n (lane_cells at least 4). Blocks that got more keys than others
 * are included. */
double kithi_blocked_quantile(unsigned lanes, unsigned lane_cells, uint64_t blocks, uint64_t n, kithi_counts counts);

/* The smallest number of blocks whose quantile is at most `rate`; 0 if that is more than 2^53. */
uint64_t kithi_blocked_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate, kithi_counts counts);

/* ---- How full ----
 *
 * n keys in `blocks` blocks of `lanes` lanes of `lane_cells` cells, each key hitting one cell in every lane of one
 * block (a plain Bloom filter is one block, its slices are the lanes): the cells hit are on average `mean`, and fewer
 * than one honest filter in 10^9 passes mean + 6 standard deviations, which is what comes back, rounded up: the guard
 * against keys that were chosen to fill it. Mean and deviation are exact. Lanes of a block fill together, which makes
 * the deviation of a blocked filter larger than that of as many independent lanes, by 1% (4 lanes of 128) to 65% (16
 * of 8). */
uint64_t kithi_fill_limit(unsigned lanes, uint64_t lane_cells, uint64_t blocks, uint64_t n);

#endif
