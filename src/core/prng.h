/* core/prng.h: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014): 64 bits of state,
 * every 64-bit value once a period. For tests, experiments and tables that draw functions; no filter draws while it
 * adds. */
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

/* Uniform in [0, range), range > 0. */
static inline uint64_t kithi_prng_below(kithi_prng *prng, uint64_t range) {
    return kithi_mulhi(kithi_prng_next(prng), range);
}

#endif
