/* T3: open addressing, a search for an absent key. See open.h. In each table m/4 absent keys are searched for. */
#include "open.h"

static double measure(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n) {
    put_words(l, t, 0, n);
    return looks_of(l, t, s, n, m / 4, false);
}

static void run(lab *l) {
    open_run(l, &(open_question){"A search for an absent key, open addressing", bound_absent, uniform_absent,
                                 least_absent, linear_absent, measure});
}

const lab_claim lab_T3 = {
    .id = "T3",
    .title = "open addressing, unsuccessful search",
    .sentence = "With uniform hashing, a search for an absent key needs at most 1/(1 − α) probes on average. Double "
                "hashing is not seen to exceed that bound, linear probing exceeds it.",
    .formula = "1/(1 − α)",
    .code = "src/tables/probe.c",
    .decides = "uniform hashing, load 0.9375: probes, bound",
    .settings = OPEN_SETTINGS,
    .run = run,
};
