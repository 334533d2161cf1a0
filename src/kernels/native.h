/* kernels/native.h: includes the vector code for the instruction set that the including file is compiled for. This is
 * for kith/reader.h; the library itself chooses an instruction set at run time. Defines KITHI_NATIVE_AVX512,
 * KITHI_NATIVE_AVX2 or KITHI_NATIVE_NEON, or none of them. */
#ifndef KITHI_SIMD_NATIVE_H
#define KITHI_SIMD_NATIVE_H

#include "core/compiler.h"

#if !defined(KITHI_HAVE_X86)
#if defined(KITHI_HAVE_NEON)
#define KITHI_NATIVE_NEON 1
#include "kernels/neon.h"
#endif
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KITHI_NATIVE_AVX512 1
#include "kernels/avx512.h"
#elif defined(__AVX2__)
#define KITHI_NATIVE_AVX2 1
#include "kernels/avx2.h"
#endif

#endif
