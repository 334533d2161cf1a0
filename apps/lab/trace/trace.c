/* trace.c: see trace.h. */
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lab/result.h>
#include "example.h"

enum { LINE_MAX_BYTES = 256, COLUMNS = 79 };

/* The examples, in the order in which they are drawn. */
static const struct {
    lab_trace_name name;
    void (*draw)(example *x);
    bool takes_keys; /* it works with any keys of the user */
} EXAMPLES[] = {
    {{"figure-1", "[4], figure 1: an insertion that moves three keys"}, trace_figure_1, false},
    {{"figure-2", "[4], figure 2: the cuckoo graph of that table"}, trace_figure_2, false},
    {{"figure-3a", "[4], figure 3a: a path longer than Max"}, trace_figure_3a, false},
    {{"figure-3b", "[4], figure 3b: a cycle, and then too long a path"}, trace_figure_3b, false},
    {{"figure-3c", "[4], figure 3c: a bad configuration"}, trace_figure_3c, false},
    {{"figure-4", "[4], figure 4: the graph after each edge was traversed once"}, trace_figure_4, false},
    {{"figure-5", "[4], figure 5: the keys of a walk that turns round, lemma 1"}, trace_figure_5, false},
    {{"figure-6", "[4], figure 6: the keys of a walk around two cycles"}, trace_figure_6, false},
    {{"figure-7", "[4], figure 7: the bits of one element in a Bloom filter"}, trace_one_element, false},
    {{"cycle", "one cycle is not a failure: the walk turns round"}, trace_cycle, false},
    {{"walk", "keys that walk into a cuckoo table"}, trace_walk, true},
    {{"search", "four slots per bucket: the breadth-first search"}, trace_search, false},
    {{"chain", "a hash table with chaining"}, trace_chain, true},
    {{"probe", "a hash table with open addressing"}, trace_probe, true},
    {{"2-figure-1", "[2], figure 1: a Bloom filter with 3 hash functions"}, trace_unsliced, false},
    {{"bloom", "a Bloom filter fills"}, trace_bloom, true},
    {{"2-figure-2", "[2], figure 2: a cuckoo filter with two full buckets"}, trace_filter_figure, false},
    {{"filter", "random kicks in a cuckoo filter"}, trace_filter, true},
    {{"counting", "a counting filter whose counters overflow"}, trace_counting, true},
};
enum { EXAMPLE_COUNT = sizeof EXAMPLES / sizeof *EXAMPLES };

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

word_list begin_list(example *x, unsigned indent) {
    return (word_list){x, indent, indent};
}

void print_word(word_list *l, const char *format, ...) {
    char text[COLUMNS + 1];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!check(l->x, bytes >= 0 && l->indent + (unsigned)bytes <= COLUMNS, "a word is too long"))
        return;
    bool first = l->column == l->indent;
    if (!first && l->column + 1 + (unsigned)bytes > COLUMNS) {
        print(l->x, "\n%*s", (int)l->indent, "");
        l->column = l->indent;
        first = true;
    }
    print(l->x, "%s%s", first ? "" : " ", text);
    l->column += (unsigned)bytes + !first;
}

void end_list(word_list *l) {
    print(l->x, "\n");
}

bool check(example *x, bool holds, const char *sentence) {
    if (!holds && x->wrong == NULL)
        x->wrong = sentence;
    return x->wrong == NULL;
}

bool check_status(example *x, kith_status status) {
    return check(x, status == KITH_OK, kith_status_text(status));
}

size_t lab_trace_count(void) {
    return EXAMPLE_COUNT;
}

const lab_trace_name *lab_trace_at(size_t i) {
    return &EXAMPLES[i].name;
}

bool lab_trace_takes_keys(size_t i) {
    return EXAMPLES[i].takes_keys;
}

const char *lab_trace(uint64_t seed, const bool *chosen, const char *const *keys, unsigned key_count, lab_say *say,
                      void *context) {
    example x = {.seed = seed, .keys = keys, .key_count = key_count, .say = say, .context = context};
    for (size_t i = 0; i < EXAMPLE_COUNT && x.wrong == NULL; i++)
        if (chosen[i])
            EXAMPLES[i].draw(&x);
    if (x.wrong == NULL)
        print_sources(&x);
    return x.wrong;
}
