/* results.h: what was measured, kept until the end. */
#ifndef KITH_BENCH_RESULTS_H
#define KITH_BENCH_RESULTS_H

#include "bench.h"

/* One figure a round. Who, name, n, rate, op, threads and pages together name a row; texts are constant or live as long. */
typedef struct row {
    const char *who; /* "kith", "limit", or a peer's name */
    const char
        *name; /* of the kind; of a limit, the kind on whose size of memory it was measured; "" where there is none */
    size_t n;
    double rate; /* 0 for limits */
    const char *op;
    unsigned threads;
    const char *pages; /* "huge" or "plain" for limits, else "" */
    double *ns;        /* nanoseconds an operation, `rounds` of them */
    size_t rounds;
    const struct row *floor[2]; /* the limit that this row is held against, or two whose mean is; or NULL */
    const struct row *peer;     /* or NULL */
} row;

/* What does not depend on time. */
typedef struct fact {
    const char *who, *name;
    size_t n;
    double rate;          /* asked for */
    double measured_rate; /* share of absent digests answered yes */
    uint64_t bytes;       /* of the file, or of the peer's memory */
    unsigned lines;       /* as the plan says; 0 for peers */
} fact;

typedef struct results {
    row **rows;
    size_t row_count;
    fact *facts;
    size_t fact_count;
    char (*skipped)[160]; /* a sentence each */
    size_t skipped_count;
} results;

/* The row of these names, made when it is not there. */
row *results_row(results *r, const row *like);

/* The same, or NULL. */
row *results_find(const results *r, const row *like);

void results_push(row *into, double ns);
void results_fact(results *r, const fact *f);
const fact *results_fact_of(const results *r, const char *who, const char *name, size_t n, double rate);

/* Says it on stderr too. */
void results_skip(results *r, const char *format, ...);

void results_free(results *r);

double row_least(const row *w);
double row_most(const row *w);
double row_median(const row *w);

/* Slowest less fastest round, as a share of the median. */
double row_spread(const row *w);

/* The median of the floor, or 0 where there is none; likewise of the peer. */
double row_floor(const row *w);
double row_peer(const row *w);

#endif
