/* The one mutable global of the library: a mask that is computed on first use and never changes. Two threads that
 * come first at the same moment compute the same value, so relaxed order is enough. The compiler's own
 * __builtin_cpu_supports also asks the operating system (XGETBV) whether it saves the wide registers. */
#include "core/cpu.h"

#include <stdatomic.h>

#define KNOWN (UINT32_C(1) << 31)

static uint32_t detect(void) {
    uint32_t features = 0;
#if !defined(KITH_NO_SIMD) && (defined(__x86_64__) || defined(__i386__))
    if (__builtin_cpu_supports("avx2"))
        features |= KITHI_CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        features |= KITHI_CPU_AVX512;
#elif !defined(KITH_NO_SIMD) && defined(__ARM_NEON)
    features |= KITHI_CPU_NEON;
#endif
    return features;
}

uint32_t kithi_cpu_features(void) {
    static _Atomic uint32_t mask;
    uint32_t known = atomic_load_explicit(&mask, memory_order_relaxed);
    if (known == 0) {
        known = detect() | KNOWN;
        atomic_store_explicit(&mask, known, memory_order_relaxed);
    }
    return known & ~KNOWN;
}
