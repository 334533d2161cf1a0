/* longest.h: the longest of n chains with n keys under a random function. */
#ifndef LAB_TABLES_LONGEST_H
#define LAB_TABLES_LONGEST_H

#include <stdint.h>

/* Its mean length. The lengths of the chains are distributed like n Poisson numbers of mean 1, given that their sum is
 * n. The longest chain has at most k keys if none of these numbers exceeds k. The probability that none exceeds k and
 * that the sum is n is the n-th coefficient of a power of a polynomial, which is computed by a Fourier sum. The Fourier
 * sum has enough terms to separate sums within 64 standard deviations of n; the probability beyond that is too small
 * for a double. */
double longest_expected(uint64_t n);

#endif
