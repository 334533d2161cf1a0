/* T3: open addressing, a search for a key that is not in. See open.h. A table is asked for a quarter as many absent keys
 * as it has slots. */
#include "open.h"

static double bound(double m, double n) {
    return 1 / (1 - n / m);
}

static double least(double m, double n) {
    return 1 + n / m;
}

static double linear(double m, double n) {
    return (1 + knuth_q(1, m, n)) / 2;
}

static double measure(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n) {
    put_words(l, t, 0, n);
    return looks_of(l, t, s, n, m / 4, false);
}

static const open_question QUESTION = {
    .title = "An absent key under open addressing",
    .bound = bound,
    .uniform = uniform_absent,
    .least = least,
    .linear = linear,
    .measure = measure,
};

static void run(lab *l) {
    open_run(l, &QUESTION);
}

const lab_claim lab_T3 = {
    .id = "T3",
    .title = "open addressing, unsuccessful search",
    .sentence = "A search for a key that is not in looks at 1/(1 − α) slots at most on average, under uniform hashing. "
                "Double hashing keeps to it, linear probing does not.",
    .formula = "1/(1 − α)",
    .code = "src/tables/probe.c",
    .run = run,
};
