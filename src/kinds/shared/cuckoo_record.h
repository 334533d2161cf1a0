/* kinds/shared/cuckoo_record.h: the operations of a cuckoo kind, compiled for its layout. cuckoo.c and overlap.c each
 * include it, and define before that:
 *
 *     LAYOUT            the address of the kithi_cf_layout
 *     PLACES            the kithi_place_type of the usual places (core/batch.h)
 *     HAS_WIDE_BUCKETS  whether there are places of the type KITHI_CF_WIDE_BUCKETS, too
 *     has_key()         a KITHI_INLINE function: the lookup of a digest in a filter
 *
 * It defines KITHI_CF_OPERATIONS, all fields of the record but `lookup`, `info` and `plan`. */
#include "kinds/shared/cuckoo_batch.h"
#ifdef KITHI_HAVE_X86
#include "kernels/avx2_cuckoo.h"
#include "kernels/avx512_cuckoo.h"
#elif defined(KITHI_HAVE_NEON)
#include "kernels/neon_cuckoo.h"
#endif

/* ---- lookups with the vector code of each instruction set ---- */

static const kithi_cf_vector_lookups VECTORS_portable = {.one_word = {NULL, NULL}};

#ifdef KITHI_HAVE_X86
KITHI_TARGET_AVX2 static void locate_avx2(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs) {
    kithi_avx2_cf_locate(g, digests, pairs, PLACES);
}

KITHI_TARGET_AVX2 static void locate_wide_avx2(const kithi_cf_geometry *g, const uint64_t *digests,
                                               kithi_pairs *pairs) {
    kithi_avx2_cf_locate(g, digests, pairs, KITHI_CF_WIDE_BUCKETS);
}

static const kithi_cf_vector_lookups VECTORS_avx2 = {
    .one_word = {locate_avx2, kithi_avx2_cf_match_words},
    .long_word = {locate_avx2, kithi_avx2_cf_match_long_words},
    .wide_buckets = {HAS_WIDE_BUCKETS ? locate_wide_avx2 : NULL, HAS_WIDE_BUCKETS ? kithi_avx2_cf_match_buckets : NULL},
};

KITHI_TARGET_AVX512 static void locate_avx512(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs) {
    kithi_avx512_cf_locate(g, digests, pairs, PLACES);
}

KITHI_TARGET_AVX512 static void locate_wide_avx512(const kithi_cf_geometry *g, const uint64_t *digests,
                                                   kithi_pairs *pairs) {
    kithi_avx512_cf_locate(g, digests, pairs, KITHI_CF_WIDE_BUCKETS);
}

static const kithi_cf_vector_lookups VECTORS_avx512 = {
    .one_word = {locate_avx512, kithi_avx512_cf_match_words},
    .long_word = {locate_avx2, kithi_avx2_cf_match_long_words},
    .wide_buckets = {HAS_WIDE_BUCKETS ? locate_wide_avx512 : NULL,
                     HAS_WIDE_BUCKETS ? kithi_avx512_cf_match_buckets : NULL},
};
#elif defined(KITHI_HAVE_NEON)
static void locate_neon(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs) {
    kithi_neon_cf_locate(g, digests, pairs, PLACES);
}

static void locate_wide_neon(const kithi_cf_geometry *g, const uint64_t *digests, kithi_pairs *pairs) {
    kithi_neon_cf_locate(g, digests, pairs, KITHI_CF_WIDE_BUCKETS);
}

static const kithi_cf_vector_lookups VECTORS_neon = {
    .one_word = {locate_neon, kithi_neon_cf_match_words},
    .long_word = {locate_neon, kithi_neon_cf_match_long_words},
    .wide_buckets = {HAS_WIDE_BUCKETS ? locate_wide_neon : NULL, HAS_WIDE_BUCKETS ? kithi_neon_cf_match_buckets : NULL},
};
#endif

#define KITHI_KERNELS "kinds/shared/cuckoo_kernels.h"
#include "kernels/each_set.h"

/* ---- operations that are the same for all instruction sets ---- */

static bool look(const kith_filter *f, uint64_t digest, kith_look report, void *context) {
    return kithi_cf_look(LAYOUT, f, digest, report, context);
}

static uint64_t cell(const kith_filter *f, uint64_t number) {
    return kithi_cf_cell(LAYOUT, f, number);
}

static kith_status merge(kith_filter *into, const kith_filter *from) {
    return kithi_cf_merge(LAYOUT, into, from);
}

static void stats(const kith_filter *f, kith_filter_stats *stats) {
    kithi_cf_stats(LAYOUT, f, stats);
}

static const char *check(const kith_filter *f) {
    return kithi_cf_check(LAYOUT, f);
}

static kith_status salvage(kith_filter *f, kithi_damage *damage) {
    return kithi_cf_salvage(LAYOUT, f, damage);
}

static void recount(kith_filter *f) {
    kithi_cf_recount(LAYOUT, f);
}

/* clang-format off */
#define KITHI_CF_OPERATIONS             \
    .look = look,                       \
    .cell = cell,                       \
    .kernels = KITHI_EACH_SET(KERNELS), \
    .merge = merge,                     \
    .stats = stats,                     \
    .check = check,                     \
    .repair = {.salvage = salvage, .recount = recount}
/* clang-format on */
