/* help.c: prints the text of `kith help`, `kith help COMMAND` and `kith COMMAND --help`. */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include <kith/plan.h>

#include "commands.h"
#include "report.h"

enum { WIDTH = 80, OPTION_COLUMN = 28 };

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

void help_command(const command *c) {
    out_text("usage: kith %s %s\n\n", c->name, c->synopsis);
    put_wrapped_80(c->description, 0, 0);
    heading("Options");
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (option_belongs(&OPTIONS[i], c) && OPTIONS[i].help != NULL)
            option_line(&OPTIONS[i]);
    heading("Exit status");
    put_wrapped_80(c->exits, 0, 2);
    heading("Examples");
    for (const char *line = c->examples; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        out_text("  %.*s\n", (int)bytes, line);
        line += bytes + (line[bytes] == '\n');
    }
}

void help_all(void) {
    out_text("usage: kith COMMAND [OPTION]... [OPERAND]...\n\n");
    put_wrapped_80(
        "kith tells whether a key is in a set. It builds filters of a few bits per key from any list, looks up keys in "
        "them, removes duplicates from streams, and computes sizes in advance. A key that is in the set is always "
        "found. A key that is not in the set is found with a probability that you choose, the rate.",
        0, 0);
    heading("Commands");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        out_text("  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    out("\n", 1);
    char kinds[1024] = "Kinds of filters:";
    size_t used = strlen(kinds);
    for (size_t i = 0; i < kith_filter_kind_count() && used < sizeof kinds; i++)
        used += (size_t)snprintf(kinds + used, sizeof kinds - used, " %s", kith_filter_kind_at(i)->name);
    put_wrapped_80(kinds, 0, 0);
    out_text("\nkith help COMMAND describes a command and its options, kith kinds the kinds.\n"
             "kith --version prints the version.\n");
}

int command_help(const arguments *a) {
    const command *c = a->operand_count > 0 ? command_must(a->operands[0]) : NULL;
    if (a->completion != NULL) {
        if (!completion_script(a->completion))
            fail("no completions for '%s'; they exist for bash, zsh and fish", a->completion);
    } else if (a->man) {
        manual_page(c);
    } else if (a->examples) {
        for (size_t i = 0; i < COMMAND_COUNT; i++)
            if (c == NULL || c == &COMMANDS[i])
                out_text("%s", COMMANDS[i].examples);
    } else if (c != NULL) {
        help_command(c);
    } else {
        help_all();
    }
    return EXIT_FOUND;
}
