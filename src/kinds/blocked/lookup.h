/* kinds/blocked/lookup.h: lookups in blocked. See blocked.c for the idea and the layout, and lookup.h for the rules
 * of this header. */
#ifndef KITHI_FILTERS_BLOCKED_LOOKUP_H
#define KITHI_FILTERS_BLOCKED_LOOKUP_H

#include "kinds/shared/lanes_lookup.h"
#include "kernels/native.h"

#define KITHI_BLOCKED_ID 2

static inline kith_status kithi_blocked_shape(const kithi_head *head, kithi_shape *shape) {
    kith_status status = kithi_lanes_shape(head, 1, shape);
    shape->max_copies = 1;
    return status;
}

/* The index in its block of the key's bit in lane j. */
KITHI_INLINE unsigned kithi_blocked_bit(kithi_lane_words words, unsigned lanes, unsigned j) {
    return kithi_lane_cell(words, KITHI_LANES_BLOCK_BITS / lanes, j);
}

/* Tests one lane after the other, without stopping early. Comparing the block with a mask of the key's bits would be
 * faster only with vector instructions that shift each lane by a different amount. Baseline x86-64 has none. */
KITHI_INLINE bool kithi_blocked_block_has(const uint8_t *block, uint64_t digest, unsigned lanes) {
    kithi_lane_words words = kithi_lane_words_of(digest, lanes);
    uint64_t present = 1;
#pragma GCC unroll 16
    for (unsigned j = 0; j < lanes; j++) {
        unsigned bit = kithi_blocked_bit(words, lanes, j);
        present &= kithi_load64(block + bit / 64 * 8) >> (bit % 64);
    }
    return present != 0;
}

/* A lookup with the best instruction set that the compiler may use here (kernels/native.h). */
KITHI_INLINE bool kithi_blocked_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
#if defined(KITHI_NATIVE_AVX512)
    return kithi_lanes_has(kithi_avx512_bits_has, g, body, digest);
#elif defined(KITHI_NATIVE_AVX2)
    return kithi_lanes_has(kithi_avx2_bits_has, g, body, digest);
#elif defined(KITHI_NATIVE_NEON)
    return kithi_lanes_has(kithi_neon_bits_has, g, body, digest);
#else
    return kithi_lanes_has(kithi_blocked_block_has, g, body, digest);
#endif
}

static const kithi_lookup kithi_lookup_blocked = {
    KITHI_BLOCKED_ID,   KITHI_LANES_PARAMS_MASK, true, /* adds */
    kithi_lanes_decode, kithi_blocked_shape,     kithi_blocked_has,
};

#endif
