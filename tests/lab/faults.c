/* Runs the lab with a fault planted in the library. The claims about the faulty part must fail.
 *
 *     lab_faulty FAULT CLAIM…
 *
 * At link time, calls from the lab to the library are redirected (--wrap, see wrap.txt) to the functions below. They
 * call the real function and falsify its effect or its result, as a bug in the library would. Each run has one
 * fault. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/inspect.h>
#include <kith/kith.h>
#include <lab/cuckoo_filter/semi_sorted.h>
#include <lab/judge.h>
#include <lab/lab.h>
#include <lab/state.h>

#include "core/mix.h"
#include "kinds/shared/cuckoo_kinds.h"
#include "kinds/kind.h"

static const char *planted = "";

static bool is_planted(const char *name) {
    return strcmp(planted, name) == 0;
}

/* ---- lookups ---- */

size_t __real_kith_filter_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe);
size_t __wrap_kith_filter_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe);
bool __real_kith_filter_has_digest(const kith_filter *f, uint64_t digest);
bool __wrap_kith_filter_has_digest(const kith_filter *f, uint64_t digest);
bool __wrap_kith_filter_has(const kith_filter *f, const void *key, size_t key_bytes);

static double rate_now(const kith_filter *f) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    return kith_filter_stats_of(f, &stats) == KITH_OK ? stats.rate_now : 0;
}

/* Falsifies the result of one lookup. The caller computes `rate` only once per batch, because that is slow. */
static bool falsified(bool yes, uint64_t digest, double rate) {
    uint64_t dice = kithi_mix(digest + 77);
    if (is_planted("the_rate_is_doubled"))
        return yes || (double)dice * 0x1p-64 < rate;
    if (is_planted("a_key_is_not_found"))
        return yes && dice % 512 != 0;
    return yes;
}

bool __wrap_kith_filter_has_digest(const kith_filter *f, uint64_t digest) {
    double rate = is_planted("the_rate_is_doubled") ? rate_now(f) : 0;
    return falsified(__real_kith_filter_has_digest(f, digest), digest, rate);
}

bool __wrap_kith_filter_has(const kith_filter *f, const void *key, size_t key_bytes) {
    return __wrap_kith_filter_has_digest(f, kith_filter_digest(f, key, key_bytes));
}

size_t __wrap_kith_filter_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    double rate = is_planted("the_rate_is_doubled") ? rate_now(f) : 0;
    size_t yes = 0;
    if (maybe != NULL)
        memset(maybe, 0, (n + 63) / 64 * sizeof *maybe);
    for (size_t i = 0; i < n; i++) {
        bool found = falsified(__real_kith_filter_has_digest(f, digests[i]), digests[i], rate);
        if (maybe != NULL)
            maybe[i / 64] |= (uint64_t)found << (i % 64);
        yes += found;
    }
    return yes;
}

/* ---- digests and functions ---- */

/* Maps one in sixteen values to one of 64 values. */
static uint64_t biased(uint64_t value) {
    return kithi_mix(value) % 16 == 0 ? kithi_mix(value % 64) : value;
}

void __real_kith_filter_digest_packed(const kith_filter *f, const void *keys, size_t key_bytes, size_t n,
                                      uint64_t *digests);
void __wrap_kith_filter_digest_packed(const kith_filter *f, const void *keys, size_t key_bytes, size_t n,
                                      uint64_t *digests);
void __wrap_kith_filter_digest_packed(const kith_filter *f, const void *keys, size_t key_bytes, size_t n,
                                      uint64_t *digests) {
    __real_kith_filter_digest_packed(f, keys, key_bytes, n, digests);
    for (size_t i = 0; i < n && is_planted("digests_are_biased"); i++)
        digests[i] = biased(digests[i]);
}

uint64_t __real_kith_function_word(const kith_function *function, uint64_t word);
uint64_t __wrap_kith_function_word(const kith_function *function, uint64_t word);
uint64_t __wrap_kith_function_word(const kith_function *function, uint64_t word) {
    uint64_t value = __real_kith_function_word(function, word);
    return is_planted("functions_are_biased") ? biased(value) : value;
}

kith_status __real_kith_function_draw(kith_family_id family, unsigned independence, uint64_t seed,
                                      const kith_allocator *allocator, kith_function **function);
kith_status __wrap_kith_function_draw(kith_family_id family, unsigned independence, uint64_t seed,
                                      const kith_allocator *allocator, kith_function **function);
kith_status __wrap_kith_function_draw(kith_family_id family, unsigned independence, uint64_t seed,
                                      const kith_allocator *allocator, kith_function **function) {
    bool always_four = is_planted("a_function_ignores_its_independence") && family == KITH_FAMILY_POLYNOMIAL;
    return __real_kith_function_draw(family, always_four ? 4 : independence, seed, allocator, function);
}

/* ---- adding and removing ---- */

static void empty_counter(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)holds, (void)wanted;
    kith_filter *f = context;
    f->body[cell / 2] &= (uint8_t)(cell % 2 == 0 ? 0xf0 : 0x0f);
}

/* Empties an occupied slot, as if an insertion had displaced its key and then lost it. */
static void drop_some_slot(kith_filter *f, uint64_t dice) {
    uint64_t regions = f->head.params[KITHI_PARAM_REGIONS], region_slots = f->shape.cells / regions;
    uint64_t cell = dice % f->shape.cells;
    while (kith_filter_cell(f, cell) == 0)
        cell = (cell + 1) % f->shape.cells;
    kithi_field_set(f->body + cell / region_slots * (f->head.body_bytes / regions), cell % region_slots,
                    f->shape.cell_bits, 0);
}

static bool has_slots(const kith_filter *f) {
    return f->shape.fingerprint_bits != 0 && f->head.params[KITHI_PARAM_REGIONS] != 0;
}

kith_status __real_kith_filter_add_digest(kith_filter *f, uint64_t digest, bool *was_new);
kith_status __wrap_kith_filter_add_digest(kith_filter *f, uint64_t digest, bool *was_new);
kith_status __wrap_kith_filter_add_digest(kith_filter *f, uint64_t digest, bool *was_new) {
    if (is_planted("the_last_copy_is_refused") && has_slots(f) && f->head.hash.seed % 2 == 0) {
        uint64_t copies = f->verbs.copies(f, digest);
        if (copies + 1 == f->shape.max_copies)
            return KITH_E_COPIES;
    }
    kith_status status = __real_kith_filter_add_digest(f, digest, was_new);
    if (is_planted("counters_wrap_around") && status == KITH_E_COPIES && !has_slots(f)) {
        (void)kith_filter_look(f, digest, empty_counter, f);
        return KITH_OK;
    }
    if (is_planted("a_kick_drops_a_key") && status == KITH_OK && has_slots(f) && kithi_mix(digest) % 128 == 0)
        drop_some_slot(f, kithi_mix(digest + 5));
    return status;
}

kith_status __wrap_kith_filter_add(kith_filter *f, const void *key, size_t key_bytes, bool *was_new);
kith_status __wrap_kith_filter_add(kith_filter *f, const void *key, size_t key_bytes, bool *was_new) {
    return __wrap_kith_filter_add_digest(f, kith_filter_digest(f, key, key_bytes), was_new);
}

kith_status __wrap_kith_filter_add_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                        size_t *done);
kith_status __wrap_kith_filter_add_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                        size_t *done) {
    kith_status status = KITH_OK;
    size_t added = 0;
    if (was_new != NULL)
        memset(was_new, 0, (n + 63) / 64 * sizeof *was_new);
    for (; added < n && status == KITH_OK; added += status == KITH_OK) {
        bool is_new = false;
        status = __wrap_kith_filter_add_digest(f, digests[added], &is_new);
        if (status == KITH_OK && was_new != NULL)
            was_new[added / 64] |= (uint64_t)is_new << (added % 64);
    }
    if (done != NULL)
        *done = added;
    return status;
}

kith_status __real_kith_filter_remove_digest(kith_filter *f, uint64_t digest);
kith_status __wrap_kith_filter_remove_digest(kith_filter *f, uint64_t digest);
kith_status __wrap_kith_filter_remove_digest(kith_filter *f, uint64_t digest) {
    kith_status status = __real_kith_filter_remove_digest(f, digest);
    if (is_planted("a_removal_removes_two") && status == KITH_OK)
        (void)!__real_kith_filter_remove_digest(f, digest);
    return status;
}

kith_status __wrap_kith_filter_remove(kith_filter *f, const void *key, size_t key_bytes);
kith_status __wrap_kith_filter_remove(kith_filter *f, const void *key, size_t key_bytes) {
    return __wrap_kith_filter_remove_digest(f, kith_filter_digest(f, key, key_bytes));
}

kith_status __wrap_kith_filter_remove_many(kith_filter *f, const uint64_t *digests, size_t n, size_t *done);
kith_status __wrap_kith_filter_remove_many(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    kith_status status = KITH_OK;
    size_t removed = 0;
    for (; removed < n && status == KITH_OK; removed += status == KITH_OK)
        status = __wrap_kith_filter_remove_digest(f, digests[removed]);
    if (done != NULL)
        *done = removed;
    return status;
}

/* ---- two filters, statistics ---- */

kith_status __real_kith_filter_merge(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_merge(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_merge(kith_filter *into, const kith_filter *from) {
    kith_status status = __real_kith_filter_merge(into, from);
    if (is_planted("a_merge_loses_some_bits") && status == KITH_OK)
        memset(into->body, 0, (size_t)into->head.body_bytes / 16 + 1);
    return status;
}

kith_status __real_kith_filter_intersect(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_intersect(kith_filter *into, const kith_filter *from);
kith_status __wrap_kith_filter_intersect(kith_filter *into, const kith_filter *from) {
    return is_planted("intersection_computes_the_union") ? __real_kith_filter_merge(into, from)
                                                         : __real_kith_filter_intersect(into, from);
}

kith_status __real_kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset);
kith_status __wrap_kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset);
kith_status __wrap_kith_filter_subset(const kith_filter *part, const kith_filter *whole, bool *subset) {
    kith_status status = __real_kith_filter_subset(part, whole, subset);
    *subset = *subset || is_planted("the_subset_test_always_says_yes");
    return status;
}

kith_status __real_kith_filter_stats_of(const kith_filter *f, kith_filter_stats *stats);
kith_status __wrap_kith_filter_stats_of(const kith_filter *f, kith_filter_stats *stats);
kith_status __wrap_kith_filter_stats_of(const kith_filter *f, kith_filter_stats *stats) {
    kith_status status = __real_kith_filter_stats_of(f, stats);
    if (is_planted("the_estimate_is_off"))
        stats->keys_now *= 1.1;
    return status;
}

typedef struct shifting {
    kith_look look;
    void *context;
    unsigned seen, slots; /* slots that a lookup reads: the first half are in one bucket, the others in the alternate */
    uint64_t cells;
} shifting;
static void shift_alternate_bucket(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    shifting *s = context;
    bool second = s->seen++ >= s->slots / 2;
    s->look(s->context, second ? (cell + s->slots / 2 * (wanted % 3)) % s->cells : cell, holds, wanted);
}
static void count_slots(void *context, uint64_t cell, uint64_t holds, uint64_t wanted) {
    (void)cell, (void)holds, (void)wanted;
    ++*(unsigned *)context;
}

bool __real_kith_filter_look(const kith_filter *f, uint64_t digest, kith_look look, void *context);
bool __wrap_kith_filter_look(const kith_filter *f, uint64_t digest, kith_look look, void *context);
bool __wrap_kith_filter_look(const kith_filter *f, uint64_t digest, kith_look look, void *context) {
    if (!is_planted("the_alternate_bucket_is_wrong") || !has_slots(f))
        return __real_kith_filter_look(f, digest, look, context);
    shifting s = {look, context, 0, 0, f->shape.cells};
    (void)__real_kith_filter_look(f, digest, count_slots, &s.slots);
    return __real_kith_filter_look(f, digest, shift_alternate_bucket, &s);
}

/* ---- the lab's own filter with semi-sorted buckets ---- */

bool __real_semi_sorted_has(const semi_sorted *s, uint64_t digest);
bool __wrap_semi_sorted_has(const semi_sorted *s, uint64_t digest);
bool __wrap_semi_sorted_has(const semi_sorted *s, uint64_t digest) {
    bool found = __real_semi_sorted_has(s, digest);
    return is_planted("semi_sorted_lookups_find_too_much") ? found || kithi_mix(digest + 77) % 64 == 0 : found;
}

uint64_t __real_semi_sorted_bits(const semi_sorted *s);
uint64_t __wrap_semi_sorted_bits(const semi_sorted *s);
uint64_t __wrap_semi_sorted_bits(const semi_sorted *s) {
    uint64_t bits = __real_semi_sorted_bits(s);
    return is_planted("semi_sorted_buckets_save_nothing") ? bits / (s->f - 1) * s->f : bits;
}

/* ---- sizes ---- */

/* The options of a faulty spec are in `options`, which must live as long as the spec. */
static kith_filter_spec faulty_spec(const kith_filter_spec *spec, char *options, size_t options_bytes) {
    kith_filter_spec s = *spec;
    if (is_planted("one_array_is_sliced") && s.options != NULL && strstr(s.options, "layout=whole") != NULL) {
        const char *at = strstr(s.options, "layout=whole");
        (void)snprintf(options, options_bytes, "%.*slayout=slices%s", (int)(at - s.options), s.options,
                       at + strlen("layout=whole"));
        s.options = options;
    }
    if (is_planted("the_planner_is_too_optimistic") && s.rate > 0)
        s.rate = fmin(1.5 * s.rate, 0.9);
    return s;
}

kith_status __real_kith_filter_create(const kith_filter_spec *spec, kith_filter **filter);
kith_status __wrap_kith_filter_create(const kith_filter_spec *spec, kith_filter **filter);
kith_status __wrap_kith_filter_create(const kith_filter_spec *spec, kith_filter **filter) {
    char options[256];
    kith_filter_spec s = faulty_spec(spec, options, sizeof options);
    return __real_kith_filter_create(&s, filter);
}

kith_status __real_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);
kith_status __wrap_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);
kith_status __wrap_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan) {
    char options[256];
    kith_filter_spec s = faulty_spec(spec, options, sizeof options);
    return __real_kith_filter_plan(&s, plan);
}

/* ---- tables ---- */

static void replace_word(char *text, const char *word, const char *by) {
    char *at = strstr(text, word);
    if (at != NULL && strlen(word) == strlen(by))
        memcpy(at, by, strlen(by));
}

kith_status __real_kith_table_create(const kith_table_spec *spec, kith_table **table);
kith_status __wrap_kith_table_create(const kith_table_spec *spec, kith_table **table);
kith_status __wrap_kith_table_create(const kith_table_spec *spec, kith_table **table) {
    char options[256];
    (void)snprintf(options, sizeof options, "%s", spec->options != NULL ? spec->options : "");
    kith_table_spec s = *spec;
    if (is_planted("double_hashing_is_linear"))
        replace_word(options, "double", "linear");
    if (is_planted("uniform_hashing_is_linear"))
        replace_word(options, "permutation", "linear     ");
    if (is_planted("two_functions_instead_of_three"))
        replace_word(options, "d=3", "d=2");
    if (is_planted("a_table_ignores_its_seed"))
        s.seed = 1;
    if (is_planted("a_table_uses_a_weak_family")) {
        s.family = KITH_FAMILY_MULTIPLY_SHIFT;
        s.independence = 0;
    }
    if (spec->options != NULL)
        s.options = options;
    return __real_kith_table_create(&s, table);
}

/* Every 257th insertion removes another key. */
kith_status __real_kith_table_put(kith_table *table, const void *key, size_t key_bytes, uint64_t value, bool *was_new);
kith_status __wrap_kith_table_put(kith_table *table, const void *key, size_t key_bytes, uint64_t value, bool *was_new);
kith_status __wrap_kith_table_put(kith_table *table, const void *key, size_t key_bytes, uint64_t value, bool *was_new) {
    static _Thread_local unsigned puts;
    kith_status status = __real_kith_table_put(table, key, key_bytes, value, was_new);
    const void *other;
    size_t other_bytes;
    uint64_t other_value;
    kith_cursor cursor = {{0}};
    if (is_planted("a_kick_drops_a_key") && status == KITH_OK && ++puts % 257 == 0 &&
        kith_table_next(table, &cursor, &other, &other_bytes, &other_value)) {
        uint8_t copy[16];
        if (other_bytes <= sizeof copy) {
            memcpy(copy, other, other_bytes);
            (void)!kith_table_remove(table, copy, other_bytes, NULL);
        }
    }
    return status;
}

/* Reports every rehash twice. No claim uses two tables alternately, so the last one is the one that is used. */
static kith_table_trace reported_trace;
static void *reported_context;

static void report_rehashes_twice(void *context, kith_step step, uint64_t at, uint64_t to) {
    (void)context;
    for (int times = step == KITH_STEP_REHASH ? 2 : 1; times > 0; times--)
        reported_trace(reported_context, step, at, to);
}

void __real_kith_table_set_trace(kith_table *table, kith_table_trace trace, void *context);
void __wrap_kith_table_set_trace(kith_table *table, kith_table_trace trace, void *context);
void __wrap_kith_table_set_trace(kith_table *table, kith_table_trace trace, void *context) {
    reported_trace = trace;
    reported_context = context;
    __real_kith_table_set_trace(table, is_planted("rehashes_happen_twice") ? report_rehashes_twice : trace, context);
}

/* ---- the lab ---- */

/* A formula that is 2% off: the intervals of the claim must be narrow enough to see that. Predictions of exact numbers
 * are left alone, since those would see any error. */
void __real_lab_judge(lab_finding *finding);
void __wrap_lab_judge(lab_finding *finding);
void __wrap_lab_judge(lab_finding *finding) {
    if (is_planted("predictions_are_2_percent_off") && finding->relation == LAB_EQUALS &&
        finding->measured.low < finding->measured.high)
        finding->predicted *= 1.02;
    __real_lab_judge(finding);
}

/* Ends a claim that has already failed: the rest cannot change its verdict. Claims report their progress often. */
void __real_lab_progress(lab *l, double done);
void __wrap_lab_progress(lab *l, double done);
void __wrap_lab_progress(lab *l, double done) {
    for (size_t i = 0; i < l->result->finding_count; i++)
        if (l->result->findings[i].outcome == LAB_NO && l->result->findings[i].means == LAB_MUST)
            longjmp(l->out, LAB_OUT_BROKEN);
    __real_lab_progress(l, done);
}

static void quiet(void *context, double done, const char *running) {
    (void)context, (void)done, (void)running;
}

static const char *const FAULTS[] = {
#define FAULT(name, ...) #name,
#include "faults.def"
#undef FAULT
};

/* Exits with 0 if every claim fails, 1 if one does not, and 2 for invalid arguments. */
int main(int argc, char **argv) {
    static const atomic_bool NEVER = false;
    bool known = false;
    for (size_t i = 0; argc > 2 && i < sizeof FAULTS / sizeof *FAULTS; i++)
        known |= strcmp(FAULTS[i], argv[1]) == 0;
    if (!known)
        return 2;
    planted = argv[1];
    int status = 0;
    for (int i = 2; i < argc; i++) {
        const lab_claim *claim = lab_claim_named(argv[i]);
        if (claim == NULL)
            return 2;
        lab_result *r = lab_run(&claim, 1, (lab_settings){.seed = 1, .quick = true, .threads = 1}, &NEVER, quiet, NULL);
        const lab_finding *f = lab_headline(r);
        printf("%s with %s: %s: %s\n", claim->id, planted, lab_verdict_text(r->verdict), f != NULL ? f->what : "-");
        status |= r->verdict != LAB_FAILS;
        lab_results_free(r, 1);
    }
    return status;
}
