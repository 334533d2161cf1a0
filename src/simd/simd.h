/* simd/simd.h: batch kernels for one instruction set each, beside the portable bodies in the kinds, which are the reference:
 * the same answers for every input. A kernel may be called when kithi_cpu_features() has its set. */
#ifndef KITHI_SIMD_SIMD_H
#define KITHI_SIMD_SIMD_H

#include <stddef.h>
#include <stdint.h>

#if !defined(KITH_NO_SIMD) && defined(__x86_64__)
#define KITHI_HAVE_AVX2 1

/* has_many of blocked, for 8 or 16 lanes; maybe may be NULL. */
size_t kithi_avx2_blocked_has_many(const uint8_t *body, uint64_t blocks, unsigned lanes, const uint64_t *digests,
                                   size_t n, uint64_t *maybe);
#endif

#endif
