/* help.c: prints the text of `kith help`, `kith help COMMAND` and `kith COMMAND --help`. */
#include "cli/commands/help.h"

#include <stdio.h>
#include <string.h>

#include <kith/plan.h>

#include "cli/commands.h"
#include "cli/output/report.h"

enum { WIDTH = 80, OPTION_COLUMN = 28 };

/* A command with more options than this lists them in groups. */
enum { UNGROUPED_OPTIONS_MAX = 12 };

const char HELP_INPUT[] =
    "Inputs compressed with gzip, zstd, xz, bzip2 or lz4 are decompressed. They are recognised by their first bytes. A "
    "file whose name ends in .gz, .zst, .xz, .bz2 or .lz4 must be of that format; otherwise it is damaged or has the "
    "wrong name, and is refused. Binary records (--fixed) may begin with any bytes, so only files with such a name are "
    "decompressed. An input in another known format is refused with an error that names the format: ZIP, 7z, RAR and "
    "tar archives, PDF, databases, images, programs, UTF-16 and UTF-32 text, and kith's own files. --text turns all of "
    "this off and reads the bytes as they are.\n\n"
    "Text has no NUL bytes. A file with a NUL in its first 64 KiB is refused: its keys end with NUL, as those of find "
    "-print0 do (use -0), or it is UTF-16 without a byte order mark. At a later NUL, commands that store keys stop and "
    "name the line, while kith query and kith uniq without --state warn once and treat it like any other character. "
    "With --text, and where a NUL is not text (-0, --fixed, --hex, --json-field), nothing of this happens.\n\n"
    "A key with a CR at its end is not found by a lookup without the CR. Therefore commands that store keys "
    "(kith build, add, remove, uniq --state and push --shards) stop at the first line that ends in CR LF, while "
    "kith query and kith uniq without --state warn once and treat the CR as part of the key. --crlf strips the CR "
    "from keys, --no-crlf keeps it. With --trim and --json-field a CR cannot become part of a key, and "
    "it is ignored. With --hex, a CR after the digits is an error; use --crlf. A UTF-8 byte order mark at the "
    "beginning of an input is part of "
    "neither the first key nor the line that is printed; a message on standard error says so.\n\n"
    "Columns (--field) may be quoted with --csv, or with any --delim except a tab, unless --no-quotes is given. A "
    "quoted column may contain delimiters, doubled quotes and newlines; a record that is printed is printed with "
    "all its lines. These are errors, and the message names the line in which the record begins: a quote that is "
    "not closed within 4 MiB or by the end of the file, and a closing quote that is not followed by a delimiter or "
    "the end of the line. --skip-bad skips that line and continues with the next.\n\n"
    "In JSON (--json-field) the number 1 and the string \"1\" are different keys. The key of a string is its "
    "unescaped bytes, so it equals the same text read as a line. The key of a number is a 0x00 byte followed by "
    "the number as it is written, so 1, 1.0 and 1e0 are three keys. A string that begins with U+0000 gets an "
    "additional 0x00 byte at the front. With --json-text, the key of both is the text alone.\n\n"
    "With --int, --uint or --uuid, a set has keys of one type, which FILE stores. Text is read as a number or UUID, "
    "wherever it stands, and anything else is an error: numbers have no leading zeros, no +, no -0 and no white space "
    "around them (see --trim). So 42 is the same key in a line, a column, a JSON number, a JSON string and a binary "
    "record (--fixed 8), and in a program in another language that uses the same FILE.";

void put_wrapped_80(const char *text, size_t at, size_t indent) {
    if (at > indent) {
        out("\n", 1);
        at = 0;
    }
    out_text("%*s", (int)(indent - at), "");
    at = indent;
    while (*text != '\0') {
        if (*text == '\n') {
            size_t ends = strspn(text, "\n");
            out("\n\n", ends > 1 ? 2 : 1);
            out_text("%*s", (int)indent, "");
            at = indent;
            text += ends;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (at > indent && at + 1 + word > WIDTH) {
            out_text("\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            out(" ", 1);
            at++;
        }
        out(text, word);
        at += word;
        text += word;
        text += strspn(text, " ");
    }
    out("\n", 1);
}

static void heading(const char *text) {
    out_text(out_is_coloured() ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static void option_line(const option *o) {
    char left[64];
    int used = o->letter != 0 ? snprintf(left, sizeof left, "  -%c, --%s", o->letter, o->name)
                              : snprintf(left, sizeof left, "      --%s", o->name);
    if (o->argument != NULL)
        used += snprintf(left + used, sizeof left - (size_t)used, " %s", o->argument);
    out(left, (size_t)used);
    /* At least two spaces between an option and its text. */
    put_wrapped_80(o->help, (size_t)used + 2 > OPTION_COLUMN ? OPTION_COLUMN + 1 : (size_t)used, OPTION_COLUMN);
}

static size_t option_count(const command *c) {
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        count += option_shown(&OPTIONS[i], c);
    return count;
}

void help_group_names(const option *group, char *text, size_t text_bytes) {
    size_t used = 0;
    for (const option *o = group + 1; !option_is_group(o) && used < text_bytes; o++) {
        if (o->letter != 0)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s-%c", used > 0 ? ", " : "", o->letter);
        if (used < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s--%s", used > 0 ? ", " : "", o->name);
    }
}

static void put_group_names(const option *group) {
    char names[HELP_NAMES_BYTES], text[HELP_NAMES_BYTES + 64];
    help_group_names(group, names, sizeof names);
    (void)snprintf(text, sizeof text, "%s: kith help %s describes them", names, group->name);
    put_wrapped_80(text, 0, 6);
}

void help_each_option(const command *c, const option_writer *writer) {
    bool grouped = option_count(c) > UNGROUPED_OPTIONS_MAX;
    const option *group = NULL; /* whose title is not printed yet */
    bool is_elsewhere = false;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &OPTIONS[i];
        if (option_is_group(o)) {
            group = o;
            is_elsewhere = false;
        }
        if (!option_shown(o, c) || is_elsewhere)
            continue;
        if (grouped && group != NULL)
            writer->title(group);
        is_elsewhere = grouped && group != NULL && group->name != NULL;
        if (is_elsewhere)
            writer->elsewhere(group);
        else
            writer->entry(o);
        group = NULL;
    }
}

static void put_title(const option *group) {
    out_text("\n  %s:\n", group->help);
}

void help_command(const command *c) {
    out_text("usage: kith %s %s\n\n", c->name, c->synopsis);
    put_wrapped_80(c->description, 0, 0);
    heading("Options");
    help_each_option(c, &(option_writer){put_title, put_group_names, option_line});
    heading("Exit status");
    put_wrapped_80(c->exits, 0, 2);
    heading("Examples");
    for (const char *line = c->examples; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        out_text("  %.*s\n", (int)bytes, line);
        line += bytes + (line[bytes] == '\n');
    }
}

static void help_topic(const option *group) {
    out_text("usage: kith COMMAND [OPTION]... [INPUT]...\n\n");
    put_wrapped_80(HELP_INPUT, 0, 0);
    heading("Options");
    for (const option *o = group + 1; !option_is_group(o); o++)
        option_line(o);
}

static void put_commands(void) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        out_text("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    out("\n", 1);
}

static void put_usage(void) {
    out_text("usage: kith COMMAND [OPTION]... [OPERAND]...\n");
}

void help_short(void) {
    put_usage();
    heading("Commands");
    put_commands();
    out_text("kith help says more; kith help COMMAND describes a command and its options.\n");
}

void help_all(void) {
    put_usage();
    out("\n", 1);
    put_wrapped_80(
        "kith tells whether a key is in a set. It builds filters of a few bits per key from any list, looks up keys in "
        "them, removes duplicates from streams, and computes sizes in advance. A key that is in the set is always "
        "found. A key that is not in the set is found with a probability that you choose, the rate.",
        0, 0);
    heading("Commands");
    put_commands();
    char kinds[1024] = "Kinds of filters:";
    size_t used = strlen(kinds);
    for (size_t i = 0; i < kith_filter_kind_count() && used < sizeof kinds; i++)
        used += (size_t)snprintf(kinds + used, sizeof kinds - used, " %s", kith_filter_kind_at(i)->name);
    put_wrapped_80(kinds, 0, 0);
    out_text("\nkith help COMMAND describes a command and its options, kith help input how\n"
             "inputs are read, kith kinds the kinds. kith --version prints the version.\n");
}

int command_help(const arguments *a) {
    const option *topic = a->operand_count > 0 && !a->man && !a->examples ? topic_named(a->operands[0]) : NULL;
    const command *c = a->operand_count > 0 && topic == NULL ? command_must(a->operands[0]) : NULL;
    if (a->completion != NULL) {
        if (!completion_script(a->completion))
            fail("no completions for '%s'; they exist for bash, zsh and fish", a->completion);
    } else if (a->man) {
        manual_page(c);
    } else if (a->examples) {
        for (size_t i = 0; i < COMMAND_COUNT; i++)
            if (c == NULL || c == &COMMANDS[i])
                out_text("%s", COMMANDS[i].examples);
    } else if (topic != NULL) {
        help_topic(topic);
    } else if (c != NULL) {
        help_command(c);
    } else {
        help_all();
    }
    return EXIT_FOUND;
}
