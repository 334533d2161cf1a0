/* mix.h: the mixing function of SplitMix64 (Steele, Lea, Flood, 2014). The lab has its own copy, so that a fault in the
 * library's generator cannot hide itself from the experiments. */
#ifndef LAB_MIX_H
#define LAB_MIX_H

#include <stdint.h>

static inline uint64_t lab_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
