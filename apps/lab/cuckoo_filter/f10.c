/* F10: the cost of lookups and insertions, compared with a Bloom filter of the same rate.
 *
 * [4] says that cuckoo filters "can achieve the same runtime performance" as Bloom filters. Time depends on the
 * machine, but what dominates it in large filters does not: the number of cache lines that an operation reads.
 * kith_filter_look() reports the cells that a lookup reads; a line has 512 bits.
 *
 *     Bloom filter     k lines for a present key. For an absent key the lookup ends at the first 0, after
 *                      (1 - p^k)/(1 - p) lines on average, if a share p of the bits is set.
 *     cuckoo filter    one or two buckets. A bucket of b f bits is in two lines if it crosses the end of a line.
 *
 * The times themselves are shown as a ratio and not judged. */
#include <math.h>

#include <lab/experiment.h>

enum { LINE_BITS = 512, LINES_MAX = 64, ROUNDS = 5 };

typedef struct lines {
    unsigned cell_bits, count;
    uint64_t at[LINES_MAX];
} lines;

static void add_line(lines *s, uint64_t line) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->at[i] == line)
            return;
    if (s->count < LINES_MAX)
        s->at[s->count++] = line;
}

static void record(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    lines *s = context;
    (void)holds, (void)wanted;
    add_line(s, cell * s->cell_bits / LINE_BITS);
    add_line(s, ((cell + 1) * s->cell_bits - 1) / LINE_BITS);
}

/* The mean number of lines that the lookups of keys first … first + n - 1 read. */
static double lines_of(lab *l, const kith_filter *f, unsigned cell_bits, uint64_t first, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = first; i < first + n; i++) {
        lines s = {.cell_bits = cell_bits};
        uint64_t digest;
        lab_digests(l, f, i, 1, &digest);
        (void)kith_filter_look(f, digest, record, &s);
        sum += s.count;
    }
    return (double)sum / (double)n;
}

typedef struct times {
    double add, present, absent;
} times;

/* The best of some rounds, in seconds for n keys. */
static times time_of(lab *l, const char *kind, uint64_t n) {
    times best = {1e9, 1e9, 1e9};
    for (unsigned round = 0; round < ROUNDS; round++) {
        kith_filter *f = lab_filter(l, kind, n, lab_real(l, "rate"), 0, NULL);
        double start = lab_seconds();
        lab_fill(l, f, 0, n);
        double filled = lab_seconds();
        lab_require(l, lab_count_found(l, f, 0, n) == n, "a filter has lost a key");
        double found = lab_seconds();
        (void)lab_count_found(l, f, n, n);
        best.absent = fmin(best.absent, lab_seconds() - found);
        best.present = fmin(best.present, found - filled);
        best.add = fmin(best.add, filled - start);
        lab_drop(l, f);
        lab_progress(l, 0.9);
    }
    return best;
}

typedef struct cost {
    lab_sample present, absent;
    kith_plan plan;
    double set; /* share of set cells, the mean */
} cost;

static cost measure(lab *l, const char *kind, uint64_t n, uint64_t filters, double done) {
    cost c = {.plan = KITH_PLAN_INIT};
    for (uint64_t i = 0; i < filters; i++) {
        kith_filter *f = lab_filter(l, kind, n, lab_real(l, "rate"), 0, NULL);
        lab_must(l, kith_filter_plan_of(f, &c.plan), "reading the plan");
        lab_fill(l, f, 0, n);
        lab_sample_add(&c.present, lines_of(l, f, c.plan.cell_bits, 0, n));
        lab_sample_add(&c.absent, lines_of(l, f, c.plan.cell_bits, n, n));
        lab_drop(l, f);
        lab_progress(l, done + 0.4 * (double)i / (double)filters);
    }
    return c;
}

static void run(lab *l) {
    uint64_t n = lab_number(l, "n"), filters = lab_number(l, "filters"), timed = lab_number(l, "timed_n");
    lab_parameter(l, "rate", "%g", lab_real(l, "rate"));
    lab_parameter(l, "n", "%llu", (unsigned long long)n);
    cost bloom = measure(l, "bloom", n, filters, 0), cuckoo = measure(l, "cuckoo", n, filters, 0.4);
    double k = bloom.plan.hashes, slice = (double)bloom.plan.cells / k;
    double set = 1 - exp((double)n * log1p(-1 / slice)), absent = (1 - pow(set, k)) / (1 - set);
    /* Two bits of neighbouring slices share a line only at the border between them. */
    lab_find(l, LAB_AT_MOST, k, lab_mean(&bloom.present), "bloom, present keys: cache lines per lookup, k");
    lab_find(l, LAB_EQUALS, absent, lab_mean(&bloom.absent), "bloom, absent keys: cache lines per lookup");
    lab_find(l, LAB_AT_MOST, 4, lab_mean(&cuckoo.absent),
             "cuckoo, absent keys: cache lines per lookup, two per bucket");
    lab_find(l, LAB_AT_MOST, 4, lab_mean(&cuckoo.present), "cuckoo, present keys: cache lines per lookup");
    double both = (cuckoo.present.mean + cuckoo.absent.mean) / (bloom.present.mean + bloom.absent.mean);
    lab_find_stated(l, LAB_MUST, "[4]: \"Cuckoo Filters can achieve the same runtime performance\"", LAB_AT_MOST, 1,
                    lab_exact(both), "cache lines per lookup, half of the keys present: cuckoo / bloom");
    lab_find(l, LAB_SHOWN, 0, lab_exact(cuckoo.absent.mean / bloom.absent.mean),
             "cache lines per lookup of an absent key: cuckoo / bloom");
    lab_find(l, LAB_SHOWN, 0, lab_exact(cuckoo.present.mean / bloom.present.mean),
             "cache lines per lookup of a present key: cuckoo / bloom");
    times b = time_of(l, "bloom", timed), c = time_of(l, "cuckoo", timed);
    lab_find(l, LAB_SHOWN, 0, lab_exact(c.absent / b.absent), "time of lookups of absent keys: cuckoo / bloom");
    lab_find(l, LAB_SHOWN, 0, lab_exact(c.present / b.present), "time of lookups of present keys: cuckoo / bloom");
    lab_find(l, LAB_SHOWN, 0, lab_exact(c.add / b.add), "time of additions up to the capacity: cuckoo / bloom");
}

const lab_claim lab_F10 = {
    .id = "F10",
    .title = "cost of operations, compared with a Bloom filter",
    .sentence =
        "At the same rate a lookup in a cuckoo filter reads no more cache lines than one in a Bloom filter, if half "
        "of the keys that are looked up are present.",
    .formula = "lines ≤ (k + (1 − p^{k})/(1 − p))/2",
    .code = "src/kinds/shared/cuckoo_search.h",
    .decides = "half of the keys present: cuckoo / bloom",
    .note =
        "[4] says \"the same runtime performance\". For lookups of present keys a cuckoo filter reads a fraction of "
        "the "
        "lines of a Bloom filter, for absent keys slightly more. The ratios of the "
        "times on this machine are shown.",
    .settings = {LAB_SIZE("n", 2000, 20000, 100, 1e6, "keys of each filter"),
                 LAB_SIZE("filters", 40, 100, 2, 1e5, "filters of each kind"),
                 LAB_SIZE("timed_n", 20000, 1000000, 1000, 1e8, "keys of the filters whose time is measured"),
                 LAB_NUMBER("rate", "0.001", 1e-9, 0.5, 1e-5, 0.01, "rate of both filters")},
    .run = run,
};
