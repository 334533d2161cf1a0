/* stats.h: estimates from samples, with the intervals that the lab's verdicts rest on.
 *
 * Intervals are two-sided and miss the truth one time in a million (LAB_LEVEL): a claim of ten findings is then refuted
 * wrongly one time in 10^5, and a run of all claims one time in a thousand or two. */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stdint.h>

#include "result.h"

#define LAB_LEVEL 1e-6

/* A number that nothing is left to chance in. */
static inline lab_estimate lab_exact(double value) {
    return (lab_estimate){value, value, value};
}

/* Of `of` independent trials `yes` came out: Clopper and Pearson's interval, which is exact. */
lab_estimate lab_share(uint64_t yes, uint64_t of);

/* An expected number of rare events of which `count` came: Garwood's interval, exact for Poisson counts. */
lab_estimate lab_count(uint64_t count);

/* An estimate in another unit. */
static inline lab_estimate lab_scaled(lab_estimate e, double factor) {
    return (lab_estimate){e.value * factor, e.low * factor, e.high * factor};
}

/* Numbers drawn independently of each other: one a filter, a table, a run. */
typedef struct lab_sample {
    uint64_t n;
    double mean, squares; /* sum of squared distances from the mean */
} lab_sample;

void lab_sample_add(lab_sample *s, double value);
double lab_sample_variance(const lab_sample *s);

/* The mean of a sample, by Student's distribution. Take 30 values at least, and hundreds where the values are skewed. */
lab_estimate lab_mean(const lab_sample *s);

/* The slope of the straight line through points (x, y), by least squares, with the interval that the scatter around it
 * gives. n >= 3. */
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
