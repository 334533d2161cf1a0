/* kinds/blocked_counting/kernels.h: the operations of blocked_counting on keys. blocked_counting.c includes it once per
 * instruction set (kernels/each_set.h). */

#include "kinds/shared/lanes_kernels.h"

static const kithi_crowding_ops KITHI_SET(CROWDING) = {KITHI_SET(block_weight), block_used, block_rate,
                                                       KITHI_COUNTS_ALL_KEYS};

KITHI_KERNEL kith_status KITHI_SET(add)(kith_filter *f, uint64_t digest, bool *was_new) {
    return (kith_status)kithi_by_lanes(add_for_lanes, &KITHI_SET(OPS),
                                       (kithi_lanes_args){.f = f, .writable = f, .digest = digest, .was_new = was_new});
}

KITHI_KERNEL kith_status KITHI_SET(remove)(kith_filter *f, uint64_t digest) {
    return (kith_status)kithi_by_lanes(remove_for_lanes, &KITHI_SET(OPS),
                                       (kithi_lanes_args){.f = f, .writable = f, .digest = digest});
}

KITHI_KERNEL uint64_t KITHI_SET(copies)(const kith_filter *f, uint64_t digest) {
    return kithi_by_lanes(copies_for_lanes, &KITHI_SET(OPS), (kithi_lanes_args){.f = f, .digest = digest});
}

KITHI_KERNEL kith_status KITHI_SET(remove_many)(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    return (kith_status)kithi_by_lanes(
        remove_many_for_lanes, &KITHI_SET(OPS),
        (kithi_lanes_args){.f = f, .writable = f, .digests = digests, .n = n, .done = done});
}

static const kithi_kernels KITHI_SET(KERNELS) = {.has_many = KITHI_SET(has_many),
                                                 .add_many = KITHI_SET(add_many),
                                                 .remove_many = KITHI_SET(remove_many),
                                                 .has = KITHI_SET(has),
                                                 .add = KITHI_SET(add),
                                                 .remove = KITHI_SET(remove),
                                                 .copies = KITHI_SET(copies)};
