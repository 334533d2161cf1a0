/* peers.h: other people's filters behind the few verbs that they have in common. */
#ifndef KITH_BENCH_PEERS_H
#define KITH_BENCH_PEERS_H

#include "bench.h"

typedef struct peer {
    const char *name;
    const char *(*version)(void);
    /* An empty filter, its memory touched, with its size in *bytes; NULL when it can't be made so large. */
    void *(*create)(size_t n, double rate, uint64_t *bytes);
    void (*destroy)(void *filter);
    void (*clear)(void *filter);
    /* One by one, each digest a key of 8 bytes: peers hash for themselves. */
    void (*add)(void *filter, const uint64_t *digests, size_t n);
    size_t (*has)(void *filter, const uint64_t *digests, size_t n);
} peer;

/* The peers that were found when the bench was built; the last is NULL. */
extern const peer *const peers[];

#endif
