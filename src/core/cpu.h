/* core/cpu.h: which instruction set is in use. Filter kinds choose their functions by it (kithi_kernels in kind.h), and
 * so does the hashing of many keys (digests.c). The public part is kith/cpu.h. */
#ifndef KITHI_CORE_CPU_H
#define KITHI_CORE_CPU_H

#include <stdatomic.h>

#include <kith/cpu.h>

#include "core/compiler.h"

/* In order of preference: the last supported one is the best. */
typedef enum kithi_cpu {
    KITHI_CPU_PORTABLE,
    KITHI_CPU_AVX2,   /* with BMI1, BMI2 and POPCNT */
    KITHI_CPU_AVX512, /* F, BW, DQ and VL, in addition to those of AVX2 */
    KITHI_CPU_NEON,
    KITHI_CPU_COUNT
} kithi_cpu;

/* 1 + the instruction set in use; 0 until the first use. For kithi_cpu_now() only. */
extern _Atomic uint32_t kithi_cpu_in_use;
/* Stores the best supported instruction set in kithi_cpu_in_use, and returns it. */
kithi_cpu kithi_cpu_find(void);

/* Returns the instruction set in use. Safe to call from any thread. */
static inline kithi_cpu kithi_cpu_now(void) {
    uint32_t known = atomic_load_explicit(&kithi_cpu_in_use, memory_order_relaxed);
    return known != 0 ? (kithi_cpu)(known - 1) : kithi_cpu_find();
}

#endif
