/* example.h: the functions that the step-by-step examples of trace.h share. Each example is one of the other files. */
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

void trace_cuckoo(example *x);
void trace_own_table(example *x); /* the keys of the user in a cuckoo table */
void trace_bloom(example *x);
void trace_unsliced(example *x);
void trace_filter(example *x);
void trace_counting(example *x);

#endif
