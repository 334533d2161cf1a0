/* kinds/shared/window_search.h: the short search, with which overlap first looks for a free slot. See
 * kinds/overlap/overlap.c for windows, and kinds/shared/cuckoo_search.h for the general search, which follows if the
 * short search finds nothing.
 *
 * Most searches end soon: while a filter is filled to its capacity, 60% of them examine at most two windows. The sets
 * of the general search would cost more than such a search itself, so the short search has none. It examines the same
 * entries in the same order, except that it may examine an entry more than once, if there are several ways to reach it.
 *
 * Repeated entries do not change the result. Nothing moves during a search, so an entry that could not move to an empty
 * slot the first time cannot do so the second time, and the slots to which it leads are in the queue already. So the
 * first empty slot that is found, and the chain that leads to it, are those of the general search. Repeated entries
 * only take space in the queue. When the queue is full, the general search starts from the beginning.
 *
 * The queue holds entries and not windows. A window may overlap the one from which it was reached. Then one of its two
 * entries has been examined already, and only the other is queued. In this drawing, window s is the one that begins
 * with slot s:
 *
 *     slot     |   s-1   |    s    |   s+1   |
 *                         [ window s        ]     The entry in slot s is examined as one of window s, but belongs to
 *               [ window s-1       ]              window s-1. Only the entry in slot s-1 is queued, because the one
 *                                                 in slot s has been examined.
 *
 * A slot is named by the bit of the region at which it begins. A slot number would have to be multiplied by slot_bits
 * before every load, and the load would have to wait for the product. A short search spends most of its time waiting
 * for results that it needs for the next load, so this would make it slower.
 *
 * Everything here is compiled into overlap.c, and is for geometries for which kithi_window_search_is_possible() returns
 * true. */
#ifndef KITHI_FILTERS_WINDOW_SEARCH_H
#define KITHI_FILTERS_WINDOW_SEARCH_H

#include "kinds/shared/cuckoo_kinds.h"

/* An item of the queue: an entry to examine. It is queued because another entry P (or the new key) could move to its
 * slot, within a window of P.
 *
 *     bits 0 … 31   its slot: the bit of the region at which the slot begins
 *     bit 32        0 if this is the first slot of that window of P, 1 if it is the second
 *     bits 33 …     queue index of P; KITHI_WINDOW_NEW_KEY if P is the new key */
typedef uint64_t kithi_window_item;

#define KITHI_WINDOW_SECOND (UINT64_C(1) << 32)    /* bit 32 of an item */
#define KITHI_WINDOW_INDEX_ONE (UINT64_C(1) << 33) /* queue index 1, in an item */
#define KITHI_WINDOW_NEW_KEY (UINT32_MAX >> 1)

/* The most items that are queued. None of the 175,000 searches that fill a filter with 10^6 keys needs more. */
#define KITHI_WINDOW_ITEMS 4096
/* kithi_search_adapt() may reduce this limit to KITHI_WINDOW_ITEMS_PER_PLACE items for each place that the last general
 * search examined, but not below KITHI_WINDOW_ITEMS_MIN. Without repeated entries, a short search needs fewer: it
 * queues only four to five items per place. */
#define KITHI_WINDOW_ITEMS_MIN 64
#define KITHI_WINDOW_ITEMS_PER_PLACE 8

#define KITHI_WINDOW_ROOTS 4   /* the slots of a new key */
#define KITHI_WINDOW_TARGETS 3 /* the most items that one entry adds to the queue */

/* The end of a chain: the entry with queue index `at` can move to `slot`, which is empty. `second` is 1 if `slot` is
 * the second slot of the window to which the entry moves, otherwise 0. */
typedef struct kithi_window_end {
    uint32_t at, slot, second;
} kithi_window_end;

/* Returns whether the short search can be used: a window must be read by a single load, and the number of a bit in its
 * region must fit in 32 bits. */
static inline bool kithi_window_search_is_possible(const kithi_cf_layout *layout, const kithi_cf_geometry *g) {
    return layout->windows && g->form == KITHI_ONE_WORD && layout->region_slots(g) * g->slot_bits <= UINT32_MAX;
}

/* Searches from `roots`, the numbers of a new key's slots, which are all taken. `queue` has space for `limit` items.
 * Returns true and sets *end if it finds an empty slot. If it returns false, there may still be one. */
KITHI_OUTLINE bool kithi_window_find(const kithi_cf_geometry *g, const uint8_t *region,
                                     const uint32_t roots[KITHI_WINDOW_ROOTS], kithi_window_item *queue, uint64_t limit,
                                     kithi_window_end *end) {
    const uint64_t slot_bits = g->slot_bits, half = g->half;
    const uint64_t half_bits = half * slot_bits;
    const uint64_t right_half = half_bits + slot_bits; /* the bit at which the right half begins */
    const uint64_t first = (UINT64_C(1) << slot_bits) - 1, second = first << slot_bits; /* masks of slots */
    if (limit < KITHI_WINDOW_ROOTS + KITHI_WINDOW_TARGETS)
        return false;
    kithi_window_item *tail = queue, *const last = queue + limit - KITHI_WINDOW_TARGETS;
    for (unsigned i = 0; i < KITHI_WINDOW_ROOTS; i++)
        *tail++ = roots[i] * slot_bits + i % 2 * KITHI_WINDOW_SECOND + KITHI_WINDOW_NEW_KEY * KITHI_WINDOW_INDEX_ONE;
    /* `from` is the queue index of the current item, shifted left by 33 bits. It becomes bits 33 … of the items that
     * are added below, as the index of the entry from which they were reached. Every entry adds at least two items, so
     * the queue does not become empty. */
    for (uint64_t from = 0; tail <= last; from += KITHI_WINDOW_INDEX_ONE) {
        uint64_t item = *queue++, slot = (uint32_t)item;
        uint64_t code = kithi_cf_word(region, slot, KITHI_ONE_WORD) & first;
        uint64_t is_second = code & 1, fingerprint = code >> 1, step = -is_second & slot_bits;
        uint64_t own = slot - step; /* where the entry's window begins */
        uint64_t own_in_half = own - (slot > half_bits ? right_half : 0);
        if (fingerprint == 0 || own_in_half >= half_bits) /* no key has this code in this slot */
            return false;

        /* The other slot of the entry's own window. This item was queued because another entry P (or the new key) could
         * move to this slot within a window W of P. If W is also the own window of the entry in this slot, both slots
         * of W are in the queue already, and the other one is not queued again. This is so if bit 32 of the item equals
         * the lowest bit of the code. */
        uint64_t beside = own + slot_bits - step;
        if ((kithi_cf_word(region, beside, KITHI_ONE_WORD) & first) == 0) {
            *end = (kithi_window_end){(uint32_t)(from / KITHI_WINDOW_INDEX_ONE), (uint32_t)beside,
                                      1 - (uint32_t)is_second};
            return true;
        }
        *tail = beside + (1 - is_second) * KITHI_WINDOW_SECOND + from;
        tail += (is_second ^ item / KITHI_WINDOW_SECOND) & 1;

        /* The entry's other window is in the other half. Windows 2i and 2i + 1 are both number i of their half.
         * kithi_partner() uses H = 2 s + 1 with s = kithi_spread(fingerprint) * half >> 32, so the numbers of the two
         * windows within their halves add up to s, modulo half. In bits: `sum` is s * slot_bits, and the other window
         * begins at bit sum - own_in_half of its half, modulo half_bits. If the own window is in the left half, own is
         * own_in_half, and the right half begins at right_half. If it is in the right half, own is right_half +
         * own_in_half, and the left half begins at 0. In both cases the bit is sum + right_half - own, plus half_bits
         * if sum < own_in_half. */
        uint64_t sum = (kithi_spread(fingerprint) * half >> 32) * slot_bits;
        uint64_t other = sum + right_half - own + (sum < own_in_half ? half_bits : 0);
        uint64_t slots = kithi_cf_word(region, other, KITHI_ONE_WORD);
        if ((slots & first) == 0 || (slots & second) == 0) {
            uint32_t to_second = (slots & first) != 0;
            *end = (kithi_window_end){(uint32_t)(from / KITHI_WINDOW_INDEX_ONE),
                                      (uint32_t)(other + to_second * slot_bits), to_second};
            return true;
        }
        tail[0] = other + from;
        tail[1] = other + from + (slot_bits + KITHI_WINDOW_SECOND);
        tail += 2;
    }
    return false;
}

/* Moves the entry at the end of the chain to the empty slot, the entry before it in the chain to the slot that became
 * free, and so on. Stores the new key in the slot that is free at last. */
static inline void kithi_window_shift(const kithi_cf_geometry *g, uint8_t *region, const kithi_candidates *candidates,
                                      const kithi_window_item *queue, kithi_window_end end) {
    unsigned slot_bits = (unsigned)g->slot_bits;
    while (end.at != KITHI_WINDOW_NEW_KEY) {
        kithi_window_item item = queue[end.at];
        uint64_t code = kithi_packed_get(region, (uint32_t)item, slot_bits);
        kithi_packed_set(region, end.slot, slot_bits, (code & ~UINT64_C(1)) | end.second);
        end = (kithi_window_end){(uint32_t)(item / KITHI_WINDOW_INDEX_ONE), (uint32_t)item,
                                 item / KITHI_WINDOW_SECOND & 1};
    }
    kithi_packed_set(region, end.slot, slot_bits, candidates->code[end.second]);
}

#endif
