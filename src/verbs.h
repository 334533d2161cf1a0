/* verbs.h: calls the verbs (has, add, remove, …) of a kind, with defaults for those that a kind may leave out.
 *
 * The following defaults are only here. Call these functions instead of those of the record:
 *
 *     kernels of an instruction set    those of KITHI_CPU_PORTABLE
 *     add, remove                      those of the kind, which are compiled for any processor
 *     has_many, add_many, remove_many  a loop over has, add and remove
 *     look                             has, without reporting a cell
 *     cell                             0
 *     stats                            rate_now is the expected rate of the current number of keys
 *     check                            the body of a filter without keys is all 0 */
#ifndef KITHI_VERBS_H
#define KITHI_VERBS_H

#include "kind.h"

/* The verbs for the instruction set in use. */
static inline const kithi_kernels *kithi_kernels_of(const kith_filter *f) {
    const kithi_kernels *kernels = &f->kind->kernels[kithi_cpu_now()];
    return kernels->has != NULL ? kernels : &f->kind->kernels[KITHI_CPU_PORTABLE];
}

static inline bool kithi_has(const kith_filter *f, uint64_t digest) {
    return kithi_kernels_of(f)->has(f, digest);
}

static inline kith_status kithi_add_one(kith_filter *f, uint64_t digest, bool *was_new) {
    kith_status (*add)(kith_filter *, uint64_t, bool *) = kithi_kernels_of(f)->add;
    return (add != NULL ? add : f->kind->add)(f, digest, was_new);
}

static inline kith_status kithi_remove_one(kith_filter *f, uint64_t digest) {
    kith_status (*remove)(kith_filter *, uint64_t) = kithi_kernels_of(f)->remove;
    return (remove != NULL ? remove : f->kind->remove)(f, digest);
}

/* Returns whether keys can be added one by one: false for static kinds. */
static inline bool kithi_kind_adds(const kithi_kind *kind) {
    return kind->add != NULL;
}

/* Like the functions of kithi_kernels in kind.h. `kernels` must be kithi_kernels_of(f); loops look it up once. */
size_t kithi_has_many(const kithi_kernels *kernels, const kith_filter *f, const uint64_t *digests, size_t n,
                      uint64_t *maybe);
kith_status kithi_add_many(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests, size_t n,
                           uint64_t *was_new, size_t *done);
kith_status kithi_remove_many(const kithi_kernels *kernels, kith_filter *f, const uint64_t *digests, size_t n,
                              size_t *done);

bool kithi_look(const kith_filter *f, uint64_t digest, kith_look look, void *context);
uint64_t kithi_cell(const kith_filter *f, uint64_t cell);
void kithi_stats(const kith_filter *f, kith_filter_stats *stats);

/* Returns NULL, or the first broken invariant of the body as a sentence. */
const char *kithi_check(const kith_filter *f);

#endif
