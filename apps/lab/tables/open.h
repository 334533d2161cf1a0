/* open.h: the experiment that T3, T4 and T5 share: probes of open addressing at several loads.
 *
 * The tables do not grow and have m slots, a power of two, as double hashing requires.
 *
 * Double hashing: the claims assume uniform hashing, in which every order of the slots is equally likely. Double
 * hashing has only m/2 step sizes times m first slots. Its number of probes is that of uniform hashing times 1 +
 * o(1), at any load below 1 (Lueker and Molodowitch 1988; Guibas and Szemeredi 1978 up to a load of 0.319). For a
 * given m this says nothing, so the experiment measures whether double hashing is seen above the bound.
 * The value for uniform hashing, slightly below the bound, is shown for comparison. In 40000 tables of 1024 slots at
 * load 15/16, for an absent key, double hashing needs 15.81 probes, between 15.77 for uniform hashing and the bound
 * of 16. There is a simple lower bound for any m: the first slot is uniform, so it is occupied with probability α,
 * and then there is a second probe.
 *
 * Uniform hashing: sequence=permutation gives every key a random permutation of the slots, so this run meets the
 * assumption of the claims. Its number of probes is known exactly. It is slow, so its tables have at most
 * UNIFORM_SLOTS slots; the formula holds for any number.
 *
 * Linear probing needs more probes than the bound. Knuth's formulas give their exact number.
 *
 * Formulas: with n keys in m slots, uniform hashing needs (m+1)/(m-n+1) probes for an absent key. This is the sum
 * over i of the probability n/m (n-1)/(m-1) … (n-i+1)/(m-i+1) that the first i slots are all occupied, and it is just
 * below 1/(1-α). Linear probing needs (1 + Q_1(m,n))/2 probes for an absent key and (1 + Q_0(m,n-1))/2 for a present
 * one, where Q_r(m,n) is the sum over k of C(k+r,k) n(n-1)…(n-k+1)/m^k ("The Art of Computer Programming", 6.4,
 * theorem K). */
#ifndef LAB_TABLES_OPEN_H
#define LAB_TABLES_OPEN_H

#include <math.h>

#include "steps.h"

/* The probes for an absent key: the bound of the claims, the exact number with uniform hashing, a lower bound, and the
 * exact number with linear probing. */
static inline double bound_absent(double m, double n) {
    return 1 / (1 - n / m);
}

static inline double uniform_absent(double m, double n) {
    return (m + 1) / (m - n + 1);
}

static inline double least_absent(double m, double n) {
    return 1 + n / m;
}

/* Q_r(m, n) for r = 0 and 1. */
static inline double knuth_q(unsigned r, double m, double n) {
    double sum = 0, product = 1;
    for (double k = 0; k <= n && product > 1e-18; k++) {
        sum += (r == 0 ? 1 : k + 1) * product;
        product *= (n - k) / m;
    }
    return sum;
}

static inline double linear_absent(double m, double n) {
    return (1 + knuth_q(1, m, n)) / 2;
}

typedef struct open_question {
    const char *title;
    double (*bound)(double m, double n);   /* the claim */
    double (*uniform)(double m, double n); /* the exact number for uniform hashing */
    double (*least)(double m,
                    double n); /* lower bound: a second probe if the first slot, which is uniform, is occupied */
    double (*linear)(double m, double n); /* the exact number for linear probing */
    double (*measure)(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n);
} open_question;

enum { UNIFORM_SLOTS = 1024 };

static inline lab_estimate open_mean(lab *l, const open_question *q, const char *options, uint64_t m, uint64_t n,
                                     double from, double to) {
    uint64_t tables = lab_number(l, "tables");
    lab_sample looks = {0};
    for (uint64_t table = 0; table < tables; table++) {
        steps s;
        kith_table_spec spec = steps_spec("probe", m, options);
        kith_table *t = steps_table(l, &spec, &s);
        lab_sample_add(&looks, q->measure(l, t, &s, m, n));
        lab_drop(l, t);
        lab_progress(l, from + (to - from) * (double)table / (double)tables);
    }
    return lab_mean(&looks);
}

/* The loads go up to 15/16. Closer to 1 the mean of linear probing depends on a few long runs, and its interval is too
 * wide. */
#define OPEN_SETTINGS                                                                                                  \
    {                                                                                                                  \
        LAB_SIZE("tables", 400, 600, 2, 1e6, "tables of each load"),                                                   \
            LAB_SIZE("slots", 1024, 16384, 64, 1e6, "slots of each table, rounded down to a power of two"),            \
            LAB_LIST("load", "0.25,0.5,0.75,0.875,0.9375", "0.25,0.5,0.75,0.875,0.9375", 0.05, 0.98, 0.05, 0.9375,     \
                     "keys per slot"),                                                                                 \
            LAB_WORD("sequence", "all", "all permutation double linear quadratic",                                     \
                     "order in which slots are read; permutation is uniform hashing")                                  \
    }

/* The largest power of two that is at most x. */
static inline uint64_t open_power_of_two(uint64_t x) {
    uint64_t power = 1;
    while (power <= x / 2)
        power *= 2;
    return power;
}

/* Uniform hashing, which the claims assume. */
static inline void open_uniform(lab *l, const open_question *q, uint64_t m, double load, lab_series *points,
                                double from, double to) {
    uint64_t slots = m < UNIFORM_SLOTS ? m : UNIFORM_SLOTS, n = (uint64_t)(load * (double)slots);
    lab_estimate probes = open_mean(l, q, "sequence=permutation grow=no", slots, n, from, to);
    lab_at(points, load, probes);
    lab_find(l, LAB_AT_MOST, q->bound((double)slots, (double)n), probes,
             "uniform hashing, load %.4g: probes, bound (%llu slots)", load, (unsigned long long)slots);
    lab_known(l, q->uniform((double)slots, (double)n));
    lab_find(l, LAB_EQUALS, q->uniform((double)slots, (double)n), probes,
             "uniform hashing, load %.4g: probes, exact (%llu slots)", load, (unsigned long long)slots);
}

static inline void open_run(lab *l, const open_question *q) {
    uint64_t m = open_power_of_two(lab_number(l, "slots"));
    double loads[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "load", loads);
    lab_parameter(l, "slots", "%llu", (unsigned long long)m);
    lab_parameter(l, "tables", "%llu", (unsigned long long)lab_number(l, "tables"));
    lab_plot *plot = lab_draw(l, q->title, "load α", "probes", LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "bound"), *knuth = lab_curve(plot, "linear probing (Knuth)");
    lab_series *uniforms = lab_points(plot, "uniform hashing"), *doubles = lab_points(plot, "double hashing");
    lab_series *linears = lab_points(plot, "linear probing"), *quadratics = lab_points(plot, "quadratic probing");
    for (double n = floor((double)m / 16); n <= (double)m * 15 / 16; n += floor((double)m / 64)) {
        lab_at(bound, n / (double)m, lab_exact(q->bound((double)m, n)));
        lab_at(knuth, n / (double)m, lab_exact(q->linear((double)m, n)));
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t n = (uint64_t)(loads[i] * (double)m);
        double part = 0.25 / (double)count, done = 4 * (double)i * part, most = q->bound((double)m, (double)n);
        if (lab_wants(l, "sequence", "permutation"))
            open_uniform(l, q, m, loads[i], uniforms, done, done + part);
        if (lab_wants(l, "sequence", "double")) {
            lab_estimate by_double = open_mean(l, q, "sequence=double grow=no", m, n, done + part, done + 2 * part);
            lab_at(doubles, loads[i], by_double);
            lab_find(l, LAB_AT_MOST, most, by_double, "double hashing, load %.4g: probes, bound of uniform hashing",
                     loads[i]);
            lab_find(l, LAB_AT_LEAST, q->least((double)m, (double)n), by_double,
                     "double hashing, load %.4g: probes, a second one if the first slot is occupied", loads[i]);
            lab_find(l, LAB_SHOWN, 0, by_double, "double hashing, load %.4g: probes, uniform hashing needs %.5g",
                     loads[i], q->uniform((double)m, (double)n));
        }
        if (lab_wants(l, "sequence", "linear")) {
            lab_estimate by_linear = open_mean(l, q, "sequence=linear grow=no", m, n, done + 2 * part, done + 3 * part);
            lab_at(linears, loads[i], by_linear);
            lab_find(l, LAB_EQUALS, q->linear((double)m, (double)n), by_linear,
                     "linear probing, load %.4g: probes, Knuth's formula (the bound is %.3g)", loads[i], most);
        }
        if (lab_wants(l, "sequence", "quadratic")) {
            lab_estimate by_quadratic =
                open_mean(l, q, "sequence=quadratic grow=no", m, n, done + 3 * part, done + 4 * part);
            lab_at(quadratics, loads[i], by_quadratic);
            lab_find(l, LAB_SHOWN, 0, by_quadratic, "quadratic probing, load %.4g: probes (the bound is %.3g)",
                     loads[i], most);
        }
    }
}

#endif
