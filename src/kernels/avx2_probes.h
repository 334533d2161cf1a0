/* kernels/avx2_probes.h: the cells of a key in bloom, four at a time with AVX2. AVX2 multiplies words of 32 bits, so a
 * product of words of 64 bits is put together from several. In the formulas, w is a probe word (core/mix.h), s < 2^32
 * is the number of cells in a slice, and a_low and a_high are the two halves of a.
 *
 *     probe word, modulo 2^64    a * b        =  a_low b_low + ((a_low b_high + a_high b_low) << 32)
 *     cell in the slice          w * s >> 64  =  (w_high s + (w_low s >> 32)) >> 32 */
#ifndef KITHI_SIMD_AVX2_PROBES_H
#define KITHI_SIMD_AVX2_PROBES_H

#include <immintrin.h>

#include "core/compiler.h"
#include "core/mix.h"

#define KITHI_AVX2_SLICE_MAX UINT32_MAX /* the most cells in a slice for which kithi_avx2_cells() is correct */

/* The number of cells that kithi_avx2_cells() writes for each key: k, rounded up to whole vectors. */
#define KITHI_AVX2_CELLS(k) (((k) + 3) / 4 * 4)

/* Multiplies the four words of `a` by b0 to b3, modulo 2^64. */
KITHI_TARGET_AVX2 KITHI_INLINE __m256i kithi_avx2_product(__m256i a, uint64_t b0, uint64_t b1, uint64_t b2,
                                                          uint64_t b3) {
    __m256i b = _mm256_setr_epi64x((long long)b0, (long long)b1, (long long)b2, (long long)b3);
    __m256i cross =
        _mm256_add_epi64(_mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)), _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
}

/* Writes the cells of n keys, as kithi_probe_cell() computes them: those of key i begin at
 * cells[i * KITHI_AVX2_CELLS(k)]. The cells of a key after its k-th are not to be used. k is a constant. `slice` and
 * `stride` are those of kithi_slices_geometry. */
KITHI_TARGET_AVX2 KITHI_INLINE void kithi_avx2_cells(const uint64_t *digests, size_t n, unsigned k, uint64_t slice,
                                                     uint64_t stride, uint64_t *cells) {
    const uint64_t m = KITHI_PROBE_FACTOR;
    __m256i slices = _mm256_set1_epi64x((long long)slice), strides = _mm256_set1_epi64x((long long)stride);
    __m256i start = _mm256_mul_epu32(strides, _mm256_setr_epi64x(0, 1, 2, 3)),
            four_strides = _mm256_slli_epi64(strides, 2);
    for (size_t i = 0; i < n; i++) {
        __m256i first = start, words = _mm256_set1_epi64x((long long)digests[i]);
        words = kithi_avx2_product(words, m, m * m, m * m * m, m * m * m * m);
        for (unsigned j = 0; j < k; j += 4) {
            if (j != 0) {
                words = kithi_avx2_product(words, m * m * m * m, m * m * m * m, m * m * m * m, m * m * m * m);
                first = _mm256_add_epi64(first, four_strides);
            }
            __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(words, 32), slices);
            high = _mm256_add_epi64(high, _mm256_srli_epi64(_mm256_mul_epu32(words, slices), 32));
            __m256i four = _mm256_add_epi64(first, _mm256_srli_epi64(high, 32));
            _mm256_storeu_si256((__m256i *)(void *)(cells + i * KITHI_AVX2_CELLS(k) + j), four);
        }
    }
}

#endif
