/* F3: the rate below which a cuckoo filter is smaller than a Bloom filter.
 *
 * A Bloom filter needs log2(1/ε)/ln 2 bits per key. A cuckoo filter with f bits at load α needs f/α. With windows it
 * needs (f + 1)/α, because one more bit distinguishes the slots of a window. Its rate is 1 - e^(-2bα/(2^f - 1)), with
 * 2α instead of 2bα for windows.
 *
 * Semi-sorted buckets (Fan and others, 2014) store the four fingerprints of a bucket in order. Four sorted numbers of
 * four bits can be chosen in 3876 ways, so 12 bits are enough for them instead of 16: one bit less per entry, at the
 * same rate. The library has no such buckets; their rate is that of plain ones, and their size is f - 1 bits per slot.
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
    bool sorted;      /* semi-sorted buckets: a bit less per entry */
} layout;

static const layout LAYOUTS[] = {
    {"buckets of 4", "cuckoo", "b=4", 4, 0.96, 7, 11, false},
    {"buckets of 2", "cuckoo", "b=2", 2, 0.875, 6, 9, false},
    {"windows", "overlap", NULL, 0, 0.945, 5, 7, false},
    {"semi-sorted buckets of 4", "cuckoo", "b=4", 4, 0.95, 6, 9, true},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, WIDTHS = 6, NIBBLES = 16 };

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
    lab_find(l, LAB_EQUALS, crossing_of(before->bits, before->exact, now->bits, now->exact), measured,
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

static const char QUOTE[] = "[4]: \"with a false positive rate ε < 3% and a bucket size of b = 4, Cuckoo Filters can … "
                            "[be] more space efficient than standard space-optimized Bloom filters\"";

/* Returns how many ways there are to choose four sorted numbers of four bits. */
static unsigned sorted_nibbles(void) {
    unsigned count = 0;
    for (unsigned a = 0; a < NIBBLES; a++)
        for (unsigned b = a; b < NIBBLES; b++)
            for (unsigned c = b; c < NIBBLES; c++)
                count += NIBBLES - c;
    return count;
}

static void measure(lab *l, const layout *at, uint64_t slots, uint64_t filters, uint64_t lookups, lab_plot *plot,
                    double done) {
    lab_series *points = lab_points(plot, "%s, load %.3f", at->name, at->load);
    width before = {0};
    for (unsigned f = at->from; f < at->from + WIDTHS; f++) {
        geometry g = {at->b, f, at->b != 0 ? slots / (2 * at->b) : slots / 2 - 1, 1, false};
        uint64_t n = (uint64_t)(at->load * (double)slots);
        double bits = (double)slots * (at->b == 0 ? f + 1 : at->sorted ? f - 1 : f) / (double)n;
        lab_estimate rate = geometry_rate(l, &g, n, filters, lookups, done + (f - at->from) / 6.0 / LAYOUT_COUNT),
                     ratio = ratio_to_bloom(bits, rate);
        double exact = -expm1((double)n * log1p(-1 / geometry_classes(&g)));
        lab_find(l, LAB_EQUALS, bits / bloom_bits(exact), ratio,
                 "%s, f = %u, rate %.2g%%: bits / bits of a Bloom filter", at->name, f, 100 * exact);
        if (f == at->smaller - 1 || f == at->smaller)
            lab_find(l, f < at->smaller ? LAB_AT_LEAST : LAB_AT_MOST, 1, ratio,
                     "%s, f = %u: bits / bits of a Bloom filter, %s", at->name, f,
                     f < at->smaller ? "larger" : "smaller");
        if (at->b == 4 && exact < 0.03 && f < at->smaller - 1)
            lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_MOST, 1, ratio,
                            "%s, f = %u, rate %.2g%%: bits / bits of a Bloom filter, at most 1", at->name, f,
                            100 * exact);
        width now = {bits, exact, rate};
        if (f == at->smaller)
            find_crossing(l, at, &before, &now);
        before = now;
        lab_at(points, rate.value, lab_exact(bits));
    }
}

static void run(lab *l) {
    uint64_t slots = lab_number(l, "slots"), filters = lab_number(l, "filters"), lookups = lab_number(l, "asked");
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
        measure(l, &LAYOUTS[i], slots, filters, lookups, plot, (double)i / LAYOUT_COUNT);
    lab_find(l, LAB_AT_MOST, 4096, lab_exact(sorted_nibbles()),
             "ways to choose four sorted numbers of 4 bits: 12 bits are enough instead of 16");
    /* The planner also keeps too many keys from sharing a fingerprint (F7). This needs wide fingerprints if buckets are
     * small. */
    for (unsigned i = 0; i < LAYOUT_COUNT && !LAYOUTS[i].sorted; i++)
        for (uint64_t n = 10000; n <= 100000000; n *= 10000)
            lab_find(l, LAB_SHOWN, 0, lab_exact(planned_crossing(l, &LAYOUTS[i], n)),
                     "%s: planned for %.0e keys, rate below which they are smaller than Bloom filters", LAYOUTS[i].name,
                     (double)n);
}

const lab_claim lab_F3 = {
    .id = "F3",
    .title = "cuckoo filters compared with Bloom filters",
    .sentence = "A cuckoo filter needs less space than a Bloom filter below a certain rate: 0.5% with buckets of 4, "
                "0.85% with buckets of 2, 2.6% with overlapping windows, 2.7% with semi-sorted buckets of 4.",
    .formula = "f/α < 1.44·log2(1/ε)",
    .code = "src/plan/fit.c",
    .note =
        "[4] says that cuckoo filters with b = 4 are smaller than Bloom filters below a rate of 3%. With buckets of "
        "4 at a load of 0.96 this is true below 0.5% ((log2(1/ε) + 3)/0.95 gives 0.37%), with buckets of 2 below "
        "0.85%, with overlapping windows below 2.6%. The 3% belongs to semi-sorted buckets of 4, which save one bit "
        "per entry and which [4] does not mention: at a load of 0.95 they are smaller below 2.7%.",
    .decides = "semi-sorted buckets of 4: rate below",
    .settings = {LAB_SIZE("slots", 4096, 16384, 256, 1e6, "slots of each filter"),
                 LAB_SIZE("filters", 30, 100, 2, 100000, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 200000, 100, 1e8, "absent keys looked up in each")},
    .run = run,
};
