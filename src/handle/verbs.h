/* verbs.h: what can be done with a handle, whether its filter is one block or consists of several.
 *
 * A handle has one of two sets of operations, chosen when it is bound (handle.c): kithi_one_block (one_block.c), which
 * calls the kind of the filter, or kithi_many_blocks (layers/layers.c), which calls the handles of the filters inside.
 * Operations on keys are in kith_filter.verbs, so that each takes only one indirect jump. */
#ifndef KITHI_VERBS_H
#define KITHI_VERBS_H

#include "kinds/kind.h"

/* Those that may be NULL do nothing then.
 *
 * bind         sets f->verbs, for the instruction set in use
 * init         writes the body of an empty filter, if that is not all zeros, and creates `state`; attach is not called
 *              for a new filter. May be NULL
 * attach       creates `state` for a block that holds a filter. The bytes may be hostile; returns KITH_E_CORRUPT or
 *              another error if they are not valid. `flags` are kith_open_flags. `like`, if not NULL, is the filter
 *              that the block was copied from. May be NULL
 * detach       frees `state`
 * memory       returns the bytes that are allocated for `state`
 * verify       returns KITH_E_CORRUPT if a checksum inside the body is wrong. Called for a lazily opened body before it
 *              is changed or copied. May be NULL
 * seal         seals the filters inside the body, because only their handles have the current count and fill. The
 *              caller then computes the checksums of the body. May be NULL
 * parts        sets `parts` to the pieces of memory that the body consists of, in order, and returns how many there
 *              are: at least 1, at most KITHI_BODY_PARTS_MAX. The first is at `body`. Only a filter that is writable
 *              and verified has more than one; the bytes in `block` between the first piece and the notes are then
 *              unused
 * relocate     after the block has moved to f->block: updates what points into it, and calls `move` for the memory that
 *              was allocated for pieces of the body. May be NULL
 * empty_head   changes the header of a filter to that of an empty one of the same kind. body_bytes may change. Returns
 *              KITH_E_CORRUPT if no empty filter can have these parameters; they may come from a hostile file. May be
 *              NULL
 * clear        empties the filter without a new block. Returns false if it cannot; the caller then creates an empty
 *              filter with the header that `empty_head` gives
 * only_block   the filter with the cells: f, or the filter inside if there is only one. NULL if there are several
 * look, cell   see kith_filter_look() and kith_filter_cell()
 * stats        the caller has set the fields that do not depend on the kind, and computes `load` afterwards
 * check        returns NULL, or the first broken invariant of the body as a sentence
 * salvage, recount   see kithi_repair in kinds/kind.h. The handle has no `state` in salvage */
typedef struct kithi_operations {
    void (*bind)(kith_filter *f);
    kith_status (*init)(kith_filter *f);
    kith_status (*attach)(kith_filter *f, const kith_filter *like, unsigned flags);
    void (*detach)(kith_filter *f);
    uint64_t (*memory)(const kith_filter *f);
    kith_status (*verify)(const kith_filter *f);
    void (*seal)(kith_filter *f);
    size_t (*parts)(const kith_filter *f, kithi_part parts[KITHI_BODY_PARTS_MAX]);
    void (*relocate)(kith_filter *f, kith_move move, void *context);
    kith_status (*empty_head)(kithi_head *head);
    bool (*clear)(kith_filter *f);
    kith_filter *(*only_block)(kith_filter *f);
    bool (*look)(const kith_filter *f, uint64_t digest, kith_look report, void *context);
    uint64_t (*cell)(const kith_filter *f, uint64_t cell);
    void (*stats)(const kith_filter *f, kith_filter_stats *stats);
    const char *(*check)(const kith_filter *f);
    kith_status (*salvage)(kith_filter *f, kithi_damage *damage);
    void (*recount)(kith_filter *f);
} kithi_operations;

extern const kithi_operations kithi_one_block, kithi_many_blocks;

/* Returns the set for filters of this kind. */
static inline const kithi_operations *kithi_operations_of(const kithi_kind *kind) {
    return kind->lookup->has != NULL ? &kithi_one_block : &kithi_many_blocks;
}

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

/* As before_fill and after_fill in kind.h. */
static inline void kithi_before_fill(kith_filter *f, bool by_adders) {
    if (f->kind->before_fill != NULL)
        f->kind->before_fill(f, by_adders);
}

static inline bool kithi_after_fill(kith_filter *f, bool judge) {
    return f->kind->after_fill != NULL && f->kind->after_fill(f, judge);
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

#endif
