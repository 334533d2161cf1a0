/* kinds/shared/lanes_kernels.h: what kernels.h of both blocked kinds has for each instruction set. The .c file defines
 * before that CELL_BITS, OPS_portable … (kithi_lanes_block_ops) and add_many_for_lanes(). */

static uint64_t KITHI_SET(block_weight)(const uint8_t *block, unsigned lanes) {
    return kithi_lanes_weight(block, KITHI_SET(OPS).product, CELL_BITS, lanes);
}

KITHI_KERNEL bool KITHI_SET(has)(const kith_filter *f, uint64_t digest) {
    return kithi_lanes_has(KITHI_SET(OPS).has, &f->geometry, f->body, digest);
}

KITHI_KERNEL size_t KITHI_SET(has_many)(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    return kithi_lanes_has_many(&KITHI_SET(OPS), f, digests, n, maybe);
}

KITHI_KERNEL kith_status KITHI_SET(add_many)(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new,
                                             size_t *done) {
    return (kith_status)kithi_by_lanes(
        add_many_for_lanes, &KITHI_SET(OPS),
        (kithi_lanes_args){.f = f, .writable = f, .digests = digests, .n = n, .bitmap = was_new, .done = done});
}
