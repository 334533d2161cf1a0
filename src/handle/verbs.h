/* verbs.h: calls the operations of a kind (its verbs: has, add, remove, …), with defaults for those that a kind may
 * leave out.
 *
 * Call the functions below and not those of kithi_kind and kithi_kernels (kind.h), which may be NULL. A handle uses one
 * kithi_kernels of its kind, the first of these whose `has` is not NULL:
 *
 *     usual[cpu]                       if is_usual() returns true; cpu is the instruction set in use
 *     kernels[cpu]
 *     kernels[KITHI_CPU_PORTABLE]
 *
 * The defaults for functions that are NULL in the chosen one are:
 *
 *     in kithi_kernels
 *     add, remove, copies              those of kernels[KITHI_CPU_PORTABLE]
 *     has_many, add_many, remove_many  a loop over has, add and remove
 *
 *     in kithi_kind
 *     look                             has, without reporting a cell
 *     cell                             0
 *     stats                            rate_now is the expected rate of the current number of keys
 *     check                            the body of a filter without keys is all 0 */
#ifndef KITHI_VERBS_H
#define KITHI_VERBS_H

#include "kinds/kind.h"

/* Chooses the functions of a handle for the instruction set in use. Called once, when the handle is bound. */
void kithi_verbs_bind(kith_filter *f);

static inline bool kithi_has(const kith_filter *f, uint64_t digest) {
    return f->verbs.has(f, digest);
}

static inline kith_status kithi_add_one(kith_filter *f, uint64_t digest, bool *was_new) {
    return f->verbs.add(f, digest, was_new);
}

static inline kith_status kithi_remove_one(kith_filter *f, uint64_t digest) {
    return f->verbs.remove(f, digest);
}

/* For kinds with KITH_CAN_COPIES. */
static inline uint64_t kithi_copies(const kith_filter *f, uint64_t digest) {
    return f->verbs.copies(f, digest);
}

/* Returns whether keys can be added one by one: false for static kinds. */
static inline bool kithi_kind_adds(const kithi_kind *kind) {
    return kind->lookup->adds;
}

/* The next three are like the functions of kithi_kernels in kind.h. */
static inline size_t kithi_has_many(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return f->verbs.has_many(f, digests, n, maybe);
}

static inline kith_status kithi_add_many(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                         size_t *done) {
    return f->verbs.add_many(f, digests, n, was_new, done);
}

static inline kith_status kithi_remove_many(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return f->verbs.remove_many(f, digests, n, done);
}

/* Like kithi_has(), but calls `report` for each cell that the lookup reads: see kith_filter_look(). */
bool kithi_look(const kith_filter *f, uint64_t digest, kith_look report, void *context);
uint64_t kithi_cell(const kith_filter *f, uint64_t cell);
void kithi_stats(const kith_filter *f, kith_filter_stats *stats);

/* Returns NULL, or the first broken invariant of the body as a sentence. */
const char *kithi_check(const kith_filter *f);

#endif
