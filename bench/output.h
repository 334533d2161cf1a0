/* output.h: prints the results as a table and writes them as JSON. */
#ifndef KITH_BENCH_OUTPUT_H
#define KITH_BENCH_OUTPUT_H

#include <stdio.h>

#include "subjects.h"

/* The options of the run that are recorded in the JSON. */
typedef struct run_settings {
    size_t rounds, max_lookups;
    const char *clock;
} run_settings;

/* Prints the table for one n on stdout: one row per operation, one column per kind. */
void print_table(const results *r, const subject *subjects, size_t subject_count, size_t n, size_t rounds);

/* Writes the whole run with a description of the machine. docs/performance.md describes the fields. */
void write_json(FILE *to, const results *r, const run_settings *settings);

#endif
