/* kernels.h: batches of a kind, compiled once for each instruction set.
 *
 *     KITHI_HAS_MANY(has_body)                a kind names the bodies of its batches …
 *     KITHI_ADD_MANY(add_body)
 *     KITHI_REMOVE_MANY(remove_body)
 *     …
 *     .kernels = KITHI_KERNELS,               … and its record takes what became of them
 *
 * A body is a KITHI_INLINE function, written once and portable: compiled for a set it gains that set's shifts, products
 * and bit counts. Where vectors do better than that, a kind has bodies of its own for a set (simd/). AVX-512 adds
 * nothing to a body without vectors, so it shares the code of AVX2. */
#ifndef KITHI_KERNELS_H
#define KITHI_KERNELS_H

#include "core/batch.h"
#include "core/cpu.h"
#include "kind.h"

/* add_many or remove_many of a verb for one digest, up to the first that fails. */
KITHI_INLINE kith_status kithi_change_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                           size_t *done,
                                           kith_status (*change)(kith_filter *f, uint64_t digest, bool *was_new),
                                           void (*prefetch)(const void *f, uint64_t digest)) {
    for (size_t i = 0; i < n && i < KITHI_AHEAD; i++)
        prefetch(f, digests[i]);
    for (size_t i = 0; i < n; i++) {
        if (n - i > KITHI_AHEAD)
            prefetch(f, digests[i + KITHI_AHEAD]);
        bool is_new = false;
        kith_status status = change(f, digests[i], &is_new);
        if (status != KITH_OK)
            return status;
        kithi_bitmap_set(was_new, i, is_new);
        ++*done;
    }
    return KITH_OK;
}

#ifdef KITHI_HAVE_X86
#define KITHI_EACH_SET(DEFINE, body) DEFINE(portable, , body) DEFINE(avx2, KITHI_TARGET_AVX2, body)
#define KITHI_KERNELS_BY(portable, avx2, avx512, neon)                                                                 \
    { [KITHI_CPU_PORTABLE] = portable, [KITHI_CPU_AVX2] = avx2, [KITHI_CPU_AVX512] = avx512 }
#elif defined(KITHI_HAVE_NEON)
#define KITHI_EACH_SET(DEFINE, body) DEFINE(portable, , body)
#define KITHI_KERNELS_BY(portable, avx2, avx512, neon)                                                                 \
    { [KITHI_CPU_PORTABLE] = portable, [KITHI_CPU_NEON] = neon }
#else
#define KITHI_EACH_SET(DEFINE, body) DEFINE(portable, , body)
#define KITHI_KERNELS_BY(portable, avx2, avx512, neon)                                                                 \
    { [KITHI_CPU_PORTABLE] = portable }
#endif

#define KITHI_HAS_MANY_FOR(set, TARGET, body)                                                                          \
    TARGET static size_t has_many_##set(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {    \
        return body(f, digests, n, maybe);                                                                             \
    }
#define KITHI_ADD_MANY_FOR(set, TARGET, body)                                                                          \
    TARGET static kith_status add_many_##set(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,     \
                                             size_t *done) {                                                           \
        return body(f, digests, n, was_new, done);                                                                     \
    }
#define KITHI_REMOVE_MANY_FOR(set, TARGET, body)                                                                       \
    TARGET static kith_status remove_many_##set(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {     \
        return body(f, digests, n, done);                                                                              \
    }

#define KITHI_HAS_MANY(body) KITHI_EACH_SET(KITHI_HAS_MANY_FOR, body)
#define KITHI_ADD_MANY(body) KITHI_EACH_SET(KITHI_ADD_MANY_FOR, body)
#define KITHI_REMOVE_MANY(body) KITHI_EACH_SET(KITHI_REMOVE_MANY_FOR, body)

/* Of one set; `has` is a function of the kind, or the kind's of that set. */
#define KITHI_SET(set, has)                                                                                            \
    { has_many_##set, add_many_##set, remove_many_##set, has }
#define KITHI_SET_THAT_KEEPS(set, has)                                                                                 \
    { has_many_##set, add_many_##set, NULL, has }
#define KITHI_KERNELS                                                                                                  \
    KITHI_KERNELS_BY(KITHI_SET(portable, has), KITHI_SET(avx2, has), KITHI_SET(avx2, has), KITHI_SET(portable, has))
#define KITHI_KERNELS_THAT_KEEP                                                                                        \
    KITHI_KERNELS_BY(KITHI_SET_THAT_KEEPS(portable, has), KITHI_SET_THAT_KEEPS(avx2, has),                             \
                     KITHI_SET_THAT_KEEPS(avx2, has), KITHI_SET_THAT_KEEPS(portable, has))

#endif
