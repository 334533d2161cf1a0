/* T7: the space of each structure compared with the lower bound.
 *
 * A structure that is never wrong must have a different state for each of the C(U,n) sets of n keys, so it needs at
 * least log2 C(U,n) bits. The tables here have 64-bit keys, U = 2^64, each with a 64-bit value. Their size is read
 * while they grow from one key on, at eight sizes per doubling, so that the worst moments of growth are included. The
 * size with one key is subtracted. "O(n log U)" means that there is a constant. It follows from the memory layout and
 * from how the tables grow:
 *
 *     chain     256 bits per node, in chunks that double, so up to twice that; 64 bits per slot, up to 2 slots per key
 *     probe     8 + 128 bits per slot, up to 8/3 slots per key: the table doubles at a load of 3/4
 *     cuckoo    8 + 128 bits per slot, 64 more for the search while there are few buckets; up to 1.5/0.95 slots per key
 *
 * Filling a list takes quadratic time, so the lists are short. */
#include <math.h>
#include <stdio.h>

#include "steps.h"

enum { LIST_KEYS = 1024, SIZES_PER_DOUBLING = 8, LOG_LEAST = 6 };

typedef struct kind {
    const char *name;
    double bits_per_key_max;
} kind;

static const kind KINDS[] = {
    {"chain", 2 * 256 + 2 * 64},
    {"probe", (8 + 128) * 8 / 3.0},
    {"cuckoo", (8 + 128 + 64) * 1.5 / 0.95},
};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

/* log2 C(U, n): the product of (U - i)/(n - i) over i < n. */
static double lower_bound(double U, double n) {
    double sum = n * log(U) - lgamma(n + 1);
    for (double i = 1; i < n; i++)
        sum += log1p(-i / U);
    return sum / log(2);
}

static double bits_of(lab *l, const kith_table *t) {
    kith_table_stats stats = KITH_TABLE_STATS_INIT;
    lab_must(l, kith_table_stats_of(t, &stats), "reading the size");
    return 8 * (double)stats.bytes;
}

static double list_bits(lab *l, uint64_t n) {
    steps s;
    kith_table_spec spec = steps_spec("list", n, NULL);
    kith_table *t = steps_table(l, &spec, &s);
    put_words(l, t, 0, n);
    double bits = bits_of(l, t);
    lab_drop(l, t);
    return bits;
}

static double array_bits(lab *l, uint64_t universe) {
    char options[64];
    (void)snprintf(options, sizeof options, "universe=%llu", (unsigned long long)universe);
    steps s;
    kith_table_spec spec = steps_spec("bitset", 0, options);
    kith_table *t = steps_table(l, &spec, &s);
    for (uint64_t i = 0; i < universe; i += 2)
        put_word(l, t, i);
    double bits = bits_of(l, t);
    lab_drop(l, t);
    return bits;
}

static void measure_list_and_array(lab *l) {
    lab_find(l, LAB_EQUALS, 64 + 64, lab_exact((list_bits(l, 2 * LIST_KEYS) - list_bits(l, LIST_KEYS)) / LIST_KEYS),
             "list: bits per key, log2 U plus 64 for the value");
    uint64_t universe = lab_number(l, "universe");
    double bits = array_bits(l, universe), U = (double)universe;
    lab_find(l, LAB_EQUALS, 1, lab_exact((array_bits(l, 2 * universe) - bits) / U),
             "array: bits per element of the universe");
    lab_find(l, LAB_AT_LEAST, 1, lab_exact(bits / lower_bound(U, U / 2)), "array: bits / lower bound at n = U/2");
    lab_find(l, LAB_SHOWN, 0, lab_exact(lower_bound(U, sqrt(U)) / sqrt(U) / log2(U)),
             "lower bound: bits per key / log2 U, at n = √U");
    lab_plot *plot =
        lab_draw(l, "Bits for 256 keys by the size of the universe", "U, possible keys", "bits", LAB_LOG_X | LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "U"), *bound = lab_curve(plot, "log2 C(U, n)"),
               *list = lab_curve(plot, "n log2 U");
    lab_series *points = lab_points(plot, "array, measured");
    for (uint64_t u = 512; u <= 2 * universe; u *= 2) {
        lab_at(curve, (double)u, lab_exact((double)u));
        lab_at(bound, (double)u, lab_exact(lower_bound((double)u, 256)));
        lab_at(list, (double)u, lab_exact(256 * log2((double)u)));
        lab_at(points, (double)u, lab_exact(array_bits(l, u)));
        lab_progress(l, 0.1);
    }
}

static void measure_table(lab *l, lab_plot *plot, const kind *k, double done) {
    double log_n_max = (double)lab_number(l, "log_n_max"), most = 0, bits = 0;
    lab_series *points = lab_points(plot, "%s", k->name);
    steps s;
    kith_table_spec spec = steps_spec(k->name, 0, NULL);
    kith_table *t = steps_table(l, &spec, &s);
    put_words(l, t, 0, 1);
    double first = bits_of(l, t);
    for (unsigned i = 0; LOG_LEAST + (double)i / SIZES_PER_DOUBLING <= log_n_max; i++) {
        uint64_t n = (uint64_t)pow(2, LOG_LEAST + (double)i / SIZES_PER_DOUBLING), before = kith_table_count(t);
        put_words(l, t, before, n - before);
        bits = bits_of(l, t);
        most = fmax(most, (bits - first) / (double)n);
        lab_at(points, (double)n, lab_exact(bits / (double)n));
        lab_progress(l, done);
    }
    lab_drop(l, t);
    double n = pow(2, log_n_max);
    lab_find(l, LAB_AT_MOST, k->bits_per_key_max / 64, lab_exact(most / 64), "%s: bits per key / log2 U, at worst",
             k->name);
    lab_find(l, LAB_AT_LEAST, lower_bound(0x1p64, n) / n, lab_exact(bits / n), "%s: bits per key, n = 2^%.0f", k->name,
             log_n_max);
}

/* The bits per key of k slices with the fewest bits s each for which (1 - (1 - 1/s)^n)^k, the expected rate, is at most
 * `rate`. */
static double bloom_bits(double rate, double n, double k) {
    return k * ceil(1 / -expm1(log1p(-pow(rate, 1 / k)) / n)) / n;
}

static void measure_bloom(lab *l, lab_plot *plot) {
    double rate = lab_real(l, "rate");
    lab_series *points = lab_points(plot, "bloom, rate %g%%", 100 * rate);
    for (uint64_t n = 1000; n <= 1000000; n *= 10) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = "bloom";
        spec.capacity = n;
        spec.rate = rate;
        kith_plan plan = KITH_PLAN_INIT;
        lab_must(l, kith_filter_plan(&spec, &plan), "planning a filter");
        lab_at(points, (double)n, lab_exact(plan.bits_per_key));
        /* A plan promises the rate of each single filter, so it needs more bits, by a share that falls as 1/√n. */
        double least = bloom_bits(rate, (double)n, plan.hashes), more = (double)plan.cells / (double)n / least - 1;
        lab_find(l, LAB_AT_LEAST, least, lab_exact((double)plan.cells / (double)n),
                 "bloom: bits per key, n = %llu, independent of U, and those that keep the rate on average",
                 (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, 1 / sqrt((double)n) + 0.002, lab_exact(more),
                 "bloom: share of the bits beyond those, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_AT_MOST, lower_bound(0x1p64, (double)n) / (double)n, lab_exact(plan.bits_per_key),
                 "bloom: bits per key of the whole file, n = %llu, below the lower bound without errors",
                 (unsigned long long)n);
    }
}

static void run(lab *l) {
    measure_list_and_array(l);
    lab_plot *plot =
        lab_draw(l, "Bits per key, 64-bit keys with 64-bit values", "n, keys", "bits per key", LAB_LOG_X | LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "log2 C(U, n) / n"), *list = lab_curve(plot, "list: log2 U plus the value");
    for (double n = 64; n <= 1 << 20; n *= 2) {
        lab_at(bound, n, lab_exact(lower_bound(0x1p64, n) / n));
        lab_at(list, n, lab_exact(64 + 64));
    }
    for (unsigned i = 0; i < KIND_COUNT; i++)
        measure_table(l, plot, &KINDS[i], 0.1 + 0.3 * i);
    measure_bloom(l, plot);
}

const lab_claim lab_T7 = {
    .id = "T7",
    .title = "space, compared with the lower bound",
    .sentence = "A list needs n log U bits, an array U, a hash table O(n log U), a Bloom filter O(n). A structure that "
                "is never wrong needs at least log2 C(U, n) bits, which is at least n log U / 2 if U ≥ n².",
    .formula = "log_{2} C(U, n)",
    .code = "src/tables/table.c",
    .decides = "cuckoo: bits per key / log2 U, at worst",
    .settings = {LAB_SIZE("universe", 65536, 1048576, 64, 1e8, "elements of the universe of the array"),
                 LAB_SIZE("log_n_max", 16, 20, 7, 22, "log2 of the most keys in a table"),
                 LAB_NUMBER("rate", "0.01", 1e-9, 0.5, 0.001, 0.02, "rate of the Bloom filters")},
    .run = run,
};
