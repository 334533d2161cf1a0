/* kinds/ribbon/kernels.h: the operations of ribbon on keys. ribbon.c includes it once per instruction set
 * (kernels/each_set.h). */

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return kithi_ribbon_has_with(KITHI_SET(parities), &f->geometry.ribbon, f->body, digest);
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    switch (f->geometry.ribbon.bits) {
    case 8:
        return has_many_of_bits(KITHI_SET(parities), f, digests, n, maybe, 8);
    case 16:
        return has_many_of_bits(KITHI_SET(parities), f, digests, n, maybe, 16);
    default:
        return has_many_of_bits(KITHI_SET(parities), f, digests, n, maybe, (unsigned)f->geometry.ribbon.bits);
    }
}

static const kithi_kernels KITHI_SET(KERNELS) = {.has_many = KITHI_SET(has_many), .has = KITHI_SET(has)};
