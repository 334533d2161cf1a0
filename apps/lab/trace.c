/* trace.c: see trace.h. */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "story.h"

enum { LINE_MAX_BYTES = 256 };

void tell(story *s, const char *format, ...) {
    char text[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (sure(s, bytes >= 0 && bytes < LINE_MAX_BYTES, "a line is too long"))
        s->say(s->context, text, (size_t)bytes);
}

void tell_title(story *s, const char *title) {
    static const char RULE[] = "-------------------------------------------------------------------------------";
    tell(s, "%s\n%.*s\n", title, (int)strlen(title), RULE);
}

bool sure(story *s, bool holds, const char *sentence) {
    if (!holds && s->wrong == NULL)
        s->wrong = sentence;
    return s->wrong == NULL;
}

bool done(story *s, kith_status status) {
    return sure(s, status == KITH_OK, kith_status_text(status));
}

const char *lab_trace(uint64_t seed, lab_say *say, void *context) {
    story s = {seed, say, context, NULL};
    trace_cuckoo(&s);
    if (s.wrong == NULL)
        trace_bloom(&s);
    return s.wrong;
}
