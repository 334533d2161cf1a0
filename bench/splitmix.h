/* splitmix.h: SplitMix64 (Steele, Lea, Flood, 2014), the source of keys and random words of the benchmarks. */
#ifndef KITH_BENCH_SPLITMIX_H
#define KITH_BENCH_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser: a bijection, so different words stay different. */
static inline uint64_t splitmix_mix(uint64_t word) {
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t splitmix_next(uint64_t *state) {
    return splitmix_mix(*state += SPLITMIX_STEP);
}

#endif
