/* core/sizing.h: the formulas behind every plan. n keys, m bits or slots, k hashes, b slots a bucket, rate epsilon.
 *
 * They are expectations over a random hash, exact where that is possible and never under the true rate: a plan
 * promises what they say, and the contract tests measure it. */
#ifndef KITHI_CORE_SIZING_H
#define KITHI_CORE_SIZING_H

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

/* The smallest slice that keeps the rate; 0 when it would pass 2^62 bits in all. */
uint64_t kithi_bloom_slice(unsigned k, uint64_t n, double rate);

/* The k, and its slice, that keep the rate with the fewest cells; `given_k`, when not 0, is taken. False when they
 * would pass 2^62. k = 64 is the best for a rate of 2^-64, and two digests are equal as often as that. */
#define KITHI_BLOOM_K_MAX 64
bool kithi_bloom_choose(uint64_t n, double rate, unsigned given_k, unsigned *k, uint64_t *slice);

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

/* The smallest number of blocks that keeps the rate; 0 when it would pass 2^53. */
uint64_t kithi_blocked_blocks(unsigned lanes, unsigned lane_cells, uint64_t n, double rate);

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
