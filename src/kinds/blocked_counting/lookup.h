/* kinds/blocked_counting/lookup.h: lookups in blocked_counting. See blocked_counting.c for the idea and the layout,
 * and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_BLOCKED_COUNTING_LOOKUP_H
#define KITHI_FILTERS_BLOCKED_COUNTING_LOOKUP_H

#include "kinds/shared/lanes_lookup.h"
#include "kernels/native.h"

#define KITHI_BLOCKED_COUNTING_ID 7
#define KITHI_BLOCK_COUNTERS (KITHI_LANES_BLOCK_BITS / KITHI_COUNTER_BITS) /* in a block: 128 */

static inline kith_status kithi_blocked_counting_shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_lanes_shape(head, KITHI_COUNTER_BITS, shape);
    shape->max_copies = KITHI_COUNTER_COPIES;
    return status;
}

/* The index in its block of the key's counter in lane j. */
KITHI_INLINE unsigned kithi_blocked_counter(kithi_lane_words words, unsigned lanes, unsigned j) {
    return kithi_lane_cell(words, KITHI_BLOCK_COUNTERS / lanes, j);
}

/* Without branches: all counters are in one cache line, so stopping early would save no cache miss and cost branch
 * mispredictions. A counter has 4 bits, so counter + 15 has bit 4 set if and only if the counter is not 0. */
KITHI_INLINE bool kithi_blocked_counting_block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    unsigned present = KITHI_COUNTER_TOP + 1;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++)
        present &= kithi_counter(block, kithi_blocked_counter(words, lanes, j), KITHI_COUNTER_BITS) + KITHI_COUNTER_TOP;
    return present != 0;
}

/* A lookup with the best instruction set that the compiler may use here (kernels/native.h). */
static inline bool kithi_blocked_counting_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
#if defined(KITHI_NATIVE_AVX512)
    return kithi_lanes_has(kithi_avx512_counters_has, g, body, digest);
#elif defined(KITHI_NATIVE_AVX2)
    return kithi_lanes_has(kithi_avx2_counters_has, g, body, digest);
#elif defined(KITHI_NATIVE_NEON)
    return kithi_lanes_has(kithi_neon_counters_has, g, body, digest);
#else
    return kithi_lanes_has(kithi_blocked_counting_block_has, g, body, digest);
#endif
}

static const kithi_lookup kithi_lookup_blocked_counting = {
    KITHI_BLOCKED_COUNTING_ID, KITHI_LANES_PARAMS_MASK,      true, /* adds */
    kithi_lanes_decode,        kithi_blocked_counting_shape, kithi_blocked_counting_has,
};

#endif
