/* manual.c: prints the manual pages, in man(7) macros, from the tables of options.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <kith/base.h>

#include "cli/commands/help.h"
#include "cli/output/report.h"

/* Escapes what has a meaning in roff: backslashes, hyphens (which roff would break and print as dashes), and a dot or
 * a quote at the beginning of a line. */
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

static void option_entry(const option *o) {
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

/* The options of a group with a topic are described in kith(1). */
static void options_elsewhere(const option *group) {
    char names[HELP_NAMES_BYTES];
    help_group_names(group, names, sizeof names);
    text_line(names);
    out_text(".PP\nThese options, and how inputs are read, are described in\n.BR kith (1).\n");
}

static void options_title(const option *group) {
    out_text(".SS \"%s\"\n", group->help);
}

static void options(const command *c) {
    out_text(".SH OPTIONS\n");
    help_each_option(c, &(option_writer){options_title, options_elsewhere, option_entry});
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
    out_text("kith \\- test whether keys are in a set, with filters of a few bits per key\n"
             ".SH SYNOPSIS\n.B kith\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
             ".SH DESCRIPTION\n");
    paragraphs(
        "kith builds filters of a few bits per key from any list, looks up keys in them, removes duplicates from "
        "streams, and computes sizes in advance. A key that is in the set is always found. A key that is not in the "
        "set is found with a probability that you choose, the rate.\n\n"
        "Data is written to standard output, messages to standard error. Output is written in large blocks, and also "
        "whenever the input is a pipe or a terminal that has nothing to read, so that tail -f log | kith uniq | ... "
        "shows lines as they arrive.\n\n"
        "The limits of a keyed filter (--untrusted): a false positive that someone has found remains one until the "
        "filter is rebuilt with another secret key, and anyone who can read the file can read the key.");
    out_text(".SH INPUT\n");
    paragraphs(HELP_INPUT);
    for (const option *o = topic_named("input") + 1; !option_is_group(o); o++)
        option_entry(o);
    out_text(".SH COMMANDS\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        out_text(".TP\n\\fBkith\\-%s\\fR(1)\n", COMMANDS[i].name);
        text_line(COMMANDS[i].summary);
    }
    out_text(".PP\n");
    text_line("kith --version prints the version.");
    out_text(".SH VALUES\n.TP\nrates\n");
    text_line("0.1%, 0.001, 1/1000, 1e-3: greater than 0 and less than 1");
    out_text(".TP\ncounts\n");
    text_line("10000000, 10_000_000, 10M, 1e7: K, M and G are powers of 1000");
    out_text(".TP\nsizes\n");
    text_line("64MiB, 1G, 1e9: KiB, MiB and GiB are powers of 1024; K, M and G are powers of 1000");
    out_text(".SH MEMORY\n");
    paragraphs(
        "--memory limits the memory for the filter, for the digests of keys that wait to be added to it (25 bytes per "
        "key, in at most half of the limit, and with -n in at most the limit minus the size of the filter), and for "
        "the keys of kith uniq. Further digests go to a temporary file (9 bytes per key). If the filter or the keys of "
        "kith uniq would exceed the limit, that is an error. To build a static kind, up to 48 MB are needed in "
        "addition if the limit leaves less. A filter that grows may become as large as the limit. Reading "
        "needs up to 10 MB in addition (with --threads 1 up to 2 MB). Lines or CSV records of more than 256 KiB need "
        "up to 40 times the length of the longest. Decompression needs up to 128 MiB for zstd, 256 MiB for xz, and 10 "
        "MB for gzip, bzip2 and lz4. --verbose reports in advance how much is used.");
    out_text(".SH ENVIRONMENT\n.TP\nNO_COLOR\n");
    text_line("if set, print no colours, even on a terminal");
    out_text(".TP\nREDISCLI_AUTH\n");
    text_line("password of the server for kith push, pull and query, unless --password-file is given");
    out_text(".TP\nTMPDIR\n");
    text_line("folder for temporary files (default: /tmp)");
    exits(
        "0 done (kith query and uniq: at least one line was printed); 1 no line was printed (kith repair: something is "
        "lost, kith lab: a claim fails); 2 an error, described in one line on standard error.");
    out_text(".PP\n");
    paragraphs(
        "When the reader of standard output closes the pipe, as head does, kith ends silently by SIGPIPE, like sort; a "
        "shell reports this as status 141. In this case kith uniq --state does not save its state. Where SIGPIPE is "
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
