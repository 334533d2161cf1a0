/* splitmix.h: SplitMix64 (Steele, Lea, Flood, 2014), the source of random words of the tests. It is not the library's
 * (core/prng.h): a fault there must not change the keys with which the tests find it. */
#ifndef KITH_TESTS_SPLITMIX_H
#define KITH_TESTS_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser: a bijection, so different words stay different. */
static inline uint64_t splitmix_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t splitmix_next(uint64_t *state) {
    return splitmix_mix(*state += SPLITMIX_STEP);
}

#endif
