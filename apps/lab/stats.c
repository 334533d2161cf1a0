/* stats.c: see stats.h.
 *
 * Everything is computed from two functions: the regularised incomplete gamma function (Poisson, chi-square) and the
 * regularised incomplete beta function (binomial, Student). Each uses a series or a continued fraction, whichever
 * converges quickly at the argument (Abramowitz and Stegun, 6.5 and 26.5; Lentz's method evaluates the fractions).
 * Quantiles are found by bisection, which only requires that the functions are monotone. */
#include "stats.h"

#include <math.h>

#define TINY 1e-300
#define ENOUGH 1e-15
#define STEPS_MAX 100000

/* ---- incomplete gamma ---- */

/* P(a, x) from its series, for x < a + 1. */
static double gamma_series(double a, double x) {
    double term = 1 / a, sum = term;
    for (int i = 1; i < STEPS_MAX && fabs(term) > fabs(sum) * ENOUGH; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* Q(a, x) from its continued fraction, for x >= a + 1. */
static double gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int i = 1; i < STEPS_MAX; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = b + an / c;
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        if (fabs(d * c - 1) < ENOUGH)
            break;
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

static double gamma_above(double a, double x) { /* Q(a, x) */
    if (x <= 0)
        return 1;
    return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* ---- incomplete beta ---- */

static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double h = d;
    for (int m = 1; m < STEPS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = 1 + even / c;
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = 1 + odd / c;
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        if (fabs(d * c - 1) < ENOUGH)
            break;
    }
    return h;
}

static double beta_below(double a, double b, double x) { /* I_x(a, b) */
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* ---- distributions ---- */

double lab_normal_above(double z) {
    return 0.5 * erfc(z / sqrt(2));
}

double lab_chi_above(double chi_square, double degrees) {
    return gamma_above(degrees / 2, chi_square / 2);
}

double lab_poisson_at(double mean, uint64_t k) {
    return mean <= 0 ? k == 0 : exp((double)k * log(mean) - mean - lgamma((double)k + 1));
}

double lab_poisson_above(double mean, uint64_t k) {
    return mean <= 0 ? 0 : 1 - gamma_above((double)k + 1, mean);
}

double lab_binomial_at(uint64_t n, double p, uint64_t k) {
    if (k > n || (p <= 0 && k > 0) || (p >= 1 && k < n))
        return 0;
    if (p <= 0 || p >= 1)
        return 1;
    double N = (double)n, K = (double)k;
    return exp(lgamma(N + 1) - lgamma(K + 1) - lgamma(N - K + 1) + K * log(p) + (N - K) * log1p(-p));
}

double lab_binomial_above(uint64_t n, double p, uint64_t k) {
    return k >= n ? 0 : beta_below((double)k + 1, (double)(n - k), p);
}

typedef double increasing(double x, double a, double b);

/* Returns the smallest x between low and high at which f(x, a, b) reaches `wanted`. */
static double reach(increasing *f, double a, double b, double wanted, double low, double high) {
    for (int i = 0; i < 200 && high - low > 1e-14 * (fabs(low) + fabs(high)); i++) {
        double middle = low + (high - low) / 2;
        if (f(middle, a, b) < wanted)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double normal_below(double z, double a, double b) {
    (void)a, (void)b;
    return lab_normal_above(-z);
}

double lab_normal_quantile(double p) {
    return reach(normal_below, 0, 0, p, -40, 40);
}

static double student_below(double t, double degrees, double b) {
    (void)b;
    /* For small t the complement is more accurate: the argument of the direct form is then close to 1. */
    double tail = t * t < degrees ? 0.5 - 0.5 * beta_below(0.5, degrees / 2, t * t / (degrees + t * t))
                                  : 0.5 * beta_below(degrees / 2, 0.5, degrees / (degrees + t * t));
    return t < 0 ? tail : 1 - tail;
}

double lab_student_quantile(double degrees, double p) {
    return reach(student_below, degrees, 0, p, -1e9, 1e9);
}

static double chi_below(double x, double degrees, double b) {
    (void)b;
    return 1 - lab_chi_above(x, degrees);
}

double lab_chi_quantile(double degrees, double p) {
    return reach(chi_below, degrees, 0, p, 0, 20 * degrees + 1000);
}

/* ---- estimates ---- */

static double beta_in_x(double x, double a, double b) {
    return beta_below(a, b, x);
}

lab_estimate lab_share(uint64_t yes, uint64_t of) {
    if (of == 0)
        return (lab_estimate){0, 0, 1};
    double y = (double)yes, n = (double)of;
    lab_estimate e = {y / n, 0, 1};
    if (yes > 0)
        e.low = reach(beta_in_x, y, n - y + 1, LAB_LEVEL / 2, 0, e.value);
    if (yes < of)
        e.high = reach(beta_in_x, y + 1, n - y, 1 - LAB_LEVEL / 2, e.value, 1);
    return e;
}

lab_estimate lab_count(uint64_t count) {
    double c = (double)count;
    lab_estimate e = {c, 0, lab_chi_quantile(2 * c + 2, 1 - LAB_LEVEL / 2) / 2};
    if (count > 0)
        e.low = lab_chi_quantile(2 * c, LAB_LEVEL / 2) / 2;
    return e;
}

void lab_sample_add(lab_sample *s, double value) {
    double before = value - s->mean;
    s->n++;
    s->mean += before / (double)s->n;
    s->squares += before * (value - s->mean);
}

double lab_sample_variance(const lab_sample *s) {
    return s->n > 1 ? s->squares / (double)(s->n - 1) : 0;
}

lab_estimate lab_mean(const lab_sample *s) {
    if (s->n < 2)
        return (lab_estimate){s->mean, -HUGE_VAL, HUGE_VAL};
    double n = (double)s->n;
    double half = lab_student_quantile(n - 1, 1 - LAB_LEVEL / 2) * sqrt(lab_sample_variance(s) / n);
    return (lab_estimate){s->mean, s->mean - half, s->mean + half};
}

lab_estimate lab_slope(const double *x, const double *y, unsigned n) {
    double x_mean = 0, y_mean = 0, xx = 0, xy = 0, rest = 0;
    for (unsigned i = 0; i < n; i++) {
        x_mean += x[i] / n;
        y_mean += y[i] / n;
    }
    for (unsigned i = 0; i < n; i++) {
        xx += (x[i] - x_mean) * (x[i] - x_mean);
        xy += (x[i] - x_mean) * (y[i] - y_mean);
    }
    double slope = xy / xx;
    for (unsigned i = 0; i < n; i++) {
        double off = y[i] - y_mean - slope * (x[i] - x_mean);
        rest += off * off;
    }
    double half = lab_student_quantile(n - 2, 1 - LAB_LEVEL / 2) * sqrt(rest / (n - 2) / xx);
    return (lab_estimate){slope, slope - half, slope + half};
}
