/* core/compiler.h: compiler features beyond C11. */
#ifndef KITHI_CORE_COMPILER_H
#define KITHI_CORE_COMPILER_H

/* A function body that is written once and compiled into each caller, with that caller's constants and instruction
 * set. */
#define KITHI_INLINE static inline __attribute__((always_inline))

/* KITHI_VALUE(type, a, b, …) is a struct of this type with the fields a, b, … It works in C and in C++, because this
 * file becomes part of kith/reader.h, which may be compiled as both. */
#ifdef __cplusplus
#define KITHI_VALUE(type, ...) (type{__VA_ARGS__})
#else
#define KITHI_VALUE(type, ...) ((type){__VA_ARGS__})
#endif

/* A function that is never inlined, so that its callers stay small. */
#define KITHI_OUTLINE static __attribute__((noinline, unused))

/* KITHI_TARGET_… compiles a function for that instruction set, whatever the rest of the library is compiled for. The
 * function begins at a cache line, so that its speed does not depend on the size of the functions before it: a lookup
 * of blocked that begins in the middle of a line takes a tenth longer on Zen 4. */
#if !defined(KITH_NO_SIMD) && defined(__x86_64__)
#define KITHI_HAVE_X86 1
#define KITHI_AVX2 "avx2,bmi,bmi2,popcnt"
#define KITHI_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"
#define KITHI_TARGET_AVX2 __attribute__((target(KITHI_AVX2), aligned(64)))
#define KITHI_TARGET_AVX512 __attribute__((target(KITHI_AVX512), aligned(64)))
#elif !defined(KITH_NO_SIMD) && defined(__AARCH64EL__) && defined(__ARM_NEON) /* EL: little-endian, like filter files */
#define KITHI_HAVE_NEON 1
#endif

#endif
