/* F2: how many bits a fingerprint needs, and how many bits a filter needs per key.
 *
 * With f = ⌈log2(2b/ε)⌉ bits the rate 2bα/2^f is at most ε for every load. So real filters with this f keep ε at the
 * load that they are planned for, and need f/α bits per key. The planner may choose another f. It never uses more bits
 * per key than that (above a rate of 10% it may, because it uses at least 4 to 6 bits per fingerprint). This holds for
 * every n: keys that share their fingerprint and buckets with too many others go to a stash (F7).
 *
 * With windows, a slot has f + 1 bits and the rate is 2α/2^f (F3). So the filter needs ⌈log2(1/ε) + log2(4α)⌉/α bits
 * per key, with α = 0.945: ⌈log2(1/ε) + 1.92⌉/0.945.
 *
 * This f is sufficient, but it is not the minimum: since α < 1, one bit less is enough for some ε. At ε = 3.05% and b =
 * 4 the formula says 9, but a filter with f = 8 at a load of 0.96 has a rate of 1 - e^(-7.68/255) = 2.97%. */
#include <math.h>
#include <stdio.h>

#include "geometry.h"

typedef struct shape {
    const char *name; /* the value of the setting b */
    unsigned b;
    double load; /* the load that the planner chooses for large filters */
} shape;

static const shape SHAPES[] = {{"2", 2, 0.875}, {"4", 4, 0.96}, {"8", 8, 0.985}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

#define ONE_BIT_LESS_RATE 0.0305 /* a rate that b = 4 keeps with one bit less than the formula says */

static unsigned document_bits(unsigned b, double rate) {
    return (unsigned)ceil(log2(2 * b / rate));
}

/* The filters that are measured: 2^12 slots at the load s->load. */
static geometry geometry_of(const shape *s, unsigned bits, uint64_t *keys) {
    geometry g = {s->b, bits, (1 << 12) / (2 * s->b), 1, false};
    *keys = (uint64_t)(s->load * (double)geometry_slots(&g));
    return g;
}

static lab_estimate measured_rate(lab *l, const shape *s, unsigned bits, uint64_t filters, uint64_t lookups) {
    uint64_t keys;
    geometry g = geometry_of(s, bits, &keys);
    return geometry_rate(l, &g, keys, filters, lookups, s->b / 10.0);
}

static double exact_rate(const shape *s, unsigned bits) {
    uint64_t keys;
    geometry g = geometry_of(s, bits, &keys);
    return geometry_exact_rate(&g, (double)keys);
}

/* Returns the bits per key, counting slots only, of a filter planned for 10^7 keys. *bits is f; 0 lets the planner
 * choose it, and then *bits is set to its choice. */
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

/* Returns the most bits per key, with header, stashes and checksums, of windows planned for 10^5 to 10^9 keys. */
static double planned_window_bits(lab *l, double rate) {
    double most = 0;
    for (uint64_t n = 100000; n <= 1000000000; n *= 10) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        spec.kind = "overlap";
        spec.capacity = n;
        spec.rate = rate;
        lab_must(l, kith_filter_plan(&spec, &plan), "planning");
        most = fmax(most, plan.bits_per_key);
    }
    return most;
}

/* Measures the rate of full filters that the library planned for `rate`. */
static lab_estimate rate_of_planned(lab *l, unsigned b, double rate, uint64_t filters, uint64_t lookups) {
    uint64_t n = 5000;
    lab_sample rates = {0};
    char options[16];
    (void)snprintf(options, sizeof options, "b=%u", b);
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = lab_filter(l, "cuckoo", n, rate, 0, options);
        lab_fill(l, f, 0, n);
        lab_sample_add(&rates, (double)lab_count_found(l, f, n, lookups) / (double)lookups);
        lab_drop(l, f);
        lab_progress(l, 0.9);
    }
    return lab_mean(&rates);
}

static void draw(lab *l) {
    lab_plot *plot = lab_draw(l, "Bits per key, b = 4, 10^7 keys", "rate", "bits per key", LAB_LOG_X);
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
    uint64_t filters = lab_number(l, "filters"), lookups = lab_number(l, "asked");
    lab_parameter(l, "slots, filters of each kind", "4096, %llu", (unsigned long long)filters);
    lab_parameter(l, "absent keys looked up in each", "%llu", (unsigned long long)lookups);
    double rates[LAB_NUMBERS_MAX];
    size_t rate_count = lab_list(l, "rate", rates);
    for (unsigned i = 0; i < SHAPE_COUNT; i++) {
        const shape *s = &SHAPES[i];
        for (size_t j = 0; j < rate_count && lab_wants(l, "b", s->name); j++) {
            unsigned f = document_bits(s->b, rates[j]), planned_f = 0;
            lab_estimate rate = measured_rate(l, s, f, filters, lookups);
            lab_find(l, LAB_AT_MOST, rates[j], rate, "b = %u, ε = %.2g%%, f = ⌈log2(2b/ε)⌉ = %u: rate", s->b,
                     100 * rates[j], f);
            lab_known(l, exact_rate(s, f));
            double bits = planned_bits(l, s->b, rates[j], &planned_f);
            if (planned_f <= f)
                lab_find(l, LAB_AT_MOST, planned_bits(l, s->b, rates[j], &f), lab_exact(bits),
                         "b = %u, ε = %.2g%%: planned bits per key", s->b, 100 * rates[j]);
            else
                lab_find(l, LAB_SHOWN, 0, lab_exact(bits),
                         "b = %u, ε = %.2g%%: planned bits per key; the planner uses at least f = %u", s->b,
                         100 * rates[j], planned_f);
        }
    }
    /* Fingerprints do not grow with n. The header is 0.2% of the smallest file. */
    for (size_t j = 0; j < rate_count; j++)
        if (rates[j] <= 0.03)
            lab_find(l, LAB_AT_MOST, 1.005 * ceil(log2(1 / rates[j]) + 1.92) / 0.945,
                     lab_exact(planned_window_bits(l, rates[j])),
                     "windows, ε = %.2g%%: most bits per key of the files planned for 10^5 to 10^9 keys, bound "
                     "⌈log2(1/ε) + 1.92⌉/0.945 + 0.5%%",
                     100 * rates[j]);
    /* At this rate one bit less is not enough, so a planner that uses too few bits fails here. */
    for (unsigned b = 4; b <= 8; b += 4)
        lab_find(l, LAB_AT_MOST, 0.0105, rate_of_planned(l, b, 0.0105, filters, lookups),
                 "b = %u, planned for 1.05%%: rate", b);
    unsigned f = document_bits(4, ONE_BIT_LESS_RATE);
    lab_find_stated(l, LAB_LOOSE,
                    "[2]: \"the minimum fingerprint size f required to retain a false positive rate ε is f ≥ "
                    "⌈log2(2b/ε)⌉\"",
                    LAB_AT_LEAST, ONE_BIT_LESS_RATE, measured_rate(l, &SHAPES[1], f - 1, 4 * filters, lookups),
                    "b = 4: rate with f = %u, one bit less than the minimum for 3.05%%", f - 1);
    lab_known(l, exact_rate(&SHAPES[1], f - 1));
    f = document_bits(2, 0.01);
    lab_find(l, LAB_AT_MOST, 0.01, measured_rate(l, &SHAPES[0], f, filters, lookups), "b = 2, f = %u: rate, bound 1%%",
             f);
    lab_known(l, exact_rate(&SHAPES[0], f));
    double bits = planned_bits(l, 2, 0.01, &f);
    lab_find_stated(l, LAB_WRONG,
                    "[2]: \"In the recommended setting b=2 which shows that the cost for Cuckoo filters is "
                    "approximately 1.05 log2(1/ε)\"",
                    LAB_AT_MOST, 1.05 * log2(100), lab_exact(bits), "b = 2, f = %u: bits per key at 1%%", f);
    draw(l);
}

const lab_claim lab_F2 = {
    .id = "F2",
    .title = "bits per fingerprint and bits per key",
    .sentence =
        "A rate of ε needs f ≥ ⌈log2(2b/ε)⌉ bits per fingerprint, and at most ⌈log2(1/ε) + log2(2b)⌉/α bits per "
        "key.",
    .formula = "f ≥ ⌈log2(2b/ε)⌉, bits ≤ ⌈log2(1/ε) + log2(2b)⌉/α",
    .code = "src/plan/fit.c",
    .note = "[2] calls ⌈log2(2b/ε)⌉ the minimum. It is sufficient, but since α < 1 one bit less is enough for some "
            "rates. [2] also gives a cost of 1.05 log2(1/ε) bits per key for b = 2. That is the cost of b = 4, "
            "(log2(1/ε) + 3)/α, without its constant. With b = 2 the cost is (log2(1/ε) + 2)/0.875.",
    .decides = "b = 4, ε = 2%",
    .settings = {LAB_SIZE("filters", 30, 100, 2, 1e6, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 100000, 100, 1e8, "absent keys looked up in each"),
                 LAB_LIST("rate", "0.05,0.02,1/128,0.003", "0.05,0.02,1/128,0.003", 1e-5, 0.5, 0.001, 0.1,
                          "false positive rates"),
                 LAB_WORD("b", "all", "all 2 4 8", "slots per bucket")},
    .run = run,
};
