/* trace.c: see trace.h. */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lab/result.h>
#include "example.h"

enum { LINE_MAX_BYTES = 256 };

void print(example *x, const char *format, ...) {
    char text[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check(x, bytes >= 0 && bytes < LINE_MAX_BYTES, "a line is too long"))
        x->say(x->context, text, (size_t)bytes);
}

void print_title(example *x, const char *title) {
    static const char RULE[] = "-------------------------------------------------------------------------------";
    print(x, "%s\n%.*s\n", title, (int)strlen(title), RULE);
}

void print_sources(example *x) {
    for (size_t i = 0; i < LAB_SOURCE_COUNT; i++) {
        const lab_source *s = &LAB_SOURCES[i];
        print(x, "[%zu] %s%s%s,\n    %s\n", i, s->author, *s->author != '\0' ? ", " : "", s->title, s->rest);
    }
}

bool check(example *x, bool holds, const char *sentence) {
    if (!holds && x->wrong == NULL)
        x->wrong = sentence;
    return x->wrong == NULL;
}

bool check_status(example *x, kith_status status) {
    return check(x, status == KITH_OK, kith_status_text(status));
}

const char *lab_trace(uint64_t seed, const char *const *keys, unsigned key_count, lab_say *say, void *context) {
    static void (*const FIGURES[])(
        example * x) = {trace_cuckoo, trace_unsliced, trace_bloom, trace_filter, trace_counting},
                  (*const OWN[])(example * x) = {trace_own_table, trace_bloom, trace_filter, trace_counting};
    example x = {.seed = seed, .keys = keys, .key_count = key_count, .say = say, .context = context};
    size_t count = key_count > 0 ? sizeof OWN / sizeof *OWN : sizeof FIGURES / sizeof *FIGURES;
    for (size_t i = 0; i < count && x.wrong == NULL; i++)
        (key_count > 0 ? OWN[i] : FIGURES[i])(&x);
    if (x.wrong == NULL)
        print_sources(&x);
    return x.wrong;
}
