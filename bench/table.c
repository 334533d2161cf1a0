/* table.c: prints the table, with one row per operation and one column per kind, and below it the limits for the memory
 * size of each kind. */
#include "output.h"

#include <stdlib.h>
#include <string.h>

static void print_facts(const results *r, const subject *subjects, size_t count, size_t n) {
    printf("%-24s %2s", "bits per key", "");
    for (size_t s = 0; s < count; s++)
        printf(" | %8.2f %14s", subjects[s].plan.bits_per_key, "");
    printf("\n%-24s %2s", "rate requested, measured", "");
    for (size_t s = 0; s < count; s++) {
        const fact *f = results_fact_of(r, "kith", subjects[s].kind, n, subjects[s].rate);
        if (f == NULL)
            printf(" | %23s", "");
        else
            printf(" | %7.3g%% %8.3g%% %4s", f->rate * 100, f->measured_rate * 100, "");
    }
    printf("\n");
}

static void print_ratio(double ns, double base) {
    if (base > 0)
        printf(" %5.2f", ns / base);
    else
        printf(" %5s", "");
}

static void print_cell(const row *w, bool ratios) {
    if (w == NULL) {
        printf(" | %23s", "");
        return;
    }
    double median = row_median(w);
    printf(" | %6.1f %3.0f%%", median, row_spread(w) * 100);
    print_ratio(median, ratios ? row_floor(w) : 0);
    print_ratio(median, ratios ? row_peer(w) : 0);
}

static void print_operations(const results *r, const subject *subjects, size_t count, size_t n) {
    for (size_t op = 0; op < OPERATION_COUNT; op++) {
        bool any = false;
        for (int printing = 0; printing < 2; printing++) {
            if (printing && !any)
                break;
            if (printing)
                printf("%-24s %2u", operations[op].name, operations[op].threads);
            for (size_t s = 0; s < count; s++) {
                row like = {.who = "kith",
                            .name = subjects[s].kind,
                            .n = n,
                            .rate = subjects[s].rate,
                            .op = operations[op].name,
                            .threads = operations[op].threads,
                            .pages = ""};
                const row *w = results_find(r, &like);
                any = any || w != NULL;
                if (printing)
                    print_cell(w, true);
            }
        }
        if (any)
            printf("\n");
    }
}

static int by_names(const void *a, const void *b) {
    const row *x = *(const row *const *)a, *y = *(const row *const *)b;
    int order = strcmp(x->op, y->op);
    if (order == 0)
        order = (x->threads > y->threads) - (x->threads < y->threads);
    return order != 0 ? order : strcmp(y->pages, x->pages);
}

/* Prints one line for each combination of name, number of threads and page size among the limits of all kinds. */
static void print_limits(const results *r, const subject *subjects, size_t count, size_t n) {
    const row **limits = allocate(r->row_count * sizeof *limits);
    size_t limit_count = 0;
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i]->n == n && strcmp(r->rows[i]->who, "limit") == 0 && r->rows[i]->name[0] != '\0')
            limits[limit_count++] = r->rows[i];
    qsort(limits, limit_count, sizeof *limits, by_names);
    for (size_t i = 0; i < limit_count; i++) {
        if (i > 0 && by_names(&limits[i - 1], &limits[i]) == 0)
            continue;
        char label[64];
        snprintf(label, sizeof label, "%s%s", limits[i]->op, strcmp(limits[i]->pages, "huge") == 0 ? " *" : "");
        printf("%-24s %2u", label, limits[i]->threads);
        for (size_t s = 0; s < count; s++) {
            row like = *limits[i];
            like.name = subjects[s].kind;
            print_cell(results_find(r, &like), false);
        }
        printf("\n");
    }
    free(limits);
}

static void print_rest(const results *r, size_t n) {
    for (size_t i = 0; i < r->row_count; i++) {
        const row *w = r->rows[i];
        if (w->n == n && strcmp(w->who, "limit") == 0 && w->name[0] == '\0')
            printf("%-24s %2u | %6.1f %3.0f%%\n", w->op, w->threads, row_median(w), row_spread(w) * 100);
    }
    for (size_t i = 0; i < r->fact_count; i++) {
        const fact *f = &r->facts[i];
        if (f->n != n || strcmp(f->who, "kith") == 0)
            continue;
        printf("%s at %g%%: %.2f bits per key, measured rate %.3g%%", f->who, f->rate * 100,
               (double)f->bytes * 8 / (double)n, f->measured_rate * 100);
        for (size_t j = 0; j < r->row_count; j++) {
            const row *w = r->rows[j];
            if (w->n == n && w->rate == f->rate && strcmp(w->who, f->who) == 0)
                printf(", %s %.1f (%.0f%%)", w->op, row_median(w), row_spread(w) * 100);
        }
        printf("\n");
    }
}

void print_table(const results *r, const subject *subjects, size_t count, size_t n, size_t rounds) {
    printf("\n%zu keys, medians of %zu rounds. For each kind: ns per operation, spread, ratio to the machine's limit, "
           "ratio to the peer\n\n",
           n, rounds);
    printf("%-24s %2s", "", "th");
    for (size_t s = 0; s < count; s++)
        printf(" | %-23s", subjects[s].kind);
    printf("\n%-24s %2s", "", "");
    for (size_t s = 0; s < count; s++)
        printf(" | %6s %4s %5s %5s", "ns", "+-", "limit", "peer");
    printf("\n");
    print_facts(r, subjects, count, n);
    print_operations(r, subjects, count, n);
    printf("\nlimits for the same number of bytes, * on huge pages; in sequence: ns per line of 64 bytes (64 / ns is "
           "GB/s)\n");
    print_limits(r, subjects, count, n);
    print_rest(r, n);
    fflush(stdout);
}
