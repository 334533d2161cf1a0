/* kinds/bloom/kernels.h: the operations of bloom on keys. bloom.c includes it once per instruction set
 * (kernels/each_set.h). */

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return has_inline(f, f->geometry.slices, digest);
}

KITHI_KERNEL kith_status KITHI_SET(add)(kith_filter *f, uint64_t digest, bool *was_new) {
    return add_inline(f, f->geometry.slices, digest, was_new);
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return kithi_slices_has_many(f, digests, n, maybe, kithi_bloom_is_used, 1);
}

KITHI_KERNEL kith_status KITHI_SET(add_many)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                             size_t *done) {
    return add_many_inline(f, digests, n, was_new, done, add_unchecked);
}

static const kithi_kernels KITHI_SET(KERNELS) = {
    .has_many = KITHI_SET(has_many), .add_many = KITHI_SET(add_many), .has = KITHI_SET(has), .add = KITHI_SET(add)};

/* ---- for filters for which is_usual() returns true ---- */

KITHI_KERNEL bool KITHI_SET(has_usual)(const kith_filter *f, uint64_t digest) {
    return has_inline(f, usual_geometry(f), digest);
}

/* The common case, was_new == NULL, is compiled without the code for was_new, which would take registers. */
KITHI_KERNEL kith_status KITHI_SET(add_usual)(kith_filter *f, uint64_t digest, bool *was_new) {
    if (__builtin_expect(was_new != NULL, 0))
        return KITHI_SET(add)(f, digest, was_new);
    return add_inline(f, usual_geometry(f), digest, NULL);
}

KITHI_KERNEL kith_status KITHI_SET(add_many_usual)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                                   size_t *done) {
    return add_many_inline(f, digests, n, was_new, done, KITHI_SET(add_unchecked_usual));
}

static const kithi_kernels KITHI_SET(USUAL) = {.has_many = KITHI_SET(has_many),
                                               .add_many = KITHI_SET(add_many_usual),
                                               .has = KITHI_SET(has_usual),
                                               .add = KITHI_SET(add_usual)};
