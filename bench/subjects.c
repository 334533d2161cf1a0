/* subjects.c: measures one round; see subjects.h.
 *
 * A round of a filter has these steps. The steps in the second column are timed:
 *
 *     create and clear a filter (touches its memory)   add_many, 1 thread; clear; add_many, 2 threads; clear
 *     the same filter                                  add, one call per key; later remove, one call per key
 *     another filter, from the digests                 build; then the lookups; later remove_many
 *
 * Every result is checked: all keys are added, all present keys are found, the number of false positives is the same in
 * each kind of lookup, and nothing is left after the removals. */
#include "subjects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

#define OPERATION_ROW(id, name, threads, group, floor, peer) [OP_##id] = {name, threads, group, floor, peer},
const operation operations[OPERATION_COUNT] = {OPERATIONS(OPERATION_ROW)};
#undef OPERATION_ROW

/* The library requests huge pages from this size on, so such filters are compared with the limits on huge pages. */
#define HUGE_FROM ((uint64_t)4 << 20)

enum { WALK_PRESENT, WALK_ABSENT, WALK_CHANGE, WALK_COUNT };

static const char *const page_names[2] = {"plain", "huge"};

static kith_filter_spec spec_of(const char *kind, size_t n, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = n;
    spec.rate = rate;
    return spec;
}

/* Sets the numbers of cache lines that the limits read and change. A lookup of a present key in a Bloom kind must read
 * all of its lines. Half of the bits of a full filter are set, so a lookup of an absent key reads two lines on average,
 * and no filter needs fewer. Fingerprint kinds read all candidate lines of a key and change one of them. Bloom kinds
 * change all. */
static void set_walks(subject *s) {
    unsigned lines = s->plan.lines > 0 ? s->plan.lines : 1;
    bool bits = s->plan.fingerprint_bits == 0;
    unsigned counts[WALK_COUNT][2] = {{lines, 0}, {bits && lines > 2 ? 2 : lines, 0}, {lines, bits ? lines : 1}};
    for (unsigned w = 0; w < WALK_COUNT; w++) {
        unsigned read = counts[w][0], written = counts[w][1];
        const char *plural = read == 1 ? "" : "s";
        if (written == 0)
            snprintf(s->walk_names[w], sizeof s->walk_names[w], "read %u line%s", read, plural);
        else if (written == read)
            snprintf(s->walk_names[w], sizeof s->walk_names[w], "change %u line%s", read, plural);
        else
            snprintf(s->walk_names[w], sizeof s->walk_names[w], "read %u line%s, change %u", read, plural, written);
        for (unsigned huge = 0; huge < 2; huge++)
            for (unsigned t = 0; t < 2; t++)
                s->walks[huge][w][t] =
                    (walk){.lines = read, .writes = written, .threads = t + 1, .prefetch_distance = 16};
    }
}

bool subject_plan(subject *s, const char *kind, size_t n, double rate, results *r) {
    *s = (subject){.kind = kind, .rate = rate > 0 ? rate : 0.001, .plan = KITH_PLAN_INIT};
    kith_filter_spec spec = spec_of(kind, n, s->rate);
    kith_status status = kith_filter_plan(&spec, &s->plan);
    if (status == KITH_OK && rate <= 0 && s->plan.fingerprint_bits == 0) {
        s->rate = spec.rate = 0.01;
        status = kith_filter_plan(&spec, &s->plan);
    }
    if (status != KITH_OK) {
        results_skip(r, "%s of %zu keys: %s", kind, n, kith_status_text(status));
        return false;
    }
    set_walks(s);
    return true;
}

uint64_t subject_bytes(const subject *s, size_t n) {
    /* Two filters exist at the same time; the rest is what kith_filter_build needs. */
    return 2 * s->plan.file_bytes + 24 * (uint64_t)n + ((uint64_t)8 << 20);
}

/* Nanoseconds per operation, summed over the passes of a round; -1 means not measured. */
typedef struct sums {
    double ns[OPERATION_COUNT];
} sums;

static void sum_add(sums *s, operation_id op, double start, size_t operations_done) {
    double ns = (now(operations[op].threads) - start) / (double)operations_done;
    s->ns[op] = s->ns[op] < 0 ? ns : s->ns[op] + ns;
}

static row row_of(const subject *s, const keys *k, operation_id op) {
    return (row){.who = "kith",
                 .name = s->kind,
                 .n = k->n,
                 .rate = s->rate,
                 .op = operations[op].name,
                 .threads = operations[op].threads,
                 .pages = ""};
}

static void expect(const subject *s, const keys *k, operation_id op, size_t got, size_t want) {
    if (got != want)
        wrong("%s of %zu keys: %s on %u thread(s) returned %zu instead of %zu", s->kind, k->n, operations[op].name,
              operations[op].threads, got, want);
}

static kith_filter *create(const kith_filter_spec *spec) {
    kith_filter *f;
    kith_status status = kith_filter_create(spec, &f);
    if (status == KITH_E_UNSUPPORTED) /* the kind can only be built from all keys */
        return NULL;
    if (status == KITH_OK)
        status = kith_filter_clear(f);
    if (status != KITH_OK)
        fail("%s: %s", spec->kind, kith_status_text(status));
    return f;
}

static kith_filter *measure_adds(const subject *s, const keys *k, bool threads, sums *sum) {
    kith_filter_spec spec = spec_of(s->kind, k->n, s->rate);
    kith_filter *f = create(&spec);
    if (f == NULL)
        return NULL;
    for (unsigned t = 1; t <= (threads && s->plan.capabilities & KITH_CAN_SHARE ? 2u : 1u); t++) {
        operation_id op = t == 1 ? OP_ADD_MANY : OP_ADD_MANY_2;
        double start = now(t);
        size_t added = verb_add_many(f, k->present, k->n, t);
        sum_add(sum, op, start, k->n);
        expect(s, k, op, added, k->n);
        if (kith_filter_clear(f) != KITH_OK)
            fail("%s: clear failed", s->kind);
    }
    size_t added = 0;
    double start = now(1);
    for (size_t i = 0; i < k->n; i++)
        added += verb_add(f, k->present[i]);
    sum_add(sum, OP_ADD, start, k->n);
    expect(s, k, OP_ADD, added, k->n);
    return f;
}

static kith_filter *measure_builds(const subject *s, const keys *k, bool threads, sums *sum) {
    kith_filter_spec spec = spec_of(s->kind, k->n, s->rate);
    kith_filter *f = NULL;
    for (unsigned t = 1; t <= (threads ? 2 : 1); t++) {
        kith_filter_free(f);
        double start = now(t);
        kith_status status = verb_build(&spec, k->present, k->n, t, &f);
        sum_add(sum, t == 1 ? OP_BUILD : OP_BUILD_2, start, k->n);
        if (status != KITH_OK)
            fail("%s: build: %s", s->kind, kith_status_text(status));
    }
    return f;
}

static size_t look_up_each(const kith_filter *f, const uint64_t *digests, size_t n) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += verb_has(f, digests[i]);
    return found;
}

static void measure_lookups(const subject *s, const keys *k, bool threads, const kith_filter *f, sums *sum) {
    const struct {
        const uint64_t *digests;
        operation_id each, many, many_2;
    } patterns[] = {
        {k->present, OP_HAS_PRESENT, OP_HAS_MANY_PRESENT, OP_HAS_MANY_PRESENT_2},
        {k->absent, OP_HAS_ABSENT, OP_HAS_MANY_ABSENT, OP_HAS_MANY_ABSENT_2},
        {k->half, OP_HAS_HALF, OP_HAS_MANY_HALF, OP_HAS_MANY_HALF_2},
    };
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        const uint64_t *digests = patterns[p].digests;
        double start = now(1);
        size_t found = look_up_each(f, digests, k->lookups);
        sum_add(sum, patterns[p].each, start, k->lookups);
        if (digests == k->present)
            expect(s, k, patterns[p].each, found, k->lookups);
        if (digests == k->half && found < k->half_present)
            expect(s, k, patterns[p].each, found, k->half_present);
        for (unsigned t = 1; t <= (threads ? 2u : 1u); t++) {
            operation_id op = t == 1 ? patterns[p].many : patterns[p].many_2;
            start = now(t);
            size_t got = verb_has_many(f, digests, k->lookups, k->found, t);
            sum_add(sum, op, start, k->lookups);
            expect(s, k, op, got, found);
        }
    }
}

static void measure_removes(const subject *s, const keys *k, kith_filter *added, kith_filter *built, sums *sum) {
    if (!(s->plan.capabilities & KITH_CAN_REMOVE))
        return;
    if (added != NULL) {
        size_t removed = 0;
        double start = now(1);
        for (size_t i = 0; i < k->n; i++)
            removed += verb_remove(added, k->present[i]);
        sum_add(sum, OP_REMOVE, start, k->n);
        expect(s, k, OP_REMOVE, removed, k->n);
        expect(s, k, OP_REMOVE, (size_t)kith_filter_count(added), 0);
    }
    double start = now(1);
    size_t removed = verb_remove_many(built, k->present, k->n);
    sum_add(sum, OP_REMOVE_MANY, start, k->n);
    expect(s, k, OP_REMOVE_MANY, removed, k->n);
    expect(s, k, OP_REMOVE_MANY, (size_t)kith_filter_count(built), 0);
}

/* Rejects a rate that is more than 1.5 times the promised one plus six standard deviations. The tests have sharper
 * bounds; this one only finds filters that are broken. */
static void check_rate(const char *name, double measured, double rate, size_t lookups) {
    double max = 1.5 * rate + 6 * sqrt(rate / (double)lookups);
    if (measured > max)
        wrong("%s has a false positive rate of %g, but %g was requested", name, measured, rate);
}

static void check_filter(const subject *s, const keys *k, const kith_filter *f, results *r) {
    size_t found = kith_filter_has_many(f, k->present, k->n, NULL);
    if (found != k->n)
        wrong("%s of %zu keys has lost %zu", s->kind, k->n, k->n - found);
    size_t false_positives = kith_filter_has_many(f, k->absent, k->rate_lookups, NULL);
    double measured = (double)false_positives / (double)k->rate_lookups;
    check_rate(s->kind, measured, s->rate, k->rate_lookups);
    fact properties = {.who = "kith",
                       .name = s->kind,
                       .n = k->n,
                       .rate = s->rate,
                       .measured_rate = measured,
                       .bytes = s->plan.file_bytes,
                       .lines = s->plan.lines};
    results_fact(r, &properties);
}

void subject_round(const subject *s, const keys *k, unsigned groups, bool first, results *r) {
    sums sum;
    for (size_t op = 0; op < OPERATION_COUNT; op++)
        sum.ns[op] = -1;
    bool threads = k->n >= THREADS_FROM;
    for (size_t p = 0; p < k->passes; p++) {
        /* Operations that were not selected still run if a selected one needs them, but they get no row. */
        kith_filter *added = groups & (GROUP_ADD | GROUP_REMOVE) ? measure_adds(s, k, threads, &sum) : NULL;
        kith_filter *built = measure_builds(s, k, threads, &sum);
        if (first && p == 0)
            check_filter(s, k, built, r);
        if (groups & GROUP_HAS)
            measure_lookups(s, k, threads, built, &sum);
        if (groups & GROUP_REMOVE)
            measure_removes(s, k, added, built, &sum);
        kith_filter_free(added);
        kith_filter_free(built);
    }
    for (operation_id op = 0; op < OPERATION_COUNT; op++)
        if (sum.ns[op] >= 0 && operations[op].group & groups) {
            row like = row_of(s, k, op);
            results_push(results_row(r, &like), sum.ns[op] / (double)k->passes);
        }
}

static row limit_row(const subject *s, const keys *k, const char *op, unsigned threads, unsigned huge) {
    return (row){.who = "limit", .name = s->kind, .n = k->n, .op = op, .threads = threads, .pages = page_names[huge]};
}

void subject_limits_round(subject *s, const keys *k, bool first, results *r) {
    for (unsigned huge = 0; huge < 2; huge++) {
        block b = block_map((size_t)s->plan.file_bytes, huge);
        for (unsigned w = 0; w < WALK_COUNT; w++) {
            if (w == WALK_ABSENT && s->walks[huge][w][0].lines == s->walks[huge][WALK_PRESENT][0].lines)
                continue;
            for (unsigned t = 0; t < (k->n >= THREADS_FROM ? 2 : 1); t++) {
                walk *one = &s->walks[huge][w][t];
                if (first)
                    one->prefetch_distance = limit_best_distance(one, &b, k->present, k->lookups);
                double ns = 0;
                for (size_t p = 0; p < k->passes; p++)
                    ns += limit_walk(one, &b, k->present, k->lookups);
                row like = limit_row(s, k, s->walk_names[w], one->threads, huge);
                results_push(results_row(r, &like), ns / (double)k->passes);
            }
        }
        row like = limit_row(s, k, "read in sequence", 1, huge);
        results_push(results_row(r, &like), limit_sequence(&b));
        block_unmap(&b);
    }
}

void peer_round(const peer *p, double rate, const keys *k, bool first, results *r) {
    static const char *const names[] = {"add", "has present", "has absent", "has half"};
    double ns[4] = {0};
    uint64_t bytes = 0;
    void *f = p->create(k->n, rate, &bytes);
    if (f == NULL) {
        if (first)
            results_skip(r, "%s cannot hold %zu keys at a rate of %g", p->name, k->n, rate);
        return;
    }
    for (size_t pass = 0; pass < k->passes; pass++) {
        p->clear(f);
        double start = now(1);
        p->add(f, k->present, k->n);
        ns[0] += (now(1) - start) / (double)k->n;
        const uint64_t *patterns[] = {k->present, k->absent, k->half};
        for (unsigned a = 0; a < 3; a++) {
            start = now(1);
            size_t found = p->has(f, patterns[a], k->lookups);
            ns[a + 1] += (now(1) - start) / (double)k->lookups;
            if (a == 0 && found != k->lookups)
                wrong("%s has lost keys", p->name);
        }
    }
    if (first) {
        double measured = (double)p->has(f, k->absent, k->rate_lookups) / (double)k->rate_lookups;
        fact properties = {p->name, "", k->n, rate, measured, bytes, 0};
        results_fact(r, &properties);
    }
    p->destroy(f);
    for (unsigned op = 0; op < 4; op++) {
        row like = {.who = p->name, .name = "", .n = k->n, .rate = rate, .op = names[op], .threads = 1, .pages = ""};
        results_push(results_row(r, &like), ns[op] / (double)k->passes);
    }
}

static const row *floor_row(const subject *s, const keys *k, unsigned w, unsigned threads, const results *r) {
    if (w == WALK_ABSENT && s->walks[0][w][0].lines == s->walks[0][WALK_PRESENT][0].lines)
        w = WALK_PRESENT;
    row like = limit_row(s, k, s->walk_names[w], threads, s->plan.file_bytes >= HUGE_FROM);
    return results_find(r, &like);
}

void subject_link(const subject *s, const keys *k, results *r) {
    for (operation_id op = 0; op < OPERATION_COUNT; op++) {
        row like = row_of(s, k, op);
        row *w = results_find(r, &like);
        if (w == NULL)
            continue;
        unsigned threads = operations[op].threads;
        const row *present = floor_row(s, k, WALK_PRESENT, threads, r);
        const row *absent = floor_row(s, k, WALK_ABSENT, threads, r);
        switch (operations[op].floor) {
        case FLOOR_PRESENT:
            w->floor[0] = present;
            break;
        case FLOOR_ABSENT:
            w->floor[0] = absent;
            break;
        case FLOOR_HALF:
            w->floor[0] = present;
            w->floor[1] = absent;
            break;
        case FLOOR_CHANGE:
            w->floor[0] = floor_row(s, k, WALK_CHANGE, threads, r);
            break;
        }
        for (const peer *const *p = peers; *p != NULL && w->peer == NULL; p++) {
            row theirs = {.who = (*p)->name,
                          .name = "",
                          .n = k->n,
                          .rate = s->rate,
                          .op = operations[op].peer,
                          .threads = 1,
                          .pages = ""};
            w->peer = results_find(r, &theirs);
        }
    }
}
