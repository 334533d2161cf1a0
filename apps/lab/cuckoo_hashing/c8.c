/* C8: how full a cuckoo table gets with more hash functions and larger buckets.
 *
 * Keys are inserted until the table would have to draw new hash functions or grow. For this it allocates memory, and at
 * this point its allocator returns none, so that put returns KITH_E_MEMORY. The number of keys gives the load that was
 * reached. (load=100 keeps the table from growing earlier.)
 *
 * The document gives measured loads. The theory gives a threshold for d functions and b slots per bucket. Below it the
 * keys can be placed with a probability that tends to 1, above it with one that tends to 0. This is a limit for many
 * slots. The load at which a table of m slots fails for the first time deviates from it by an amount of order 1/sqrt(m)
 * (measured: 0.4/sqrt(m)). The mean must be within 1/sqrt(m) of the threshold. The upper limit applies to any table.
 * The lower limit applies to tables of up to SEARCHED buckets, which the search for a free slot can cover completely.
 * In larger tables the search gives up earlier: with three functions and 10^5 slots tables reach 0.9145 instead of
 * 0.918. With a search over 131072 buckets they reach 0.9176. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/experiment.h>

typedef struct shape {
    unsigned d, b;
    double claimed; /* by [4] */
} shape;

/* The shapes of [4], or those that the user sets. */
static const shape SHAPES[] = {{3, 1, 0.91}, {2, 2, 0.86}, {4, 4, 0.999}, {3, 8, 0.999}};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, SEARCHED = 16384 };

/* ---- the threshold ---- */

static double filled(double x, unsigned b, unsigned d) {
    return x * lab_poisson_above(x, b - 1) / lab_poisson_above(x, b) - d * b;
}

/* The load up to which all keys can be placed (Fountoulakis, Khosla, Panagiotou, 2011): c = x / (d b P(K >= b)^(d -
 * 1)), where K is Poisson with mean x, and x P(K >= b) / P(K >= b + 1) = d b. */
static double threshold(unsigned d, unsigned b) {
    double low = 1e-6, high = d * b;
    for (unsigned i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(filled(middle, b, d) < 0 ? &low : &high) = middle;
    }
    return low / (d * b * pow(lab_poisson_above(low, b - 1), d - 1));
}

/* ---- a table whose allocator fails once it is filled ---- */

static void *allocate(void *context, size_t bytes, size_t alignment) {
    const bool *exhausted = context;
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void *memory = *exhausted ? NULL : aligned_alloc(alignment, whole);
    return memory == NULL ? NULL : memset(memory, 0, whole);
}

static void release(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    free(memory);
}

/* Returns the load at which the first insertion fails. */
static double load_reached(lab *l, shape s, uint64_t slots, bool *exhausted) {
    char options[32];
    (void)snprintf(options, sizeof options, "d=%u b=%u load=100", s.d, s.b);
    kith_allocator allocator = {allocate, release, exhausted};
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = slots;
    spec.options = options;
    spec.allocator = &allocator;
    *exhausted = false;
    kith_table *table = lab_table(l, &spec);
    *exhausted = true;
    uint64_t first = lab_random(l), n = 0;
    kith_status status;
    for (;; n++) {
        uint64_t key = lab_key(l, first + n);
        status = kith_table_put(table, &key, sizeof key, n, NULL);
        if (status != KITH_OK)
            break;
    }
    lab_require(l, status == KITH_E_MEMORY, "a full table fails with another status than KITH_E_MEMORY");
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "reading the load");
    lab_require(l, stats.count == n && stats.rehashes + stats.growths == 0, "a put that fails changes the table");
    lab_must(l, kith_table_check(table, NULL), "checking a full table");
    lab_drop(l, table);
    return stats.load;
}

static void run(lab *l) {
    uint64_t slots = lab_number(l, "slots"), tables = lab_number(l, "tables");
    lab_parameter(l, "slots", "%llu", (unsigned long long)slots);
    lab_parameter(l, "tables of each shape", "%llu", (unsigned long long)tables);
    bool *exhausted = lab_take(l, sizeof *exhausted);
    lab_plot *plot =
        lab_draw(l, "Load at which a table must be rebuilt", "functions times slots per bucket, d·b", "load", 0);
    lab_series *curve = lab_curve(plot, "threshold"), *claimed = lab_curve(plot, "claimed by [4]");
    lab_series *points = lab_points(plot, "measured");
    bool is_set = lab_is_set(l, "d") || lab_is_set(l, "b");
    double ds[LAB_NUMBERS_MAX], bs[LAB_NUMBERS_MAX];
    size_t d_count = lab_list(l, "d", ds), b_count = lab_list(l, "b", bs),
           count = is_set ? d_count * b_count : SHAPE_COUNT;
    for (size_t i = 0; i < count; i++) {
        shape s = is_set ? (shape){(unsigned)ds[i / b_count], (unsigned)bs[i % b_count], 0} : SHAPES[i];
        lab_sample loads = {0};
        for (uint64_t t = 0; t < tables; t++) {
            lab_sample_add(&loads, load_reached(l, s, slots, exhausted));
            lab_progress(l, ((double)i + (double)(t + 1) / (double)tables) / (double)count);
        }
        bool is_sharp = s.d > 2 || s.b > 1; /* the threshold of 1/2 is not: see C6 */
        double limit = is_sharp ? threshold(s.d, s.b) : 0.5, tolerance = 1 / sqrt((double)slots);
        if (s.claimed > 0)
            lab_find(l, LAB_AT_LEAST, s.claimed, lab_mean(&loads), "%u functions, b = %u: load, stated by [4]", s.d,
                     s.b);
        if (is_sharp && slots / s.b < SEARCHED)
            lab_find(l, LAB_AT_LEAST, limit - tolerance, lab_mean(&loads),
                     "%u functions, b = %u: load, threshold − 1/√m", s.d, s.b);
        if (is_sharp && limit + tolerance < 1)
            lab_find(l, LAB_AT_MOST, limit + tolerance, lab_mean(&loads),
                     "%u functions, b = %u: load, threshold + 1/√m", s.d, s.b);
        lab_find(l, LAB_SHOWN, 0, lab_scaled(lab_mean(&loads), 1 / limit),
                 "%u functions, b = %u: load divided by the threshold %.5f", s.d, s.b, limit);
        lab_at(points, s.d * s.b, lab_mean(&loads));
        lab_at(curve, s.d * s.b, lab_exact(limit));
        if (s.claimed > 0)
            lab_at(claimed, s.d * s.b, lab_exact(s.claimed));
    }
}

const lab_claim lab_C8 = {
    .id = "C8",
    .title = "loads that cuckoo tables reach",
    .sentence = "Three functions fill a cuckoo table to 91%, two slots per bucket to 86%, and both four functions with "
                "four slots and three functions with eight slots to 99.9%.",
    .formula = "c = ξ / (d b P(K ≥ b)^{d−1}),  ξ P(K ≥ b) / P(K > b) = d b",
    .code = "src/tables/cuckoo/insert.c",
    .decides = "3 functions, b = 1: load, stated",
    .settings = {LAB_SIZE("slots", 10000, 100000, 64, 1e7, "slots of each table"),
                 LAB_SIZE("tables", 30, 60, 2, 100000, "tables of each shape"),
                 LAB_WHOLES("d", "2,3,4", "2,3,4", 2, 4, 2, 4,
                            "hash functions (with b: every pair; by default the four of [4])"),
                 LAB_WHOLES("b", "1,2,4,8", "1,2,4,8", 1, 8, 1, 8, "slots per bucket")},
    .run = run,
};
