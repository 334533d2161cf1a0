/* T2: chaining, a search for a present key.
 *
 * Like T1, but all keys of a table are searched for, and their mean is the number for that table. The last term,
 * α/(2n), can be measured only if n is small: in the small tables here it is an eighth or a sixteenth of α/2. So
 * there are also many small tables. */
#include "steps.h"

typedef struct shape {
    double load;
    uint64_t slots;
} shape;

static const shape SMALL[] = {{1, 8}, {4, 4}};

enum { SMALL_COUNT = sizeof SMALL / sizeof *SMALL };

static double predicted(double load, double n) {
    return 1 + load / 2 - load / (2 * n);
}

static lab_estimate measure(lab *l, uint64_t m, uint64_t n, uint64_t tables, double done) {
    lab_sample looks = {0};
    for (uint64_t table = 0; table < tables; table++) {
        steps s;
        kith_table_spec spec = steps_spec("chain", m, "grow=no");
        kith_table *t = steps_table(l, &spec, &s);
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
    double loads[LAB_NUMBERS_MAX];
    size_t shapes = SMALL_COUNT + lab_list(l, "load", loads);
    for (size_t i = 0; i < shapes; i++) {
        bool is_small = i < SMALL_COUNT;
        shape at = is_small ? SMALL[i] : (shape){loads[i - SMALL_COUNT], m};
        uint64_t n = (uint64_t)(at.load * (double)at.slots);
        lab_require(l, n > 0, "a load of less than one key: set more slots");
        double load = (double)n / (double)at.slots;
        lab_estimate looks = measure(l, at.slots, n, is_small ? small_tables : tables, (double)i / (double)shapes);
        lab_find(l, LAB_EQUALS, predicted(load, (double)n), looks, "nodes visited, load %.2f, n = %llu", load,
                 (unsigned long long)n);
        lab_at(is_small ? small : points, load, looks);
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
                 LAB_SIZE("small_tables", 5000, 100000, 2, 1e7, "tables of 8 and 16 keys"),
                 LAB_LIST("load", "0.25,0.5,1,2,4,8", "0.25,0.5,1,2,4,8", 0.01, 1000, 0.01, 1000,
                          "keys per slot of the larger tables")},
    .run = run,
};
