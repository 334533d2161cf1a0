/* Chooses the instruction set at first use and keeps it in the library's only mutable global. If two threads choose at
 * the same time, both find the same set, so relaxed order is enough. The compiler's __builtin_cpu_supports also checks,
 * with XGETBV, that the operating system saves the wide registers. */
#include "core/cpu.h"

#include <string.h>

static const char *const NAMES[KITHI_CPU_COUNT] = {"portable", "avx2", "avx512", "neon"};

_Atomic uint32_t kithi_cpu_in_use;

static bool supported(kithi_cpu cpu) {
    if (cpu == KITHI_CPU_PORTABLE)
        return true;
#ifdef KITHI_HAVE_X86
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt");
    if (cpu == KITHI_CPU_AVX2)
        return avx2;
    if (cpu == KITHI_CPU_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(KITHI_HAVE_NEON)
    if (cpu == KITHI_CPU_NEON)
        return true;
#endif
    return false;
}

static kithi_cpu best(void) {
    unsigned cpu = KITHI_CPU_COUNT - 1;
    while (!supported((kithi_cpu)cpu))
        cpu--;
    return (kithi_cpu)cpu;
}

static void use(kithi_cpu cpu) {
    atomic_store_explicit(&kithi_cpu_in_use, 1 + (uint32_t)cpu, memory_order_relaxed);
}

kithi_cpu kithi_cpu_find(void) {
    kithi_cpu cpu = best();
    use(cpu);
    return cpu;
}

const char *kith_cpu(void) {
    return NAMES[kithi_cpu_now()];
}

const char *kith_cpu_name(size_t index) {
    return index < KITHI_CPU_COUNT ? NAMES[index] : NULL;
}

kith_status kith_cpu_use(const char *name) {
    if (strcmp(name, "auto") == 0) {
        use(best());
        return KITH_OK;
    }
    unsigned cpu = 0;
    while (cpu < KITHI_CPU_COUNT && strcmp(NAMES[cpu], name) != 0)
        cpu++;
    if (cpu == KITHI_CPU_COUNT)
        return KITH_E_ARGUMENT;
    if (!supported((kithi_cpu)cpu))
        return KITH_E_UNSUPPORTED;
    use((kithi_cpu)cpu);
    return KITH_OK;
}
