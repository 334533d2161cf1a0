/* Chooses the instruction set at first use and keeps it in the library's only mutable global. If two threads choose at
 * the same time, both find the same set, so relaxed order is enough. */
#include "core/cpu.h"

#include <string.h>

#ifdef KITHI_HAVE_X86
#include <cpuid.h>
#endif

static const char *const NAMES[KITHI_CPU_COUNT] = {"portable", "avx2", "avx512", "neon"};

_Atomic uint32_t kithi_cpu_in_use;

#ifdef KITHI_HAVE_X86
/* The processor is asked directly, because not every compiler's library has what __builtin_cpu_supports needs. XGETBV
 * tells which registers the operating system saves: bits 1 and 2 are those of AVX, 5 to 7 those of AVX-512. */
static bool x86_has(kithi_cpu cpu) {
    enum { OSXSAVE = 1 << 27, POPCNT = 1 << 23, BMI = 1 << 3, AVX2 = 1 << 5, BMI2 = 1 << 8 };
    const unsigned f_dq = 1u << 16 | 1u << 17, bw_vl = 1u << 30 | 1u << 31;
    unsigned a, b, c, d, saved, saved_high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !(c & POPCNT) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    __asm__("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
    bool avx2 = (saved & 0x6) == 0x6 && (b & BMI) && (b & AVX2) && (b & BMI2);
    return avx2 && (cpu == KITHI_CPU_AVX2 || ((saved & 0xE0) == 0xE0 && (b & f_dq) == f_dq && (b & bw_vl) == bw_vl));
}
#endif

static bool supported(kithi_cpu cpu) {
    if (cpu == KITHI_CPU_PORTABLE)
        return true;
#ifdef KITHI_HAVE_X86
    if (cpu == KITHI_CPU_AVX2 || cpu == KITHI_CPU_AVX512)
        return x86_has(cpu);
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
