/* manual.c: the manual pages, in the man(7) macros, from the tables of options.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <kith/base.h>

#include "help.h"
#include "report.h"

/* Text with what roff would read as its own made plain: backslashes, hyphens (which it would break and draw as
 * dashes), and a dot or quote at the beginning of a line. */
static void plain(const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\''))
            out("\\&", 2);
        if (text[i] == '\\')
            out("\\e", 2);
        else if (text[i] == '-')
            out("\\-", 2);
        else
            out(&text[i], 1);
    }
}

static void paragraphs(const char *text) {
    while (*text != '\0') {
        const char *end = strstr(text, "\n\n");
        size_t bytes = end != NULL ? (size_t)(end - text) : strlen(text);
        plain(text, bytes);
        out("\n", 1);
        text += bytes;
        if (*text == '\n') {
            out_text(".PP\n");
            text += 2;
        }
    }
}

static void text_line(const char *text) {
    plain(text, strlen(text));
    out("\n", 1);
}

static void upper(const char *text, char *result, size_t size) {
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < size; i++)
        result[i] = (char)toupper((unsigned char)text[i]);
    result[i] = '\0';
}

static void title(const char *name) {
    char capitals[32];
    upper(name, capitals, sizeof capitals);
    out_text(".TH \"%s\" 1 \"\" \"kith %s\" \"kith\"\n.SH NAME\n", capitals, kith_version());
}

static void options(const command *c) {
    out_text(".SH OPTIONS\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &OPTIONS[i];
        if (!option_belongs(o, c) || o->help == NULL)
            continue;
        out_text(".TP\n");
        if (o->letter != 0)
            out_text("\\fB\\-%c\\fR, ", o->letter);
        out_text("\\fB\\-\\-");
        plain(o->name, strlen(o->name));
        out_text("\\fR");
        if (o->argument != NULL)
            out_text(" \\fI%s\\fR", o->argument);
        out("\n", 1);
        text_line(o->help);
    }
}

/* "0 done; 2 an error." as a list. */
static void exits(const char *text) {
    out_text(".SH \"EXIT STATUS\"\n");
    while (*text != '\0') {
        size_t bytes = strcspn(text, ";");
        out_text(".TP\n%c\n", text[0]);
        plain(text + 2, bytes - 2);
        out("\n", 1);
        text += bytes;
        text += strspn(text, "; ");
    }
}

static void examples(const command *c) {
    out_text(".SH EXAMPLES\n.nf\n");
    plain(c->examples, strlen(c->examples));
    out_text(".fi\n");
}

static void page_of(const command *c) {
    char name[32];
    (void)snprintf(name, sizeof name, "kith-%s", c->name);
    title(name);
    plain(name, strlen(name));
    out_text(" \\- ");
    text_line(c->summary);
    out_text(".SH SYNOPSIS\n.B kith %s\n", c->name);
    text_line(c->synopsis);
    out_text(".SH DESCRIPTION\n");
    paragraphs(c->description);
    options(c);
    exits(c->exits);
    examples(c);
    out_text(".SH \"SEE ALSO\"\n.BR kith (1)\n");
}

static void page_of_tool(void) {
    title("kith");
    out_text("kith \\- is this key in the set?\n"
             ".SH SYNOPSIS\n.B kith\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
             ".SH DESCRIPTION\n");
    paragraphs(
        "kith makes filters of a few bits a key from any list, asks them, drops duplicates from streams and plans "
        "sizes. A filter never says no for a key that is in, and says yes wrongly at a rate that you choose.\n\n"
        "Keys are lines of text, or what the options make of them: columns, JSON members, hex digits, binary "
        "records. Inputs that are compressed by gzip, zstd or xz are read as they are; their first bytes tell, or, for "
        "the binary records of --fixed, which may begin with any bytes, the end of their name (.gz, .zst, .xz). An "
        "input "
        "named - is standard input; a filter is always a file. Data goes to standard output, words to standard "
        "error. Output is written in large blocks, and also whenever the input is a pipe or a terminal with nothing to "
        "read, so that tail -f log | kith uniq | ... shows lines as they come.\n\n"
        "With --field and --delim , lines are CSV: a field in quotes may hold commas, doubled quotes and newlines, and "
        "a "
        "record that is printed is printed with all its lines. A quote that is not closed within 4 MiB or at the end "
        "of the "
        "file is an error that names the line in which its record begins, as is a closing quote that more of its field "
        "follows; --skip-bad leaves out that one line, and goes on at the next.\n\n"
        "What a keyed filter (--untrusted) does not give: a false positive that was found stays one until the "
        "filter is built anew with another key, and who reads the file reads the key.");
    out_text(".SH COMMANDS\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        out_text(".TP\n\\fBkith\\-%s\\fR(1)\n", COMMANDS[i].name);
        text_line(COMMANDS[i].summary);
    }
    out_text(".SH VALUES\n.TP\nrates\n");
    text_line("0.1%, 0.001, 1/1000, 1e-3: between 0 and 1, both excluded");
    out_text(".TP\ncounts\n");
    text_line("10000000, 10_000_000, 10M, 1e7: K, M and G are powers of a thousand");
    out_text(".TP\nsizes\n");
    text_line("64MiB, 1G, 1e9: KiB, MiB and GiB are powers of 1024, K, M and G of a thousand");
    out_text(".SH MEMORY\n");
    paragraphs(
        "--memory bounds the filter, the digests of keys that wait for it, and the keys of kith uniq; what would "
        "pass it is an error, or goes to temporary files. Beside that reading takes up to 10 MB, with --threads 1 up "
        "to 2 MB; for lines, or records of CSV, of more than 256 KiB up to 40 times the longest of them; and for an "
        "archive up to 128 MiB (zstd) or 256 MiB (xz). --verbose says beforehand what is taken.");
    out_text(".SH ENVIRONMENT\n.TP\nNO_COLOR\n");
    text_line("no colours, even on a terminal");
    out_text(".TP\nTMPDIR\n");
    text_line("where temporary files go; /tmp without it");
    exits("0 done, and for kith query and kith uniq: a line was printed; 1 none was; 2 an error, told in one line.");
    out_text(".PP\n");
    paragraphs(
        "When the reader of standard output closes the pipe, as head does, kith ends silently by SIGPIPE, as sort "
        "does; a shell shows this as status 141. kith uniq --state does not save the state then. Where SIGPIPE is "
        "ignored, a closed pipe is an error.");
    out_text(".SH \"SEE ALSO\"\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        out_text(".BR kith\\-%s (1)%s\n", COMMANDS[i].name, i + 1 < COMMAND_COUNT ? "," : "");
}

void manual_page(const command *c) {
    if (c != NULL)
        page_of(c);
    else
        page_of_tool();
}
