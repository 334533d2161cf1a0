/* subjects.h: what a round measures: a kind of filter with the limits of its size of memory, or a peer. */
#ifndef KITH_BENCH_SUBJECTS_H
#define KITH_BENCH_SUBJECTS_H

#include <kith/plan.h>

#include "limits.h"
#include "operations.h"
#include "peers.h"
#include "results.h"

/* A kind at one n. */
typedef struct subject {
    const char *kind;
    double rate;
    kith_plan plan;
    walk walks[2][3]
              [2]; /* plain or huge pages; lines of a key in, lines of one absent, lines changed; 1 and 2 threads */
    char walk_names[3][32];
} subject;

/* Plans the kind; with rate 0 its own: 1% where keys are bits, 0.1% where they are fingerprints. Answers false, having said
 * so, when it can't be. */
bool subject_plan(subject *s, const char *kind, size_t n, double rate, results *r);

/* Bytes that a round takes beside the keys. */
uint64_t subject_bytes(const subject *s, size_t n);

/* A round of the filter: the operations of these families (a set of family). The first also measures the rate and looks whether all that went in is there. */
void subject_round(const subject *s, const keys *k, unsigned families, bool first, results *r);

/* A round of the limits on as much memory. The first also tunes them. */
void subject_limits_round(subject *s, const keys *k, bool first, results *r);

/* A round of a peer. */
void peer_round(const peer *p, double rate, const keys *k, bool first, results *r);

/* When all rounds are done: each row of the kind learns its floor and its peer. */
void subject_link(const subject *s, const keys *k, results *r);

#endif
