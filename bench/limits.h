/* limits.h: what the machine itself can do on as much memory as a filter takes. */
#ifndef KITH_BENCH_LIMITS_H
#define KITH_BENCH_LIMITS_H

#include <kith/hash.h>
#include "bench.h"

/* Memory of its own pages, touched: huge ones (aligned to 2 MiB, MADV_HUGEPAGE) or plain ones (MADV_NOHUGEPAGE). */
typedef struct block {
    uint64_t *words;
    size_t bytes; /* a multiple of 64 */
    void *map;
    size_t map_bytes;
} block;

block block_take(size_t bytes, bool huge);
void block_give(block *b);

/* A walk: for each digest `lines` random lines of the block are prefetched some digests ahead, then a word of each is read, and
 * in the first `writes` of them written back changed. */
typedef struct walk {
    unsigned lines, writes, threads;
    size_t ahead; /* digests between prefetch and use */
} walk;

/* Nanoseconds a digest. */
double limit_walk(const walk *w, block *b, const uint64_t *digests, size_t n);

/* The best of 8, 16 and 32 ahead, tried on some of the digests. */
size_t limit_ahead(const walk *w, block *b, const uint64_t *digests, size_t n);

/* Reading the block from end to end, in nanoseconds a line of 64 bytes. */
double limit_sequence(const block *b);

/* What digests of keys of 16 bytes take, in nanoseconds a key: each by a call of its own, or many at once. */
typedef struct hashing {
    const char *name;
    kith_hash_id hash;
    bool many;
} hashing;

extern const hashing HASHINGS[];
extern const size_t HASHING_COUNT;

double limit_digest(const hashing *h, size_t n);

/* Bytes that the system would give without taking them from others; 0 where it does not say. */
uint64_t memory_available(void);

#endif
