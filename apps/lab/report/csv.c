/* csv.c: see csv.h. */
#include "csv.h"

#include <math.h>
#include <string.h>

#include "plot.h"

static void put_field(lab_text *t, const char *field) {
    if (strpbrk(field, ",\"\r\n") == NULL) {
        text_put(t, "%s", field);
        return;
    }
    text_put(t, "\"");
    for (; *field != '\0'; field++)
        text_put(t, "%s%c", *field == '"' ? "\"" : "", *field);
    text_put(t, "\"");
}

/* Seventeen digits are enough to restore the same double. NaN becomes an empty field. */
static void put_number(lab_text *t, double value, const char *end) {
    if (!isnan(value))
        text_put(t, "%.17g", value);
    text_put(t, "%s", end);
}

static void put_finding(lab_text *t, const lab_result *r, const lab_finding *f) {
    put_field(t, r->claim->id);
    text_put(t, ",");
    put_field(t, lab_verdict_text(r->verdict));
    text_put(t, ",");
    put_field(t, f->what);
    text_put(t, ",");
    put_field(t, f->quote != NULL ? f->quote : "");
    text_put(t, ",%s,%s,", lab_relation_text(f->relation), lab_means_text(f->means));
    put_number(t, f->relation == LAB_SHOWN ? NAN : f->predicted, ",");
    put_number(t, f->measured.value, ",");
    put_number(t, f->measured.low, ",");
    put_number(t, f->measured.high, ",");
    put_number(t, f->is_known ? f->exact : NAN, ",");
    text_put(t, "%s\r\n", f->relation == LAB_SHOWN ? "" : lab_outcome_text(f->outcome));
}

void csv_findings(lab_text *t, const lab_result *results, size_t count) {
    text_put(t, "claim,verdict,what,quote,relation,means,predicted,measured,low,high,exact,holds\r\n");
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < results[i].finding_count; f++)
            put_finding(t, &results[i], &results[i].findings[f]);
}

static void put_series(lab_text *t, const char *claim, size_t number, const lab_plot *plot, const lab_series *series) {
    for (size_t i = 0; i < series->count; i++) {
        const lab_point *p = &series->points[i];
        put_field(t, claim);
        text_put(t, ",");
        plot_id(t, claim, number);
        const char *const words[] = {plot->title, plot->x_label, plot->y_label, series->name};
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            text_put(t, ",");
            put_field(t, words[w]);
        }
        text_put(t, ",%s,", series->is_curve ? "predicted" : "measured");
        put_number(t, p->x, ",");
        put_number(t, p->y.value, ",");
        put_number(t, p->y.low, ",");
        put_number(t, p->y.high, "\r\n");
    }
}

void csv_points(lab_text *t, const lab_result *results, size_t count, bool more) {
    if (!more)
        text_put(t, "claim,figure,plot,x_label,y_label,series,part,x,y,low,high\r\n");
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < results[i].plot_count; p++)
            for (size_t s = 0; s < results[i].plots[p]->count; s++)
                put_series(t, results[i].claim->id, p + 1, results[i].plots[p], results[i].plots[p]->series[s]);
}

void csv_documents(lab_text *t) {
    text_put(t, "document,author,title,rest\r\n");
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++) {
        const char *const words[] = {LAB_SOURCES[i].author, LAB_SOURCES[i].title, LAB_SOURCES[i].rest};
        text_put(t, "[%zu]", i);
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            text_put(t, ",");
            put_field(t, words[w]);
        }
        text_put(t, "\r\n");
    }
}
