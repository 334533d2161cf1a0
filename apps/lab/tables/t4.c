/* T4: open addressing, insertion. See open.h.
 *
 * After filling a table to a given load, the probes of the next m/64 insertions are averaged, because a single
 * insertion gives too little information. All formulas are averaged over the same insertions. */
#include "open.h"

typedef double cost(double m, double n);

static double mean_over_insertions(cost *cost_at, double m, double n) {
    double sum = 0, count = floor(m / 64);
    for (double i = 0; i < count; i++)
        sum += cost_at(m, n + i);
    return sum / count;
}

static double bound(double m, double n) {
    return mean_over_insertions(bound_absent, m, n);
}

static double uniform(double m, double n) {
    return mean_over_insertions(uniform_absent, m, n);
}

static double least(double m, double n) {
    return mean_over_insertions(least_absent, m, n);
}

static double linear(double m, double n) {
    return mean_over_insertions(linear_absent, m, n);
}

static double measure(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n) {
    put_words(l, t, 0, n);
    *s = (steps){0};
    put_words(l, t, n, m / 64);
    return (double)s->looks / (double)(m / 64);
}

static void run(lab *l) {
    open_run(l, &(open_question){"An insertion, open addressing", bound, uniform, least, linear, measure});
}

const lab_claim lab_T4 = {
    .id = "T4",
    .title = "open addressing, insertion",
    .sentence = "With uniform hashing, an insertion needs at most 1/(1 − α) probes on average. Double hashing is "
                "not seen to exceed that bound, linear probing exceeds it.",
    .formula = "1/(1 − α)",
    .code = "src/tables/probe.c",
    .decides = "uniform hashing, load 0.9375: probes, bound",
    .settings = OPEN_SETTINGS,
    .run = run,
};
