/* T8: the number of steps per insertion and per query, as a function of n.
 *
 * A step reads one key of a list, one node of a chain, one slot, one bucket of a cuckoo table, or one bit of a Bloom
 * filter or an array. Every table is created for its n keys, and n is 3 times a power of two. Each kind then has the
 * same load at every n (probe: 3/4), so any other dependence on n is the one that is claimed. Insertions are averaged
 * over all n keys, and queries over all n present keys and over n absent ones. A table that stores a set must check
 * whether a key is new. Insertion into a list therefore takes as long as a query, and takes Θ(1) only for keys that
 * are known to be new.
 *
 * The library does not report the steps of an insertion into a filter. What it changes is counted instead: the whole
 * filter is compared before and after, and the changed bits must be among the k that a query of the key reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "longest.h"
#include "steps.h"

enum { INSERT, PRESENT, ABSENT, WORST, MEASURE_COUNT };

static const char *const MEASURES[] = {"mean of insertions", "query of a present key", "query of an absent key",
                                       "worst insertion"};

typedef double formula(double n);

typedef struct kind {
    const char *name, *options;
    uint64_t n_most; /* the largest n, for quick and full runs; 0: as set */
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

static double chain_insert(double n) { /* the mean of queries of an absent key at the loads i/n, i < n */
    return (n - 1) / (2 * n);
}

static double chain_worst(double n) { /* the last key of the longest chain reads the others */
    return longest_expected((uint64_t)n) - 1;
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
    {"chain",
     NULL,
     0,
     {LAB_EQUALS, LAB_EQUALS, LAB_EQUALS, LAB_EQUALS},
     {chain_insert, chain_present, one, chain_worst}},
    {"probe",
     "sequence=double",
     0,
     {LAB_AT_MOST, LAB_AT_MOST, LAB_AT_MOST, LAB_SHOWN},
     {probe_present, probe_present, probe_absent, one}},
    {"cuckoo", NULL, 0, {LAB_SHOWN, LAB_AT_MOST, LAB_AT_MOST, LAB_SHOWN}, {one, two, two, one}},
};

enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES, N_LEAST = 48 };

/* The keys of a bitset must be below its universe. The other kinds accept any keys, so all kinds use the same ones. */
static uint64_t key_at(uint64_t i) {
    return i * UINT64_C(0x9e3779b97f4a7c15) % 16777216;
}

static double steps_per_query(lab *l, const kith_table *t, steps *s, uint64_t first, uint64_t n, bool are_present) {
    *s = (steps){0};
    for (uint64_t i = first; i < first + n; i++)
        lab_require(l, has_word(t, key_at(i)) == are_present, "a query returned the wrong result");
    return (double)s->looks / (double)n;
}

static void measure(lab *l, const kind *k, uint64_t n, lab_sample *samples) {
    steps s = {0};
    kith_table_spec spec = steps_spec(k->name, n, k->options);
    kith_table *t = steps_table(l, &spec, &s);
    uint64_t sum = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        s.looks = 0;
        put_word(l, t, key_at(i));
        sum += s.looks;
        worst = s.looks > worst ? s.looks : worst;
    }
    lab_sample_add(&samples[INSERT], (double)sum / (double)n);
    lab_sample_add(&samples[WORST], (double)worst);
    lab_sample_add(&samples[PRESENT], steps_per_query(l, t, &s, 0, n, true));
    lab_sample_add(&samples[ABSENT], steps_per_query(l, t, &s, n, n, false));
    lab_drop(l, t);
}

/* The worst insertion among many keys, minus the worst among few. */
static void find_growth(lab *l, const kind *k, lab_estimate few, lab_estimate many) {
    lab_estimate growth = {many.value - few.value, many.low - few.high, many.high - few.low};
    if (strcmp(k->name, "chain") == 0)
        lab_find_stated(l, LAB_LOOSE, "[3]: \"Hash Table … O(1) worst case\"", LAB_AT_MOST, 0, growth,
                        "%s: steps, worst insertion among the most keys, minus that among %d", k->name, N_LEAST);
}

static void run_table(lab *l, const kind *k, lab_series **series, double done) {
    uint64_t n_most = k->n_most != 0 ? k->n_most : lab_number(l, "n"), tables = lab_number(l, "tables");
    double log_n[32], logs[MEASURE_COUNT][32];
    unsigned count = 0;
    lab_estimate worst[32];
    for (uint64_t n = N_LEAST; n <= n_most; n *= 2, count++) {
        lab_sample samples[MEASURE_COUNT] = {0};
        for (uint64_t i = 0; i < tables; i++) {
            measure(l, k, n, samples);
            lab_progress(l, done);
        }
        log_n[count] = log((double)n);
        worst[count] = lab_mean(&samples[WORST]);
        for (unsigned i = 0; i < MEASURE_COUNT; i++) {
            logs[i][count] = log(samples[i].mean);
            lab_at(series[i], (double)n, lab_mean(&samples[i]));
            if (n == N_LEAST || 2 * n > n_most) /* for the smallest and the largest n, so that growth is visible */
                lab_find(l, k->relation[i], k->predicted[i]((double)n), lab_mean(&samples[i]),
                         "%s, n = %llu: steps, %s", k->name, (unsigned long long)n, MEASURES[i]);
        }
    }
    find_growth(l, k, worst[0], worst[count - 1]);
    for (unsigned i = 0; i < MEASURE_COUNT; i++) /* steps ~ n^e */
        lab_find(l, LAB_SHOWN, 0, lab_slope(log_n, logs[i], count), "%s: exponent of n, %s", k->name, MEASURES[i]);
}

static void count_cell(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell, (void)holds, (void)wanted;
    ++*(uint64_t *)context;
}

#define RATE 0.01

/* A query of a present key in a Bloom filter reads k bits, independent of n. */
static void run_bloom(lab *l, lab_series *series) {
    for (uint64_t n = N_LEAST; n <= lab_number(l, "n"); n *= 4) {
        kith_filter *f = lab_filter(l, "bloom", n, RATE, 0, NULL);
        kith_plan plan = KITH_PLAN_INIT;
        lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
        lab_fill(l, f, 0, n);
        uint64_t looks = 0;
        for (uint64_t i = 0; i < n; i++) {
            uint64_t digest;
            lab_digests(l, f, i, 1, &digest);
            lab_require(l, kith_filter_look(f, digest, count_cell, &looks), "a filter has lost a key");
        }
        lab_estimate measured = lab_exact((double)looks / (double)n);
        lab_at(series, (double)n, measured);
        lab_find(l, LAB_EQUALS, plan.hashes, measured, "bloom, n = %llu: steps, query of a present key: k",
                 (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, ceil(-log2(RATE)), measured,
                 "bloom, n = %llu: steps, query of a present key: at most log2(1/ε) rounded up", (unsigned long long)n);
        lab_drop(l, f);
    }
}

enum { ADDED = 32 }; /* keys whose insertions are compared, the last of each filter */

typedef struct bits_of_key {
    const uint8_t *before; /* a byte for each bit of the filter */
    uint64_t new_bits;     /* bits that a query of the key reads and that were 0 before its insertion */
} bits_of_key;

static void count_new(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    bits_of_key *b = context;
    (void)wanted;
    b->new_bits += holds != 0 && b->before[cell] == 0;
}

/* Adds key i. Returns how many bits that changes. `before` has a byte for each bit. */
static uint64_t bits_changed(lab *l, kith_filter *f, uint64_t cells, uint64_t i, uint8_t *before) {
    bits_of_key b = {.before = before};
    uint64_t changed = 0, digest;
    for (uint64_t cell = 0; cell < cells; cell++)
        before[cell] = kith_filter_cell(f, cell) != 0;
    lab_fill(l, f, i, 1);
    for (uint64_t cell = 0; cell < cells; cell++)
        changed += before[cell] != (kith_filter_cell(f, cell) != 0);
    lab_digests(l, f, i, 1, &digest);
    lab_require(l, kith_filter_look(f, digest, count_new, &b), "a filter has lost a key");
    lab_require(l, b.new_bits == changed, "an insertion changes bits that a query of its key does not read");
    return changed;
}

/* An insertion into a Bloom filter changes at most k bits, independent of n. */
static void run_bloom_insertions(lab *l) {
    for (uint64_t n = N_LEAST; n <= lab_number(l, "n"); n *= 4) {
        kith_filter *f = lab_filter(l, "bloom", n, RATE, 0, NULL);
        kith_plan plan = KITH_PLAN_INIT;
        lab_must(l, kith_filter_plan_of(f, &plan), "reading the plan");
        uint8_t *before = lab_take(l, plan.cells);
        uint64_t first = bits_changed(l, f, plan.cells, 0, before), most = 0;
        lab_fill(l, f, 1, n - 1 - ADDED);
        for (uint64_t i = n - ADDED; i < n; i++) {
            uint64_t changed = bits_changed(l, f, plan.cells, i, before);
            most = changed > most ? changed : most;
            lab_progress(l, 1);
        }
        lab_find(l, LAB_EQUALS, plan.hashes, lab_exact((double)first),
                 "bloom, n = %llu: bits that the first insertion sets: k", (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, plan.hashes, lab_exact((double)most),
                 "bloom, n = %llu: bits that one of the last %d insertions sets, maximum: at most k",
                 (unsigned long long)n, ADDED);
        lab_drop(l, before);
        lab_drop(l, f);
    }
}

static void run(lab *l) {
    lab_parameter(l, "tables of each size", "%llu", (unsigned long long)lab_number(l, "tables"));
    lab_plot *plots[MEASURE_COUNT];
    for (unsigned i = 0; i < MEASURE_COUNT; i++)
        plots[i] = lab_draw(l, MEASURES[i], "n, keys", "steps", LAB_LOG_X | LAB_LOG_Y);
    for (unsigned k = 0; k < TABLE_COUNT; k++) {
        if (!lab_wants(l, "kind", TABLES[k].name))
            continue;
        lab_series *series[MEASURE_COUNT];
        for (unsigned i = 0; i < MEASURE_COUNT; i++)
            series[i] = lab_points(plots[i], "%s", TABLES[k].name);
        run_table(l, &TABLES[k], series, (double)k / TABLE_COUNT);
    }
    if (lab_wants(l, "kind", "bloom")) {
        run_bloom(l, lab_points(plots[PRESENT], "bloom"));
        run_bloom_insertions(l);
    }
}

const lab_claim lab_T8 = {
    .id = "T8",
    .title = "steps per insertion and query, as n grows",
    .sentence =
        "A query takes Θ(n) steps in a list, one step in an array, expected O(1) in a hash table and O(1) in a Bloom "
        "filter. An insertion takes O(1) on average, except in a list that must check whether the key is new.",
    .formula = "list Θ(n), others O(1)",
    .code = "src/tables/table.c",
    .note = "[3] says that an insertion into a hash table takes O(1) in the worst case. That holds for a table with "
            "chaining "
            "that neither searches nor grows. With the search, which a set needs, it is O(1) on average, and the worst "
            "of n insertions reads the longest chain (T6), log n / log log n nodes.",
    .decides = "list, n = 768: steps, query of an absent key",
    .settings = {LAB_SIZE("n", 3072, 49152, 96, 1e6, "the most keys in a table"),
                 LAB_SIZE("tables", 60, 120, 2, 100000, "tables of each size"),
                 LAB_WORD("kind", "all", "all list bitset chain probe cuckoo bloom", "the structure")},
    .run = run,
};
