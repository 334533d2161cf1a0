/* lab.c: `kith lab`: the claims of the theory, run and told.
 *
 *     claim  sentence                                      predicted     measured              verdict
 *     B2     A key that is not in is answered yes with     0.1469        0.1468 +- 0.0012      holds
 *            probability (1 - e^(-kn/m))^k.
 *
 * A claim has one row, with the finding that decided; claims that were named, and claims that fail, have all their
 * findings below it. */
#define _GNU_SOURCE

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <lab/lab.h>
#include <lab/report.h>
#include <lab/trace.h>

#include "commands.h"
#include "json.h"
#include "report.h"

enum { SENTENCE_WIDTH = 44, NUMBER_WIDTH = 12, MEASURED_WIDTH = 24, PROGRESS_TOTAL = 1000 };

/* ---- what to run ---- */

typedef struct choice {
    const lab_claim **claims;
    size_t count;
} choice;

static choice chosen(const arguments *a) {
    choice c = {take((LAB_CLAIM_COUNT + a->operand_count) * sizeof *c.claims), 0};
    for (size_t i = 0; i < LAB_CLAIM_COUNT && a->operand_count == 0; i++)
        c.claims[c.count++] = LAB_CLAIMS[i];
    for (size_t i = 0; i < a->operand_count; i++) {
        const lab_claim *claim = lab_claim_named(a->operands[i]);
        const char *names[256];
        for (size_t n = 0; n < LAB_CLAIM_COUNT && n < 256; n++)
            names[n] = LAB_CLAIMS[n]->id;
        if (claim == NULL)
            fail_unknown("claim", "", a->operands[i], names, LAB_CLAIM_COUNT < 256 ? LAB_CLAIM_COUNT : 256);
        bool again = false;
        for (size_t n = 0; n < c.count; n++)
            again |= c.claims[n] == claim;
        if (!again)
            c.claims[c.count++] = claim;
    }
    return c;
}

static uint64_t seed_of(const arguments *a) {
    uint32_t fresh = 0; /* short, since people type it */
    if (a->seed == 0 && getrandom(&fresh, sizeof fresh, 0) != (ssize_t)sizeof fresh)
        fail("no random seed is to be had: give one with --seed");
    return a->seed != 0 ? a->seed : (uint64_t)fresh + 1;
}

/* ---- the table ---- */

/* Columns that a text takes: bytes that begin a character. */
static size_t width_of(const char *text, size_t bytes) {
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

/* The bytes of the next line of a text, of `width` columns at most: cut at a blank where there is one. */
static size_t line_of(const char *text, size_t width) {
    size_t at = 0, cut = 0;
    for (; text[at] != '\0' && width_of(text, at + 1) <= width; at++)
        if (text[at] == ' ')
            cut = at;
    if (text[at] == '\0' || text[at] == ' ' || cut == 0)
        return at;
    return cut;
}

static void put_padded(const char *text, size_t bytes, size_t width) {
    size_t used = width_of(text, bytes);
    out(text, bytes);
    for (; used < width; used++)
        out(" ", 1);
}

typedef char number_text[64];

static const char *text_of_predicted(const lab_finding *f, number_text text) {
    static const char *const SIGNS[] = {[LAB_EQUALS] = "", [LAB_AT_MOST] = "<= ", [LAB_AT_LEAST] = ">= "};
    if (f->relation == LAB_SHOWN)
        (void)snprintf(text, sizeof(number_text), "-");
    else
        (void)snprintf(text, sizeof(number_text), "%s%.4g", SIGNS[f->relation], f->predicted);
    return text;
}

static const char *text_of_measured(lab_estimate e, number_text text) {
    double off = fmax(e.high - e.value, e.value - e.low);
    if (off == 0)
        (void)snprintf(text, sizeof(number_text), "%.4g", e.value);
    else
        (void)snprintf(text, sizeof(number_text), "%.4g +- %.2g", e.value, off);
    return text;
}

static void put_row(const char *claim, const char *sentence, const char *predicted, const char *measured,
                    const char *verdict) {
    for (bool first = true; first || *sentence != '\0'; first = false) {
        size_t bytes = line_of(sentence, SENTENCE_WIDTH);
        out_text("%-6s ", first ? claim : "");
        put_padded(sentence, bytes, first ? SENTENCE_WIDTH : 0);
        if (first)
            out_text("  %-*s  %-*s  %s", NUMBER_WIDTH, predicted, MEASURED_WIDTH, measured, verdict);
        out_text("\n");
        sentence += bytes;
        sentence += *sentence == ' ';
    }
}

static const char *colour_of(lab_verdict verdict) {
    if (!out_is_coloured())
        return "";
    return verdict == LAB_FAILS ? "\033[31m" : verdict == LAB_HOLDS ? "\033[32m" : "\033[33m";
}

static void put_findings(const lab_result *r) {
    for (size_t i = 0; i < r->finding_count; i++) {
        const lab_finding *f = &r->findings[i];
        number_text predicted, measured;
        const char *word = f->relation == LAB_SHOWN ? "" : f->holds ? "yes" : "no";
        put_row("", f->what, text_of_predicted(f, predicted), text_of_measured(f->measured, measured), word);
    }
    if (r->claim->note != NULL)
        out_text("       %s\n", r->claim->note);
}

static void put_results(const arguments *a, const lab_result *results, size_t count) {
    put_row("claim", "sentence", "predicted", "measured", "verdict");
    for (size_t i = 0; i < count; i++) {
        const lab_result *r = &results[i];
        const lab_finding *f = lab_headline(r);
        number_text predicted = "", measured = "";
        char verdict[96];
        if (f != NULL) {
            (void)text_of_predicted(f, predicted);
            (void)text_of_measured(f->measured, measured);
        }
        (void)snprintf(verdict, sizeof verdict, "%s%s%s", colour_of(r->verdict), lab_verdict_text(r->verdict),
                       out_is_coloured() ? "\033[0m" : "");
        put_row(r->claim->id, r->claim->sentence, predicted, measured, verdict);
        if (a->operand_count > 0 || r->verdict == LAB_FAILS)
            put_findings(r);
    }
}

static void put_summary(const lab_result *results, size_t count, uint64_t seed) {
    size_t with[LAB_FAILS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        with[results[i].verdict]++;
    out_text("\nseed %llu: %zu hold, %zu looser than claimed, %zu where the document is wrong, %zu fail",
             (unsigned long long)seed, with[LAB_HOLDS], with[LAB_IS_LOOSE], with[LAB_IS_WRONG], with[LAB_FAILS]);
    if (with[LAB_NOT_RUN] > 0)
        out_text(", %zu not run", with[LAB_NOT_RUN]);
    out_text("\n");
}

/* ---- JSON ---- */

static void put_estimate(const char *name, lab_estimate e) {
    json_open(name, '{');
    json_number("value", e.value);
    json_number("low", e.low);
    json_number("high", e.high);
    json_close('}');
}

static void put_json_plot(const lab_plot *plot) {
    json_open(NULL, '{');
    json_text("title", plot->title);
    json_text("x", plot->x_label);
    json_text("y", plot->y_label);
    json_bool("log_x", plot->log_x);
    json_bool("log_y", plot->log_y);
    json_open("series", '[');
    for (size_t i = 0; i < plot->count; i++) {
        const lab_series *series = plot->series[i];
        json_open(NULL, '{');
        json_text("name", series->name);
        json_bool("predicted", series->is_curve);
        json_open("points", '[');
        for (size_t p = 0; p < series->count; p++) {
            json_open(NULL, '{');
            json_number("x", series->points[p].x);
            json_number("y", series->points[p].y.value);
            json_number("low", series->points[p].y.low);
            json_number("high", series->points[p].y.high);
            json_close('}');
        }
        json_close(']');
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

static void put_json_result(const lab_result *r) {
    json_open(NULL, '{');
    json_text("claim", r->claim->id);
    json_text("title", r->claim->title);
    json_text("sentence", r->claim->sentence);
    json_text("formula", r->claim->formula);
    json_text("code", r->claim->code);
    json_text("note", r->claim->note);
    json_text("verdict", lab_verdict_text(r->verdict));
    json_number("seconds", r->seconds);
    json_open("parameters", '{');
    for (size_t i = 0; i < r->parameter_count; i++)
        json_text(r->parameters[i].name, r->parameters[i].value);
    json_close('}');
    json_open("findings", '[');
    for (size_t i = 0; i < r->finding_count; i++) {
        const lab_finding *f = &r->findings[i];
        json_open(NULL, '{');
        json_text("what", f->what);
        json_text("relation", lab_relation_text(f->relation));
        json_text("means", lab_means_text(f->means));
        if (f->relation != LAB_SHOWN)
            json_number("predicted", f->predicted);
        put_estimate("measured", f->measured);
        json_bool("holds", f->holds);
        json_close('}');
    }
    json_close(']');
    json_open("plots", '[');
    for (size_t i = 0; i < r->plot_count; i++)
        put_json_plot(r->plots[i]);
    json_close(']');
    json_close('}');
}

static void put_json(const lab_result *results, size_t count, lab_settings settings) {
    json_open(NULL, '{');
    json_integer("seed", settings.seed);
    json_bool("quick", settings.quick);
    json_open("claims", '[');
    for (size_t i = 0; i < count; i++)
        put_json_result(&results[i]);
    json_close(']');
    json_close('}');
    json_end();
}

/* ---- the report ---- */

/* Ends the tool unless `path` is NULL: errno says why it stands in the way of a report. */
static void report_must(const char *path) {
    if (path == NULL)
        return;
    switch (errno) {
    case EEXIST:
        fail("%s: is a file, not a folder", path);
    case ENOENT:
    case ENOTDIR:
        fail("%s: no such folder", path);
    default:
        fail_errno(path);
    }
}

/* ---- the command ---- */

static int list(void) {
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++)
        out_text("%-5s %s: %s\n", LAB_CLAIMS[i]->id, LAB_CLAIMS[i]->title, LAB_CLAIMS[i]->sentence);
    return EXIT_FOUND;
}

static void say(void *context, const char *text, size_t bytes) {
    (void)context;
    out(text, bytes);
}

static int trace(const arguments *a) {
    if (a->operand_count > 0)
        fail("--trace draws what it draws, and takes no claim");
    uint64_t seed = seed_of(a);
    note("seed %llu", (unsigned long long)seed);
    const char *wrong = lab_trace(seed, say, NULL);
    if (wrong != NULL)
        fail("%s", wrong);
    out_flush();
    return EXIT_FOUND;
}

static void watch(void *context, double done, const char *at_work) {
    atomic_bool *stop = context;
    if (signal_waits())
        atomic_store(stop, true);
    progress_of(at_work, (uint64_t)(done * PROGRESS_TOTAL));
}

int command_lab(const arguments *a) {
    if (a->list)
        return list();
    if (a->trace)
        return trace(a);
    choice c = chosen(a);
    lab_settings settings = {.seed = seed_of(a), .quick = a->quick, .threads = a->threads};
    if (a->report != NULL)
        report_must(lab_report_begin(a->report));
    if (!a->json)
        note("seed %llu", (unsigned long long)settings.seed);
    atomic_bool stop = false;
    hold_signals();
    progress_begin("lab", PROGRESS_TOTAL);
    lab_result *results = lab_run(c.claims, c.count, settings, &stop, watch, &stop);
    progress_end();
    /* Before what is printed, which a closed pipe may end; told after it, so that nothing of the run is lost. */
    const char *unwritten = a->report != NULL ? lab_report(a->report, results, c.count, settings) : NULL;
    int error = errno;
    if (a->json) {
        put_json(results, c.count, settings);
    } else {
        put_results(a, results, c.count);
        put_summary(results, c.count, settings.seed);
    }
    bool fails = false;
    for (size_t i = 0; i < c.count; i++)
        fails |= results[i].verdict == LAB_FAILS;
    lab_results_free(results, c.count);
    free(c.claims);
    out_flush();
    errno = error;
    report_must(unwritten);
    heed_signals(); /* ends the tool where an interrupt stopped the run */
    return fails ? EXIT_NONE : EXIT_FOUND;
}
