/* T7: space, against the lower bound.
 *
 * A structure that is never wrong must be able to stand for each of the C(U,n) sets of n keys, so it takes log2 C(U,n) bits.
 * Tables here have keys of 64 bits, U = 2^64, and a value of 64 bits with each. What they hold is asked of them while they
 * grow from one key, at eight sizes an octave, so that the worst moments of growth are among them; what they hold with one key
 * is left out. "O(n log U)" is that there is a constant, and it follows from how they lie in memory and grow:
 *
 *     chain     a node of 256 bits, from chunks that double, so up to twice that; 64 bits a slot, up to 2 slots a key
 *     probe     8 + 128 bits a slot, up to 8/3 slots a key: from a load of 3/4 it doubles
 *     cuckoo    8 + 128 bits a slot, 64 more for the search while there are few buckets; up to 1.5/0.95 slots a key
 *
 * A list is quadratic to fill, so it is short. */
#include <math.h>
#include <stdio.h>

#include "steps.h"

enum { LIST_KEYS = 1024, SIZES_AN_OCTAVE = 8, LOG_LEAST = 6 };

#define RATE 0.01

typedef struct kind {
    const char *name;
    double bits_most; /* a key */
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
    lab_must(l, kith_table_stats_of(t, &stats), "asking for the bytes");
    return 8 * (double)stats.bytes;
}

static double list_bits(lab *l, uint64_t n) {
    steps s;
    kith_table_spec spec = steps_spec("list", n, NULL, &s);
    kith_table *t = lab_table(l, &spec);
    put_words(l, t, 0, n);
    double bits = bits_of(l, t);
    lab_drop(l, t);
    return bits;
}

static double array_bits(lab *l, uint64_t universe) {
    char options[64];
    (void)snprintf(options, sizeof options, "universe=%llu", (unsigned long long)universe);
    steps s;
    kith_table_spec spec = steps_spec("bitset", 0, options, &s);
    kith_table *t = lab_table(l, &spec);
    for (uint64_t i = 0; i < universe; i += 2)
        put_word(l, t, i);
    double bits = bits_of(l, t);
    lab_drop(l, t);
    return bits;
}

static void measure_list_and_array(lab *l) {
    lab_find(l, LAB_MUST, LAB_EQUALS, 64 + 64,
             lab_exact((list_bits(l, 2 * LIST_KEYS) - list_bits(l, LIST_KEYS)) / LIST_KEYS),
             "list: bits a key, log2 U and 64 of its value");
    uint64_t universe = lab_pick(l, 1 << 16, 1 << 20);
    double bits = array_bits(l, universe), U = (double)universe;
    lab_find(l, LAB_MUST, LAB_EQUALS, 1, lab_exact((array_bits(l, 2 * universe) - bits) / U),
             "array: bits an element of U");
    lab_find(l, LAB_MUST, LAB_AT_LEAST, 1, lab_exact(bits / lower_bound(U, U / 2)),
             "array: bits / lower bound at n = U/2");
    lab_find(l, LAB_MUST, LAB_SHOWN, 0, lab_exact(lower_bound(U, sqrt(U)) / sqrt(U) / log2(U)),
             "lower bound: bits a key at n = √U, / log2 U");
    lab_plot *plot =
        lab_draw(l, "Bits for 256 keys by the universe", "U, possible keys", "bits", LAB_LOG_X | LAB_LOG_Y);
    lab_series *curve = lab_curve(plot, "U"), *bound = lab_curve(plot, "log2 C(U, n)"),
               *list = lab_curve(plot, "n log2 U");
    lab_series *points = lab_points(plot, "array, measured");
    for (uint64_t u = 512; u <= 2 * universe; u *= 2) {
        lab_at(curve, (double)u, lab_exact((double)u));
        lab_at(bound, (double)u, lab_exact(lower_bound((double)u, 256)));
        lab_at(list, (double)u, lab_exact(256 * log2((double)u)));
        lab_at(points, (double)u, lab_exact(array_bits(l, u)));
        lab_going(l, 0.1);
    }
}

static void measure_table(lab *l, lab_plot *plot, const kind *k, double done) {
    double log_most = (double)lab_pick(l, 16, 20), most = 0, bits = 0;
    lab_series *points = lab_points(plot, "%s", k->name);
    steps s;
    kith_table_spec spec = steps_spec(k->name, 0, NULL, &s);
    kith_table *t = lab_table(l, &spec);
    put_words(l, t, 0, 1);
    double first = bits_of(l, t);
    for (unsigned i = 0; LOG_LEAST + (double)i / SIZES_AN_OCTAVE <= log_most; i++) {
        uint64_t n = (uint64_t)pow(2, LOG_LEAST + (double)i / SIZES_AN_OCTAVE), before = kith_table_count(t);
        put_words(l, t, before, n - before);
        bits = bits_of(l, t);
        most = fmax(most, (bits - first) / (double)n);
        lab_at(points, (double)n, lab_exact(bits / (double)n));
        lab_going(l, done);
    }
    lab_drop(l, t);
    double n = pow(2, log_most);
    lab_find(l, LAB_MUST, LAB_AT_MOST, k->bits_most / 64, lab_exact(most / 64), "%s: bits a key / log2 U, at worst",
             k->name);
    lab_find(l, LAB_MUST, LAB_AT_LEAST, lower_bound(0x1p64, n) / n, lab_exact(bits / n), "%s: bits a key, n = 2^%.0f",
             k->name, log_most);
}

/* A slice of s bits keeps the rate on average with k of them when (1 - (1 - 1/s)^n)^k is at most RATE. */
static double bloom_bits(double n, double k) {
    return k * ceil(1 / -expm1(log1p(-pow(RATE, 1 / k)) / n)) / n;
}

static void measure_bloom(lab *l, lab_plot *plot) {
    lab_series *points = lab_points(plot, "bloom, rate %.0f%%", 100 * RATE);
    for (uint64_t n = 1000; n <= 1000000; n *= 10) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = "bloom";
        spec.capacity = n;
        spec.rate = RATE;
        kith_plan plan = KITH_PLAN_INIT;
        lab_must(l, kith_filter_plan(&spec, &plan), "planning a filter");
        lab_at(points, (double)n, lab_exact(plan.bits_per_key));
        /* So that single filters keep it, too, a plan takes a share more that falls as 1/√n. */
        double least = bloom_bits((double)n, plan.hashes), more = (double)plan.cells / (double)n / least - 1;
        lab_find(l, LAB_MUST, LAB_AT_LEAST, least, lab_exact((double)plan.cells / (double)n),
                 "bloom: bits a key, n = %llu, whatever U, and those that keep the rate on average",
                 (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, 1 / sqrt((double)n) + 0.002, lab_exact(more),
                 "bloom: share of the bits beyond those, n = %llu", (unsigned long long)n);
        lab_find(l, LAB_MUST, LAB_AT_MOST, lower_bound(0x1p64, (double)n) / (double)n, lab_exact(plan.bits_per_key),
                 "bloom: bits a key of the whole file, n = %llu, below what no wrong answer would take",
                 (unsigned long long)n);
    }
}

static void run(lab *l) {
    measure_list_and_array(l);
    lab_plot *plot =
        lab_draw(l, "Bits a key, 64-bit keys with 64-bit values", "n, keys", "bits a key", LAB_LOG_X | LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "log2 C(U, n) / n"), *list = lab_curve(plot, "log2 U and a value: a list");
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
    .title = "space, against the lower bound",
    .sentence =
        "A list takes n log U bits, an array U, a hash table O(n log U), a Bloom filter O(n); whatever is never wrong "
        "takes log2 C(U, n), which is n log U / 2 at least when U ≥ n².",
    .formula = "log_{2} C(U, n)",
    .code = "src/table.c",
    .run = run,
};
