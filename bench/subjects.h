/* subjects.h: measures a kind of filter together with the limits for its size, or a peer. */
#ifndef KITH_BENCH_SUBJECTS_H
#define KITH_BENCH_SUBJECTS_H

#include <kith/plan.h>

#include "limits.h"
#include "operations.h"
#include "peers.h"
#include "results.h"

/* A kind with one number of keys. */
typedef struct subject {
    const char *kind;
    double rate;
    kith_plan plan;
    /* The loops that measure its limits, by pages (plain, huge), work (lines of a present key, lines of an absent key,
     * lines changed) and threads (1, 2). */
    walk walks[2][3][2];
    char walk_names[3][32];
} subject;

/* Plans the kind. With rate 0 the rate is 1% for kinds that store bits or counters and 0.1% for kinds that store
 * fingerprints. Returns false and records the reason if there is no such plan. */
bool subject_plan(subject *s, const char *kind, size_t n, double rate, results *r);

/* Returns how many bytes a round needs in addition to the keys. */
uint64_t subject_bytes(const subject *s, size_t n);

/* Measures one round of the filter: the operations in `groups`, a combination of op_group. The first round also
 * measures the rate and checks that every key that was added is found. */
void subject_round(const subject *s, const keys *k, unsigned groups, bool first, results *r);

/* Measures one round of the limits on a block of the same size. The first round also chooses the prefetch distance. */
void subject_limits_round(subject *s, const keys *k, bool first, results *r);

/* Measures one round of a peer. */
void peer_round(const peer *p, double rate, const keys *k, bool first, results *r);

/* To be called after the last round: sets `floor` and `peer` of each row of the kind. */
void subject_link(const subject *s, const keys *k, results *r);

#endif
