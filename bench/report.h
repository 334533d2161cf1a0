/* report.h: the results as a table for people and as JSON for programs. */
#ifndef KITH_BENCH_REPORT_H
#define KITH_BENCH_REPORT_H

#include <stdio.h>

#include "subjects.h"

/* How the run was asked for. */
typedef struct run_facts {
    size_t rounds, most_asks;
    const char *clock;
} run_facts;

/* The table of one n on stdout: operations down, kinds across. */
void report_table(const results *r, const subject *subjects, size_t subject_count, size_t n, size_t rounds);

/* The whole run with a description of the machine; docs/performance.md has the fields. */
void report_json(FILE *to, const results *r, const run_facts *facts);

#endif
