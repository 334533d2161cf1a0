/* F3: the rate below which a cuckoo filter is smaller than a Bloom filter.
 *
 * A Bloom filter needs log2(1/ε)/ln 2 bits per key. A cuckoo filter with f bits at load α needs f/α. With windows it
 * needs (f + 1)/α, because one more bit distinguishes the slots of a window. Its rate is 1 - e^(-2bα/(2^f - 1)), with
 * 2α instead of 2bα for windows.
 *
 * For each f real filters are filled to the load that the library plans for, and their rate is measured. Their size is
 * compared with that of a Bloom filter with the measured rate. The curves cross where the ratio of the sizes is 1. The
 * integers f next to this point must be on the expected sides of it, and the line through them gives the rate at which
 * the curves cross. */
#include <math.h>
#include <stdio.h>

#include "geometry.h"

typedef struct layout {
    const char *name, *kind, *options;
    unsigned b; /* 0 means windows */
    double load;
    unsigned from;    /* the first f that is measured */
    unsigned smaller; /* the first f with which the filter is smaller than a Bloom filter */
} layout;

static const layout LAYOUTS[] = {
    {"buckets of 4", "cuckoo", "b=4", 4, 0.96, 7, 11},
    {"buckets of 2", "cuckoo", "b=2", 2, 0.875, 6, 9},
    {"windows", "overlap", NULL, 0, 0.945, 5, 7},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, WIDTHS = 6 };

static double bloom_bits(double rate) {
    return log2(1 / rate) / log(2);
}

static lab_estimate ratio_to_bloom(double bits, lab_estimate rate) {
    double highest = fmin(rate.high, 0.999), lowest = fmax(rate.low, 1e-9);
    return (lab_estimate){bits / bloom_bits(rate.value), bits / bloom_bits(lowest), bits / bloom_bits(highest)};
}

/* One fingerprint width of a layout: its bits per key, and its rate. */
typedef struct width {
    double bits, exact;
    lab_estimate rate;
} width;

/* Returns the rate at which a layout needs the same number of bits as a Bloom filter. Both sizes are straight lines
 * over log2(1/ε), so their difference is one, too. The line through two widths shows where the difference is 0. */
static double crossing_of(double bits_before, double rate_before, double bits, double rate) {
    double before = bits_before - bloom_bits(rate_before), after = bits - bloom_bits(rate);
    return exp(log(rate_before) + before / (before - after) * log(rate / rate_before));
}

static void find_crossing(lab *l, const layout *at, const width *before, const width *now) {
    double least = 1, most = 0, ends[2][2] = {{before->rate.low, before->rate.high}, {now->rate.low, now->rate.high}};
    for (unsigned i = 0; i < 4; i++) {
        double rate = crossing_of(before->bits, ends[0][i & 1], now->bits, ends[1][i >> 1]);
        least = fmin(least, rate);
        most = fmax(most, rate);
    }
    lab_estimate measured = {crossing_of(before->bits, before->rate.value, now->bits, now->rate.value), least, most};
    lab_find(l, LAB_MUST, LAB_EQUALS, crossing_of(before->bits, before->exact, now->bits, now->exact), measured,
             "%s: rate below which they are smaller than Bloom filters", at->name);
}

/* Returns the highest rate such that at this and every lower rate the plan for n keys is smaller than that of a Bloom
 * filter. The rates form a grid with 16 steps per factor of two. */
static double planned_crossing(lab *l, const layout *at, uint64_t n) {
    double crossing = 0;
    for (unsigned i = 20 * 16; i > 16; i--) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan cuckoo = KITH_PLAN_INIT, bloom = KITH_PLAN_INIT;
        spec.capacity = n;
        spec.rate = exp2(-(double)i / 16);
        spec.kind = "bloom";
        lab_must(l, kith_filter_plan(&spec, &bloom), "planning");
        spec.kind = at->kind;
        spec.options = at->options;
        lab_must(l, kith_filter_plan(&spec, &cuckoo), "planning");
        if (cuckoo.cells * cuckoo.cell_bits > bloom.cells)
            break;
        crossing = spec.rate;
    }
    lab_progress(l, 0.9);
    return crossing;
}

static void measure(lab *l, const layout *at, uint64_t slots, uint64_t filters, uint64_t lookups, lab_plot *plot,
                    double done) {
    lab_series *points = lab_points(plot, "%s, load %.3f", at->name, at->load);
    width before = {0};
    for (unsigned f = at->from; f < at->from + WIDTHS; f++) {
        geometry g = {at->b, f, at->b != 0 ? slots / (2 * at->b) : slots / 2 - 1, 1, false};
        uint64_t n = (uint64_t)(at->load * (double)slots);
        double bits = (double)slots * (at->b != 0 ? f : f + 1) / (double)n;
        lab_estimate rate = geometry_rate(l, &g, n, filters, lookups, done + (f - at->from) / 18.0),
                     ratio = ratio_to_bloom(bits, rate);
        double exact = -expm1((double)n * log1p(-1 / geometry_classes(&g)));
        lab_find(l, LAB_MUST, LAB_EQUALS, bits / bloom_bits(exact), ratio,
                 "%s, f = %u, rate %.2g%%: bits / bits of a Bloom filter", at->name, f, 100 * exact);
        if (f == at->smaller - 1 || f == at->smaller)
            lab_find(l, LAB_MUST, f < at->smaller ? LAB_AT_LEAST : LAB_AT_MOST, 1, ratio,
                     "%s, f = %u: bits / bits of a Bloom filter, %s", at->name, f,
                     f < at->smaller ? "larger" : "smaller");
        if (at->b == 4 && exact < 0.03 && f < at->smaller - 1)
            lab_find(l, LAB_WRONG, LAB_AT_MOST, 1, ratio,
                     "%s, f = %u: bits / bits of a Bloom filter; [4] says smaller below 3%%", at->name, f);
        width now = {bits, exact, rate};
        if (f == at->smaller)
            find_crossing(l, at, &before, &now);
        before = now;
        lab_at(points, rate.value, lab_exact(bits));
    }
}

static void run(lab *l) {
    uint64_t slots = lab_pick(l, 1 << 12, 1 << 14), filters = lab_pick(l, 30, 100),
             lookups = lab_pick(l, 20000, 200000);
    lab_parameter(l, "slots", "%llu", (unsigned long long)slots);
    lab_parameter(l, "filters of each width", "%llu", (unsigned long long)filters);
    lab_parameter(l, "absent keys looked up in each", "%llu", (unsigned long long)lookups);
    lab_plot *plot = lab_draw(l, "Bits per key", "rate", "bits per key", LAB_LOG_X);
    lab_series *bloom = lab_curve(plot, "Bloom, log2(1/ε)/ln 2"),
               *plain = lab_curve(plot, "(log2(1/ε) + 3)/0.95, b = 4");
    lab_series *bound = lab_curve(plot, "lower bound, log2(1/ε)");
    for (double rate = 0.12; rate > 0.0005; rate /= 1.2) {
        lab_at(bloom, rate, lab_exact(bloom_bits(rate)));
        lab_at(plain, rate, lab_exact((log2(1 / rate) + 3) / 0.95));
        lab_at(bound, rate, lab_exact(log2(1 / rate)));
    }
    for (unsigned i = 0; i < LAYOUT_COUNT; i++)
        measure(l, &LAYOUTS[i], slots, filters, lookups, plot, i / 3.0);
    /* The planner also keeps too many keys from sharing a fingerprint (F7). This needs wide fingerprints if buckets are
     * small. */
    for (unsigned i = 0; i < LAYOUT_COUNT; i++)
        for (uint64_t n = 10000; n <= 100000000; n *= 10000)
            lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(planned_crossing(l, &LAYOUTS[i], n)),
                     "%s: planned for %.0e keys, rate below which they are smaller than Bloom filters", LAYOUTS[i].name,
                     (double)n);
}

const lab_claim lab_F3 = {
    .id = "F3",
    .title = "cuckoo filters compared with Bloom filters",
    .sentence = "A cuckoo filter with b = 4 needs less space than a Bloom filter at rates below 3%.",
    .formula = "f/α < 1.44·log2(1/ε)",
    .code = "src/plan/fit.c",
    .note =
        "[4] says that cuckoo filters with b = 4 are smaller than Bloom filters below a rate of 3%. With buckets of "
        "4 at a load of 0.96 this is true below 0.5% ((log2(1/ε) + 3)/0.95 gives 0.37%), with buckets of 2 below "
        "0.85%, with overlapping windows below 2.6%. The 3% comes from semi-sorted buckets, for which (log2(1/ε) + "
        "2)/0.95 gives 2.4%.",
    .run = run,
};
