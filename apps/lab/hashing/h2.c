/* H2: cuckoo tables with hash functions of limited independence.
 *
 * The tables have two halves, as in [4], two functions and one slot per bucket, and are filled to 45%, the default, by
 * Pagh and Rodler's walk. The keys are either random or consecutive integers, which functions that multiply map to
 * evenly spaced values. Two numbers are compared: the share of tables that had to draw new functions, and the
 * displacements per insertion in the other tables. With random keys 2-wise functions are as good as random ones
 * (Mitzenmacher and Vadhan 2008). With consecutive keys, near-collisions repeat at fixed distances, and four of them
 * form a cycle (Dietzfelbinger and Schellbach 2009).
 *
 * For random functions the share is known exactly: n keys can be inserted without new functions if no component of the
 * graph whose vertices are the slots and whose edges are the keys has two cycles (cuckoo_hashing/graph_probability.h).
 * The step limit of the walk, 6 log m / log 1.05, is far larger than any component at this load. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lab/cuckoo_hashing/graph_probability.h>
#include <lab/tables/steps.h>

/* From SEEN_FROM consecutive keys on, 2-wise functions are much worse than random ones. */
enum { LOG_N_WISE = 1, SEEN_FROM = 2048 };

typedef struct variant {
    const char *name;
    kith_family_id family;
    unsigned independence;  /* 0: fixed by the family; LOG_N_WISE: ceil(log2 n) */
    bool is_random;         /* random keys; otherwise consecutive ones */
    lab_relation to_random; /* how its share of rehashes compares with that of random functions */
    const char *layout;     /* NULL: as set */
} variant;

/* The displacements of the others are compared with those of the first. */
static const variant VARIANTS[] = {
    {"siphash", KITH_FAMILY_SIPHASH, 0, false, LAB_EQUALS, NULL},
    {"xxh3", KITH_FAMILY_XXH3, 0, false, LAB_EQUALS, NULL},
    {"log n-wise polynomial", KITH_FAMILY_POLYNOMIAL, LOG_N_WISE, false, LAB_EQUALS, NULL},
    {"tabulation", KITH_FAMILY_TABULATION, 0, false, LAB_SHOWN, NULL},
    {"2-wise polynomial", KITH_FAMILY_POLYNOMIAL, 2, false, LAB_AT_LEAST, NULL},
    {"2-wise polynomial, random keys", KITH_FAMILY_POLYNOMIAL, 2, true, LAB_EQUALS, NULL},
    {"multiply_shift", KITH_FAMILY_MULTIPLY_SHIFT, 0, false, LAB_AT_LEAST, NULL},
    {"multiply_shift, random keys", KITH_FAMILY_MULTIPLY_SHIFT, 0, true, LAB_EQUALS, NULL},
    {"siphash, one table", KITH_FAMILY_SIPHASH, 0, false, LAB_EQUALS, "one"},
};

enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

typedef struct outcome {
    uint64_t slots, rehashes;
    double moves; /* per insertion */
} outcome;

static const char *layout_of(lab *l, const variant *v) {
    return v->layout != NULL ? v->layout : lab_word(l, "layout");
}

static outcome fill(lab *l, const variant *v, uint64_t n) {
    steps s = {0};
    char options[64];
    (void)snprintf(options, sizeof options, "d=2 b=1 layout=%s insert=walk", layout_of(l, v));
    kith_table_spec spec = steps_spec("cuckoo", n, options);
    spec.family = v->family;
    spec.independence = v->independence == LOG_N_WISE ? (unsigned)ceil(log2((double)n)) : v->independence;
    kith_table *t = steps_table(l, &spec, &s);
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(t, &stats), "reading the number of slots");
    outcome o = {.slots = stats.slots};
    uint64_t start = lab_random(l) >> 4; /* below p, so that polynomials do not reduce the keys */
    for (uint64_t i = 0; i < n; i++)
        put_word(l, t, v->is_random ? lab_random(l) >> 4 : start + i);
    lab_must(l, kith_table_stats_of(t, &stats), "reading the number of rehashes");
    lab_require(l, stats.count == n, "a table lost a key");
    lab_require(l, stats.growths == 0 || stats.rehashes > 0, "a table grew before it drew new functions");
    o.rehashes = stats.rehashes;
    o.moves = (double)s.moves / (double)n;
    lab_drop(l, t);
    return o;
}

typedef struct tally {
    uint64_t failed;
    lab_sample moves;  /* per insertion, of tables that did not fail */
    lab_sample beyond; /* the same, minus the moves of the first variant */
} tally;

/* The share of tables that rehash under random functions. */
static double expected_of(lab *l, const variant *v, uint64_t n, uint64_t slots) {
    bool halves = strcmp(layout_of(l, v), "two") == 0;
    return 1 - (halves ? probability_all_fit_halves(n, slots) : probability_all_fit(n, slots));
}

static void find_size(lab *l, const tally *tallies, uint64_t n, uint64_t tables, uint64_t slots) {
    for (unsigned i = 0; i < VARIANT_COUNT; i++) {
        const variant *v = &VARIANTS[i];
        double expected = expected_of(l, v, n, slots);
        const tally *t = &tallies[i];
        lab_find(l, v->to_random, expected, lab_share(t->failed, tables), "%s, n = %llu: tables that rehash", v->name,
                 (unsigned long long)n);
        if (v->to_random == LAB_AT_LEAST && n >= SEEN_FROM)
            lab_find(l, LAB_AT_LEAST, 3 * expected, lab_share(t->failed, tables),
                     "%s, n = %llu: tables that rehash, at least three times the share of random functions", v->name,
                     (unsigned long long)n);
        lab_find(l, LAB_SHOWN, 0, lab_mean(&t->moves), "%s, n = %llu: displacements per insertion", v->name,
                 (unsigned long long)n);
        if (i > 0 && v->layout == NULL)
            lab_find(l, v->to_random == LAB_EQUALS ? LAB_EQUALS : LAB_SHOWN, 0, lab_mean(&t->beyond),
                     "%s, n = %llu: displacements per insertion, minus those of %s", v->name, (unsigned long long)n,
                     VARIANTS[0].name);
    }
}

static void run(lab *l) {
    uint64_t puts = lab_number(l, "puts"), n_most = lab_number(l, "n");
    lab_parameter(l, "keys inserted for each family and n", "%llu", (unsigned long long)puts);
    lab_parameter(l, "load", "0.45");
    lab_plot *failures = lab_draw(l, "Tables that draw new functions", "n, keys", "share", LAB_LOG_X | LAB_LOG_Y);
    lab_plot *moves =
        lab_draw(l, "Displacements in the other tables", "n, keys", "displacements per insertion", LAB_LOG_X);
    lab_series *shares[VARIANT_COUNT], *means[VARIANT_COUNT];
    for (unsigned i = 0; i < VARIANT_COUNT; i++) {
        shares[i] = lab_points(failures, "%s", VARIANTS[i].name);
        means[i] = lab_points(moves, "%s", VARIANTS[i].name);
    }
    lab_series *curve =
        lab_curve(failures, "random functions"); /* last, so that a family has the same colour in both plots */
    for (uint64_t n = 128; n <= n_most; n *= 4) {
        tally tallies[VARIANT_COUNT] = {0};
        uint64_t tables = puts / n, slots = 0;
        for (uint64_t table = 0; table < tables; table++) {
            outcome first = {0};
            for (unsigned i = 0; i < VARIANT_COUNT; i++) {
                outcome o = fill(l, &VARIANTS[i], n);
                slots = o.slots;
                first = i == 0 ? o : first;
                tallies[i].failed += o.rehashes > 0;
                if (o.rehashes == 0)
                    lab_sample_add(&tallies[i].moves, o.moves);
                if (o.rehashes == 0 && first.rehashes == 0)
                    lab_sample_add(&tallies[i].beyond, o.moves - first.moves);
            }
            lab_progress(l,
                         log((double)n / 128) / log(4.0 * (double)n_most / 128) + 0.2 * (double)table / (double)tables);
        }
        find_size(l, tallies, n, tables, slots);
        lab_at(curve, (double)n, lab_exact(expected_of(l, &VARIANTS[0], n, slots)));
        for (unsigned i = 0; i < VARIANT_COUNT; i++) {
            lab_at(shares[i], (double)n, lab_share(tallies[i].failed, tables));
            lab_at(means[i], (double)n, lab_mean(&tallies[i].moves));
        }
    }
}

const lab_claim lab_H2 = {
    .id = "H2",
    .title = "cuckoo hashing under limited independence",
    .sentence =
        "With log n-wise independent functions cuckoo hashing works as well as with random ones: no more rehashes and "
        "no more displacements. With 2-universal functions it may not. (The share of rehashes falls as 1/n when n is "
        "large; near a load of 1/2, here 0.45, that takes thousands of keys.)",
    .formula = "P(rehash) = O(1/n)",
    .code = "src/core/function.c",
    .decides = "log n-wise polynomial, n = 512: tables that rehash",
    .settings = {LAB_WORD("layout", "two", "one two", "one table or two halves"),
                 LAB_SIZE("puts", 393216, 3145728, 10000, 1e8, "keys inserted for each family and n"),
                 LAB_SIZE("n", 512, 2048, 128, 32768, "the most keys in a table")},
    .run = run,
};
