/* repair.c: `kith repair`, which writes what can be saved of a damaged file to a new one, and says what is missing.
 *
 * The damaged file is only read. With --replace, the result takes its place. A crash at any point leaves the damaged
 * file, a plain file with everything that was saved, or the repaired store. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <kith/repair.h>

#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/output/json.h"
#include "cli/output/report.h"
#include "cli/values.h"

typedef struct work {
    const arguments *a;
    const char *from, *to; /* `to` is NULL: only report */
    kith_filter *filter;
    kith_repair_report report;
    kith_filter_stats stats;
    double rate; /* that was promised */
} work;

/* ---- the report ---- */

typedef char line_text[512];

/* Appends to a line. */
static void add_text(line_text line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(line_text line, const char *format, ...) {
    size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(line + used, sizeof(line_text) - used, format, list);
    va_end(list);
}

/* Appends a finding, separated from the one before. */
#define FINDING(line, ...) (add_text(line, "%s", (line)[0] != '\0' ? "; " : ""), add_text(line, __VA_ARGS__))

static const char *text_of_pages(uint64_t pages, value_text text) {
    value_text number;
    (void)snprintf(text, sizeof(value_text), "%s page%s", text_of_integer(pages, number), pages == 1 ? "" : "s");
    return text;
}

/* What happened to pages that could not be restored follows from the kind: either all of their cells were set, and no
 * key is lost, or they were kept. */
static void describe_file(const work *w, line_text line) {
    const kith_repair_report *r = &w->report;
    uint64_t left = r->pages_damaged - r->pages_restored;
    value_text a, b;
    line[0] = '\0';
    if (r->header_restored)
        FINDING(line, "a wrong byte of the header was restored");
    if (r->missing_bytes > 0)
        FINDING(line, "%s are missing at its end", text_of_size(r->missing_bytes, a));
    if (r->extra_bytes > 0)
        FINDING(line, "%s after its end were ignored", text_of_size(r->extra_bytes, a));
    if (r->unreadable_bytes > 0)
        FINDING(line, "%s could not be read", text_of_size(r->unreadable_bytes, a));
    if (r->checksums_restored)
        FINDING(line, "its checksums were restored");
    if (r->notes_lost)
        FINDING(line, "its notes are lost");
    if (r->pages_damaged > 0)
        FINDING(line, "%s of %s damaged", text_of_integer(r->pages_damaged, a), text_of_pages(r->pages, b));
    if (r->pages_restored > 0)
        FINDING(line, "%s restored exactly", text_of_pages(r->pages_restored, a));
    if (left > 0 && r->keys_at_risk == 0)
        FINDING(line, "%s repaired without losing a key", text_of_pages(left, a));
    if (left > 0 && r->keys_at_risk != 0)
        FINDING(line, "%s kept as far as possible", text_of_pages(left, a));
    if (r->pages_unsure > 0)
        FINDING(line, "%s kept, whose checksums are lost", text_of_pages(r->pages_unsure, a));
    if (line[0] == '\0')
        add_text(line, "sound");
}

static void describe_journal(const work *w, line_text line) {
    const kith_repair_report *r = &w->report;
    value_text a, b;
    line[0] = '\0';
    if (r->journal_header_restored)
        FINDING(line, "its header was restored");
    switch (r->journal) {
    case KITH_JOURNAL_MISSING:
        FINDING(line, "missing: all changes since the last checkpoint are lost");
        return;
    case KITH_JOURNAL_FOREIGN:
        FINDING(line,
                "%s-journal belongs to another store, or is not a journal: all changes since the last checkpoint "
                "are lost",
                w->from);
        return;
    case KITH_JOURNAL_UNREADABLE:
        FINDING(line,
                "its header is damaged, or of an unknown version: all changes since the last checkpoint are lost");
        return;
    default:
        break;
    }
    FINDING(line, "%s record%s applied", text_of_integer(r->records, a), r->records == 1 ? "" : "s");
    if (r->records_lost > 0)
        FINDING(line, "%s lost", text_of_integer(r->records_lost, a));
    if (r->records_lost > 0 && r->operations_lost_max != UINT64_MAX)
        add_text(line, ", with at most %s change%s", text_of_integer(r->operations_lost_max, b),
                 r->operations_lost_max == 1 ? "" : "s");
    if (r->tail_bytes > 0)
        FINDING(line, "%s at its end are from an interrupted write, or damaged", text_of_size(r->tail_bytes, a));
    if (r->removals_skipped > 0)
        FINDING(line, "%s removal%s not repeated, so as not to remove other keys",
                text_of_integer(r->removals_skipped, a), r->removals_skipped == 1 ? "" : "s");
    if (r->adds_refused > 0)
        FINDING(line, "%s did not fit", text_of_keys(r->adds_refused, a));
}

static void describe_keys(const work *w, line_text line) {
    const kith_repair_report *r = &w->report;
    bool journal_lost =
        r->journal > KITH_JOURNAL_DAMAGED || r->operations_lost_max == UINT64_MAX || r->keys_at_risk == UINT64_MAX;
    uint64_t lost = r->keys_at_risk + r->adds_refused + r->operations_lost_max;
    value_text a;
    line[0] = '\0';
    if (!r->may_miss_keys)
        add_text(line, "all there");
    else if (journal_lost)
        add_text(line, "some may be lost, and are then not found; it is not known how many");
    else
        add_text(line, "up to %s may be lost, and are then not found", text_of_keys(lost, a));
}

static bool rate_is_higher(const work *w) {
    return !w->report.is_whole && w->stats.rate_now > w->rate;
}

static void say(const work *w, const char *what, const char *text) {
    if (w->to != NULL && strcmp(w->to, "-") == 0) {
        note("%s: %s", what, text);
    } else {
        out_plain("%-8s %s", what, text);
        out_text("\n");
    }
}

static void put_report(const work *w) {
    line_text line;
    value_text a, b;
    describe_file(w, line);
    say(w, "file", line);
    if (w->report.is_store) {
        describe_journal(w, line);
        say(w, "journal", line);
    }
    describe_keys(w, line);
    say(w, "keys", line);
    if (rate_is_higher(w)) {
        line[0] = '\0';
        add_text(line, "%s now, and not %s", text_of_rate(w->stats.rate_now, a), text_of_rate(w->rate, b));
        say(w, "rate", line);
    }
    line[0] = '\0';
    add_text(line, "%s", w->to != NULL ? w->to : "nothing (-o FILE writes the result)");
    say(w, "written", line);
}

static void put_bound(const char *name, uint64_t bound) {
    if (bound == UINT64_MAX)
        json_text(name, NULL);
    else
        json_integer(name, bound);
}

static void put_json(const work *w) {
    static const char *const journals[] = {"none", "sound", "damaged", "missing", "foreign", "unreadable"};
    const kith_repair_report *r = &w->report;
    json_open(NULL, '{');
    json_text("file", w->from);
    json_text("written", w->to);
    json_bool("whole", r->is_whole);
    json_bool("may_miss_keys", r->may_miss_keys);
    json_bool("store", r->is_store);
    json_bool("header_restored", r->header_restored);
    json_bool("checksums_restored", r->checksums_restored);
    json_bool("notes_lost", r->notes_lost);
    json_integer("missing_bytes", r->missing_bytes);
    json_integer("extra_bytes", r->extra_bytes);
    json_integer("unreadable_bytes", r->unreadable_bytes);
    json_integer("pages", r->pages);
    json_integer("pages_damaged", r->pages_damaged);
    json_integer("pages_restored", r->pages_restored);
    json_integer("pages_unsure", r->pages_unsure);
    put_bound("keys_at_risk", r->keys_at_risk);
    json_text("journal", journals[r->journal]);
    json_bool("journal_header_restored", r->journal_header_restored);
    json_integer("records", r->records);
    json_integer("records_lost", r->records_lost);
    put_bound("operations_lost_max", r->operations_lost_max);
    json_integer("tail_bytes", r->tail_bytes);
    json_integer("adds_refused", r->adds_refused);
    json_integer("removals_skipped", r->removals_skipped);
    json_number("rate", w->rate);
    json_number("rate_now", w->stats.rate_now);
    json_close('}');
    json_end();
}

/* ---- files ---- */

static bool same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static void check_paths(const work *w) {
    const arguments *a = w->a;
    if (strcmp(w->from, "-") == 0)
        fail("-: a filter must be a file, not standard input");
    if (a->replace && a->output != NULL)
        fail("-o and --replace contradict each other: --replace writes the result to %s itself", w->from);
    if (w->to == NULL || a->replace)
        return;
    if (same_file(w->from, w->to))
        fail("%s: is the damaged file; give another -o FILE, or use --replace instead of -o", w->to);
    if (a->json && strcmp(w->to, "-") == 0)
        fail("--json and -o - contradict each other: both use stdout");
}

static noreturn void fail_repair(const filter_file *f, kith_status status) {
    if (status == KITH_E_CORRUPT)
        fail("%s: nothing can be saved: its header is damaged, or every page, or what remains is not valid", f->path);
    if (status == KITH_E_TRUNCATED)
        fail("%s: nothing can be saved: most of the file is missing", f->path);
    filter_file_must(f, status);
    fail_status(f->path, status);
}

static void read_damaged(work *w, const filter_file *f) {
    memory_check(w->a, filter_file_info(f).file_bytes, w->from);
    w->report = (kith_repair_report)KITH_REPAIR_REPORT_INIT;
    w->stats = (kith_filter_stats)KITH_FILTER_STATS_INIT;
    kith_status status = kith_file_repair(f->file, &w->report, &w->filter);
    if (status != KITH_OK)
        fail_repair(f, status);
    kith_plan plan = KITH_PLAN_INIT;
    status = kith_filter_plan_of(w->filter, &plan);
    if (status == KITH_OK)
        status = kith_filter_stats_of(w->filter, &w->stats);
    if (status != KITH_OK)
        fail_status(w->from, status);
    w->rate = plan.rate;
}

/* The result is a store if the damaged file was one, unless the user wants a plain file. */
static void write_result(const work *w, filter_file *to) {
    if (w->a->replace && w->report.journal == KITH_JOURNAL_FOREIGN)
        fail("%s: %s-journal belongs to another store, or is not a journal; move it away first, so that it is not "
             "replaced",
             w->from, w->from);
    bool is_stream = to->file == NULL || filter_file_info(to).is_stream;
    if (w->report.is_store && !is_stream)
        filter_file_must(to, kith_file_set_journal(to->file, !w->a->plain));
    filter_file_save(to, w->filter);
}

int command_repair(const arguments *a) {
    work w = {.a = a, .from = a->operands[0]};
    w.to = a->replace ? w.from : a->output;
    check_paths(&w);
    filter_file from =
        filter_file_open(w.from, KITH_FILE_REPLACE, a->replace ? KITH_FILE_LOCK_DEFAULT : KITH_FILE_LOCK_IF_THERE, a);
    read_damaged(&w, &from);
    filter_file to = from;
    if (w.to != NULL && !a->replace) {
        filter_file_close(&from); /* a command holds one lock at a time, so that two cannot wait for each other */
        to = filter_file_open(w.to, KITH_FILE_REPLACE, KITH_FILE_LOCK_COMMIT, a);
    }
    if (w.to != NULL)
        write_result(&w, &to);
    if (a->json)
        put_json(&w);
    else
        put_report(&w);
    if (w.to == NULL)
        kith_filter_free(w.filter);
    filter_file_close(&to);
    return w.report.is_whole ? EXIT_FOUND : EXIT_NONE;
}
