/* F3: the rate below which a cuckoo filter is smaller than a Bloom filter.
 *
 * A Bloom filter needs log2(1/ε)/ln 2 bits per key. A cuckoo filter with f bits at load α needs f/α. With windows it
 * needs (f + 1)/α, because one more bit distinguishes the slots of a window. Its rate is 1 - e^(-2bα/(2^f - 1)), with
 * 2α instead of 2bα for windows.
 *
 * Semi-sorted buckets (Fan and others, 2014) store the four fingerprints of a bucket in order, which saves one bit per
 * slot at the same rate. The library has no such buckets, for the reasons given in semi_sorted.h, so the lab has its
 * own filter with them. Its buckets are a power of two, and it inserts by random walk, as in the paper.
 *
 * For each f real filters are filled to the load that the library plans for, or 0.95 in the case of semi-sorted
 * buckets, and their rate is measured. Their size is compared with that of a Bloom filter with the measured rate. The
 * curves cross where the ratio of the sizes is 1. The integers f next to this point must be on the expected sides of
 * it, and the line through them gives the rate at which the curves cross. */
#include <math.h>
#include <stdio.h>

#include "geometry.h"
#include "semi_sorted.h"

typedef struct layout {
    const char *word; /* the value of the setting `layout` */
    const char *name, *kind, *options;
    unsigned b; /* 0 means windows */
    double load;
    unsigned from;    /* the first f that is measured */
    unsigned smaller; /* the first f with which the filter is smaller than a Bloom filter */
    bool sorted;      /* semi-sorted buckets */
} layout;

static const layout LAYOUTS[] = {
    {"four", "buckets of 4", "cuckoo", "b=4", 4, 0.96, 7, 11, false},
    {"two", "buckets of 2", "cuckoo", "b=2", 2, 0.875, 6, 9, false},
    {"windows", "windows", "overlap", NULL, 0, 0.945, 5, 7, false},
    {"sorted", "semi-sorted buckets of 4", NULL, NULL, 4, 0.95, 6, 9, true},
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS, WIDTHS = 6, NIBBLES = 16, PERCENT_3_WIDTH = 8 };

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

/* Counts the ways to choose four sorted numbers of four bits, each with its own code. */
static unsigned coded_nibbles(lab *l) {
    unsigned count = 0;
    for (unsigned nibbles = 0; nibbles < NIBBLES * NIBBLES * NIBBLES * NIBBLES; nibbles++) {
        unsigned a = nibbles & 15, b = nibbles >> 4 & 15, c = nibbles >> 8 & 15, d = nibbles >> 12;
        if (a > b || b > c || c > d)
            continue;
        lab_require(l, semi_sorted_decode(semi_sorted_encode(nibbles)) == nibbles,
                    "a code of four sorted numbers stands for other numbers");
        count++;
    }
    return count;
}

/* ---- semi-sorted buckets ---- */

/* Returns log2 of the number of buckets, the largest power of two with which there are at most this many slots. */
static unsigned log2_of_buckets(uint64_t slots) {
    unsigned log2_buckets = 0;
    while ((uint64_t)(2 * SEMI_SORTED_ENTRIES) << log2_buckets <= slots)
        log2_buckets++;
    return log2_buckets;
}

enum { BATCH = 256 };

/* Computes the digests of the keys first … first + BATCH - 1. */
static void digest_batch(const lab *l, const kith_hash *hash, uint64_t first, uint64_t digests[BATCH]) {
    uint64_t keys[BATCH];
    for (uint64_t i = 0; i < BATCH; i++)
        keys[i] = lab_key(l, first + i);
    kith_digest_packed(hash, keys, sizeof *keys, BATCH, digests);
}

/* Adds the keys 0 … n - 1, except those for which there is no place. With until_refused, ends at the first of these.
 * Returns how many were added. */
static uint64_t fill_sorted(lab *l, semi_sorted *s, const kith_hash *hash, uint64_t n, bool until_refused) {
    uint64_t digests[BATCH], added = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i % BATCH == 0)
            digest_batch(l, hash, i, digests);
        bool fits = semi_sorted_add(s, digests[i % BATCH]);
        added += fits;
        lab_require(l, !fits || semi_sorted_has(s, digests[i % BATCH]), "a key that was added is not found");
        if (!fits && until_refused)
            break;
    }
    return added;
}

static uint64_t count_sorted(const lab *l, const semi_sorted *s, const kith_hash *hash, uint64_t first, uint64_t n) {
    uint64_t digests[BATCH], found = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i % BATCH == 0)
            digest_batch(l, hash, first + i, digests);
        found += semi_sorted_has(s, digests[i % BATCH]);
    }
    return found;
}

static semi_sorted *new_sorted(lab *l, unsigned log2_buckets, unsigned f) {
    semi_sorted *s = lab_take(l, semi_sorted_bytes(log2_buckets, f));
    semi_sorted_init(s, log2_buckets, f);
    return s;
}

/* Measures the rate of filters with semi-sorted buckets at this load. *bits is set to their bits per key. */
static lab_estimate sorted_rate(lab *l, unsigned f, uint64_t slots, double load, uint64_t filters, uint64_t lookups,
                                double *bits, double done) {
    unsigned log2_buckets = log2_of_buckets(slots);
    uint64_t n = (uint64_t)(load * (double)(UINT64_C(4) << log2_buckets));
    lab_sample rates = {0}, sizes = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_hash hash = {KITH_HASH_XXH3, lab_random(l), {0}};
        semi_sorted *s = new_sorted(l, log2_buckets, f);
        (void)fill_sorted(l, s, &hash, n, false); /* a walk may fail just below this load */
        uint64_t found = count_sorted(l, s, &hash, n, lookups);
        lab_sample_add(&rates, (double)found / (double)lookups);
        lab_sample_add(&sizes, (double)semi_sorted_bits(s) / (double)s->count);
        lab_drop(l, s);
        lab_progress(l, done);
    }
    *bits = sizes.mean;
    return lab_mean(&rates);
}

/* The load at which a filter with semi-sorted buckets refuses the first key, and the space of its buckets. */
static void find_sorted_load(lab *l, unsigned f, uint64_t slots, uint64_t filters) {
    unsigned log2_buckets = log2_of_buckets(slots);
    uint64_t all = UINT64_C(4) << log2_buckets;
    lab_sample loads = {0}, slot_bits = {0};
    for (uint64_t i = 0; i < filters; i++) {
        kith_hash hash = {KITH_HASH_XXH3, lab_random(l), {0}};
        semi_sorted *s = new_sorted(l, log2_buckets, f);
        lab_sample_add(&slot_bits, 8.0 * (double)(s->body_bytes - sizeof(uint64_t)) / (double)all);
        uint64_t n = fill_sorted(l, s, &hash, all, true);
        lab_require(l, count_sorted(l, s, &hash, 0, n) == n, "a key is lost when another is refused");
        lab_sample_add(&loads, (double)n / (double)all);
        lab_drop(l, s);
        lab_progress(l, 0.85);
    }
    lab_find(l, LAB_AT_LEAST, 0.95, lab_mean(&loads),
             "semi-sorted buckets of 4, f = %u: mean load at the first refusal, reached by Fan and others", f);
    lab_find(l, LAB_EQUALS, f - 1, lab_mean(&slot_bits), "semi-sorted buckets of 4, f = %u: bits per slot, in memory",
             f);
}

/* ---- all layouts ---- */

static void measure(lab *l, const layout *at, uint64_t slots, uint64_t filters, uint64_t lookups, lab_plot *plot,
                    double done) {
    lab_series *points = lab_points(plot, "%s, load %.3f", at->name, at->load);
    width before = {0};
    size_t widths = WIDTHS;
    double own[LAB_NUMBERS_MAX];
    for (unsigned i = 0; i < WIDTHS; i++)
        own[i] = at->from + i;
    if (lab_is_set(l, "f"))
        widths = lab_list(l, "f", own);
    for (size_t i = 0; i < widths; i++) {
        unsigned f = (unsigned)own[i];
        geometry g = {at->b, f, at->b != 0 ? slots / (2 * at->b) : slots / 2 - 1, 1, false};
        if (at->sorted)
            g.half = UINT64_C(1) << log2_of_buckets(slots) >> 1;
        uint64_t n = (uint64_t)(at->load * (double)geometry_slots(&g));
        double predicted = (double)geometry_slots(&g) *
                           (at->b == 0   ? f + 1
                            : at->sorted ? f - 1
                                         : f) /
                           (double)n,
               bits = predicted, now_done = done + (double)i / (double)widths / LAYOUT_COUNT;
        lab_estimate rate = at->sorted ? sorted_rate(l, f, slots, at->load, filters, lookups, &bits, now_done)
                                       : geometry_rate(l, &g, n, filters, lookups, now_done),
                     ratio = ratio_to_bloom(bits, rate);
        double exact = -expm1((double)n * log1p(-1 / geometry_classes(&g)));
        lab_find(l, LAB_EQUALS, predicted / bloom_bits(exact), ratio,
                 "%s, f = %u, rate %.2g%%: bits / bits of a Bloom filter", at->name, f, 100 * exact);
        if (at->sorted)
            lab_find(l, LAB_EQUALS, exact, rate, "%s, f = %u: rate", at->name, f);
        if (at->b == 4 && f == PERCENT_3_WIDTH)
            lab_find(l, LAB_SHOWN, 0, lab_exact(bits), "%s, f = %u, rate %.2g%%: bits per key, a Bloom filter has %.3g",
                     at->name, f, 100 * exact, bloom_bits(exact));
        if (f == at->smaller - 1 || f == at->smaller)
            lab_find(l, f < at->smaller ? LAB_AT_LEAST : LAB_AT_MOST, 1, ratio,
                     "%s, f = %u: bits / bits of a Bloom filter, %s", at->name, f,
                     f < at->smaller ? "larger" : "smaller");
        if (at->b == 4 && exact < 0.03 && f < at->smaller - 1)
            lab_find_stated(l, LAB_LOOSE, QUOTE, LAB_AT_MOST, 1, ratio,
                            "%s, f = %u, rate %.2g%%: bits / bits of a Bloom filter, at most 1", at->name, f,
                            100 * exact);
        width now = {bits, exact, rate};
        if (f == at->smaller && before.bits > 0)
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
        if (lab_wants(l, "layout", LAYOUTS[i].word))
            measure(l, &LAYOUTS[i], slots, filters, lookups, plot, (double)i / LAYOUT_COUNT);
    if (lab_wants(l, "layout", LAYOUTS[LAYOUT_COUNT - 1].word)) {
        find_sorted_load(l, PERCENT_3_WIDTH, slots, filters);
        find_sorted_load(l, SEMI_SORTED_F_MAX, slots, filters);
        lab_find(l, LAB_EQUALS, SEMI_SORTED_CODES, lab_exact(coded_nibbles(l)),
                 "four sorted numbers of 4 bits that have a code of 12 bits instead of 16");
    }
    /* Planned fingerprints have a whole number of bits, so they are smaller at every rate only below a lower one. They
     * do not grow with n: keys that share their fingerprint with too many others go to a stash (F7). */
    for (unsigned i = 0; i < LAYOUT_COUNT && !LAYOUTS[i].sorted; i++)
        for (uint64_t n = 10000; n <= 100000000 && lab_wants(l, "layout", LAYOUTS[i].word); n *= 10000)
            lab_find(l, LAB_SHOWN, 0, lab_exact(planned_crossing(l, &LAYOUTS[i], n)),
                     "%s: planned for %.0e keys, rate below which they are smaller than Bloom filters", LAYOUTS[i].name,
                     (double)n);
}

const lab_claim lab_F3 = {
    .id = "F3",
    .title = "cuckoo filters compared with Bloom filters",
    .sentence = "A cuckoo filter needs less space than a Bloom filter below a certain rate: 0.5% with buckets of 4, "
                "0.85% with buckets of 2, 2.6% with overlapping windows, 2.8% with semi-sorted buckets of 4.",
    .formula = "f/α < 1.44·log2(1/ε)",
    .code = "src/plan/fit.c",
    .note =
        "[4] says that cuckoo filters with b = 4 are smaller than Bloom filters below a rate of 3%. With buckets of "
        "4 at a load of 0.96 this is true below 0.5% ((log2(1/ε) + 3)/0.95 gives 0.37%), with buckets of 2 below "
        "0.85%, with overlapping windows below 2.6%. The 3% belongs to semi-sorted buckets of 4, which save one bit "
        "per entry and which [4] does not mention: at a load of 0.95 they are smaller below 2.8%. At 3% itself, with "
        "f = 8, they take 7.37 bits per key, a Bloom filter 7.34 and plain buckets of 4 at the same load 8.42.",
    .decides = "semi-sorted buckets of 4: rate below",
    .settings = {LAB_SIZE("slots", 4096, 16384, 256, 1e6, "slots of each filter"),
                 LAB_SIZE("filters", 30, 100, 2, 100000, "filters of each shape"),
                 LAB_SIZE("asked", 20000, 200000, 100, 1e8, "absent keys looked up in each"),
                 LAB_WORD("layout", "all", "all four two windows sorted",
                          "buckets of 4 or of 2 slots, windows, semi-sorted buckets of 4"),
                 LAB_WHOLES("f", "5,6,7,8,9,10,11,12", "5,6,7,8,9,10,11,12", 4, 15, 4, 15,
                            "bits per fingerprint (by default six of these for each layout)")},
    .run = run,
};
