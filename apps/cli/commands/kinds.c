/* kinds.c: `kith kinds`, which describes the kinds of filters and their options as the library lists them. */
#include <stdio.h>
#include <string.h>

#include <kith/plan.h>

#include "cli/commands/choose.h"
#include "cli/commands.h"
#include "cli/files/filters.h"
#include "cli/commands/help.h"
#include "cli/output/json.h"
#include "cli/output/report.h"

enum { NAME_COLUMN = 2, TEXT_COLUMN = 28 };

/* Writes "4..32" as "4 to 32", "halves|simple" as "halves, simple", and "kind" as "a kind". */
static void values_as_words(const char *values, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", strcmp(values, "kind") == 0 ? "a " : "");
    for (; *values != '\0' && used + 1 < size; values++) {
        const char *word = values[0] == '|' ? ", " : values[0] == '.' && values[1] == '.' ? " to " : NULL;
        int more = word != NULL ? snprintf(text + used, size - used, "%s", word)
                                : snprintf(text + used, size - used, "%c", *values);
        used += (size_t)more;
        values += *values == '.' && word != NULL;
    }
    text[used < size ? used : size - 1] = '\0';
}

static void put_option(const kith_option *o) {
    char left[64], values[64], text[512];
    values_as_words(o->values, values, sizeof values);
    int used = snprintf(left, sizeof left, "%*s%s=VALUE", NAME_COLUMN, "", o->name);
    out(left, (size_t)used);
    (void)snprintf(text, sizeof text, "%s (values: %s; default: %s)", o->meaning, values, o->fallback);
    put_wrapped_80(text, (size_t)used, TEXT_COLUMN);
}

static void put_text(const kith_kind_info *kind, bool first) {
    capability_text can;
    if (!first)
        out("\n", 1);
    out_text(out_is_coloured() ? "\033[1m%s\033[0m\n" : "%s\n", kind->name);
    put_wrapped_80(kind->summary, 0, NAME_COLUMN);
    out_text("%*s%-*s%s\n", NAME_COLUMN, "", TEXT_COLUMN - NAME_COLUMN, "can",
             text_of_abilities(kind->capabilities, can));
    for (size_t i = 0; i < kind->option_count; i++)
        put_option(&kind->options[i]);
}

static void put_json(const kith_kind_info *kind) {
    capability_text can;
    json_open(NULL, '{');
    json_text("kind", kind->name);
    json_text("summary", kind->summary);
    json_text("can", text_of_abilities(kind->capabilities, can));
    json_open("options", '[');
    for (size_t i = 0; i < kind->option_count; i++) {
        const kith_option *o = &kind->options[i];
        json_open(NULL, '{');
        json_text("option", o->name);
        json_text("values", o->values);
        json_text("default", o->fallback);
        json_text("meaning", o->meaning);
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

int command_kinds(const arguments *a) {
    size_t count = a->operand_count > 0 ? a->operand_count : kith_filter_kind_count();
    for (size_t i = 0; i < a->operand_count; i++)
        (void)kind_must(a->operands[i]); /* an unknown name is an error before anything is printed */
    if (a->json) {
        json_open(NULL, '{');
        json_open("kinds", '[');
    }
    for (size_t i = 0; i < count; i++) {
        const kith_kind_info *kind = a->operand_count > 0 ? kind_must(a->operands[i]) : kith_filter_kind_at(i);
        if (a->json)
            put_json(kind);
        else
            put_text(kind, i == 0);
    }
    if (a->json) {
        json_close(']');
        json_close('}');
        json_end();
    }
    return EXIT_FOUND;
}
