/* limits.h: measures how fast the machine itself is on a block of memory of a filter's size. */
#ifndef KITH_BENCH_LIMITS_H
#define KITH_BENCH_LIMITS_H

#include <kith/hash.h>
#include "bench.h"

/* Mapped memory whose pages have been touched: huge pages (aligned to 2 MiB, MADV_HUGEPAGE) or plain ones
 * (MADV_NOHUGEPAGE). */
typedef struct block {
    uint64_t *words;
    size_t bytes; /* a multiple of 64 */
    void *map;
    size_t map_bytes;
} block;

block block_map(size_t bytes, bool huge);
void block_unmap(block *b);

/* A loop over digests that accesses `lines` random cache lines of the block for each. It prefetches them some digests
 * in advance, then reads one word of each line and changes that word in the first `writes` lines. */
typedef struct walk {
    unsigned lines, writes, threads;
    size_t prefetch_distance; /* digests between prefetch and use */
} walk;

/* Runs the loop. Returns nanoseconds per digest. */
double limit_walk(const walk *w, block *b, const uint64_t *digests, size_t n);

/* Returns the fastest of the prefetch distances 8, 16 and 32, measured on up to a million of the digests. */
size_t limit_best_distance(const walk *w, block *b, const uint64_t *digests, size_t n);

/* Reads the block from beginning to end. Returns nanoseconds per line of 64 bytes. */
double limit_sequence(const block *b);

/* A way to compute digests of 16-byte keys: one call per key, or one call for many. */
typedef struct hashing {
    const char *name;
    kith_hash_id hash;
    bool many;
} hashing;

extern const hashing HASHINGS[];
extern const size_t HASHING_COUNT;

/* Returns nanoseconds per key. */
double limit_digest(const hashing *h, size_t n);

/* Returns the available memory in bytes, or 0 if the system does not report it. */
uint64_t memory_available(void);

#endif
