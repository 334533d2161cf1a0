/* longest.c: see longest.h. */
#include "longest.h"

#include <math.h>

#include <lab/stats.h>

static const double PI = 3.14159265358979323846;

enum { LONGEST_MAX = 40 }; /* a longer chain has probability n/40!, below 10^-42 */

double longest_at_most(uint64_t keys, uint64_t chains, unsigned most) {
    double n = (double)keys, m = (double)chains, spread = 64 * ceil(sqrt(n)) + 64, sum = 0, weights[LONGEST_MAX];
    for (unsigned j = 0; j <= most; j++)
        weights[j] = lab_poisson_at(n / m, j);
    for (double t = 0; t < spread; t++) {
        double angle = 2 * PI * t / spread, re = 0, im = 0;
        for (unsigned j = 0; j <= most; j++) {
            re += weights[j] * cos(angle * j);
            im += weights[j] * sin(angle * j);
        }
        sum += exp(m / 2 * log(re * re + im * im)) * cos(m * atan2(im, re) - n * angle);
    }
    return sum / spread / lab_poisson_at(n, keys);
}

double longest_expected(uint64_t n) {
    double mean = 0;
    for (unsigned k = 0; k < LONGEST_MAX; k++)
        mean += 1 - longest_at_most(n, n, k);
    return mean;
}
