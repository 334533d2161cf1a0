/* experiment.c: see experiment.h. */
#include "experiment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "lab.h"
#include "memory.h"
#include "mix.h"
#include "state.h"

enum { DIGESTS_PER_BATCH = 4096 };

/* ---- random numbers, sizes, progress ---- */

void lab_begin(lab *l, uint64_t seed) {
    l->state = lab_mix(seed + UINT64_C(0x632be59bd9b4e019));
    for (const char *c = l->result->claim->id; *c != '\0'; c++)
        l->state = lab_mix(l->state + (unsigned char)*c);
    l->key_start = lab_random(l);
}

uint64_t lab_random(lab *l) {
    l->state += UINT64_C(0x9e3779b97f4a7c15);
    return lab_mix(l->state);
}

uint64_t lab_below(lab *l, uint64_t bound) {
    uint64_t x, least = -bound % bound; /* 2^64 mod bound; smaller numbers are rejected, as they would cause a bias */
    do {
        x = lab_random(l);
    } while (x < least);
    return x % bound;
}

double lab_unit(lab *l) {
    return (double)(lab_random(l) >> 11) * 0x1p-53;
}

bool lab_is_quick(const lab *l) {
    return l->quick;
}

/* ---- the settings of the claim ---- */

bool lab_is_set(const lab *l, const char *name) {
    for (size_t i = 0; i < l->set_count; i++)
        if (strcmp(l->sets[i].name, name) == 0)
            return true;
    return false;
}

/* If a setting is given twice, the last one counts. */
const char *lab_word(lab *l, const char *name) {
    for (size_t i = l->set_count; i-- > 0;)
        if (strcmp(l->sets[i].name, name) == 0)
            return l->sets[i].value;
    const lab_setting *setting = lab_setting_named(l->result->claim, name);
    lab_require(l, setting != NULL, "the experiment uses a setting that its claim does not declare");
    return l->quick ? setting->quick : setting->full;
}

const double *lab_numbers(lab *l, const char *name, size_t *count) {
    *count = lab_setting_numbers(lab_word(l, name), l->numbers, LAB_NUMBERS_MAX);
    return l->numbers;
}

size_t lab_list(lab *l, const char *name, double numbers[LAB_NUMBERS_MAX]) {
    size_t count;
    memcpy(numbers, lab_numbers(l, name, &count), sizeof l->numbers);
    return count;
}

double lab_real(lab *l, const char *name) {
    size_t count;
    return *lab_numbers(l, name, &count);
}

uint64_t lab_number(lab *l, const char *name) {
    return (uint64_t)lab_real(l, name);
}

bool lab_wants(lab *l, const char *name, const char *word) {
    const char *value = lab_word(l, name);
    return strcmp(value, word) == 0 || strcmp(value, "all") == 0 || strcmp(value, "both") == 0;
}

void lab_progress(lab *l, double done) {
    atomic_store(l->done, (unsigned)(1000 * (done < 0 ? 0 : done > 1 ? 1 : done)));
    if (atomic_load(l->stop))
        longjmp(l->out, LAB_OUT_STOPPED);
}

/* ---- calls that must succeed ---- */

void lab_require(lab *l, bool holds, const char *what) {
    if (holds)
        return;
    lab_find(l, LAB_EQUALS, 0, lab_exact(1), "%s", what);
    longjmp(l->out, LAB_OUT_BROKEN);
}

void lab_must(lab *l, kith_status status, const char *doing) {
    if (status == KITH_OK)
        return;
    if (status == KITH_E_MEMORY) /* which says nothing about the claim */
        lab_no_memory(doing);
    lab_find(l, LAB_EQUALS, 0, lab_exact((double)status), "%s: %s", doing, kith_status_text(status));
    longjmp(l->out, LAB_OUT_BROKEN);
}

/* ---- filters, tables, functions ---- */

static void *keep(lab *l, void *object, lab_free_function *release) {
    if (l->object_count == l->object_capacity) {
        l->object_capacity = l->object_capacity == 0 ? 16 : 2 * l->object_capacity;
        l->objects = lab_more(l->objects, l->object_capacity * sizeof *l->objects);
    }
    l->objects[l->object_count++] = (lab_object){object, release};
    return object;
}

void lab_drop(lab *l, void *object) {
    for (size_t i = l->object_count; object != NULL && i-- > 0;) {
        if (l->objects[i].object != object)
            continue;
        l->objects[i].release(object);
        l->object_count--;
        memmove(&l->objects[i], &l->objects[i + 1], (l->object_count - i) * sizeof *l->objects);
        return;
    }
}

void lab_drop_all(lab *l) {
    while (l->object_count > 0) {
        lab_object *last = &l->objects[--l->object_count];
        last->release(last->object);
    }
    free(l->objects);
    l->objects = NULL;
    l->object_capacity = 0;
}

static void free_filter(void *filter) {
    kith_filter_free(filter);
}

static void free_table(void *table) {
    kith_table_free(table);
}

static void free_function(void *function) {
    kith_function_free(function);
}

kith_filter *lab_filter(lab *l, const char *kind, uint64_t capacity, double rate, uint64_t bytes, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.capacity = capacity;
    spec.rate = rate;
    spec.bytes = bytes;
    spec.options = options;
    spec.hash.seed = lab_random(l);
    kith_filter *filter = NULL;
    lab_must(l, kith_filter_create(&spec, &filter), "creating a filter");
    return keep(l, filter, free_filter);
}

kith_filter *lab_keep(lab *l, kith_filter *made) {
    return keep(l, made, free_filter);
}

kith_table *lab_table(lab *l, const kith_table_spec *spec) {
    kith_table_spec drawn = *spec;
    if (drawn.seed == 0)
        drawn.seed = lab_random(l) | 1;
    kith_table *table = NULL;
    lab_must(l, kith_table_create(&drawn, &table), "creating a table");
    return keep(l, table, free_table);
}

kith_table *lab_traced(lab *l, const kith_table_spec *spec, kith_table_trace trace, void *context) {
    kith_table *table = lab_table(l, spec);
    kith_table_set_trace(table, trace, context);
    return table;
}

kith_function *lab_function(lab *l, kith_family_id family, unsigned independence) {
    kith_function *function = NULL;
    lab_must(l, kith_function_draw(family, independence, lab_random(l), NULL, &function), "drawing a hash function");
    return keep(l, function, free_function);
}

void *lab_take(lab *l, size_t bytes) {
    void *block = lab_more(NULL, bytes);
    memset(block, 0, bytes);
    return keep(l, block, free);
}

uint64_t lab_key(const lab *l, uint64_t i) {
    return l->key_start + i;
}

void lab_digests(lab *l, const kith_filter *filter, uint64_t first, size_t n, uint64_t *digests) {
    uint64_t keys[256];
    for (size_t at = 0; at < n; at += 256) {
        size_t count = n - at < 256 ? n - at : 256;
        for (size_t i = 0; i < count; i++)
            keys[i] = lab_key(l, first + at + i);
        kith_filter_digest_packed(filter, keys, sizeof *keys, count, digests + at);
    }
}

void lab_fill(lab *l, kith_filter *filter, uint64_t first, uint64_t n) {
    uint64_t digests[DIGESTS_PER_BATCH];
    for (uint64_t at = 0; at < n; at += DIGESTS_PER_BATCH) {
        size_t count = n - at < DIGESTS_PER_BATCH ? (size_t)(n - at) : DIGESTS_PER_BATCH;
        lab_digests(l, filter, first + at, count, digests);
        lab_must(l, kith_filter_add_many(filter, digests, count, NULL, NULL), "adding keys");
    }
}

uint64_t lab_count_found(lab *l, const kith_filter *filter, uint64_t first, uint64_t n) {
    uint64_t digests[DIGESTS_PER_BATCH], yes = 0;
    for (uint64_t at = 0; at < n; at += DIGESTS_PER_BATCH) {
        size_t count = n - at < DIGESTS_PER_BATCH ? (size_t)(n - at) : DIGESTS_PER_BATCH;
        lab_digests(l, filter, first + at, count, digests);
        yes += kith_filter_has_many(filter, digests, count, NULL);
    }
    return yes;
}

/* ---- findings ---- */

static char *text(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *words = lab_more(NULL, (size_t)length + 1);
    (void)vsnprintf(words, (size_t)length + 1, format, again);
    va_end(again);
    return words;
}

void lab_parameter(lab *l, const char *name, const char *format, ...) {
    lab_result *r = l->result;
    va_list arguments;
    va_start(arguments, format);
    r->parameters = lab_more(r->parameters, (r->parameter_count + 1) * sizeof *r->parameters);
    r->parameters[r->parameter_count++] = (lab_parameter_text){lab_copy(name), text(format, arguments)};
    va_end(arguments);
}

static void record(lab *l, lab_finding f) {
    lab_result *r = l->result;
    lab_judge(&f);
    r->findings = lab_more(r->findings, (r->finding_count + 1) * sizeof *r->findings);
    r->findings[r->finding_count++] = f;
}

void lab_find(lab *l, lab_relation relation, double predicted, lab_estimate measured, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(l, (lab_finding){
                  .what = text(format, arguments), .relation = relation, .predicted = predicted, .measured = measured});
    va_end(arguments);
}

void lab_find_stated(lab *l, lab_means means, const char *quote, lab_relation relation, double predicted,
                     lab_estimate measured, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(l, (lab_finding){.what = text(format, arguments),
                            .quote = lab_copy(quote),
                            .relation = relation,
                            .means = means,
                            .predicted = predicted,
                            .measured = measured});
    va_end(arguments);
}

void lab_known(lab *l, double exact) {
    lab_finding *last = &l->result->findings[l->result->finding_count - 1];
    last->is_known = true;
    last->exact = exact;
    lab_judge(last);
}

void lab_find_fit(lab *l, const uint64_t *observed, const double *expected, size_t n, unsigned constraints,
                  const char *format, ...) {
    double chi_square = 0, cell_expected = 0, cell_observed = 0;
    double last_expected = 0, last_observed = 0; /* the last merged cell that is large enough */
    unsigned cells = 0;
    for (size_t i = 0; i < n; i++) {
        cell_expected += expected[i];
        cell_observed += (double)observed[i];
        if (cell_expected < 10)
            continue;
        if (cells > 0)
            chi_square += (last_observed - last_expected) * (last_observed - last_expected) / last_expected;
        last_expected = cell_expected;
        last_observed = cell_observed;
        cell_expected = cell_observed = 0;
        cells++;
    }
    last_expected += cell_expected; /* the remaining small cells are merged into the last one */
    last_observed += cell_observed;
    if (last_expected > 0)
        chi_square += (last_observed - last_expected) * (last_observed - last_expected) / last_expected;
    lab_require(l, cells > constraints, "too few cells for a chi-square test");
    double degrees = cells - constraints;
    va_list arguments;
    va_start(arguments, format);
    char *name = text(format, arguments);
    va_end(arguments);
    char *what = lab_more(NULL, strlen(name) + 64);
    (void)snprintf(what, strlen(name) + 64, "%s (chi-square, %.0f degrees of freedom)", name, degrees);
    free(name);
    record(l, (lab_finding){.what = what,
                            .relation = LAB_AT_MOST,
                            .predicted = lab_chi_quantile(degrees, 1 - LAB_LEVEL),
                            .measured = lab_exact(chi_square)});
}

/* ---- plots ---- */

lab_plot *lab_draw(lab *l, const char *title, const char *x_label, const char *y_label, unsigned flags) {
    lab_result *r = l->result;
    lab_plot *plot = lab_more(NULL, sizeof *plot);
    *plot = (lab_plot){.title = lab_copy(title),
                       .x_label = lab_copy(x_label),
                       .y_label = lab_copy(y_label),
                       .log_x = (flags & LAB_LOG_X) != 0,
                       .log_y = (flags & LAB_LOG_Y) != 0};
    r->plots = lab_more(r->plots, (r->plot_count + 1) * sizeof *r->plots);
    r->plots[r->plot_count++] = plot;
    return plot;
}

static lab_series *series_of(lab_plot *plot, bool is_curve, char *name) {
    lab_series *series = lab_more(NULL, sizeof *series);
    *series = (lab_series){.name = name, .is_curve = is_curve};
    plot->series = lab_more(plot->series, (plot->count + 1) * sizeof *plot->series);
    plot->series[plot->count++] = series;
    return series;
}

lab_series *lab_curve(lab_plot *plot, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    lab_series *series = series_of(plot, true, text(format, arguments));
    va_end(arguments);
    return series;
}

lab_series *lab_points(lab_plot *plot, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    lab_series *series = series_of(plot, false, text(format, arguments));
    va_end(arguments);
    return series;
}

void lab_at(lab_series *series, double x, lab_estimate y) {
    series->points = lab_more(series->points, (series->count + 1) * sizeof *series->points);
    series->points[series->count++] = (lab_point){x, y};
}
