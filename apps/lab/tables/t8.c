/* T8: steps of insertion and query, against n.
 *
 * A step is a look: at a key of a list, a node of a chain, a slot, a bucket of a cuckoo table, a bit of a Bloom filter or of an
 * array. Every table is made for its n keys, and n is 3 times a power of two, so that each kind has the same load at every n
 * (probe: 3/4 of a power of two), and what is left to depend on n is the claim. Insertion is measured over all n, queries
 * over all n keys that are in and over as many that are not. A table that keeps a set must look whether the key is new:
 * insertion into a list that does so takes as long as a query, and only what is known to be new goes in with Θ(1). */
#include <math.h>
#include <stdio.h>

#include "steps.h"

enum { INSERT, PRESENT, ABSENT, WORST, MEASURE_COUNT };

static const char *const MEASURES[] = {"insertion, mean", "a key that is in", "a key that is absent",
                                       "insertion, worst"};

typedef double formula(double n);

typedef struct kind {
    const char *name, *options;
    uint64_t n_most; /* quick and full alike; 0: that of the run */
    lab_relation relation[MEASURE_COUNT];
    formula *predicted[MEASURE_COUNT];
} kind;

static double one(double n) {
    (void)n;
    return 1;
}

static double two(double n) {
    (void)n;
    return 2;
}

static double list_absent(double n) {
    return n;
}

static double list_present(double n) {
    return (n + 1) / 2;
}

static double list_insert(double n) {
    return (n - 1) / 2;
}

static double list_worst(double n) {
    return n - 1;
}

static double chain_present(double n) {
    return 1 + 0.5 - 1 / (2 * n);
}

static double chain_insert(double n) { /* an absent key at each load i/n, i < n */
    return (n - 1) / (2 * n);
}

static double probe_absent(double n) { /* 1/(1-α), α = 3/4 */
    (void)n;
    return 4;
}

static double probe_present(double n) { /* (1/α) ln 1/(1-α) */
    (void)n;
    return log(4) / 0.75;
}

static const kind TABLES[] = {
    {"list",
     NULL,
     768,
     {LAB_EQUALS, LAB_EQUALS, LAB_EQUALS, LAB_EQUALS},
     {list_insert, list_present, list_absent, list_worst}},
    {"bitset", "universe=16777216", 0, {LAB_EQUALS, LAB_EQUALS, LAB_EQUALS, LAB_EQUALS}, {one, one, one, one}},
    {"chain", NULL, 0, {LAB_EQUALS, LAB_EQUALS, LAB_EQUALS, LAB_SHOWN}, {chain_insert, chain_present, one, one}},
    {"probe",
     "sequence=double",
     0,
     {LAB_AT_MOST, LAB_AT_MOST, LAB_AT_MOST, LAB_SHOWN},
     {probe_present, probe_present, probe_absent, one}},
    {"cuckoo", NULL, 0, {LAB_SHOWN, LAB_AT_MOST, LAB_AT_MOST, LAB_SHOWN}, {one, two, two, one}},
};

enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES, N_LEAST = 48 };

/* The keys of a bitset are below its universe; any others serve the other kinds, so all have these. */
static uint64_t key_at(uint64_t i) {
    return i * UINT64_C(0x9e3779b97f4a7c15) % 16777216;
}

static double searched(lab *l, const kith_table *t, steps *s, uint64_t first, uint64_t n, bool are_in) {
    *s = (steps){0};
    for (uint64_t i = first; i < first + n; i++)
        lab_require(l, has_word(t, key_at(i)) == are_in, "a table answers wrongly");
    return (double)s->looks / (double)n;
}

static void measure(lab *l, const kind *k, uint64_t n, lab_sample *samples) {
    steps s = {0};
    kith_table_spec spec = steps_spec(k->name, n, k->options, &s);
    kith_table *t = lab_table(l, &spec);
    uint64_t sum = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        s.looks = 0;
        put_word(l, t, key_at(i));
        sum += s.looks;
        worst = s.looks > worst ? s.looks : worst;
    }
    lab_sample_add(&samples[INSERT], (double)sum / (double)n);
    lab_sample_add(&samples[WORST], (double)worst);
    lab_sample_add(&samples[PRESENT], searched(l, t, &s, 0, n, true));
    lab_sample_add(&samples[ABSENT], searched(l, t, &s, n, n, false));
    lab_drop(l, t);
}

static void run_table(lab *l, const kind *k, lab_series **series, double done) {
    uint64_t n_most = k->n_most != 0 ? k->n_most : lab_pick(l, 3072, 49152), tables = lab_pick(l, 60, 120);
    double log_n[32], logs[MEASURE_COUNT][32];
    unsigned count = 0;
    for (uint64_t n = N_LEAST; n <= n_most; n *= 2, count++) {
        lab_sample samples[MEASURE_COUNT] = {0};
        for (uint64_t i = 0; i < tables; i++) {
            measure(l, k, n, samples);
            lab_going(l, done);
        }
        log_n[count] = log((double)n);
        for (unsigned i = 0; i < MEASURE_COUNT; i++) {
            logs[i][count] = log(samples[i].mean);
            lab_at(series[i], (double)n, lab_mean(&samples[i]));
            if (n == N_LEAST || 2 * n > n_most) /* at both ends, so that growth shows */
                lab_find(l, LAB_MUST, k->relation[i], k->predicted[i]((double)n), lab_mean(&samples[i]),
                         "%s, n = %llu: steps, %s", k->name, (unsigned long long)n, MEASURES[i]);
        }
    }
    for (unsigned i = 0; i < MEASURE_COUNT; i++) /* steps ~ n^e */
        lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_slope(log_n, logs[i], count), "%s: exponent of n, %s", k->name,
                 MEASURES[i]);
}

static void count_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell, (void)holds, (void)wanted;
    ++*(uint64_t *)context;
}

#define RATE 0.01

/* A Bloom filter of that rate looks at k bits for a key that is in, whatever n is. */
static void run_bloom(lab *l, lab_series *series) {
    for (uint64_t n = N_LEAST; n <= lab_pick(l, 3072, 49152); n *= 4) {
        kith_filter *f = lab_filter(l, "bloom", n, RATE, 0, NULL);
        kith_plan plan = KITH_PLAN_INIT;
        lab_must(l, kith_filter_plan_of(f, &plan), "asking for the plan");
        lab_fill(l, f, 0, n);
        uint64_t looks = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t digest;
            lab_digests(l, f, i, 1, &digest);
            lab_require(l, kith_filter_look(f, digest, count_cell, &looks), "a filter has lost a key");
        }
        lab_estimate measured = lab_exact((double)looks / (double)n);
        lab_at(series, (double)n, measured);
        lab_find(l, LAB_MUST, LAB_EQUALS, plan.hashes, measured, "bloom, n = %llu: steps, a key that is in, k",
                 (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, ceil(-log2(RATE)), measured, "bloom, n = %llu: steps, log2(1/ε) rounded up",
                 (unsigned long long)n);
        lab_drop(l, f);
    }
}

static void run(lab *l) {
    lab_parameter(l, "tables a size", "%llu", (unsigned long long)lab_pick(l, 60, 120));
    lab_plot *plots[MEASURE_COUNT];
    for (unsigned i = 0; i < MEASURE_COUNT; i++)
        plots[i] = lab_draw(l, MEASURES[i], "n, keys", "steps", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned k = 0; k < TABLE_COUNT; k++) {
        lab_series *series[MEASURE_COUNT];
        for (unsigned i = 0; i < MEASURE_COUNT; i++)
            series[i] = lab_points(plots[i], "%s", TABLES[k].name);
        run_table(l, &TABLES[k], series, (double)k / TABLE_COUNT);
    }
    run_bloom(l, lab_points(plots[PRESENT], "bloom"));
}

const lab_claim lab_T8 = {
    .id = "T8",
    .title = "steps of insertion and query, against n",
    .sentence =
        "A query takes Θ(n) steps in a list, one in an array, O(1) in expectation in a hash table, O(1) in a Bloom "
        "filter; an insertion takes O(1) on average in all but a list that must look whether the key is new.",
    .formula = "list Θ(n), others O(1)",
    .code = "src/table.c",
    .run = run,
};
