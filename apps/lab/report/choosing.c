/* choosing.c: see choosing.h. Nothing is measured here, because a plan states the exact size of a filter. */
#include "choosing.h"

#include <math.h>

#include <kith/filter.h>

#include <lab/memory.h>
#include <lab/state.h>

/* ---- the chart ---- */

enum { DECADES = 9, STEPS_PER_DECADE = 8 }; /* rates from 10^(-1/8) to 10^-9 */

/* Curves end at this many bits per key. blocked_counting needs up to a thousand, and would flatten all other curves. */
#define BITS_MAX 60

static const lab_claim CHOOSING = {.id = "choosing", .title = "choosing a filter"};

static double rate_at(int step) {
    return pow(10, -(double)step / STEPS_PER_DECADE);
}

static kith_filter_spec spec_of(const char *kind, uint32_t needs, double rate) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    spec.kind = kind;
    spec.needs = needs;
    spec.capacity = CHOOSING_KEYS;
    spec.rate = rate;
    return spec;
}

static void draw_kind(lab_plot *plot, const char *kind) {
    lab_series *series = NULL;
    for (int step = 1; step <= DECADES * STEPS_PER_DECADE; step++) {
        kith_filter_spec spec = spec_of(kind, 0, rate_at(step));
        kith_plan plan = KITH_PLAN_INIT;
        if (kith_filter_plan(&spec, &plan) != KITH_OK || plan.bits_per_key > BITS_MAX)
            continue;
        if (series == NULL)
            series = lab_curve(plot, "%s", kind);
        lab_at(series, rate_at(step), lab_exact(plan.bits_per_key));
    }
}

lab_result *choosing_chart(void) {
    lab_result *r = lab_more(NULL, sizeof *r);
    *r = (lab_result){.claim = &CHOOSING};
    lab drawing = {.result = r};
    lab_plot *plot =
        lab_draw(&drawing, "Size of a filter for a million keys", "false-positive rate, ε", "bits per key", LAB_LOG_X);
    lab_series *bound = lab_curve(plot, "lower bound for any filter: log₂(1/ε)");
    for (int step = 1; step <= DECADES * STEPS_PER_DECADE; step++)
        lab_at(bound, rate_at(step), lab_exact(-log2(rate_at(step))));
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        draw_kind(plot, kith_filter_kind_at(i)->name);
    return r;
}

/* ---- the table ---- */

static void put_plan(lab_text *t, const kith_plan *plan) {
    text_put(t, "<b>");
    text_escaped(t, plan->kind);
    if (plan->inner != NULL) {
        text_put(t, " of ");
        text_escaped(t, plan->inner);
    }
    text_put(t, "</b> %.1f", plan->bits_per_key);
}

static void put_cell(lab_text *t, uint32_t needs, double rate, const char *label) {
    kith_filter_spec spec = spec_of(NULL, needs, rate);
    kith_plan smallest = KITH_PLAN_INIT;
    text_put(t, "<td data-label=\"%s\">", label);
    if (kith_filter_plan(&spec, &smallest) != KITH_OK) {
        text_put(t, "none</td>");
        return;
    }
    put_plan(t, &smallest);
    spec.prefer = KITH_PREFER_FASTER;
    kith_plan faster = KITH_PLAN_INIT;
    if (kith_filter_plan(&spec, &faster) == KITH_OK && faster.lines < smallest.lines) {
        text_put(t, "<span class=\"or\">or ");
        put_plan(t, &faster);
        text_put(t, "</span>");
    }
    text_put(t, "</td>");
}

void choosing_table(lab_text *t) {
    static const struct {
        uint32_t bits;
        const char *words;
    } NEEDS[] = {
        {0, "nothing else"},
        {KITH_CAN_REMOVE, "remove"},
        {KITH_CAN_COPIES, "keep copies"},
        {KITH_CAN_MERGE, "merge"},
        {KITH_CAN_INTERSECT, "intersect"},
        {KITH_CAN_MERGE | KITH_CAN_REMOVE, "merge, remove"},
        {KITH_CAN_GROW, "grow"},
        {KITH_CAN_GROW | KITH_CAN_REMOVE, "grow, remove"},
        {KITH_CAN_GROW | KITH_CAN_COPIES, "grow, keep copies"},
        {KITH_CAN_GROW | KITH_CAN_MERGE, "grow, merge"},
    };
    static const struct {
        double rate;
        const char *words;
    } RATES[] = {{0.1, "10 %"}, {0.01, "1 %"}, {0.001, "0.1 %"}, {1e-4, "10⁻⁴"}, {1e-6, "10⁻⁶"}};
    text_put(t, "<table class=\"stacked\">\n<thead><tr><th scope=\"col\">needed besides add and lookup</th>");
    for (size_t r = 0; r < sizeof RATES / sizeof *RATES; r++)
        text_put(t, "<th scope=\"col\">ε = %s</th>", RATES[r].words);
    text_put(t, "</tr></thead>\n<tbody>\n");
    for (size_t n = 0; n < sizeof NEEDS / sizeof *NEEDS; n++) {
        text_put(t, "<tr><th scope=\"row\">%s</th>", NEEDS[n].words);
        for (size_t r = 0; r < sizeof RATES / sizeof *RATES; r++)
            put_cell(t, NEEDS[n].bits, RATES[r].rate, RATES[r].words);
        text_put(t, "</tr>\n");
    }
    text_put(t, "</tbody>\n</table>\n");
}
