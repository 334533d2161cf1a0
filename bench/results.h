/* results.h: stores all measurements until the end of the run. */
#ifndef KITH_BENCH_RESULTS_H
#define KITH_BENCH_RESULTS_H

#include "bench.h"

/* The times of one operation, one per round. who, name, n, rate, op, threads and pages together identify a row. Strings
 * are not copied and must live as long as the results. */
typedef struct row {
    const char *who;  /* "kith", "limit", or a peer's name */
    const char *name; /* the kind; for a limit, the kind whose size of memory it was measured on; otherwise "" */
    size_t n;
    double rate; /* 0 for limits */
    const char *op;
    unsigned threads;
    const char *pages; /* "huge" or "plain" for limits, otherwise "" */
    double *ns;        /* nanoseconds per operation, `rounds` of them */
    size_t rounds;
    const struct row *floor[2]; /* the limit that this row is compared with; if there are two, their mean; or NULL */
    const struct row *peer;     /* the peer's row that this row is compared with, or NULL */
} row;

/* The properties of a filter that do not depend on time. */
typedef struct fact {
    const char *who, *name;
    size_t n;
    double rate;          /* requested */
    double measured_rate; /* share of absent digests that are reported as present */
    uint64_t bytes;       /* size of the file, or of the peer's memory */
    unsigned lines;       /* cache lines per lookup according to the plan; 0 for peers */
} fact;

typedef struct results {
    row **rows;
    size_t row_count;
    fact *facts;
    size_t fact_count;
    char (*skipped)[160]; /* one sentence for each filter that was not measured */
    size_t skipped_count;
} results;

/* Returns the row that is identified by the same fields as `like`, and creates it if necessary. */
row *results_row(results *r, const row *like);

/* Returns that row, or NULL if there is none. */
row *results_find(const results *r, const row *like);

void results_push(row *into, double ns);
void results_fact(results *r, const fact *f);
const fact *results_fact_of(const results *r, const char *who, const char *name, size_t n, double rate);

/* Records why a filter was not measured, and prints it on stderr. */
void results_skip(results *r, const char *format, ...);

void results_free(results *r);

double row_min(const row *w);
double row_max(const row *w);
double row_median(const row *w);

/* Returns (slowest round - fastest round) / median. */
double row_spread(const row *w);

/* Return the median of the row's limit, and of its peer, or 0 if there is none. */
double row_floor(const row *w);
double row_peer(const row *w);

#endif
