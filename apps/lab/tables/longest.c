/* longest.c: see longest.h. */
#include "longest.h"

#include <math.h>

#include <lab/stats.h>

static const double PI = 3.14159265358979323846;

enum { LONGEST_MAX = 40 }; /* a longer chain has probability n/40!, below 10^-42 */

/* P(no slot has more than `most` keys), for n keys in n slots. */
static double none_above(uint64_t n, unsigned most) {
    double N = (double)n, spread = 64 * ceil(sqrt(N)) + 64, sum = 0, weights[LONGEST_MAX];
    for (unsigned j = 0; j <= most; j++)
        weights[j] = lab_poisson_at(1, j);
    for (double t = 0; t < spread; t++) {
        double angle = 2 * PI * t / spread, re = 0, im = 0;
        for (unsigned j = 0; j <= most; j++) {
            re += weights[j] * cos(angle * j);
            im += weights[j] * sin(angle * j);
        }
        sum += exp(N / 2 * log(re * re + im * im)) * cos(N * (atan2(im, re) - angle));
    }
    return sum / spread / lab_poisson_at(N, n);
}

double longest_expected(uint64_t n) {
    double mean = 0;
    for (unsigned k = 0; k < LONGEST_MAX; k++)
        mean += 1 - none_above(n, k);
    return mean;
}
