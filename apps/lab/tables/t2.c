/* T2: chaining, a search for a present key.
 *
 * Like T1, but all keys of a table are searched for, and their mean is the number for that table. The last term,
 * α/(2n), can be measured only if n is small: in the small tables here it is an eighth or a sixteenth of α/2. So
 * there are also many small tables. */
#include "steps.h"

typedef struct shape {
    double load;
    uint64_t slots; /* 0: the number that the run uses */
} shape;

static const shape SHAPES[] = {{1, 8}, {4, 4}, {0.25, 0}, {0.5, 0}, {1, 0}, {2, 0}, {4, 0}, {8, 0}};

enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

static double predicted(double load, double n) {
    return 1 + load / 2 - load / (2 * n);
}

static lab_estimate measure(lab *l, uint64_t m, uint64_t n, uint64_t tables, double done) {
    lab_sample looks = {0};
    for (uint64_t table = 0; table < tables; table++) {
        steps s;
        kith_table_spec spec = steps_spec("chain", m, "grow=no", &s);
        kith_table *t = lab_table(l, &spec);
        put_words(l, t, 0, n);
        lab_sample_add(&looks, looks_of(l, t, &s, 0, n, true));
        lab_drop(l, t);
        lab_progress(l, done);
    }
    return lab_mean(&looks);
}

static void run(lab *l) {
    uint64_t m = lab_number(l, "slots"), tables = lab_number(l, "tables"), small_tables = lab_number(l, "small_tables");
    lab_parameter(l, "slots", "%llu", (unsigned long long)m);
    lab_parameter(l, "tables", "%llu", (unsigned long long)tables);
    lab_parameter(l, "small tables", "%llu", (unsigned long long)small_tables);
    lab_plot *plot =
        lab_draw(l, "A present key in a table with chaining", "load α, keys per slot", "nodes visited", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "1 + α/2 − α/(2n), %llu slots", (unsigned long long)m);
    lab_series *points = lab_points(plot, "measured, %llu slots", (unsigned long long)m);
    lab_series *small = lab_points(plot, "measured, 4 or 8 slots");
    for (double load = 0.25; load <= 8; load *= 1.1)
        lab_at(curve, load, lab_exact(predicted(load, load * (double)m)));
    for (unsigned i = 0; i < SHAPE_COUNT; i++) {
        bool is_small = SHAPES[i].slots != 0;
        uint64_t slots = is_small ? SHAPES[i].slots : m, n = (uint64_t)(SHAPES[i].load * (double)slots);
        lab_estimate looks = measure(l, slots, n, is_small ? small_tables : tables, (double)i / SHAPE_COUNT);
        lab_find(l, LAB_EQUALS, predicted(SHAPES[i].load, (double)n), looks, "nodes visited, load %.2f, n = %llu",
                 SHAPES[i].load, (unsigned long long)n);
        lab_at(is_small ? small : points, SHAPES[i].load, looks);
    }
}

const lab_claim lab_T2 = {
    .id = "T2",
    .title = "chaining, successful search",
    .sentence = "A search for a present key visits 1 + α/2 − α/(2n) nodes on average.",
    .formula = "1 + α/2 − α/(2n)",
    .code = "src/tables/chain.c",
    .decides = "load 8.00",
    .settings = {LAB_SIZE("slots", 256, 2048, 4, 1e6, "slots of each table"),
                 LAB_SIZE("tables", 150, 500, 2, 1e6, "tables of each load"),
                 LAB_SIZE("small_tables", 5000, 100000, 2, 1e7, "tables of 8 and 16 keys")},
    .run = run,
};
