/* theorem_1.h: the terms that [4] prints in the proof of theorem 1, for n keys in m = (2 + δ)n slots. */
#ifndef LAB_CUCKOO_HASHING_THEOREM_1_H
#define LAB_CUCKOO_HASHING_THEOREM_1_H

#include <math.h>

/* The limit of an insertion, ⌈6 log_(1+δ/2) m⌉. */
static inline double theorem_1_max(double m, double delta) {
    return ceil(6 * log(m) / log1p(delta / 2));
}

/* Case 1, (3): the bound on P(at least k keys are visited, without a bad configuration). */
static inline double theorem_1_case_1(double delta, unsigned k) {
    return 2 / pow(1 + delta / 2, k / 3.0 - 1);
}

/* Case 2: the bound on P(a bad configuration), a sum over its keys, from 3 to Max. */
static inline double theorem_1_case_2(double n, double m, double delta) {
    double sum = 0, most = theorem_1_max(m, delta);
    for (double v = 3; v <= most; v++)
        sum += pow(v, 3) * pow(2 * n / m, v);
    return 2 / (m * n) * sum;
}

/* Both together: the bound on the expected number of iterations. */
static inline double theorem_1_iterations(double n, double m, double delta) {
    double sum = 1, bad = theorem_1_case_2(n, m, delta);
    for (unsigned k = 2; k <= theorem_1_max(m, delta); k++)
        sum += theorem_1_case_1(delta, k) + bad;
    return sum;
}

#endif
