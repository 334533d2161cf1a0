/* example.h: the functions that the step-by-step examples of trace.h share. Each group of examples is one of the other
 * files. */
#ifndef LAB_TRACE_EXAMPLE_H
#define LAB_TRACE_EXAMPLE_H

#include <stdbool.h>

#include <kith/inspect.h>
#include <kith/kith.h>

#include "trace.h"

typedef struct example {
    uint64_t seed;
    const char *const *keys; /* of the user */
    unsigned key_count;      /* 0: the keys of the example */
    lab_say *say;
    void *context;
    const char *wrong; /* the first error; NULL if there was none */
} example;

void print(example *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a title on a line by itself and underlines it. */
void print_title(example *x, const char *title);

/* Writes which documents [0] to [4] are. */
void print_sources(example *x);

/* Return true if `holds`, or if the status is KITH_OK, and there was no error before. Otherwise the first error is
 * kept and the example ends. */
bool check(example *x, bool holds, const char *sentence);
bool check_status(example *x, kith_status status);

/* ---- lists that wrap ---- */

/* A list of words in lines of at most 79 columns. Continued lines are indented by `indent` blanks. */
typedef struct word_list {
    example *x;
    unsigned indent, column;
} word_list;

/* Begins a list behind what was printed on this line, which ends in column `indent`. */
word_list begin_list(example *x, unsigned indent);
void print_word(word_list *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
void end_list(word_list *l);

/* ---- the examples ---- */

void trace_figure_1(example *x);
void trace_figure_2(example *x);
void trace_figure_3a(example *x);
void trace_figure_3b(example *x);
void trace_figure_3c(example *x);
void trace_figure_4(example *x);
void trace_figure_5(example *x);
void trace_figure_6(example *x);
void trace_cycle(example *x);
void trace_walk(example *x);
void trace_search(example *x);
void trace_chain(example *x);
void trace_probe(example *x);
void trace_bloom(example *x);
void trace_unsliced(example *x);
void trace_one_element(example *x);
void trace_filter(example *x);
void trace_filter_figure(example *x);
void trace_counting(example *x);

#endif
