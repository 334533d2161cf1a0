/* story.h: what the stories of trace.h have in common; each is a file trace_*.c. */
#ifndef LAB_STORY_H
#define LAB_STORY_H

#include <stdbool.h>

#include <kith/kith.h>

#include "trace.h"

typedef struct story {
    uint64_t seed;
    lab_say *say;
    void *context;
    const char *wrong; /* NULL: nothing so far */
} story;

void tell(story *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of its own, with a rule under it. */
void tell_title(story *s, const char *title);

/* True, or the sentence is kept and the story ends: the first one counts. */
bool sure(story *s, bool holds, const char *sentence);
bool done(story *s, kith_status status);

void trace_cuckoo(story *s);
void trace_bloom(story *s);

#endif
