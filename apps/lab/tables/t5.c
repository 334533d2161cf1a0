/* T5: open addressing, a search for a key that is in. See open.h.
 *
 * A key is found along the path of its insertion, so the mean over all keys is that over all insertions: under uniform
 * hashing (m+1)/n (1/(m+1) + 1/m + … + 1/(m-n+2)), which the integral of 1/(1-x) bounds. All keys are looked for. */
#include "open.h"

static double bound(double m, double n) {
    return m / n * log(1 / (1 - n / m));
}

static double uniform(double m, double n) {
    double sum = 0;
    for (double i = 0; i < n; i++)
        sum += uniform_absent(m, i);
    return sum / n;
}

static double least(double m, double n) {
    return 1 + (n - 1) / (2 * m);
}

static double linear(double m, double n) {
    return (1 + knuth_q(0, m, n - 1)) / 2;
}

static double measure(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n) {
    (void)m;
    put_words(l, t, 0, n);
    return looks_of(l, t, s, 0, n, true);
}

static const open_question QUESTION = {
    .title = "A key that is in, under open addressing",
    .bound = bound,
    .uniform = uniform,
    .least = least,
    .linear = linear,
    .measure = measure,
};

static void run(lab *l) {
    open_run(l, &QUESTION);
}

const lab_claim lab_T5 = {
    .id = "T5",
    .title = "open addressing, successful search",
    .sentence = "A search for a key that is in looks at (1/α) ln(1/(1 − α)) slots at most on average, under uniform "
                "hashing. Double hashing keeps to it, linear probing does not.",
    .formula = "(1/α) ln(1/(1 − α))",
    .code = "src/tables/probe.c",
    .run = run,
};
