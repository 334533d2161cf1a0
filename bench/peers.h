/* peers.h: the interface through which filters of other libraries are measured. */
#ifndef KITH_BENCH_PEERS_H
#define KITH_BENCH_PEERS_H

#include "bench.h"

typedef struct peer {
    const char *name;
    const char *(*version)(void);
    /* Creates an empty filter, touches its memory and sets *bytes to its size. Returns NULL if it cannot be that large.
     * */
    void *(*create)(size_t n, double rate, uint64_t *bytes);
    void (*destroy)(void *filter);
    void (*clear)(void *filter);
    /* Make one call per digest and pass it as a key of 8 bytes, which the peer hashes itself. */
    void (*add)(void *filter, const uint64_t *digests, size_t n);
    size_t (*has)(void *filter, const uint64_t *digests, size_t n);
} peer;

/* The peers that were found when the benchmark was built, followed by NULL. */
extern const peer *const peers[];

#endif
