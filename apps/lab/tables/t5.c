/* T5: open addressing, a search for a present key. See open.h.
 *
 * A search for a key probes the same slots as its insertion did, so the mean over all keys is the mean over all
 * insertions. With uniform hashing that is (m+1)/n (1/(m+1) + 1/m + … + 1/(m-n+2)), which is bounded by the integral
 * of 1/(1-x). All keys are searched for. */
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

static void run(lab *l) {
    open_run(l,
             &(open_question){"A search for a present key, open addressing", bound, uniform, least, linear, measure});
}

const lab_claim lab_T5 = {
    .id = "T5",
    .title = "open addressing, successful search",
    .sentence = "With uniform hashing, a search for a present key needs at most (1/α) ln(1/(1 − α)) probes on average. "
                "Double hashing is not seen to exceed that bound, linear probing exceeds it.",
    .formula = "(1/α) ln(1/(1 − α))",
    .code = "src/tables/probe.c",
    .decides = "uniform hashing, load 0.9375: probes, bound",
    .settings = OPEN_SETTINGS,
    .run = run,
};
