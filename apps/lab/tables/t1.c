/* T1: chaining, a search for an absent key.
 *
 * A table with chaining that does not grow is filled to a given load, and absent keys are searched for. The trace
 * reports each node visited. Each table gives one number, since searches in one table share its chains and are not
 * independent. The loads are 1/4 to 8 keys per slot, on both sides of the default, 1. */
#include "steps.h"

static void run(lab *l) {
    uint64_t m = lab_number(l, "slots"), tables = lab_number(l, "tables");
    double loads[LAB_NUMBERS_MAX];
    size_t count = lab_list(l, "load", loads);
    lab_parameter(l, "slots", "%llu", (unsigned long long)m);
    lab_parameter(l, "tables", "%llu", (unsigned long long)tables);
    lab_parameter(l, "absent keys searched for in each", "%llu", (unsigned long long)m);
    lab_plot *plot = lab_draw(l, "An absent key in a table with chaining", "load α, keys per slot", "nodes visited",
                              LAB_LOG_X | LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "α"), *points = lab_points(plot, "measured");
    for (size_t i = 0; i < count; i++) {
        uint64_t n = (uint64_t)(loads[i] * (double)m);
        double load = (double)n / (double)m;
        lab_sample looks = {0};
        for (uint64_t table = 0; table < tables; table++) {
            steps s;
            kith_table_spec spec = steps_spec("chain", m, "grow=no");
            kith_table *t = steps_table(l, &spec, &s);
            put_words(l, t, 0, n);
            lab_sample_add(&looks, looks_of(l, t, &s, n, m, false));
            lab_drop(l, t);
            lab_progress(l, ((double)i + (double)table / (double)tables) / (double)count);
        }
        lab_find(l, LAB_EQUALS, load, lab_mean(&looks), "nodes visited, load %.2f", load);
        lab_at(curve, load, lab_exact(load));
        lab_at(points, load, lab_mean(&looks));
    }
}

const lab_claim lab_T1 = {
    .id = "T1",
    .title = "chaining, unsuccessful search",
    .sentence = "A search for an absent key visits α nodes of a chain on average; with the slot itself that is 1 + α.",
    .formula = "α,  with the slot 1 + α",
    .code = "src/tables/chain.c",
    .decides = "load 1.00",
    .settings = {LAB_SIZE("slots", 256, 2048, 4, 1e6, "slots of each table"),
                 LAB_SIZE("tables", 150, 400, 2, 1e6, "tables of each load"),
                 LAB_LIST("load", "0.25,0.5,1,2,4,8", "0.25,0.5,1,2,4,8", 0.01, 1000, 0.01, 1000, "keys per slot")},
    .run = run,
};
