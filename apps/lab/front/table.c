/* table.c: see table.h. */
#define _GNU_SOURCE

#include "lab/front/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/output/report.h"

enum {
    CLAIM_WIDTH = 7,
    NUMBER_WIDTH = 12,
    MEASURED_WIDTH = 24,
    VERDICT_WIDTH = 18, /* "looser than stated" */
    GAP = 2,
    SENTENCE_MIN = 28,
    SENTENCE_MAX = 60,
    COLUMNS_MIN = 40,
    COLUMNS_NO_TERMINAL = 120, /* if stdout is not a terminal */
};

/* ---- lines ---- */

static size_t columns(void) {
    struct winsize size;
    if (!out_is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_NO_TERMINAL;
    return size.ws_col > COLUMNS_MIN ? size.ws_col : COLUMNS_MIN;
}

/* Returns the columns for sentences in the wide layout, or 0 if the terminal is too narrow for it. */
static size_t sentence_width(void) {
    size_t others = CLAIM_WIDTH + NUMBER_WIDTH + MEASURED_WIDTH + VERDICT_WIDTH + 3 * GAP, all = columns();
    if (all < others + SENTENCE_MIN)
        return 0;
    return all - others < SENTENCE_MAX ? all - others : SENTENCE_MAX;
}

/* Returns the number of columns of a UTF-8 text: it counts the bytes that begin a character. */
static size_t width_of(const char *text, size_t bytes) {
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

/* Returns the number of bytes of the first line when a text is wrapped at `width` columns, at a blank if possible. */
static size_t line_of(const char *text, size_t width) {
    size_t at = 0, cut = 0;
    for (; text[at] != '\0' && width_of(text, at + 1) <= width; at++)
        if (text[at] == ' ')
            cut = at;
    if (text[at] == '\0' || text[at] == ' ' || cut == 0)
        return at;
    return cut;
}

static void put_blanks(size_t count) {
    for (; count > 0; count--)
        out(" ", 1);
}

/* Prints a paragraph, indented by `indent` blanks and wrapped at `width` columns. */
static void put_wrapped(const char *text, size_t indent, size_t width) {
    for (bool first = true; first || *text != '\0'; first = false) {
        size_t bytes = line_of(text, width);
        put_blanks(indent);
        out(text, bytes);
        out("\n", 1);
        text += bytes;
        text += *text == ' ';
    }
}

/* ---- numbers ---- */

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

/* ---- rows ---- */

typedef struct row {
    const char *claim, *sentence, *predicted, *measured, *verdict;
    const char *colour; /* escape sequence for the verdict; "" for none */
} row;

static void put_verdict(const row *r) {
    out_text("%s%s%s", r->colour, r->verdict, *r->colour != '\0' ? "\033[0m" : "");
}

static void put_wide(const row *r, size_t width) {
    size_t bytes = line_of(r->sentence, width);
    out_text("%-*s", CLAIM_WIDTH, r->claim);
    out(r->sentence, bytes);
    put_blanks(width - width_of(r->sentence, bytes));
    out_text("  %-*s  %-*s  ", NUMBER_WIDTH, r->predicted, MEASURED_WIDTH, r->measured);
    put_verdict(r);
    out("\n", 1);
    const char *rest = r->sentence + bytes;
    if (*rest != '\0')
        put_wrapped(rest + (*rest == ' '), CLAIM_WIDTH, width);
}

static void put_narrow(const row *r) {
    if (*r->claim != '\0') {
        out_text("%-*s", CLAIM_WIDTH, r->claim);
        put_verdict(r);
        out("\n", 1);
    }
    put_wrapped(r->sentence, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
    put_blanks(CLAIM_WIDTH);
    out_text("predicted %s, measured %s%s%s\n", r->predicted, r->measured,
             *r->claim == '\0' && *r->verdict != '\0' ? ": " : "", *r->claim == '\0' ? r->verdict : "");
}

static void put_row(const row *r) {
    size_t width = sentence_width();
    if (width > 0)
        put_wide(r, width);
    else
        put_narrow(r);
}

static const char *colour_of(lab_verdict verdict) {
    if (!out_is_coloured())
        return "";
    return verdict == LAB_FAILS ? "\033[31m" : verdict == LAB_HOLDS ? "\033[32m" : "\033[33m";
}

/* Prints a finding, below the words of a document that it tests, unless these are the ones in *quote, which were
 * printed before. */
static void put_finding(const lab_finding *f, const char **quote) {
    number_text predicted, measured;
    lab_outcome_words words;
    const char *word = f->relation == LAB_SHOWN ? "" : lab_finding_text(f, words);
    if (f->quote != NULL && (*quote == NULL || strcmp(f->quote, *quote) != 0)) {
        put_wrapped(f->quote, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
        *quote = f->quote;
    }
    put_row(&(row){"", f->what, text_of_predicted(f, predicted), text_of_measured(f->measured, measured), word, ""});
}

/* Prints the description of a finding in brackets, below its claim. */
static void put_description(const char *what) {
    char text[1024];
    size_t width = sentence_width();
    (void)snprintf(text, sizeof text, "(%s)", what);
    put_wrapped(text, CLAIM_WIDTH, width > 0 ? width : columns() - CLAIM_WIDTH - 1);
}

static bool is_judged_against(const lab_finding *f) {
    return f->relation != LAB_SHOWN && f->outcome != LAB_YES;
}

/* Prints the findings below that of the headline, the first one: all of them, or ROWS of them, first those that do not
 * hold, then others at equal distances. Returns how many it has left out. (It allocates nothing: when results are
 * printed, their files are already written.) */
static size_t put_findings(const lab_result *r, lab_rows rows, const char *quote) {
    enum { ROWS = 5 };
    size_t all = r->finding_count > 0 ? r->finding_count - 1 : 0, against = 0;
    for (size_t i = 1; i <= all; i++)
        against += against < ROWS && is_judged_against(&r->findings[i]);
    bool some = rows == LAB_SOME_ROWS && all > ROWS;
    size_t others = all - against, wanted = some ? ROWS - against : others, at = 0, taken = 0, first = 0;
    for (size_t i = 1; i <= all && rows != LAB_NO_ROWS; i++) {
        bool chosen = is_judged_against(&r->findings[i]) && first < against;
        first += chosen;
        if (!chosen && taken < wanted && at++ == taken * others / wanted) {
            chosen = true;
            taken++;
        }
        if (chosen)
            put_finding(&r->findings[i], &quote);
    }
    return some ? others - wanted : 0;
}

static void put_result(const lab_result *r, lab_rows rows) {
    const lab_finding *f = lab_headline(r);
    number_text predicted = "", measured = "";
    if (f != NULL) {
        (void)text_of_predicted(f, predicted);
        (void)text_of_measured(f->measured, measured);
    }
    bool refuted = lab_is_refuted(r->verdict);
    if (r->verdict == LAB_FAILS)
        rows = LAB_ALL_ROWS;
    const char *quote = refuted ? f->quote : NULL; /* printed so far */
    put_row(&(row){r->claim->id, refuted ? quote : r->claim->sentence, predicted, measured,
                   lab_verdict_text(r->verdict), colour_of(r->verdict)});
    if (f != NULL)
        put_description(f->what);
    if (refuted && rows != LAB_NO_ROWS)
        put_wrapped(r->claim->sentence, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
    size_t left = put_findings(r, rows, quote);
    if (left > 0) {
        char more[64];
        (void)snprintf(more, sizeof more, "and %zu more finding%s: kith lab -v %s", left, left == 1 ? "" : "s",
                       r->claim->id);
        put_wrapped(more, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
    }
    if (r->claim->note != NULL && (rows != LAB_NO_ROWS || refuted))
        put_wrapped(r->claim->note, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
}

void put_lab_table(const lab_result *results, size_t count, lab_rows rows) {
    if (sentence_width() > 0)
        put_row(&(row){"claim", "sentence", "predicted", "measured", "verdict", ""});
    for (size_t i = 0; i < count; i++)
        put_result(&results[i], rows);
}

void put_lab_summary(const lab_result *results, size_t count, uint64_t seed) {
    size_t with[LAB_FAILS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        with[results[i].verdict]++;
    char shown[32] = "", not_run[32] = "", open[64] = "", text[256];
    if (with[LAB_IS_UNDECIDED] + with[LAB_HAS_NO_POWER] > 0)
        (void)snprintf(open, sizeof open, ", %zu undecided, %zu without power", with[LAB_IS_UNDECIDED],
                       with[LAB_HAS_NO_POWER]);
    if (with[LAB_IS_SHOWN] > 0)
        (void)snprintf(shown, sizeof shown, ", %zu shown", with[LAB_IS_SHOWN]);
    if (with[LAB_NOT_RUN] > 0)
        (void)snprintf(not_run, sizeof not_run, ", %zu not run", with[LAB_NOT_RUN]);
    (void)snprintf(
        text, sizeof text,
        "seed %llu: %zu %s, %zu looser than stated, %zu with a slip in the text, %zu false as stated, %zu %s%s%s%s",
        (unsigned long long)seed, with[LAB_HOLDS], with[LAB_HOLDS] == 1 ? "claim holds" : "claims hold",
        with[LAB_IS_LOOSE], with[LAB_IS_SLIP], with[LAB_IS_WRONG], with[LAB_FAILS],
        with[LAB_FAILS] == 1 ? "fails" : "fail", open, shown, not_run);
    out("\n", 1);
    put_wrapped(text, 0, columns() - 1);
}

void put_lab_sources(void) {
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++) {
        char text[256];
        const lab_source *s = &LAB_SOURCES[i];
        (void)snprintf(text, sizeof text, "[%zu] %s%s%s, %s", i, s->author, *s->author != '\0' ? ", " : "", s->title,
                       s->rest);
        put_wrapped(text, 0, columns() - 1);
    }
}

void put_lab_text(const char *text) {
    put_wrapped(text, 0, columns() - 1);
}

void put_lab_entry(const char *name, const char *text) {
    enum { NAME_WIDTH = 18 };
    size_t width = columns() - NAME_WIDTH - 1, bytes = line_of(text, width);
    out_text("  %-*s", NAME_WIDTH - 2, name);
    out(text, bytes);
    out("\n", 1);
    text += bytes;
    if (*text != '\0')
        put_wrapped(text + (*text == ' '), NAME_WIDTH, width);
}

void put_lab_list(const lab_claim *const *claims, size_t count) {
    for (size_t i = 0; i < count; i++) {
        out_text("%-*s%s: ", CLAIM_WIDTH, claims[i]->id, claims[i]->title);
        if (out_is_terminal()) {
            out("\n", 1);
            put_wrapped(claims[i]->sentence, CLAIM_WIDTH, columns() - CLAIM_WIDTH - 1);
        } else {
            out_text("%s\n", claims[i]->sentence); /* one line per claim, for grep */
        }
    }
    if (out_is_terminal())
        put_lab_sources();
}
