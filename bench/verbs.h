/* verbs.h: the calls of libkith that are timed. The rest of the benchmark only uses these names, so timing another call
 * of the library needs one function here. Each returns how many digests were found, added or removed, or whether the
 * one digest was. The caller compares that with the expected number. */
#ifndef KITH_BENCH_VERBS_H
#define KITH_BENCH_VERBS_H

#include <kith/filter.h>

#include "bench.h"

/* ---- one digest ---- */

static inline bool verb_has(const kith_filter *f, uint64_t digest) {
    return kith_filter_has_digest(f, digest);
}

static inline bool verb_add(kith_filter *f, uint64_t digest) {
    return kith_filter_add_digest(f, digest, NULL) == KITH_OK;
}

static inline bool verb_remove(kith_filter *f, uint64_t digest) {
    return kith_filter_remove_digest(f, digest) == KITH_OK;
}

/* ---- many digests ---- */

static inline size_t verb_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe,
                                   unsigned threads) {
    return kith_filter_has_many_parallel(f, digests, n, maybe, threads);
}

/* More than one thread is allowed only if the kind has KITH_CAN_SHARE; each thread then uses its own adder. */
size_t verb_add_many(kith_filter *f, const uint64_t *digests, size_t n, unsigned threads);

static inline size_t verb_remove_many(kith_filter *f, const uint64_t *digests, size_t n) {
    size_t done = 0;
    return kith_filter_remove_many(f, digests, n, &done) == KITH_OK ? done : 0;
}

static inline kith_status verb_build(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned threads,
                                     kith_filter **f) {
    return kith_filter_build(spec, digests, n, KITH_BUILD_SET, threads, f);
}

#endif
