/* T3: open addressing, a search for an absent key. See open.h. In each table m/4 absent keys are searched for.
 *
 * Algorithm 1 of [1] has a third result, full, and its sequences are permutations of the slots. Both show in a table
 * that has a key in every slot: a search for an absent key ends only when its sequence does. */
#include <stdio.h>
#include <string.h>

#include "open.h"

enum { FULL_SLOTS = 256 };

static double measure(lab *l, kith_table *t, steps *s, uint64_t m, uint64_t n) {
    put_words(l, t, 0, n);
    return looks_of(l, t, s, n, m / 4, false);
}

/* How often the last operations read each slot. */
static void count_reads(void *context, kith_step step, uint64_t at, uint64_t to) {
    uint64_t *reads = context;
    (void)to;
    if (step == KITH_STEP_LOOK)
        reads[at]++;
}

/* Fills a table. Then an insertion must be refused, and sequences of absent keys must read each slot once. */
static void fill_up(lab *l, const char *sequence) {
    uint64_t reads[FULL_SLOTS] = {0}, n = 0, refused = 0, permutations = 0;
    char options[48];
    (void)snprintf(options, sizeof options, "sequence=%s grow=no", sequence);
    kith_table_spec spec = steps_spec("probe", FULL_SLOTS, options);
    kith_table *t = lab_traced(l, &spec, count_reads, reads);
    kith_status status = KITH_OK;
    for (; n <= FULL_SLOTS && status == KITH_OK; n += status == KITH_OK) {
        word_key key = key_of(lab_key(l, n));
        status = kith_table_put(t, key.bytes, sizeof key.bytes, 0, NULL);
    }
    lab_require(l, status == KITH_E_FULL, "a table has more keys than slots");
    for (uint64_t i = n; i < n + FULL_SLOTS; i++) {
        word_key key = key_of(lab_key(l, i));
        memset(reads, 0, sizeof reads);
        refused += kith_table_put(t, key.bytes, sizeof key.bytes, 0, NULL) == KITH_E_FULL;
        bool once = true;
        for (unsigned slot = 0; slot < FULL_SLOTS; slot++)
            once &= reads[slot] == 1;
        permutations += once;
        lab_require(l, !has_word(t, lab_key(l, i)), "a key is found that was refused");
    }
    lab_require(l, kith_table_count(t) == n, "a refused key is counted");
    lab_find(l, LAB_EQUALS, 1, lab_exact((double)n / FULL_SLOTS), "%s, %d slots: load when the table is full", sequence,
             FULL_SLOTS);
    lab_find(l, LAB_EQUALS, FULL_SLOTS, lab_exact((double)refused), "%s, full table: insertions refused as full, of %d",
             sequence, FULL_SLOTS);
    lab_find(l, LAB_EQUALS, FULL_SLOTS, lab_exact((double)permutations),
             "%s, full table: sequences of these that read each slot once", sequence);
    lab_drop(l, t);
}

static void run(lab *l) {
    static const char *const SEQUENCES[] = {"permutation", "double", "linear", "quadratic"};
    open_run(l, &(open_question){"A search for an absent key, open addressing", bound_absent, uniform_absent,
                                 least_absent, linear_absent, measure});
    for (unsigned i = 0; i < sizeof SEQUENCES / sizeof *SEQUENCES; i++)
        if (lab_wants(l, "sequence", SEQUENCES[i]))
            fill_up(l, SEQUENCES[i]);
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
