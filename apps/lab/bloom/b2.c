/* B2: how often a full Bloom filter says yes wrongly. */
#include <math.h>
#include <stdio.h>

#include "../experiment.h"

typedef struct shape {
    double bits_a_key;
    unsigned k;
} shape;

static const shape SHAPES[] = {{4, 3}, {6, 4}, {8, 6}, {10, 7}, {12, 8}, {16, 11}};

static void run(lab *l) {
    uint64_t n = lab_pick(l, 2000, 20000), filters = lab_pick(l, 40, 100), asked = lab_pick(l, 5000, 100000);
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    lab_parameter(l, "filters", "%llu", (unsigned long long)filters);
    lab_parameter(l, "absent keys asked of each", "%llu", (unsigned long long)asked);
    lab_plot *plot = lab_draw(l, "Wrong answers of a full filter", "bits a key, m/n", "rate", LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "(1 − e^(−kn/m))^k, k = (m/n) ln 2");
    for (double c = 3; c <= 17; c += 0.25)
        lab_at(curve, c, lab_exact(pow(1 - exp(-log(2)), c * log(2))));
    lab_series *points = lab_points(plot, "measured, k a whole number");
    for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++) {
        lab_sample rates = {0};
        double m = 0, k = 0;
        for (uint64_t i = 0; i < filters; i++) {
            char options[32];
            (void)snprintf(options, sizeof options, "k=%u", SHAPES[s].k);
            kith_filter *f = lab_filter(l, "bloom", n, 0, (uint64_t)(SHAPES[s].bits_a_key * (double)n / 8), options);
            kith_plan plan = KITH_PLAN_INIT;
            lab_must(l, kith_filter_plan_of(f, &plan), "asking for the plan");
            m = (double)plan.cells;
            k = plan.hashes;
            lab_fill(l, f, 0, n);
            lab_sample_add(&rates, (double)lab_ask(l, f, n, asked) / (double)asked);
            lab_drop(l, f);
            lab_going(l, ((double)s + (double)i / (double)filters) / (double)(sizeof SHAPES / sizeof *SHAPES));
        }
        double predicted = pow(1 - exp(-k * (double)n / m), k);
        lab_find(l, LAB_MUST, LAB_EQUALS, predicted, lab_mean(&rates), "m/n = %.2f, k = %.0f", m / (double)n, k);
        lab_at(points, m / (double)n, lab_mean(&rates));
    }
}

const lab_claim lab_B2 = {
    .id = "B2",
    .title = "rate of a full Bloom filter",
    .sentence = "A key that is not in is answered yes with probability (1 − e^(−kn/m))^k.",
    .formula = "ε = (1 − e^{−kn/m})^{k}",
    .code = "src/family/slices.h",
    .run = run,
};
