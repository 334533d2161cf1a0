/* F2: how many bits a fingerprint needs, and what a key costs.
 *
 * With f = ⌈log2(2b/ε)⌉ bits the rate 2bα/2^f is at most ε for every load, so real filters of that f keep ε at the load
 * that they are planned for, and cost f/α bits a key. The planner is free to take another f; it never pays more than
 * that, where no wider fingerprint is needed to keep equal ones apart (F7).
 *
 * But that f is sufficient, not the least: since α < 1, one bit less is enough for some ε. At ε = 3.05% and b = 4 the
 * formula says 9, and a filter of f = 8 at a load of 0.96 has a rate of 1 - e^(-7.68/255) = 2.97%. */
#include <math.h>
#include <stdio.h>

#include "shaped.h"

typedef struct shape {
    unsigned b;
    double load; /* that large filters are planned to */
} shape;

static const shape SHAPES[] = {{2, 0.875}, {4, 0.96}, {8, 0.985}};
static const double RATES[] = {0.05, 0.02, 0.0078125, 0.003};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, RATE_COUNT = sizeof RATES / sizeof *RATES };

#define SPARED_RATE 0.0305

static unsigned document_bits(unsigned b, double rate) {
    return (unsigned)ceil(log2(2 * b / rate));
}

/* The rate of filters of 2^12 slots at this load. */
static lab_estimate measured_rate(lab *l, const shape *s, unsigned bits, uint64_t filters, uint64_t asked) {
    shaped_geometry g = {s->b, bits, (1 << 12) / (2 * s->b), 1, false};
    return shaped_rate(l, &g, (uint64_t)(s->load * (double)shaped_slots(&g)), filters, asked, s->b / 10.0);
}

/* Bits in slots for each key, as planned for 10^7 keys; *bits is f: 0 for the planner to choose. */
static double planned_bits(lab *l, unsigned b, double rate, unsigned *bits) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    char options[32];
    (void)snprintf(options, sizeof options, "b=%u f=%u", b, *bits);
    spec.kind = "cuckoo";
    spec.options = options;
    spec.capacity = 10000000;
    spec.rate = rate;
    lab_must(l, kith_filter_plan(&spec, &plan), "planning");
    *bits = plan.fingerprint_bits;
    return (double)plan.cells * plan.cell_bits / (double)plan.capacity;
}

/* The rate of filters that the library plans for this one, full. */
static lab_estimate rate_of_planned(lab *l, unsigned b, double rate, uint64_t filters, uint64_t asked) {
    uint64_t n = 5000;
    lab_sample rates = {0};
    char options[16];
    (void)snprintf(options, sizeof options, "b=%u", b);
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = lab_filter(l, "cuckoo", n, rate, 0, options);
        lab_fill(l, f, 0, n);
        lab_sample_add(&rates, (double)lab_ask(l, f, n, asked) / (double)asked);
        lab_drop(l, f);
        lab_going(l, 0.9);
    }
    return lab_mean(&rates);
}

static void draw(lab *l) {
    lab_plot *plot = lab_draw(l, "Bits a key, b = 4, 10^7 keys", "rate", "bits a key", LAB_LOG_X);
    lab_series *curve = lab_curve(plot, "⌈log2(1/ε) + 3⌉/0.96"), *wrong = lab_curve(plot, "1.05 log2(1/ε)");
    lab_series *points = lab_points(plot, "planned");
    for (double rate = 0.0625; rate > 0.0005; rate /= 1.19) {
        lab_at(curve, rate, lab_exact(document_bits(4, rate) / 0.96));
        lab_at(wrong, rate, lab_exact(1.05 * log2(1 / rate)));
        unsigned bits = 0;
        lab_at(points, rate, lab_exact(planned_bits(l, 4, rate, &bits)));
    }
}

static void run(lab *l) {
    uint64_t filters = lab_pick(l, 30, 100), asked = lab_pick(l, 20000, 100000);
    lab_parameter(l, "slots, filters of each kind", "4096, %llu", (unsigned long long)filters);
    lab_parameter(l, "absent keys asked of each", "%llu", (unsigned long long)asked);
    for (unsigned i = 0; i < SHAPE_COUNT; i++) {
        const shape *s = &SHAPES[i];
        for (unsigned j = 0; j < RATE_COUNT; j++) {
            unsigned f = document_bits(s->b, RATES[j]), taken = 0;
            lab_estimate rate = measured_rate(l, s, f, filters, asked);
            lab_find(l, LAB_MUST, LAB_AT_MOST, RATES[j], rate, "b = %u, ε = %.2g%%, f = ⌈log2(2b/ε)⌉ = %u: rate", s->b,
                     100 * RATES[j], f);
            double bits = planned_bits(l, s->b, RATES[j], &taken);
            if (taken <= f)
                lab_find(l, LAB_MUST, LAB_AT_MOST, planned_bits(l, s->b, RATES[j], &f), lab_exact(bits),
                         "b = %u, ε = %.2g%%: bits a key planned", s->b, 100 * RATES[j]);
            else
                lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(bits),
                         "b = %u, ε = %.2g%%: bits a key planned, 10^7 keys need f = %u (see F7)", s->b, 100 * RATES[j],
                         taken);
        }
    }
    /* Where a bit less would not do: a planner that hopes for the best is found out. */
    for (unsigned b = 4; b <= 8; b += 4)
        lab_find(l, LAB_MUST, LAB_AT_MOST, 0.0105, rate_of_planned(l, b, 0.0105, filters, asked),
                 "b = %u, planned for 1.05%%: rate", b);
    unsigned f = document_bits(4, SPARED_RATE);
    lab_find(l, LAB_LOOSE, LAB_AT_LEAST, SPARED_RATE, measured_rate(l, &SHAPES[1], f - 1, 4 * filters, asked),
             "b = 4: rate of f = %u, a bit less than the \"minimum\" for 3.05%%", f - 1);
    f = document_bits(2, 0.01);
    lab_find(l, LAB_MUST, LAB_AT_MOST, 0.01, measured_rate(l, &SHAPES[0], f, filters, asked),
             "b = 2, f = %u: rate, at most 1%%", f);
    lab_find(l, LAB_WRONG, LAB_AT_MOST, 1.05 * log2(100), lab_exact(planned_bits(l, 2, 0.01, &f)),
             "b = 2, f = %u: bits a key at 1%%, where 1.05 log2(1/ε) is claimed", f);
    draw(l);
}

const lab_claim lab_F2 = {
    .id = "F2",
    .title = "bits of a fingerprint, bits a key",
    .sentence = "A rate of ε needs f ≥ ⌈log2(2b/ε)⌉ bits, and a key costs at most ⌈log2(1/ε) + log2(2b)⌉/α.",
    .formula = "f ≥ ⌈log2(2b/ε)⌉, bits ≤ ⌈log2(1/ε) + log2(2b)⌉/α",
    .code = "src/core/fit.c",
    .note = "[2] calls ⌈log2(2b/ε)⌉ the minimum: it is enough, but since α < 1 some rates are kept with a bit less. "
            "And its cost of "
            "1.05 log2(1/ε), said of b = 2, is that of b = 4 without the constant: (log2(1/ε) + 3)/α; b = 2 costs "
            "(log2(1/ε) + 2)/0.875.",
    .run = run,
};
