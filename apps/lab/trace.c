/* trace.c: see trace.h. */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "result.h"
#include "trace_example.h"

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

const char *lab_trace(uint64_t seed, lab_say *say, void *context) {
    example x = {.seed = seed, .say = say, .context = context};
    trace_cuckoo(&x);
    if (x.wrong == NULL)
        trace_bloom(&x);
    if (x.wrong == NULL) {
        print(&x, "\n");
        print_sources(&x);
    }
    return x.wrong;
}
