/* kinds/blocked/kernels.h: the operations of blocked on keys. blocked.c includes it once per instruction set
 * (kernels/each_set.h). */

#include "kinds/shared/lanes_kernels.h"

/* ---- crowded blocks: kithi_crowding_ops ---- */

/* Returns how many bits of the block are set. */
static unsigned KITHI_SET(block_used)(const uint8_t *block) {
    unsigned used = 0;
    for (unsigned i = 0; i < KITHI_LANES_BLOCK_BYTES; i += 8)
        used += kithi_popcount(kithi_load64(block + i));
    return used;
}

/* Returns the false-positive rate of keys that select this block: the product of the shares of bits that are set in
 * each lane. A lane is two words (4 lanes), one word (8) or half a word (16). */
static double KITHI_SET(block_rate)(const uint8_t *block, unsigned lanes) {
    double rate = 1;
    for (unsigned at = 0; at < KITHI_LANES_BLOCK_BYTES; at += 8) {
        uint64_t word = kithi_load64(block + at);
        unsigned set = kithi_popcount(word);
        if (lanes == 16) {
            unsigned upper = kithi_popcount(word >> 32);
            set = (set - upper) * upper;
        } else if (lanes == 4) {
            set += kithi_popcount(kithi_load64(block + (at += 8)));
        }
        rate *= (double)set;
    }
    return rate * (lanes == 8 ? 0x1p-48 : lanes == 4 ? 0x1p-28 : 0x1p-80); /* w^-lanes */
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
