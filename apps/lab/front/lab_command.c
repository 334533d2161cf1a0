/* lab_command.c: `kith lab`, which runs the claims of the theory and prints their results. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <lab/lab.h>
#include <lab/printed.h>
#include <lab/report/report_folder.h>
#include <lab/trace/trace.h>

#include "cli/commands.h"
#include "cli/output/json.h"
#include "lab/front/quiz_command.h"
#include "lab/front/sets.h"
#include "lab/front/table.h"
#include "cli/output/report.h"
#include "cli/system.h"

enum { PROGRESS_TOTAL = 1000 };

/* ---- choosing the claims ---- */

typedef struct choice {
    const lab_claim **claims;
    size_t count;
} choice;

/* True if the operand selects this claim: by its id, or by the letter of its group. */
static bool selects(const char *operand, const lab_claim *claim) {
    bool is_group = operand[0] != '\0' && operand[1] == '\0';
    return is_group ? strncasecmp(operand, claim->id, 1) == 0 : strcasecmp(operand, claim->id) == 0;
}

static choice chosen(const arguments *a) {
    choice c = {allocate((LAB_CLAIM_COUNT + 1) * sizeof *c.claims), 0};
    const char *ids[256];
    size_t id_count = LAB_CLAIM_COUNT < 256 ? LAB_CLAIM_COUNT : 256;
    for (size_t i = 0; i < id_count; i++)
        ids[i] = LAB_CLAIMS[i]->id;
    for (size_t o = 0; o < a->operand_count; o++) {
        bool known = false;
        for (size_t i = 0; i < LAB_CLAIM_COUNT; i++)
            known |= selects(a->operands[o], LAB_CLAIMS[i]);
        if (!known)
            fail_unknown("claim", "", a->operands[o], ids, id_count, "kith lab --list");
    }
    for (size_t i = 0; i < LAB_CLAIM_COUNT; i++) {
        bool wanted = a->operand_count == 0;
        for (size_t o = 0; o < a->operand_count; o++)
            wanted |= selects(a->operands[o], LAB_CLAIMS[i]);
        if (wanted)
            c.claims[c.count++] = LAB_CLAIMS[i];
    }
    return c;
}

static uint64_t seed_of(const arguments *a) {
    uint32_t fresh = 0; /* 32 bits only, because people type it */
    if (a->seed == 0 && !random_fully(&fresh, sizeof fresh))
        fail("cannot read random bytes from the system: give a seed with --seed");
    return a->seed != 0 ? a->seed : (uint64_t)fresh + 1;
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

/* The members of a claim that do not depend on a run. */
static void put_json_claim(const lab_claim *claim) {
    json_text("claim", claim->id);
    json_text("title", claim->title);
    json_text("sentence", claim->sentence);
    json_text("formula", claim->formula);
    json_text("code", claim->code);
    json_text("note", claim->note);
}

static void put_json_result(const lab_result *r) {
    json_open(NULL, '{');
    put_json_claim(r->claim);
    json_text("verdict", lab_verdict_text(r->verdict));
    json_text("refuted", lab_is_refuted(r->verdict) ? lab_headline(r)->quote : NULL);
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
        json_text("quote", f->quote);
        json_text("relation", lab_relation_text(f->relation));
        json_text("means", lab_means_text(f->means));
        if (f->relation != LAB_SHOWN)
            json_number("predicted", f->predicted);
        put_estimate("measured", f->measured);
        if (f->is_known)
            json_number("exact", f->exact);
        if (f->relation != LAB_SHOWN)
            json_text("outcome", lab_outcome_text(f->outcome));
        if (f->relation != LAB_SHOWN && (f->outcome == LAB_YES || f->outcome == LAB_NO))
            json_bool("holds", f->outcome == LAB_YES);
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
    json_open("documents", '[');
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++) {
        json_open(NULL, '{');
        json_text("author", LAB_SOURCES[i].author);
        json_text("title", LAB_SOURCES[i].title);
        json_text("rest", LAB_SOURCES[i].rest);
        json_close('}');
    }
    json_close(']');
    json_open("claims", '[');
    for (size_t i = 0; i < count; i++)
        put_json_result(&results[i]);
    json_close(']');
    json_close('}');
    json_end();
}

/* ---- the report ---- */

/* Ends the tool with an error unless `path` is NULL. `path` and errno come from the functions of report_folder.h. */
static void require_report(const char *path) {
    if (path == NULL)
        return;
    switch (errno) {
    case EEXIST:
        fail("%s: is a file, not a folder", path);
    case ENOENT:
        fail("%s: its parent folder does not exist", path);
    default:
        fail_errno(path);
    }
}

/* ---- the command ---- */

void help_lab(const arguments *a) {
    choice c = chosen(a);
    put_lab_claim_help(c.claims, c.count);
    free(c.claims);
}

static void put_json_list(const choice *c) {
    json_open(NULL, '{');
    json_open("claims", '[');
    for (size_t i = 0; i < c->count; i++) {
        json_open(NULL, '{');
        put_json_claim(c->claims[i]);
        json_close('}');
    }
    json_close(']');
    json_close('}');
    json_end();
}

static int list(const arguments *a) {
    if (a->report != NULL || a->as_printed || a->sets != NULL)
        fail("--list only lists the claims: it cannot be combined with --as-printed, --report or --set");
    choice c = chosen(a);
    if (a->json)
        put_json_list(&c);
    else
        put_lab_list(c.claims, c.count);
    free(c.claims);
    return EXIT_FOUND;
}

static void say(void *context, const char *text, size_t bytes) {
    (void)context;
    out(text, bytes);
}

/* Splits --keys at its commas. Returns how many keys there are. */
static unsigned split_keys(const char *text, char *copy, size_t size, const char *keys[LAB_TRACE_KEYS_MAX]) {
    unsigned count = 0;
    if (text == NULL)
        return 0;
    (void)snprintf(copy, size, "%s", text);
    for (char *key = copy; key != NULL;) {
        char *end = strchr(key, ',');
        if (end != NULL)
            *end++ = '\0';
        size_t bytes = strlen(key);
        if (bytes == 0 || bytes > LAB_TRACE_KEY_BYTES_MAX)
            fail("--keys %s: '%s' is not a key of 1 to %d characters", text, key, LAB_TRACE_KEY_BYTES_MAX);
        for (size_t i = 0; i < bytes; i++)
            if (key[i] <= ' ' || key[i] > '~')
                fail("--keys %s: a key may only have printable ASCII characters", text);
        for (unsigned i = 0; i < count; i++)
            if (strcmp(keys[i], key) == 0)
                fail("--keys %s: '%s' is given twice", text, key);
        if (count == LAB_TRACE_KEYS_MAX)
            fail("--keys %s: at most %d keys can be drawn", text, LAB_TRACE_KEYS_MAX);
        keys[count++] = key;
        key = end;
    }
    return count;
}

/* Chooses the examples of --trace: those that are named, or all that work with the keys. Returns nothing if a name is
 * unknown: that ends the tool. */
static void choose_examples(const arguments *a, bool *chosen_ones) {
    const char *names[64];
    size_t count = lab_trace_count() < 64 ? lab_trace_count() : 64;
    for (size_t i = 0; i < count; i++) {
        names[i] = lab_trace_at(i)->name;
        chosen_ones[i] = a->operand_count == 0 && (a->trace_keys == NULL || lab_trace_takes_keys(i));
    }
    for (size_t o = 0; o < a->operand_count; o++) {
        size_t i = 0;
        while (i < count && strcasecmp(a->operands[o], names[i]) != 0)
            i++;
        if (i == count)
            fail_unknown("example", "", a->operands[o], names, count, "kith lab --trace --list");
        if (a->trace_keys != NULL && !lab_trace_takes_keys(i))
            fail("--keys: example %s needs keys with certain slots, and finds its own", names[i]);
        chosen_ones[i] = true;
    }
}

static int list_examples(const arguments *a) {
    if (a->operand_count > 0 || a->json || a->report != NULL || a->sets != NULL || a->trace_keys != NULL)
        fail("--trace --list only lists the examples: it cannot be combined with a name, --json, --keys, --report or "
             "--set");
    for (size_t i = 0; i < lab_trace_count(); i++)
        put_lab_entry(lab_trace_at(i)->name, lab_trace_at(i)->summary);
    return EXIT_FOUND;
}

static int trace(const arguments *a) {
    if (a->json || a->report != NULL || a->quick || a->sets != NULL)
        fail("--trace shows examples: it cannot be combined with --json, --report, --set or --quick");
    char copy[LAB_TRACE_KEYS_MAX * (LAB_TRACE_KEY_BYTES_MAX + 1) + 64];
    const char *keys[LAB_TRACE_KEYS_MAX];
    unsigned count = split_keys(a->trace_keys, copy, sizeof copy, keys);
    bool *chosen_ones = allocate(lab_trace_count() * sizeof *chosen_ones);
    choose_examples(a, chosen_ones);
    uint64_t seed = seed_of(a);
    note("seed %llu", (unsigned long long)seed);
    const char *wrong = lab_trace(seed, chosen_ones, keys, count, say, NULL);
    free(chosen_ones);
    if (wrong != NULL)
        fail("%s", wrong);
    out_flush();
    return EXIT_FOUND;
}

static int as_printed(const arguments *a) {
    if (a->operand_count > 0 || a->json || a->report != NULL || a->sets != NULL || a->trace)
        fail("--as-printed runs its own examples: it cannot be combined with a claim, --json, --report, --set or "
             "--trace");
    uint64_t seed = seed_of(a);
    note("seed %llu", (unsigned long long)seed);
    const char *wrong = lab_as_printed(seed, a->quick, say, NULL);
    if (wrong != NULL)
        fail("%s", wrong);
    out_flush();
    return EXIT_FOUND;
}

static int quiz(const arguments *a) {
    if (a->operand_count > 0 || a->json || a->report != NULL || a->sets != NULL || a->trace || a->as_printed ||
        a->list || a->plot != NULL || a->verbose || a->trace_keys != NULL)
        fail("--quiz asks its own questions: it cannot be combined with a claim or another option of kith lab, except "
             "--seed");
    run_lab_quiz(seed_of(a));
    return EXIT_FOUND;
}

static void note_plots(const char *path, size_t plots) {
    if (plots == 0)
        fail("--plot %s: this claim draws no plot", path);
    int base = (int)strlen(path) - 4;
    if (plots == 1)
        note("plot: %s", path);
    else if (plots == 2)
        note("plots: %s and %.*s-2.svg", path, base, path);
    else
        note("plots: %s, %.*s-2.svg to %.*s-%zu.svg", path, base, path, base, path, plots);
}

static void watch(void *context, double done, const char *running) {
    atomic_bool *stop = context;
    if (signal_waits())
        atomic_store(stop, true);
    progress_of(running, (uint64_t)(done * (double)PROGRESS_TOTAL));
}

int command_lab(const arguments *a) {
    if (a->quiz)
        return quiz(a);
    if ((a->plot != NULL || a->verbose) && (a->list || a->trace || a->as_printed))
        fail("%s is for the results of claims: it cannot be combined with --as-printed, --list or --trace",
             a->plot != NULL ? "--plot" : "--verbose");
    if (a->trace && a->list)
        return list_examples(a);
    if (a->list)
        return list(a);
    if (a->trace_keys != NULL && !a->trace)
        fail("--keys %s: give --trace as well", a->trace_keys);
    if (a->as_printed)
        return as_printed(a);
    if (a->trace)
        return trace(a);
    choice c = chosen(a);
    lab_sets sets = lab_sets_of(a, c.claims, c.count);
    lab_settings settings = {
        .seed = seed_of(a), .quick = a->quick, .threads = a->threads, .sets = sets.list, .set_count = sets.count};
    if (a->plot != NULL && (strlen(a->plot) < 5 || strcmp(a->plot + strlen(a->plot) - 4, ".svg") != 0))
        fail("--plot %s: the name must end in .svg", a->plot);
    if (a->report != NULL)
        require_report(lab_report_prepare(a->report));
    if (a->plot != NULL) /* after the folder of the report has been created, since plots may be written there */
        require_report(lab_plots_prepare(a->plot));
    if (!a->json)
        note("seed %llu", (unsigned long long)settings.seed);
    atomic_bool stop = false;
    hold_signals();
    progress_begin("lab", PROGRESS_TOTAL);
    lab_result *results = lab_run(c.claims, c.count, settings, &stop, watch, &stop);
    progress_end();
    bool any = false; /* a run that was stopped before its first result does not replace the report of an earlier run */
    for (size_t i = 0; i < c.count; i++)
        any |= results[i].verdict != LAB_NOT_RUN;
    /* The report is written before the results are printed, because printing to a closed pipe ends the process. An
     * error is reported only after they are printed, so that no result is lost. */
    const char *unwritten = a->report != NULL && any ? lab_report_write(a->report, results, c.count, settings) : NULL;
    size_t plots = 0;
    if (a->plot != NULL && any && unwritten == NULL)
        unwritten = lab_plots_write(a->plot, results, c.count, &plots);
    int error = errno;
    if (a->json) {
        put_json(results, c.count, settings);
    } else {
        put_lab_table(results, c.count, a->verbose ? LAB_ALL_ROWS : a->operand_count > 0 ? LAB_SOME_ROWS : LAB_NO_ROWS);
        put_lab_summary(results, c.count, settings.seed);
        put_lab_sources();
    }
    bool fails = false;
    for (size_t i = 0; i < c.count; i++)
        fails |= results[i].verdict == LAB_FAILS;
    lab_results_free(results, c.count);
    lab_sets_free(&sets);
    free(c.claims);
    out_flush();
    errno = error;
    require_report(unwritten);
    if (a->report != NULL && any) {
        size_t bytes = strlen(a->report);
        bool slash = bytes > 0 && a->report[bytes - 1] == '/';
        note("report: %s%sindex.html", a->report, slash ? "" : "/");
    }
    if (a->plot != NULL && any)
        note_plots(a->plot, plots);
    heed_signals(); /* ends the tool if an interrupt stopped the run */
    return fails ? EXIT_NONE : EXIT_FOUND;
}
