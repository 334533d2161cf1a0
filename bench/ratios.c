/* Ratios of two operations of the library, which alternate: bench_ratios few|overlap [KEYS [ROUNDS]], or
 * bench_ratios widths [KEYS [ROUNDS [BITS]]]
 *
 * The clock rate of a processor may change by half while a benchmark runs, so that the medians of two rows of
 * bench_filters, which are measured some seconds apart, do not have the right ratio. Here each round measures both
 * operations one directly after the other. The figures are the median of the ratios of all rounds, and their quartiles:
 *
 *     few        build of KEYS keys, for each kind, to add_many of the same keys to an empty filter
 *     widths     build and has_many of cuckoo with fingerprints of 4 to 32 bits to the same with 12 bits. KEYS keys
 *                have 12 bits; the other filters have as many keys as fit into a body of the same size. BITS: only
 *                this number of bits
 *     overlap    build of overlap to that of cuckoo, at a rate of 0.1%
 *
 * Builds use one thread. Exit status: 0 done, 1 a filter returned a wrong result, 2 invalid usage or out of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/kith.h>

#include "bench.h"
#include "splitmix.h"

enum { ROUNDS_MAX = 1001, LOOKUP_ROUNDS = 5, WIDTH_MIN = 4, WIDTH_MAX = 32, WIDTH_USUAL = 12 };
#define OPERATIONS_MIN 20000 /* in a round: fewer keys are added several times */
#define LOOKUPS_MAX 4000000

/* Nanoseconds per key: of the operation in question, and of the one that it is compared with. */
typedef struct pair {
    double ns, other_ns;
} pair;

typedef struct series {
    pair pairs[ROUNDS_MAX * LOOKUP_ROUNDS];
    unsigned count;
} series;

static void check(const char *what, kith_status status) {
    if (status != KITH_OK)
        fail("%s: %s", what, kith_status_text(status));
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_series(const char *name, const series *s) {
    static double ns[ROUNDS_MAX * LOOKUP_ROUNDS], other[ROUNDS_MAX * LOOKUP_ROUNDS], ratio[ROUNDS_MAX * LOOKUP_ROUNDS];
    unsigned n = s->count;
    for (unsigned i = 0; i < n; i++) {
        ns[i] = s->pairs[i].ns;
        other[i] = s->pairs[i].other_ns;
        ratio[i] = ns[i] / other[i];
    }
    qsort(ns, n, sizeof *ns, by_size);
    qsort(other, n, sizeof *other, by_size);
    qsort(ratio, n, sizeof *ratio, by_size);
    printf("%-32s %8.2f %8.2f   %5.2f   %5.2f … %5.2f\n", name, ns[n / 2], other[n / 2], ratio[n / 2], ratio[n / 4],
           ratio[n - 1 - n / 4]);
    (void)fflush(stdout);
}

static uint64_t *make_digests(size_t n, uint64_t first) {
    uint64_t *digests = allocate(n * sizeof *digests);
    for (size_t i = 0; i < n; i++)
        digests[i] = splitmix_mix(first + i);
    return digests;
}

static double build_ns(const kith_filter_spec *spec, const uint64_t *digests, size_t n, kith_filter **built) {
    double start = now(1);
    kith_status status = kith_filter_build(spec, digests, n, KITH_BUILD_SET, 1, built);
    double ns = (now(1) - start) / (double)n;
    check(spec->kind, status);
    return ns;
}

/* ---- few ---- */

static void few(const char *kind, double rate, const uint64_t *digests, size_t n, unsigned rounds) {
    static series s;
    s.count = 0;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = n;
    spec.rate = rate;
    kith_filter *f, *built;
    check(kind, kith_filter_create(&spec, &f));
    size_t repeats = n < OPERATIONS_MIN ? OPERATIONS_MIN / n : 1;
    for (unsigned round = 0; round < rounds; round++) {
        pair sum = {0, 0};
        for (size_t i = 0; i < repeats; i++) {
            size_t done;
            check("clear", kith_filter_clear(f));
            double start = now(1);
            kith_status status = kith_filter_add_many(f, digests, n, NULL, &done);
            sum.other_ns += (now(1) - start) / (double)n;
            check("add_many", status);
            sum.ns += build_ns(&spec, digests, n, &built);
            if (kith_filter_has_many(built, digests, n, NULL) != n)
                wrong("%s has lost keys", kind);
            kith_filter_free(built);
        }
        s.pairs[s.count++] = (pair){sum.ns / (double)repeats, sum.other_ns / (double)repeats};
    }
    kith_filter_free(f);
    print_series(kind, &s);
}

static void all_few(size_t n, unsigned rounds) {
    uint64_t *digests = make_digests(n, 0);
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *kind = kith_filter_kind_at(i);
        kith_plan plan = KITH_PLAN_INIT;
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.kind = kind->name;
        spec.capacity = n;
        spec.rate = 0.001;
        check(kind->name, kith_filter_plan(&spec, &plan));
        if ((plan.capabilities & KITH_CAN_ADD) != 0) /* rates as in bench_filters */
            few(kind->name, plan.fingerprint_bits != 0 ? 0.001 : 0.01, digests, n, rounds);
    }
    free(digests);
}

/* ---- widths ---- */

/* A filter of one width. */
typedef struct width {
    char options[8];
    kith_filter_spec spec;
    size_t n, lookups;
    uint64_t *half; /* digests to look up, every second one present */
} width;

/* Either n keys, or as many as fit into `bytes` bytes; the other argument is 0. */
static void make_width(width *w, unsigned bits, uint64_t bytes, size_t n) {
    *w = (width){.spec = KITH_FILTER_SPEC_INIT};
    kith_plan plan = KITH_PLAN_INIT;
    snprintf(w->options, sizeof w->options, "f=%u", bits);
    w->spec.kind = "cuckoo";
    w->spec.options = w->options;
    w->spec.capacity = n;
    w->spec.bytes = bytes;
    w->spec.rate = 0.9; /* is kept with 4 bits */
    check("plan", kith_filter_plan(&w->spec, &plan));
    w->n = (size_t)plan.capacity;
    w->spec.capacity = w->n;
    w->spec.bytes = 0;
    w->lookups = w->n < LOOKUPS_MAX ? w->n : LOOKUPS_MAX;
    w->half = allocate(w->lookups * sizeof *w->half);
    for (size_t i = 0; i < w->lookups; i++) /* present ones from all over the filter, others beyond 2^40 */
        w->half[i] = splitmix_mix(i % 2 == 0 ? i * (w->n / w->lookups) : (UINT64_C(1) << 40) + i);
}

static uint64_t bytes_of(const width *w) {
    kith_plan plan = KITH_PLAN_INIT;
    check("plan", kith_filter_plan(&w->spec, &plan));
    return plan.file_bytes;
}

static size_t repeats_of(const width *w) {
    return w->n < OPERATIONS_MIN * 10 ? OPERATIONS_MIN * 10 / w->n : 1;
}

/* Builds a filter, several times if it is small; *f is the last one. Returns ns per key. */
static double build_width(const width *w, const uint64_t *digests, kith_filter **f) {
    double ns = 0;
    for (size_t i = 0; i < repeats_of(w); i++) {
        if (i > 0)
            kith_filter_free(*f);
        ns += build_ns(&w->spec, digests, w->n, f) / (double)repeats_of(w);
    }
    return ns;
}

static double look_up_width(const width *w, const kith_filter *f) {
    size_t found = 0;
    double start = now(1);
    for (size_t i = 0; i < repeats_of(w); i++)
        found += kith_filter_has_many(f, w->half, w->lookups, NULL);
    double ns = (now(1) - start) / (double)(w->lookups * repeats_of(w));
    if (found < w->lookups / 2 * repeats_of(w))
        wrong("cuckoo with %s has lost keys", w->options);
    return ns;
}

static void compare_widths(const width *w, const width *usual, const uint64_t *digests, unsigned rounds) {
    static series build, has;
    build.count = has.count = 0;
    for (unsigned round = 0; round < rounds; round++) {
        kith_filter *f, *other;
        double ns = build_width(w, digests, &f);
        build.pairs[build.count++] = (pair){ns, build_width(usual, digests, &other)};
        for (unsigned i = 0; i < LOOKUP_ROUNDS; i++) {
            ns = look_up_width(w, f);
            has.pairs[has.count++] = (pair){ns, look_up_width(usual, other)};
        }
        kith_filter_free(f);
        kith_filter_free(other);
    }
    char name[64];
    snprintf(name, sizeof name, "%s, %zu keys: build", w->options, w->n);
    print_series(name, &build);
    print_series("  has_many", &has);
}

static void widths(size_t n, unsigned rounds, unsigned only) {
    width usual, w;
    make_width(&usual, WIDTH_USUAL, 0, n);
    size_t most = n;
    for (unsigned bits = WIDTH_MIN; bits <= WIDTH_MAX; bits++) {
        make_width(&w, bits, bytes_of(&usual), 0);
        most = w.n > most ? w.n : most;
        free(w.half);
    }
    uint64_t *digests = make_digests(most, 0);
    for (unsigned bits = WIDTH_MIN; bits <= WIDTH_MAX; bits++) {
        if (only != 0 && bits != only)
            continue;
        make_width(&w, bits, bytes_of(&usual), 0);
        compare_widths(&w, &usual, digests, rounds);
        free(w.half);
    }
    free(usual.half);
    free(digests);
}

/* ---- overlap ---- */

static void overlap(size_t n, unsigned rounds) {
    static series s;
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.capacity = n;
    spec.rate = 0.001;
    uint64_t *digests = make_digests(n, 0);
    for (unsigned round = 0; round < rounds; round++) {
        kith_filter *f;
        pair p;
        spec.kind = "cuckoo";
        p.other_ns = build_ns(&spec, digests, n, &f);
        kith_filter_free(f);
        spec.kind = "overlap";
        p.ns = build_ns(&spec, digests, n, &f);
        if (kith_filter_has_many(f, digests, n, NULL) != n)
            wrong("overlap has lost keys");
        kith_filter_free(f);
        s.pairs[s.count++] = p;
    }
    free(digests);
    print_series("overlap", &s);
}

/* ---- the command line ---- */

static double number(int argc, char **argv, int at, double min, double max, double usual) {
    if (at >= argc)
        return usual;
    double value = strtod(argv[at], NULL);
    if (!(value >= min && value <= max))
        fail("%s is not a number from %g to %g", argv[at], min, max);
    return value;
}

static void print_head(size_t n, unsigned rounds, const char *operation, const char *other) {
    printf("%zu keys, %u rounds: ns per key, the median of the ratios, and their quartiles\n", n, rounds);
    printf("%-32s %8s %8s   %5s   %s\n", "", operation, other, "ratio", "quartiles");
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    bool is_few = strcmp(mode, "few") == 0, is_widths = strcmp(mode, "widths") == 0;
    if ((!is_few && !is_widths && strcmp(mode, "overlap") != 0) || argc > (is_widths ? 5 : 4))
        fail("usage: bench_ratios few|overlap [KEYS [ROUNDS]], or bench_ratios widths [KEYS [ROUNDS [BITS]]]");
    size_t n = (size_t)number(argc, argv, 2, 1000, 1e9, is_few ? 1000 : is_widths ? 1e7 : 1e6);
    unsigned rounds = (unsigned)number(argc, argv, 3, 1, ROUNDS_MAX, is_few ? 101 : is_widths ? 5 : 9);
    if (is_few) {
        print_head(n, rounds, "build", "add_many");
        all_few(n, rounds);
    } else if (is_widths) {
        print_head(n, rounds, "ns", "f=12");
        widths(n, rounds, (unsigned)number(argc, argv, 4, WIDTH_MIN, WIDTH_MAX, 0));
    } else {
        print_head(n, rounds, "build", "cuckoo");
        overlap(n, rounds);
    }
    return 0;
}
