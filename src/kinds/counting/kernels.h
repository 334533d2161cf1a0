/* kinds/counting/kernels.h: the operations of counting on keys. counting.c includes it once per instruction set
 * (kernels/each_set.h). */

/* Each operation is compiled twice: for the default width, and for a width that is known only at run time. */

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return kithi_counting_has_inline(&f->geometry.slices, f->body, digest);
}

KITHI_KERNEL kith_status KITHI_SET(add)(kith_filter *f, uint64_t digest, bool *was_new) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slices_key_cells(f, digest, counters);
    return width_of(f) == KITHI_COUNTER_BITS ? add_at(f, counters, was_new, KITHI_COUNTER_BITS)
                                             : add_at(f, counters, was_new, width_of(f));
}

KITHI_KERNEL kith_status KITHI_SET(remove)(kith_filter *f, uint64_t digest) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slices_key_cells(f, digest, counters);
    return width_of(f) == KITHI_COUNTER_BITS ? remove_at(f, counters, NULL, KITHI_COUNTER_BITS)
                                             : remove_at(f, counters, NULL, width_of(f));
}

KITHI_KERNEL uint64_t KITHI_SET(copies)(const kith_filter *f, uint64_t digest) {
    uint64_t counters[KITHI_BLOOM_K_MAX];
    kithi_slices_key_cells(f, digest, counters);
    return width_of(f) == KITHI_COUNTER_BITS ? least_at(f, counters, KITHI_COUNTER_BITS)
                                             : least_at(f, counters, width_of(f));
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return width_of(f) == KITHI_COUNTER_BITS
               ? kithi_slices_has_many(f, digests, n, maybe, kithi_counting_is_used, KITHI_COUNTER_BITS)
               : kithi_slices_has_many(f, digests, n, maybe, kithi_counting_is_used, width_of(f));
}

KITHI_KERNEL kith_status KITHI_SET(add_many)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                             size_t *done) {
    return width_of(f) == KITHI_COUNTER_BITS
               ? kithi_slices_change_many(f, digests, n, was_new, done, add_at, KITHI_COUNTER_BITS)
               : kithi_slices_change_many(f, digests, n, was_new, done, add_at, width_of(f));
}

KITHI_KERNEL kith_status KITHI_SET(remove_many)(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return width_of(f) == KITHI_COUNTER_BITS
               ? kithi_slices_change_many(f, digests, n, NULL, done, remove_at, KITHI_COUNTER_BITS)
               : kithi_slices_change_many(f, digests, n, NULL, done, remove_at, width_of(f));
}

static const kithi_kernels KITHI_SET(KERNELS) = {.has_many = KITHI_SET(has_many),
                                                 .add_many = KITHI_SET(add_many),
                                                 .remove_many = KITHI_SET(remove_many),
                                                 .has = KITHI_SET(has),
                                                 .add = KITHI_SET(add),
                                                 .remove = KITHI_SET(remove),
                                                 .copies = KITHI_SET(copies)};
