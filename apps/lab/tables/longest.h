/* longest.h: the longest of m chains with n keys under a random function, or the fullest of m counters.
 *
 * The lengths of the chains are distributed like m Poisson numbers of mean n/m, given that their sum is n. The longest
 * chain has at most k keys if none of these numbers exceeds k. The probability that none exceeds k and that the sum is
 * n is the n-th coefficient of a power of a polynomial, which is computed by a Fourier sum. The Fourier sum has enough
 * terms to separate sums within 64 standard deviations of n; the probability beyond that is too small for a double. */
#ifndef LAB_TABLES_LONGEST_H
#define LAB_TABLES_LONGEST_H

#include <stdint.h>

/* P(no chain has more than `most` keys), most < 40. */
double longest_at_most(uint64_t keys, uint64_t chains, unsigned most);

/* The mean length of the longest of n chains with n keys. */
double longest_expected(uint64_t n);

#endif
