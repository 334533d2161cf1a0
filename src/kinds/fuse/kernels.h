/* kinds/fuse/kernels.h: the operations of fuse on keys. fuse.c includes it once per instruction set
 * (kernels/each_set.h). */

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return kithi_fuse_has_inline(&f->geometry.fuse, f->body, digest);
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return f->geometry.fuse.arity == 3 ? has_many_of_arity(f, digests, n, maybe, 3)
                                       : has_many_of_arity(f, digests, n, maybe, 4);
}

static const kithi_kernels KITHI_SET(KERNELS) = {.has_many = KITHI_SET(has_many), .has = KITHI_SET(has)};
