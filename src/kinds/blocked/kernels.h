/* kinds/blocked/kernels.h: the operations of blocked on keys. blocked.c includes it once per instruction set
 * (kernels/each_set.h). */

#include "kinds/shared/lanes_kernels.h"

/* ---- crowded blocks: kithi_crowding_ops ---- */

static unsigned KITHI_SET(block_used)(const uint8_t *block) {
    return kithi_lanes_block_used(block, bits_used);
}

static double KITHI_SET(block_rate)(const uint8_t *block, unsigned lanes) {
    return kithi_lanes_block_rate(block, lanes, lanes == 8 ? 0x1p-48 : lanes == 4 ? 0x1p-28 : 0x1p-80, bits_used);
}

static const kithi_crowding_ops KITHI_SET(CROWDING) = {KITHI_SET(block_weight), KITHI_SET(block_used),
                                                       KITHI_SET(block_rate), KITHI_COUNTS_NEW_KEYS};

/* ---- kithi_kernels ---- */

/* Called when kithi_lanes_add_is_safe() is false. */
KITHI_OUTLINE kith_status KITHI_SET(add_checked)(kith_filter *f, uint64_t digest, bool *was_new) {
    return kithi_crowding_adds_are_summed(f) ? add_summed_inline(&KITHI_SET(OPS), f, digest, was_new)
                                             : add_or_refuse(f, digest, was_new, &KITHI_SET(CROWDING));
}

KITHI_KERNEL kith_status KITHI_SET(add)(kith_filter *f, uint64_t digest, bool *was_new) {
    if (__builtin_expect(!kithi_lanes_add_is_safe(f), 0))
        return KITHI_SET(add_checked)(f, digest, was_new);
    return add_unchecked_inline(&KITHI_SET(OPS), f, digest, was_new);
}

static const kithi_kernels KITHI_SET(KERNELS) = {
    .has_many = KITHI_SET(has_many), .add_many = KITHI_SET(add_many), .has = KITHI_SET(has), .add = KITHI_SET(add)};

/* ---- for filters with 8 lanes, the usual number ----
 *
 * These two functions are so short that a test for the number of lanes would take a tenth of their time. */

KITHI_KERNEL bool KITHI_SET(has_usual)(const kith_filter *f, uint64_t digest) {
    return KITHI_SET(OPS).has(kithi_lanes_block_of(f, digest), digest, 8);
}

KITHI_KERNEL kith_status KITHI_SET(add_usual)(kith_filter *f, uint64_t digest, bool *was_new) {
    if (__builtin_expect(was_new != NULL || !kithi_lanes_add_is_safe(f), 0))
        return KITHI_SET(add)(f, digest, was_new);
    kithi_bits_count_add(f, KITHI_SET(OPS).set(kithi_lanes_block_of(f, digest), digest, 8), NULL);
    return KITH_OK;
}

static const kithi_kernels KITHI_SET(USUAL) = {.has_many = KITHI_SET(has_many),
                                               .add_many = KITHI_SET(add_many),
                                               .has = KITHI_SET(has_usual),
                                               .add = KITHI_SET(add_usual)};
