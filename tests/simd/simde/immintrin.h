/* Provides AVX-512 intrinsics on processors without AVX-512: those of SIMDe, under Intel's names. This header replaces
 * the compiler's, whose functions with these names cannot be called on such processors. */
#ifndef KITH_TESTS_SIMDE_IMMINTRIN_H
#define KITH_TESTS_SIMDE_IMMINTRIN_H

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* Intrinsics that SIMDe 0.7 lacks, written after Intel's descriptions. */

#ifndef __mmask8
#define __mmask8 simde__mmask8
#endif

#ifndef __mmask16
#define __mmask16 simde__mmask16
#endif

#ifndef _mm512_cvtepu8_epi32
#define _mm512_cvtepu8_epi32 simde_extra_cvtepu8_epi32
static inline simde__m512i simde_extra_cvtepu8_epi32(simde__m128i a) {
    simde__m128i_private from = simde__m128i_to_private(a);
    simde__m512i_private to;
    for (int i = 0; i < 16; i++)
        to.u32[i] = from.u8[i];
    return simde__m512i_from_private(to);
}
#endif

#ifndef _mm512_cvtepu8_epi64
#define _mm512_cvtepu8_epi64 simde_extra_cvtepu8_epi64
static inline simde__m512i simde_extra_cvtepu8_epi64(simde__m128i a) {
    simde__m128i_private from = simde__m128i_to_private(a);
    simde__m512i_private to;
    for (int i = 0; i < 8; i++)
        to.u64[i] = from.u8[i];
    return simde__m512i_from_private(to);
}
#endif

#ifndef _mm512_cmpneq_epi32_mask
#define _mm512_cmpneq_epi32_mask simde_extra_cmpneq_epi32_mask
static inline simde__mmask16 simde_extra_cmpneq_epi32_mask(simde__m512i a, simde__m512i b) {
    simde__m512i_private x = simde__m512i_to_private(a), y = simde__m512i_to_private(b);
    unsigned mask = 0;
    for (int i = 0; i < 16; i++)
        mask |= (unsigned)(x.u32[i] != y.u32[i]) << i;
    return (simde__mmask16)mask;
}
#endif

#ifndef _mm512_cmpneq_epi64_mask
#define _mm512_cmpneq_epi64_mask simde_extra_cmpneq_epi64_mask
static inline simde__mmask8 simde_extra_cmpneq_epi64_mask(simde__m512i a, simde__m512i b) {
    simde__m512i_private x = simde__m512i_to_private(a), y = simde__m512i_to_private(b);
    unsigned mask = 0;
    for (int i = 0; i < 8; i++)
        mask |= (unsigned)(x.u64[i] != y.u64[i]) << i;
    return (simde__mmask8)mask;
}
#endif

#endif
