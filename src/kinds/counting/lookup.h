/* kinds/counting/lookup.h: lookups in counting. See counting.c for the idea and the layout, and lookup.h for the
 * rules of this header. */
#ifndef KITHI_FILTERS_COUNTING_LOOKUP_H
#define KITHI_FILTERS_COUNTING_LOOKUP_H

#include "kinds/shared/slices_lookup.h"

#define KITHI_COUNTING_ID 3

/* The parameter that counting has in addition to those of slices_lookup.h: bits in a counter, 0 for the default. */
enum { KITHI_PARAM_WIDTH = KITHI_PARAM_LAYOUT + 1, KITHI_WIDTH_MIN = 2, KITHI_WIDTH_MAX = 8 };
#define KITHI_COUNTING_PARAMS_MASK (KITHI_SLICES_PARAMS_MASK | 1 << KITHI_PARAM_WIDTH)

static inline kithi_geometry kithi_counting_decode(const kithi_head *head) {
    kithi_geometry g = kithi_slices_decode(head);
    g.slices.width = head->params[KITHI_PARAM_WIDTH] != 0 ? head->params[KITHI_PARAM_WIDTH] : KITHI_COUNTER_BITS;
    return g;
}

static inline kith_status kithi_counting_shape(const kithi_head *head, kithi_shape *shape) {
    uint64_t width = kithi_counting_decode(head).slices.width;
    memset(shape, 0, sizeof *shape);
    /* Each width has one encoding, so the default is stored as 0 and never as 4. */
    if (width < KITHI_WIDTH_MIN || width > KITHI_WIDTH_MAX || head->params[KITHI_PARAM_WIDTH] == KITHI_COUNTER_BITS)
        return KITH_E_CORRUPT;
    unsigned spare_bytes = width == KITHI_COUNTER_BITS ? 0 : 1; /* bytes of 0 that docs/format.md requires */
    kith_status status = kithi_slices_shape(head, (unsigned)width, spare_bytes, shape);
    shape->max_copies = kithi_counter_top((unsigned)width) - 1;
    return status;
}

KITHI_INLINE bool kithi_counting_is_used(const uint8_t *body, uint64_t c, unsigned width) {
    return kithi_counter(body, c, width) != 0;
}

/* In the branch for the default width the width is a constant, which makes the lookup faster. */
KITHI_INLINE bool kithi_counting_has_inline(const kithi_slices_geometry *g, const uint8_t *body, uint64_t digest) {
    unsigned width = (unsigned)g->width;
    return width == KITHI_COUNTER_BITS ? kithi_slices_has(g, body, digest, kithi_counting_is_used, KITHI_COUNTER_BITS)
                                       : kithi_slices_has(g, body, digest, kithi_counting_is_used, width);
}

static inline bool kithi_counting_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
    return kithi_counting_has_inline(&g->slices, body, digest);
}

static const kithi_lookup kithi_lookup_counting = {
    KITHI_COUNTING_ID,     KITHI_COUNTING_PARAMS_MASK, true, /* adds */
    kithi_counting_decode, kithi_counting_shape,       kithi_counting_has,
};

#endif
