/* core/cpu.h: what this processor can do, found out once. */
#ifndef KITHI_CORE_CPU_H
#define KITHI_CORE_CPU_H

#include <stdint.h>

typedef enum kithi_cpu_feature {
    KITHI_CPU_AVX2 = 1 << 0,
    KITHI_CPU_AVX512 = 1 << 1, /* F, BW, DQ and VL together */
    KITHI_CPU_NEON = 1 << 2,
} kithi_cpu_feature;

/* The features that both processor and operating system support; 0 in a build with KITH_NO_SIMD. Any thread. */
uint32_t kithi_cpu_features(void);

#endif
