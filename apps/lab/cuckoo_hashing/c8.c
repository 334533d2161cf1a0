/* C8: how full a cuckoo table gets with more functions and larger buckets.
 *
 * Keys go in until the table would have to draw new functions or grow. Then it asks for memory, which its allocator does not
 * give any more: put answers KITH_E_MEMORY, and the count is the load that was reached. (load=100 keeps the table from
 * growing of its own accord before.)
 *
 * Beside the loads of the document, which were measured, there is the threshold of the theory: for d functions and b slots,
 * keys that fill less than it can be arranged with a probability that goes to 1, keys that fill more with one that goes to 0.
 * It is a limit: where a table of m slots fails for the first time strays around it by something of order 1/sqrt(m) (0.4 of it,
 * measured), and by no more may the mean lie off it: above in any table, below in one of up to SEARCHED buckets, which the
 * search for room sees as a whole. In larger ones it gives up before: 0.9145 in place of 0.918 for three functions and
 * 10^5 slots, and 0.9176 with a search of 131072 buckets. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lab/experiment.h>

typedef struct shape {
    unsigned d, b;
    double claimed; /* by [4] */
} shape;

static const shape SHAPES[] = {{3, 1, 0.91}, {2, 2, 0.86}, {4, 4, 0.999}, {3, 8, 0.999}};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, SEARCHED = 16384 };

/* ---- the threshold ---- */

static double filled(double x, unsigned b, unsigned d) {
    return x * lab_poisson_above(x, b - 1) / lab_poisson_above(x, b) - d * b;
}

/* The keys that can be arranged, of all slots (Fountoulakis, Khosla, Panagiotou, 2011): c = x / (d b P(K >= b)^(d - 1)) with
 * K of Poisson's distribution of mean x, where x P(K >= b) / P(K >= b + 1) = d b. */
static double threshold(unsigned d, unsigned b) {
    double low = 1e-6, high = d * b;
    for (unsigned i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(filled(middle, b, d) < 0 ? &low : &high) = middle;
    }
    return low / (d * b * pow(lab_poisson_above(low, b - 1), d - 1));
}

/* ---- a table that gets no more memory ---- */

static void *allocate(void *context, size_t bytes, size_t alignment) {
    const bool *closed = context;
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void *memory = *closed ? NULL : aligned_alloc(alignment, whole);
    return memory == NULL ? NULL : memset(memory, 0, whole);
}

static void release(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    free(memory);
}

/* The load at which the first key does not go in. */
static double load_reached(lab *l, shape s, uint64_t slots, bool *closed) {
    char options[32];
    (void)snprintf(options, sizeof options, "d=%u b=%u load=100", s.d, s.b);
    kith_allocator allocator = {allocate, release, closed};
    kith_table_spec spec = KITH_TABLE_SPEC_INIT;
    spec.kind = "cuckoo";
    spec.key_bytes = 8;
    spec.capacity = slots;
    spec.options = options;
    spec.allocator = &allocator;
    *closed = false;
    kith_table *table = lab_table(l, &spec);
    *closed = true;
    uint64_t first = lab_random(l), n = 0;
    kith_status status;
    for (;; n++) {
        uint64_t key = lab_key(l, first + n);
        status = kith_table_put(table, &key, sizeof key, n, NULL);
        if (status != KITH_OK)
            break;
    }
    lab_require(l, status == KITH_E_MEMORY, "a table that is full asks for memory");
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(table, &stats), "asking for the load");
    lab_require(l, stats.count == n && stats.rehashes + stats.growths == 0, "a put that fails changes nothing");
    lab_must(l, kith_table_check(table, NULL), "checking a full table");
    lab_drop(l, table);
    return stats.load;
}

static void run(lab *l) {
    uint64_t slots = lab_pick(l, 10000, 100000), tables = lab_pick(l, 30, 60);
    lab_parameter(l, "slots", "%llu", (unsigned long long)slots);
    lab_parameter(l, "tables of each shape", "%llu", (unsigned long long)tables);
    bool *closed = lab_take(l, sizeof *closed);
    lab_plot *plot =
        lab_draw(l, "Load at which a table must be rebuilt", "functions times slots a bucket, d·b", "load", 0);
    lab_series *curve = lab_curve(plot, "threshold"), *claimed = lab_curve(plot, "as claimed");
    lab_series *points = lab_points(plot, "measured");
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        shape s = SHAPES[i];
        lab_sample loads = {0};
        for (uint64_t t = 0; t < tables; t++) {
            lab_sample_add(&loads, load_reached(l, s, slots, closed));
            lab_going(l, ((double)i + (double)(t + 1) / (double)tables) / SHAPE_COUNT);
        }
        double most = threshold(s.d, s.b), stray = 1 / sqrt((double)slots);
        lab_find(l, LAB_MUST, LAB_AT_LEAST, s.claimed - 0.01, lab_mean(&loads),
                 "%u functions, b = %u: the load claimed, less a point", s.d, s.b);
        if (slots / s.b < SEARCHED)
            lab_find(l, LAB_MUST, LAB_AT_LEAST, most - stray, lab_mean(&loads),
                     "%u functions, b = %u: the threshold, less 1/√m", s.d, s.b);
        if (most + stray < 1)
            lab_find(l, LAB_MUST, LAB_AT_MOST, most + stray, lab_mean(&loads),
                     "%u functions, b = %u: the threshold, and 1/√m", s.d, s.b);
        lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_scaled(lab_mean(&loads), 1 / most),
                 "%u functions, b = %u, over the threshold %.5f", s.d, s.b, most);
        lab_at(points, s.d * s.b, lab_mean(&loads));
        lab_at(curve, s.d * s.b, lab_exact(most));
        lab_at(claimed, s.d * s.b, lab_exact(s.claimed));
    }
}

const lab_claim lab_C8 = {
    .id = "C8",
    .title = "loads that cuckoo tables reach",
    .sentence =
        "Three functions fill a cuckoo table to 91%, two slots a bucket to 86%, four functions with four slots and "
        "three with eight to 99.9%.",
    .formula = "c = ξ / (d b P(K ≥ b)^{d−1}),  ξ P(K ≥ b) / P(K > b) = d b",
    .code = "src/tables/cuckoo_room.c",
    .run = run,
};
