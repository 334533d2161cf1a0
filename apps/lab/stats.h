/* stats.h: estimates from samples, with the confidence intervals on which the verdicts are based.
 *
 * Intervals are two-sided and miss the true value one time in a million (LAB_LEVEL). A claim with ten findings is
 * therefore wrongly refuted one time in 10^5, and a run of all claims reports a wrong failure about once in 1000 or
 * 2000 runs. */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stdint.h>

#include "result.h"

#define LAB_LEVEL 1e-6

/* A number that is known exactly. */
static inline lab_estimate lab_exact(double value) {
    return (lab_estimate){value, value, value};
}

/* The probability of success, from `yes` successes in `of` independent trials. Exact interval of Clopper and
 * Pearson. */
lab_estimate lab_share(uint64_t yes, uint64_t of);

/* The expected number of rare events, from the observed number `count`. Garwood's interval, exact for Poisson
 * counts. */
lab_estimate lab_count(uint64_t count);

/* Converts an estimate to another unit. */
static inline lab_estimate lab_scaled(lab_estimate e, double factor) {
    return (lab_estimate){e.value * factor, e.low * factor, e.high * factor};
}

/* A sample of independent numbers: one per filter, table or run. */
typedef struct lab_sample {
    uint64_t n;
    double mean, squares; /* sum of squared distances from the mean */
} lab_sample;

void lab_sample_add(lab_sample *s, double value);
double lab_sample_variance(const lab_sample *s);

/* The mean of a sample, with an interval from Student's distribution. The sample needs at least 30 values, and
 * hundreds if they are skewed. */
lab_estimate lab_mean(const lab_sample *s);

/* The slope of the least-squares line through n >= 3 points (x, y). The interval comes from the residuals. */
lab_estimate lab_slope(const double *x, const double *y, unsigned n);

/* ---- distributions ---- */

double lab_normal_above(double z);                           /* P(Z > z) */
double lab_normal_quantile(double p);                        /* z with P(Z <= z) = p */
double lab_student_quantile(double degrees, double p);       /* t with P(T <= t) = p */
double lab_chi_above(double chi_square, double degrees);     /* P(X > chi_square) */
double lab_chi_quantile(double degrees, double p);           /* x with P(X <= x) = p */
double lab_poisson_at(double mean, uint64_t k);              /* P(K = k) */
double lab_poisson_above(double mean, uint64_t k);           /* P(K > k) */
double lab_binomial_at(uint64_t n, double p, uint64_t k);    /* P(K = k) */
double lab_binomial_above(uint64_t n, double p, uint64_t k); /* P(K > k) */

#endif
