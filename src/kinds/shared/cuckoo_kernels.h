/* kinds/shared/cuckoo_kernels.h: the operations of a cuckoo kind on keys. cuckoo_record.h includes it once per
 * instruction set (kernels/each_set.h). */

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return has_key(f, digest);
}

KITHI_KERNEL kith_status KITHI_SET(add)(kith_filter *f, uint64_t digest, bool *was_new) {
    return kithi_cf_add(LAYOUT, f, digest, was_new);
}

KITHI_KERNEL kith_status KITHI_SET(remove)(kith_filter *f, uint64_t digest) {
    return kithi_cf_remove(LAYOUT, f, digest);
}

KITHI_KERNEL uint64_t KITHI_SET(copies)(const kith_filter *f, uint64_t digest) {
    return kithi_cf_copies(LAYOUT, f, digest);
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    const kithi_cf_vector_lookup *vectors = kithi_cf_vector_lookup_for(&KITHI_SET(VECTORS), &f->geometry.cf);
    return vectors != NULL ? kithi_cf_has_groups(vectors, f, digests, n, maybe)
                           : kithi_cf_has_many(LAYOUT, f, digests, n, maybe);
}

KITHI_KERNEL kith_status KITHI_SET(add_many)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                             size_t *done) {
    return kithi_cf_add_many(LAYOUT, f, digests, n, was_new, done);
}

KITHI_KERNEL kith_status KITHI_SET(remove_many)(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return kithi_cf_remove_many(LAYOUT, f, digests, n, done);
}

static const kithi_kernels KITHI_SET(KERNELS) = {.has_many = KITHI_SET(has_many),
                                                 .add_many = KITHI_SET(add_many),
                                                 .remove_many = KITHI_SET(remove_many),
                                                 .has = KITHI_SET(has),
                                                 .add = KITHI_SET(add),
                                                 .remove = KITHI_SET(remove),
                                                 .copies = KITHI_SET(copies)};
