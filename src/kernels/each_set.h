/* kernels/each_set.h: compiles a file once per instruction set, each time with all instructions of that set.
 *
 *     #define KITHI_KERNELS "kinds/bloom/kernels.h"
 *     #include "kernels/each_set.h"
 *
 * In that file KITHI_SET(name) is the name of the set in use appended to `name`: has_portable, has_avx2 … So its
 * functions exist once per set, in one source file, without flags of the build system. Code that is the same for all
 * sets stays outside; what is KITHI_INLINE there is compiled with the instructions of the caller.
 *
 * Code without functions of its own for AVX-512 gains nothing from it over AVX2. A file of such code also defines
 * KITHI_AVX2_IS_ENOUGH, and its functions for AVX2 serve both.
 *
 * Afterwards, KITHI_EACH_SET(name) initialises an array of KITHI_CPU_COUNT pointers with the addresses of `name` of all
 * sets (core/cpu.h). A set that this processor family does not have is NULL. */
#include "core/cpu.h"

/* A function that begins at a cache line, so that its speed does not depend on the size of the functions before it: a
 * lookup of blocked that begins in the middle of a line takes a tenth longer on Zen 4. */
#define KITHI_KERNEL static __attribute__((aligned(64)))

#define KITHI_PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define KITHI_BEGIN_TARGET(set) KITHI_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define KITHI_END_TARGET KITHI_PRAGMA(clang attribute pop)
#else
#define KITHI_BEGIN_TARGET(set) KITHI_PRAGMA(GCC push_options) KITHI_PRAGMA(GCC target(set))
#define KITHI_END_TARGET KITHI_PRAGMA(GCC pop_options)
#endif

#define KITHI_SET(name) name##_portable
#include KITHI_KERNELS
#undef KITHI_SET

#ifdef KITHI_HAVE_X86
#define KITHI_SET(name) name##_avx2
KITHI_BEGIN_TARGET(KITHI_AVX2)
#include KITHI_KERNELS
KITHI_END_TARGET
#undef KITHI_SET

#ifdef KITHI_AVX2_IS_ENOUGH
#define KITHI_EACH_SET(name)                                                                                           \
    { [KITHI_CPU_PORTABLE] = &name##_portable, [KITHI_CPU_AVX2] = &name##_avx2, [KITHI_CPU_AVX512] = &name##_avx2 }
#else
#define KITHI_SET(name) name##_avx512
KITHI_BEGIN_TARGET(KITHI_AVX512)
#include KITHI_KERNELS
KITHI_END_TARGET
#undef KITHI_SET

#define KITHI_EACH_SET(name)                                                                                           \
    { [KITHI_CPU_PORTABLE] = &name##_portable, [KITHI_CPU_AVX2] = &name##_avx2, [KITHI_CPU_AVX512] = &name##_avx512 }
#endif
#elif defined(KITHI_HAVE_NEON)
#define KITHI_SET(name) name##_neon
#include KITHI_KERNELS
#undef KITHI_SET

#define KITHI_EACH_SET(name)                                                                                           \
    { [KITHI_CPU_PORTABLE] = &name##_portable, [KITHI_CPU_NEON] = &name##_neon }
#else
#define KITHI_EACH_SET(name)                                                                                           \
    { [KITHI_CPU_PORTABLE] = &name##_portable }
#endif
