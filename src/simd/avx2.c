/* AVX2: vectors of 32 bytes whose lanes can be shifted each by its own amount. */
#include "simd/simd.h"

#ifdef KITHI_HAVE_AVX2

#include <immintrin.h>
#include <stdbool.h>

#include "core/batch.h"
#include "core/mix.h"

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline))

/* ---- blocked ----
 *
 * The bits of a key are one in each lane of its 64-byte block: the key's bytes, spread to the lanes, say by how much a 1 is
 * shifted in each. */

AVX2 INLINE bool holds(const uint8_t *block, __m256i low, __m256i high) {
    __m256i first = _mm256_loadu_si256((const __m256i *)block);
    __m256i second = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i missing = _mm256_or_si256(_mm256_andnot_si256(first, low), _mm256_andnot_si256(second, high));
    return _mm256_testz_si256(missing, missing) != 0;
}

AVX2 INLINE bool blocked_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    __m128i bytes = _mm_cvtsi64_si128((long long)kithi_word(digest, 0));
    if (lanes == 8) {
        __m256i one = _mm256_set1_epi64x(1);
        __m256i low = _mm256_srli_epi64(_mm256_cvtepu8_epi64(bytes), 2);
        __m256i high = _mm256_srli_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4)), 2);
        return holds(block, _mm256_sllv_epi64(one, low), _mm256_sllv_epi64(one, high));
    }
    __m128i more = _mm_cvtsi64_si128((long long)kithi_word(digest, 1));
    __m256i one = _mm256_set1_epi32(1);
    __m256i low = _mm256_srli_epi32(_mm256_cvtepu8_epi32(bytes), 3);
    __m256i high = _mm256_srli_epi32(_mm256_cvtepu8_epi32(more), 3);
    return holds(block, _mm256_sllv_epi32(one, low), _mm256_sllv_epi32(one, high));
}

typedef struct blocked {
    const uint8_t *body;
    uint64_t blocks;
} blocked;

AVX2 INLINE const uint8_t *block_of(const blocked *b, uint64_t digest) {
    return b->body + kithi_mulhi(digest, b->blocks) * 64;
}

AVX2 static void blocked_prefetch(const void *context, uint64_t digest) {
    __builtin_prefetch(block_of(context, digest));
}

AVX2 static bool blocked_has_8(const void *context, uint64_t digest) {
    return blocked_has(block_of(context, digest), digest, 8);
}

AVX2 static bool blocked_has_16(const void *context, uint64_t digest) {
    return blocked_has(block_of(context, digest), digest, 16);
}

AVX2 size_t kithi_avx2_blocked_has_many(const uint8_t *body, uint64_t blocks, unsigned lanes, const uint64_t *digests,
                                        size_t n, uint64_t *maybe) {
    blocked b = {body, blocks};
    return lanes == 8 ? kithi_has_many(&b, digests, n, maybe, blocked_has_8, blocked_prefetch)
                      : kithi_has_many(&b, digests, n, maybe, blocked_has_16, blocked_prefetch);
}

#else
typedef int no_kernels_here; /* a file may not be empty */
#endif
