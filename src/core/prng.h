/* core/prng.h: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014). It has 64 bits
 * of state and returns every 64-bit value once in 2^64 calls. It is for tests, for the state of hash functions
 * (function.c), and for tables, which draw the seeds of their functions and the choices of random walks from it.
 * Filters do not use it: the random walk of a cuckoo filter takes its numbers from a hash of region, place and
 * fingerprint (kinds/shared/cuckoo_walk.h). */
#ifndef KITHI_CORE_PRNG_H
#define KITHI_CORE_PRNG_H

#include "core/mix.h"

typedef struct kithi_prng {
    uint64_t state;
} kithi_prng;

static inline uint64_t kithi_prng_next(kithi_prng *prng) {
    prng->state += KITHI_GOLDEN;
    return kithi_mix(prng->state);
}

/* Returns a number in [0, range) that is as good as uniform: see kithi_mulhi(). `range` must be greater than 0. */
static inline uint64_t kithi_prng_below(kithi_prng *prng, uint64_t range) {
    return kithi_mulhi(kithi_prng_next(prng), range);
}

#endif
