/* page.c: see page.h. The page loads nothing from outside; the Content-Security-Policy in its head forbids all
 * requests. */
#define _GNU_SOURCE

#include "page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kith/base.h>

#include "choosing.h"
#include "formula.h"
#include "parts.h"
#include "plot.h"

static const char *class_of(lab_verdict verdict) {
    static const char *const CLASSES[] = {
        [LAB_NOT_RUN] = "none",      [LAB_IS_SHOWN] = "none",     [LAB_HOLDS] = "holds",
        [LAB_IS_UNDECIDED] = "none", [LAB_HAS_NO_POWER] = "none", [LAB_IS_SLIP] = "loose",
        [LAB_IS_LOOSE] = "loose",    [LAB_IS_WRONG] = "wrong",    [LAB_FAILS] = "fails"};
    return CLASSES[verdict];
}

static void put_verdict(lab_text *t, lab_verdict verdict) {
    text_put(t, "<span class=\"verdict %s\">%s</span>", class_of(verdict), lab_verdict_text(verdict));
}

/* Writes a title with a capital first letter, unless it begins with a variable (k, m/n). */
static void put_title(lab_text *t, const char *title) {
    if (islower((unsigned char)title[0]) && islower((unsigned char)title[1])) {
        text_put(t, "%c", toupper((unsigned char)title[0]));
        title++;
    }
    text_escaped(t, title);
}

static const char *group_of(const lab_claim *claim) {
    switch (claim->id[0]) {
    case 'T':
        return "Hash tables";
    case 'H':
        return "Hash functions";
    case 'B':
        return "Bloom filters";
    case 'K':
        return "Counting Bloom filters";
    case 'C':
        return "Cuckoo hashing";
    case 'F':
        return "Cuckoo filters";
    default:
        return "Other claims";
    }
}

static bool begins_group(const lab_result *results, size_t i) {
    return i == 0 || strcmp(group_of(results[i - 1].claim), group_of(results[i].claim)) != 0;
}

/* ---- the head ---- */

static void put_head(lab_text *t) {
    text_put(
        t,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"generator\" content=\"kith %s\">\n<title>kith lab: the theory, measured</title>\n<style>\n%s%s"
        "</style>\n</head>\n<body>\n",
        kith_version(), LAB_PLOT_CSS, LAB_PAGE_CSS);
}

static void put_run(lab_text *t, const lab_result *results, size_t count, lab_settings settings) {
    char date[64] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    double seconds = 0;
    for (size_t i = 0; i < count; i++)
        seconds += results[i].seconds;
    text_put(t,
             "<dl class=\"run\">\n<div><dt>version</dt><dd>kith %s</dd></div>\n<div><dt>date</dt><dd>%s</dd></div>\n",
             kith_version(), date);
    text_put(t, "<div><dt>random seed</dt><dd>%llu</dd></div>\n<div><dt>run</dt><dd>%s</dd></div>\n",
             (unsigned long long)settings.seed, settings.quick ? "quick" : "full");
    text_put(t,
             "<div><dt>claims</dt><dd>%zu</dd></div>\n<div><dt>total time of all claims</dt><dd>%.*f "
             "s</dd></div>\n</dl>\n",
             count, seconds < 10 ? 2 : 0, seconds);
}

static const lab_verdict ORDER[] = {LAB_HOLDS,        LAB_IS_LOOSE,     LAB_IS_SLIP,  LAB_IS_WRONG, LAB_FAILS,
                                    LAB_IS_UNDECIDED, LAB_HAS_NO_POWER, LAB_IS_SHOWN, LAB_NOT_RUN};
enum { VERDICTS = sizeof ORDER / sizeof *ORDER };

static size_t count_with(const lab_result *results, size_t count, lab_verdict verdict) {
    size_t with = 0;
    for (size_t i = 0; i < count; i++)
        with += results[i].verdict == verdict;
    return with;
}

static void put_counts(lab_text *t, const lab_result *results, size_t count) {
    text_put(t, "<p class=\"counts\">");
    for (size_t i = 0; i < VERDICTS; i++) {
        size_t with = count_with(results, count, ORDER[i]);
        if (with > 0)
            text_put(t, "<span class=\"verdict %s\">%s: %zu</span> ", class_of(ORDER[i]), lab_verdict_text(ORDER[i]),
                     with);
    }
    text_put(t, "</p>\n");
}

/* Buttons that show the claims with one verdict. The script shows them. */
static void put_filter(lab_text *t, const lab_result *results, size_t count) {
    text_put(t, "<div class=\"filter\" role=\"group\" aria-label=\"Show only claims with this verdict\" hidden>\n"
                "<button type=\"button\" data-verdict=\"\" aria-pressed=\"true\">all</button>\n");
    for (size_t i = 0; i < VERDICTS; i++)
        if (count_with(results, count, ORDER[i]) > 0)
            text_put(t, "<button type=\"button\" data-verdict=\"v%d\" aria-pressed=\"false\">%s</button>\n",
                     (int)ORDER[i], lab_verdict_text(ORDER[i]));
    text_put(t, "</div>\n");
}

static void put_contents(lab_text *t, const lab_result *results, size_t count) {
    text_put(t, "<nav id=\"contents\" aria-label=\"Contents\">\n<ul class=\"contents\">\n<li><a "
                "href=\"#choosing\"><span class=\"id\"></span>"
                "<span>Choosing a filter</span></a></li>\n");
    for (size_t i = 0; i < count; i++) {
        const lab_result *r = &results[i];
        text_put(t, "<li data-claim=\"v%d\"><a href=\"#", (int)r->verdict);
        text_escaped(t, r->claim->id);
        text_put(t, "\"><span class=\"id\">");
        text_escaped(t, r->claim->id);
        text_put(t, "</span><span>");
        put_title(t, r->claim->title);
        text_put(t, "</span></a> ");
        put_verdict(t, r->verdict);
        text_put(t, "</li>\n");
    }
    text_put(t, "</ul>\n</nav>\n");
}

static void put_reading(lab_text *t) {
    text_put(
        t, "<p>Each claim of the theory is tested on the library itself: a formula gives a prediction, and an "
           "experiment on the library's own structures gives a measurement. Intervals miss the true value one time "
           "in a million, and an inequality fails only if the whole interval is beyond its bound. If the bound is "
           "inside the interval, the exact value decides where it is known; else the line is <i>undecided</i>. <i>No "
           "power: 740 x</i>: the interval reaches 740 times the prediction, so it confirms nothing. Claims are tested "
           "as the literature states them. Where the words of a document are refuted, the verdict quotes them and the "
           "note says what is true. <i>Looser than stated</i>: right in a narrower sense. <i>A slip in the text</i>: "
           "a misprint that the text itself corrects nearby. <i>Shown</i>: parameters were set that the claim does "
           "not cover. The documents are listed at the end. The same numbers are in <a "
           "href=\"findings.csv\">findings.csv</a> and <a "
           "href=\"points.csv\">points.csv</a>.</p>\n");
}

/* ---- choosing ---- */

static void put_choosing(lab_text *t, const lab_result *chart) {
    text_put(t,
             "<section id=\"choosing\" aria-labelledby=\"choosing-title\">\n<h2 id=\"choosing-title\">Choosing a "
             "filter</h2>\n"
             "<p>The chart shows the bits per key of each kind of filter at each false-positive rate, for a million "
             "keys. Nothing is measured here: the numbers come from the library's plans, which give the exact size of "
             "a filter. Curves end at 60 bits per key. A filter that has no false negatives and a false-positive rate "
             "of ε needs at least log<sub>2</sub>(1/ε) bits per key.</p>\n");
    for (size_t i = 0; i < chart->plot_count; i++)
        plot_html(t, chart->plots[i], chart->claim->id, i + 1);
    text_put(
        t, "<h3>Which kind to use</h3>\n"
           "<p>The smallest kind that supports the operations you need, with its bits per key, for a million keys. "
           "Below it, if there is one, a kind that is at most 30%% larger and reads one cache line per lookup "
           "instead of several. It is much faster once the filter is larger than the cache, so <code>kith plan</code> "
           "recommends it.</p>\n");
    choosing_table(t);
    text_put(t, "</section>\n");
}

/* ---- a claim ---- */

static void put_predicted(lab_text *t, const lab_finding *f, int digits) {
    static const char *const SIGNS[] = {[LAB_EQUALS] = "", [LAB_AT_MOST] = "≤ ", [LAB_AT_LEAST] = "≥ "};
    if (f->relation == LAB_SHOWN) {
        text_put(t, "–");
        return;
    }
    text_put(t, "%s", SIGNS[f->relation]);
    text_number(t, f->predicted, digits);
}

static void put_holds(lab_text *t, const lab_finding *f) {
    lab_outcome_words words;
    const char *colour = f->relation == LAB_SHOWN ? "" : f->outcome == LAB_YES ? "holds" : "none";
    if (f->outcome == LAB_NO)
        colour = f->means == LAB_MUST ? "fails" : f->means == LAB_WRONG ? "wrong" : "loose";
    text_put(t, "<td data-label=\"holds\" class=\"%s\">%s</td>", colour, lab_finding_text(f, words));
}

static void put_finding(lab_text *t, const lab_finding *f) {
    int digits = text_digits_of(f->measured.value, f->measured.low, f->measured.high);
    text_put(t, "<tr><th scope=\"row\">");
    if (f->quote != NULL) {
        text_put(t, "<span class=\"tag\">");
        text_escaped(t, f->quote);
        text_put(t, "</span> ");
    }
    text_escaped(t, f->what);
    text_put(t, "</th><td data-label=\"predicted\">");
    put_predicted(t, f, digits);
    text_put(t, "</td><td data-label=\"measured\">");
    bool exact = !(f->measured.low < f->measured.high);
    if (exact)
        text_number(t, f->measured.value, digits);
    else
        text_digits(t, f->measured.value, digits);
    text_put(t, "</td><td data-label=\"interval\">");
    if (!exact) {
        text_digits(t, f->measured.low, digits);
        text_put(t, " … ");
        text_digits(t, f->measured.high, digits);
    } else {
        text_put(t, "exact");
    }
    text_put(t, "</td>");
    put_holds(t, f);
    text_put(t, "</tr>\n");
}

static void put_findings(lab_text *t, const lab_result *r) {
    if (r->finding_count == 0)
        return;
    text_put(t, "<details>\n<summary>%zu finding%s</summary>\n", r->finding_count, r->finding_count == 1 ? "" : "s");
    text_put(
        t, "<table class=\"stacked findings\">\n<thead><tr><th scope=\"col\">what</th><th scope=\"col\">predicted</th>"
           "<th scope=\"col\">measured</th><th scope=\"col\">interval</th><th scope=\"col\">holds</th></tr></thead>\n"
           "<tbody>\n");
    for (size_t i = 0; i < r->finding_count; i++)
        put_finding(t, &r->findings[i]);
    text_put(t, "</tbody>\n</table>\n</details>\n");
}

static void put_parameters(lab_text *t, const lab_result *r, lab_settings settings) {
    text_put(t, "<dl class=\"run\">\n");
    for (size_t i = 0; i < r->parameter_count; i++) {
        text_put(t, "<div><dt>");
        text_escaped(t, r->parameters[i].name);
        text_put(t, "</dt><dd>");
        text_escaped(t, r->parameters[i].value);
        text_put(t, "</dd></div>\n");
    }
    if (r->claim->code != NULL) {
        text_put(t, "<div><dt>code</dt><dd><code>");
        text_escaped(t, r->claim->code);
        text_put(t, "</code></dd></div>\n");
    }
    text_put(t, "<div><dt>run time</dt><dd>%.2f s</dd></div>\n<div><dt>to repeat</dt><dd><code>kith lab%s --seed %llu ",
             r->seconds, settings.quick ? " --quick" : "", (unsigned long long)settings.seed);
    text_escaped(t, r->claim->id);
    for (size_t i = 0; i < settings.set_count; i++) {
        text_put(t, " --set ");
        text_escaped(t, settings.sets[i].name);
        text_put(t, "=");
        text_escaped(t, settings.sets[i].value);
    }
    text_put(t, "</code></dd></div>\n</dl>\n");
}

static void put_claim(lab_text *t, const lab_result *r, lab_settings settings) {
    const lab_claim *claim = r->claim;
    text_put(t, "<section class=\"claim\" id=\"");
    text_escaped(t, claim->id);
    text_put(t, "\" data-claim=\"v%d\" data-group=\"%c", (int)r->verdict, claim->id[0]);
    text_put(t, "\" aria-labelledby=\"");
    text_escaped(t, claim->id);
    text_put(t, "-title\">\n<h3 id=\"");
    text_escaped(t, claim->id);
    text_put(t, "-title\"><span class=\"id\">");
    text_escaped(t, claim->id);
    text_put(t, "</span> ");
    put_title(t, claim->title);
    text_put(t, " ");
    put_verdict(t, r->verdict);
    text_put(t, "</h3>\n");
    if (lab_is_refuted(r->verdict)) {
        text_put(t, "<blockquote>");
        text_escaped(t, lab_headline(r)->quote);
        text_put(t, "</blockquote>\n");
    }
    text_put(t, "<p class=\"sentence\">");
    text_escaped(t, claim->sentence);
    text_put(t, "</p>\n");
    if (claim->formula != NULL) {
        char *formula = lab_formula_html(claim->formula);
        text_put(t, "<p class=\"formula\">%s</p>\n", formula);
        free(formula);
    }
    if (claim->note != NULL) {
        text_put(t, "<p class=\"note\">");
        text_escaped(t, claim->note);
        text_put(t, "</p>\n");
    }
    for (size_t i = 0; i < r->plot_count; i++)
        plot_html(t, r->plots[i], claim->id, i + 1);
    put_findings(t, r);
    put_parameters(t, r, settings);
    text_put(t, "<p class=\"back\"><a href=\"#contents\">Back to the contents</a></p>\n</section>\n");
}

/* ---- the foot ---- */

static void put_documents(lab_text *t) {
    text_put(t, "<footer>\n<h2>Documents and symbols</h2>\n<ul>\n");
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++)
        text_put(t, "<li>[%zu] %s%s<cite>%s</cite>, %s</li>\n", i, LAB_SOURCES[i].author,
                 *LAB_SOURCES[i].author != '\0' ? ", " : "", LAB_SOURCES[i].title, LAB_SOURCES[i].rest);
    text_put(
        t,
        "</ul>\n<p><i>n</i> keys, <i>m</i> bits or slots, <i>k</i> hashes, <i>b</i> slots in a bucket, <i>f</i> bits "
        "of a fingerprint, ε false-positive rate, α load.</p>\n</footer>\n");
}

/* ---- the page ---- */

void page_html(lab_text *t, const lab_result *chart, const lab_result *results, size_t count, lab_settings settings) {
    put_head(t);
    text_put(t, "<a class=\"skip\" href=\"#contents\">Contents</a>\n<header>\n<h1>The theory, measured</h1>\n");
    put_run(t, results, count, settings);
    put_counts(t, results, count);
    text_put(t, "</header>\n<main>\n");
    put_reading(t);
    put_filter(t, results, count);
    put_contents(t, results, count);
    put_choosing(t, chart);
    for (size_t i = 0; i < count; i++) {
        if (begins_group(results, i))
            text_put(t, "<h2 data-group=\"%c\">%s</h2>\n", results[i].claim->id[0], group_of(results[i].claim));
        put_claim(t, &results[i], settings);
    }
    text_put(t, "</main>\n");
    put_documents(t);
    text_put(t, "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n%s</script>\n</body>\n</html>\n",
             LAB_PAGE_JS);
}
