/* kinds/overlap/lookup.h: the layout of overlap, and lookups. See overlap.c for the idea, and lookup.h for the rules
 * of this header. */
#ifndef KITHI_FILTERS_OVERLAP_LOOKUP_H
#define KITHI_FILTERS_OVERLAP_LOOKUP_H

#include "kinds/shared/cf_lookup.h"

#define KITHI_OVERLAP_ID 5
#define KITHI_OVERLAP_PARAMS_MASK (KITHI_CF_PARAMS_MASK)

#define KITHI_OVERLAP_SLOT_BITS_MIN 3

/* The functions of kithi_overlap_layout below. kithi_cf_layout says what each does. */

static inline uint64_t kithi_overlap_region_slots(const kithi_cf_geometry *g) {
    return 2 * (g->half + 1);
}

static inline uint32_t kithi_overlap_first_slot(const kithi_cf_geometry *g, uint64_t window) {
    /* The first slot of the window's half. Computed without a branch, which would be unpredictable. */
    uint64_t half_first = -(window & 1) & (g->half + 1);
    return (uint32_t)((window >> 1) + half_first);
}

static inline uint64_t kithi_overlap_other_window(const kithi_cf_geometry *g, uint64_t window, uint64_t fingerprint) {
    return kithi_partner(window, fingerprint, g->places);
}

static inline uint64_t kithi_overlap_first_bit(const kithi_cf_geometry *g, uint64_t window) {
    return kithi_overlap_first_slot(g, window) * g->slot_bits;
}

static inline unsigned kithi_overlap_place_slots(const kithi_cf_geometry *g) {
    (void)g;
    return 2;
}

static inline void kithi_overlap_first_slots(const kithi_cf_geometry *g, uint64_t window, uint64_t fingerprint,
                                             uint32_t first[2]) {
    first[0] = kithi_overlap_first_slot(g, window);
    first[1] = kithi_overlap_first_slot(g, kithi_overlap_other_window(g, window, fingerprint));
}

static inline bool kithi_overlap_decode_entry(const kithi_cf_geometry *g, uint32_t slot, uint32_t code,
                                              uint64_t *window, uint64_t *fingerprint) {
    uint64_t half = g->half;
    uint64_t right = slot > half; /* each half has half + 1 slots */
    uint64_t offset = slot - right * (half + 1);
    uint64_t second = code & 1; /* 1 if this is the second slot of the window */
    *window = 2 * (offset - second) + right;
    *fingerprint = code >> 1;
    return *fingerprint != 0 && offset >= second && offset - second < half;
}

static const kithi_cf_layout kithi_overlap_layout = {
    true, /* windows */
    1,    /* window_bits */
    kithi_overlap_place_slots,
    kithi_overlap_other_window,
    kithi_overlap_first_bit,
    kithi_overlap_first_slots,
    kithi_overlap_decode_entry,
    kithi_overlap_region_slots,
};

static inline kithi_geometry kithi_overlap_decode_head(const kithi_head *head) {
    return kithi_cf_decode(&kithi_overlap_layout, head);
}

static inline kith_status kithi_overlap_shape(const kithi_head *head, kithi_shape *shape) {
    memset(shape, 0, sizeof *shape);
    kithi_cf_geometry g = kithi_overlap_decode_head(head).cf;
    if (g.slot_bits < KITHI_OVERLAP_SLOT_BITS_MIN)
        return KITH_E_CORRUPT;
    return kithi_cf_shape(&kithi_overlap_layout, &g, shape);
}

static inline bool kithi_overlap_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
    return kithi_cf_has(&kithi_overlap_layout, &g->cf, body, digest);
}

static const kithi_lookup kithi_lookup_overlap = {
    KITHI_OVERLAP_ID,          KITHI_OVERLAP_PARAMS_MASK, true, /* adds */
    kithi_overlap_decode_head, kithi_overlap_shape,       kithi_overlap_has,
};

#endif
