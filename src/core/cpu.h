/* core/cpu.h: the instruction set that kernels are taken for; public part: kith/cpu.h. */
#ifndef KITHI_CORE_CPU_H
#define KITHI_CORE_CPU_H

#include <stdatomic.h>

#include <kith/cpu.h>

#include "core/compiler.h"

/* In the order in which a better one is taken. */
typedef enum kithi_cpu {
    KITHI_CPU_PORTABLE,
    KITHI_CPU_AVX2,   /* with BMI1, BMI2 and POPCNT */
    KITHI_CPU_AVX512, /* F, BW, DQ and VL, beside those of AVX2 */
    KITHI_CPU_NEON,
    KITHI_CPU_COUNT
} kithi_cpu;

/* 1 + the set in use; 0 until it is asked for. For kithi_cpu_now() only. */
extern _Atomic uint32_t kithi_cpu_in_use;
kithi_cpu kithi_cpu_find(void);

/* The set in use. Any thread. */
static inline kithi_cpu kithi_cpu_now(void) {
    uint32_t known = atomic_load_explicit(&kithi_cpu_in_use, memory_order_relaxed);
    return known != 0 ? (kithi_cpu)(known - 1) : kithi_cpu_find();
}

#endif
