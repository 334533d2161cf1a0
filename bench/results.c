/* results.c: rows, medians and spreads; see results.h. A linear search is enough for a few hundred rows. */
#include "results.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *list, size_t count, size_t each) {
    void *more = realloc(list, (count + 1) * each);
    if (more == NULL)
        fail("out of memory for the results");
    return more;
}

static bool same(const row *a, const row *b) {
    return a->n == b->n && a->threads == b->threads && a->rate == b->rate && strcmp(a->who, b->who) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->op, b->op) == 0 && strcmp(a->pages, b->pages) == 0;
}

row *results_find(const results *r, const row *like) {
    for (size_t i = 0; i < r->row_count; i++)
        if (same(r->rows[i], like))
            return r->rows[i];
    return NULL;
}

row *results_row(results *r, const row *like) {
    row *found = results_find(r, like);
    if (found != NULL)
        return found;
    found = allocate(sizeof *found);
    *found = *like;
    found->ns = NULL;
    found->rounds = 0;
    r->rows = grow(r->rows, r->row_count, sizeof *r->rows);
    r->rows[r->row_count++] = found;
    return found;
}

void results_push(row *into, double ns) {
    into->ns = grow(into->ns, into->rounds, sizeof *into->ns);
    into->ns[into->rounds++] = ns;
}

void results_fact(results *r, const fact *f) {
    r->facts = grow(r->facts, r->fact_count, sizeof *r->facts);
    r->facts[r->fact_count++] = *f;
}

const fact *results_fact_of(const results *r, const char *who, const char *name, size_t n, double rate) {
    for (size_t i = 0; i < r->fact_count; i++) {
        const fact *f = &r->facts[i];
        if (f->n == n && f->rate == rate && strcmp(f->who, who) == 0 && strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

void results_skip(results *r, const char *format, ...) {
    r->skipped = grow(r->skipped, r->skipped_count, sizeof *r->skipped);
    char *text = r->skipped[r->skipped_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof *r->skipped, format, arguments);
    va_end(arguments);
    say("not measured: %s", text);
}

void results_free(results *r) {
    for (size_t i = 0; i < r->row_count; i++) {
        free(r->rows[i]->ns);
        free(r->rows[i]);
    }
    free(r->rows);
    free(r->facts);
    free(r->skipped);
}

double row_min(const row *w) {
    double min = w->ns[0];
    for (size_t i = 1; i < w->rounds; i++)
        min = w->ns[i] < min ? w->ns[i] : min;
    return min;
}

double row_max(const row *w) {
    double max = w->ns[0];
    for (size_t i = 1; i < w->rounds; i++)
        max = w->ns[i] > max ? w->ns[i] : max;
    return max;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double row_median(const row *w) {
    double *sorted = allocate(w->rounds * sizeof *sorted);
    memcpy(sorted, w->ns, w->rounds * sizeof *sorted);
    qsort(sorted, w->rounds, sizeof *sorted, by_value);
    double median = (sorted[(w->rounds - 1) / 2] + sorted[w->rounds / 2]) / 2;
    free(sorted);
    return median;
}

double row_spread(const row *w) {
    return (row_max(w) - row_min(w)) / row_median(w);
}

double row_floor(const row *w) {
    if (w->floor[0] == NULL)
        return 0;
    double floor = row_median(w->floor[0]);
    return w->floor[1] == NULL ? floor : (floor + row_median(w->floor[1])) / 2;
}

double row_peer(const row *w) {
    return w->peer == NULL ? 0 : row_median(w->peer);
}
