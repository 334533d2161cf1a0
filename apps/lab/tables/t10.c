/* T10: what the hash functions of a Bloom filter cost if they are counted.
 *
 * The table of [3] compares a Bloom filter with a membership array: O(n) bits against U, "+O(U log U) if we consider
 * hash functions". A random function has no shorter description than the list of its values: U values of log2 s bits.
 * With k of them that is k U log2 s bits, which is O(U log U), because a slice has s < U bits. It is more than the
 * array itself, so such a filter would be of no use. Functions of limited independence need O(k) words instead (H3),
 * and a filter of this library needs a seed of 64 bits.
 *
 * The experiment builds such a filter: the planner gives k and s, the lab draws the k lists and fills the slices from
 * them. Its rate must be the one that the planner promises, so that the comparison is fair. */
#include <math.h>
#include <string.h>

#include <lab/experiment.h>

typedef struct lists {
    uint64_t universe, slice, n;
    unsigned k;
    uint32_t *values; /* k lists of `universe` values */
    uint8_t *bits;    /* k slices */
} lists;

/* Draws the functions, adds the elements 0 … n - 1 and returns the share of the other elements that are found. */
static double rate_of(lab *l, lists *f) {
    for (uint64_t i = 0; i < f->k * f->universe; i++)
        f->values[i] = (uint32_t)lab_below(l, f->slice);
    memset(f->bits, 0, f->k * f->slice);
    for (uint64_t x = 0; x < f->n; x++)
        for (unsigned j = 0; j < f->k; j++)
            f->bits[j * f->slice + f->values[j * f->universe + x]] = 1;
    uint64_t found = 0;
    for (uint64_t x = f->n; x < f->universe; x++) {
        bool all = true;
        for (unsigned j = 0; j < f->k; j++)
            all = all && f->bits[j * f->slice + f->values[j * f->universe + x]] != 0;
        found += all;
    }
    return (double)found / (double)(f->universe - f->n);
}

static void run(lab *l) {
    unsigned log_most = (unsigned)lab_number(l, "log_universe");
    uint64_t filters = lab_number(l, "filters");
    double rate = lab_real(l, "rate");
    lab_parameter(l, "rate", "%g", rate);
    lab_parameter(l, "filters of each size", "%llu", (unsigned long long)filters);
    lab_plot *plot = lab_draw(l, "Bits, with the functions counted", "universe, U", "bits", LAB_LOG_X | LAB_LOG_Y);
    lab_series *bound = lab_curve(plot, "k U log2 U"), *array = lab_curve(plot, "array, U");
    lab_series *functions = lab_points(plot, "functions"), *body = lab_points(plot, "filter");
    for (unsigned log_universe = 8; log_universe <= log_most; log_universe += 4) {
        lists f = {.universe = UINT64_C(1) << log_universe, .n = UINT64_C(1) << log_universe / 2};
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        kith_plan plan = KITH_PLAN_INIT;
        spec.kind = "bloom";
        spec.capacity = f.n;
        spec.rate = rate;
        lab_must(l, kith_filter_plan(&spec, &plan), "planning a filter");
        f.k = plan.hashes;
        f.slice = plan.cells / plan.hashes;
        f.values = lab_take(l, f.k * f.universe * sizeof *f.values);
        f.bits = lab_take(l, f.k * f.slice);
        lab_sample rates = {0};
        for (uint64_t i = 0; i < filters; i++) {
            lab_sample_add(&rates, rate_of(l, &f));
            lab_progress(l, (log_universe - 8 + 4 * (double)i / (double)filters) / (log_most - 4));
        }
        double U = (double)f.universe, bits = f.k * U * ceil(log2((double)f.slice));
        lab_find(l, LAB_AT_MOST, rate, lab_mean(&rates), "U = 2^%u, n = √U: rate of the filter with listed functions",
                 log_universe);
        lab_find_stated(l, LAB_MUST, "[3]: \"(+O(U log U)) if we consider hash functions\"", LAB_AT_MOST, f.k,
                        lab_exact(bits / (U * log2(U))), "U = 2^%u: bits of the %u functions / (U log2 U), at most k",
                        log_universe, f.k);
        lab_find(l, LAB_AT_LEAST, 1, lab_exact(bits / U), "U = 2^%u: bits of the functions / bits of the array",
                 log_universe);
        lab_find(l, LAB_AT_MOST, 1, lab_exact((double)plan.cells / U),
                 "U = 2^%u: bits of the filter / bits of the array", log_universe);
        lab_at(bound, U, lab_exact(f.k * U * log2(U)));
        lab_at(array, U, lab_exact(U));
        lab_at(functions, U, lab_exact(bits));
        lab_at(body, U, lab_exact((double)plan.cells));
        lab_drop(l, f.values);
        lab_drop(l, f.bits);
    }
}

const lab_claim lab_T10 = {
    .id = "T10",
    .title = "the space of random hash functions",
    .sentence = "If the hash functions of a Bloom filter are random and counted, they take k U log2(m/k) = O(U log U) "
                "bits: more than the membership array, while the filter itself takes O(n).",
    .formula = "k · U · log_{2}(m/k) = O(U log U)",
    .code = "src/plan/planner.c",
    .decides = "U = 2^16: bits of the functions / bits of the array",
    .settings = {LAB_SIZE("log_universe", 16, 16, 8, 20, "log2 of the largest universe"),
                 LAB_SIZE("filters", 60, 200, 2, 1e5, "filters of each size"),
                 LAB_NUMBER("rate", "0.01", 0.0001, 0.5, 0.001, 0.05, "rate of the filters")},
    .run = run,
};
