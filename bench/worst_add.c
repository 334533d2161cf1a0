/* The slowest adds to cuckoo kinds, in microseconds of CPU time of the thread: bench_worst_add [KEYS [RUNS]]
 *
 * A mean hides the add that had to search longest for a free slot, so each add is timed alone:
 *
 *     random     KEYS random digests, which fill the filter to its capacity
 *     attack     digests of one region only, as an attacker who knows the hash can choose them, until 300 were refused:
 *                those that are accepted, and those that are refused, each of which searches as far as it may
 *     growth     random digests that make layers append a layer: this allocates and clears memory in proportion to it
 *
 * Each figure is the slowest add of a run, and the lowest of RUNS runs, because interrupts count as CPU time, too.
 *
 * With at least 10^6 keys and 3 runs, the defaults, it exits with 1 if any add takes more than 1000 us, except for
 * those of "growth". Smaller runs test only that it works. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kith/kith.h>

#include "splitmix.h"

enum { REFUSED_MAX = 300, RUNS_MAX = 100, FULL_KEYS = 1000000, FULL_RUNS = 3 };
#define ADD_US_MAX 1000.0
#define REGION_SLOTS (UINT64_C(1) << 18) /* a region of a filter has at most this many: docs/format.md */

static const struct {
    const char *kind, *options;
    uint64_t growth; /* the number of keys is this many times the first capacity */
} SUBJECTS[] = {
    {"overlap", NULL, 1},
    {"cuckoo", NULL, 1},
    {"cuckoo", "b=8", 1},
    {"cuckoo", "insert=walk", 1},
    {"layers", "inner=overlap", 10},
};

/* The slowest adds of a run. */
typedef struct slowest {
    double accepted, refused, growing;
    uint64_t taken;
} slowest;

static void die(const char *what, kith_status status) {
    fprintf(stderr, "worst_add: %s: %s\n", what, kith_status_text(status));
    exit(1);
}

static bool too_slow;

static void expect_fast(const kith_filter_spec *spec, const char *which, double us) {
    if (us <= ADD_US_MAX)
        return;
    fprintf(stderr, "worst_add: %s %s: the slowest %s add takes %.0f us of CPU time, promised are at most %.0f\n",
            spec->kind, spec->options != NULL ? spec->options : "", which, us, ADD_US_MAX);
    too_slow = true;
}

static double now_us(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        die("clock_gettime", KITH_E_UNSUPPORTED);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void raise_to(double *most, double x) {
    *most = x > *most ? x : *most;
}

static void lower_to(double *least, double x, bool first) {
    *least = first || x < *least ? x : *least;
}

/* Adds up to n digests below 2^64 / share, until REFUSED_MAX were refused. */
static slowest add(kith_filter *f, uint64_t n, uint64_t share, uint64_t seed) {
    slowest s = {0, 0, 0, 0};
    for (unsigned refused = 0; s.taken < n && refused < REFUSED_MAX;) {
        uint64_t digest = splitmix_next(&seed) / share, capacity = kith_filter_capacity(f);
        double from = now_us();
        kith_status status = kith_filter_add_digest(f, digest, NULL);
        double took = now_us() - from;
        if (status != KITH_OK && status != KITH_E_FULL && status != KITH_E_COPIES)
            die("add", status);
        if (status == KITH_OK && !kith_filter_has_digest(f, digest))
            die("a key that was added is not found", KITH_E_ABSENT);
        s.taken += status == KITH_OK;
        refused += status != KITH_OK;
        if (kith_filter_capacity(f) != capacity)
            raise_to(&s.growing, took);
        else
            raise_to(status == KITH_OK ? &s.accepted : &s.refused, took);
    }
    return s;
}

static kith_filter *create(const kith_filter_spec *spec) {
    kith_filter *f;
    kith_status status = kith_filter_create(spec, &f);
    if (status != KITH_OK)
        die("create", status);
    return f;
}

static void measure(size_t subject, uint64_t n, unsigned runs) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    spec.kind = SUBJECTS[subject].kind;
    spec.options = SUBJECTS[subject].options;
    spec.capacity = (n + SUBJECTS[subject].growth - 1) / SUBJECTS[subject].growth;
    spec.rate = .001;
    kith_status status = kith_filter_plan(&spec, &plan);
    if (status != KITH_OK)
        die("plan", status);
    uint64_t regions = (plan.cells + REGION_SLOTS - 1) / REGION_SLOTS;
    slowest random = {0, 0, 0, 0}, attack = {0, 0, 0, 0};
    for (unsigned run = 0; run < runs; run++) {
        kith_filter *f = create(&spec);
        slowest one = add(f, n, 1, 1);
        kith_filter_free(f);
        if (one.taken != n)
            die("the filter refuses keys below its capacity", KITH_E_FULL);
        lower_to(&random.accepted, one.accepted, run == 0);
        lower_to(&random.growing, one.growing, run == 0);
        if (regions == 1) /* the capacity is reached before the region is full */
            continue;
        f = create(&spec);
        one = add(f, n, regions, 2);
        kith_filter_free(f);
        lower_to(&attack.accepted, one.accepted, run == 0);
        lower_to(&attack.refused, one.refused, run == 0);
    }
    printf("%-8s %-14s %10llu %8llu %8.0f %10.0f %10.0f %8.0f\n", spec.kind, spec.options != NULL ? spec.options : "",
           (unsigned long long)n, (unsigned long long)plan.search_slots, random.accepted, attack.accepted,
           attack.refused, random.growing);
    (void)fflush(stdout);
    if (n < FULL_KEYS || runs < FULL_RUNS)
        return;
    expect_fast(&spec, "random", random.accepted);
    expect_fast(&spec, "accepted", attack.accepted);
    expect_fast(&spec, "refused", attack.refused);
}

int main(int argc, char **argv) {
    double keys = argc > 1 ? strtod(argv[1], NULL) : 1e6;
    unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
    if (argc > 3 || !(keys >= 1000 && keys <= 1e10) || runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "usage: %s [KEYS [RUNS]], 1000 to 1e10 keys, 1 to %d runs\n", argv[0], RUNS_MAX);
        return 2;
    }
    printf("slowest add in us of CPU time, best of %lu run%s; 0: no such add\n", runs, runs == 1 ? "" : "s");
    printf("%-8s %-14s %10s %8s %8s %10s %10s %8s\n", "kind", "options", "keys", "slots", "random", "accepted",
           "refused", "growth");
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof *SUBJECTS; i++)
        measure(i, (uint64_t)keys, (unsigned)runs);
    return too_slow;
}
