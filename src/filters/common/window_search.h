/* filters/common/window_search.h: the search of overlap for a free slot, as long as it is short. See filters/overlap.c
 * for windows, and filters/common/cuckoo_search.h for the general search, which follows if this one finds nothing.
 *
 * Most searches are short: of those that fill a filter to its capacity, 60% examine at most two windows. The sets of the
 * general search would cost more than such a search itself, so this one has none. It examines the same entries in the
 * same order, except that it may examine an entry twice, if there are two ways to reach it.
 *
 * Repeated entries do not change the result. Nothing moves during a search, so an entry that could not move to an empty
 * slot the first time cannot do so the second time, and the slots to which it leads are in the queue already. So the
 * first empty slot that is found, and the chain that leads to it, are those of the general search. Repeated entries only
 * take space in the queue. When the queue is full, the general search starts from the beginning.
 *
 * The queue holds entries and not windows, because one of the two entries of a window has been examined already if the
 * window overlaps the one from which it was reached:
 *
 *     slot     |   s-1   |    s    |   s+1   |
 *                         [ window s        ]     The entry in slot s is examined as one of window s,
 *               [ window s-1       ]              but belongs to window s-1: of that, only slot s-1 is queued.
 *
 * Everything here is compiled into overlap.c; the geometry must have the form KITHI_ONE_WORD. */
#ifndef KITHI_FILTERS_WINDOW_SEARCH_H
#define KITHI_FILTERS_WINDOW_SEARCH_H

#include "filters/common/cuckoo.h"

/* An item of the queue is the slot of an entry, in bits 0 … 31. The entry has been queued because another one can move
 * to its slot. Bit 32 is 1 if that is the second slot of the other entry's window. The bits from 33 on are the queue
 * index of the other entry, or KITHI_WINDOW_NEW_KEY. */
typedef uint64_t kithi_window_item;

#define KITHI_WINDOW_SECOND (UINT64_C(1) << 32)
#define KITHI_WINDOW_INDEX (UINT64_C(1) << 33)
#define KITHI_WINDOW_NEW_KEY (UINT32_MAX >> 1)

/* The most items that are queued. Of the searches that fill a region of 2^18 slots to a load of 0.945, one in several
 * thousand needs more, and one item in a hundred is repeated. */
#define KITHI_WINDOW_ITEMS 4096

#define KITHI_WINDOW_ROOTS 4   /* the slots of a new key */
#define KITHI_WINDOW_TARGETS 3 /* the most items that one entry adds to the queue */

/* The end of a chain: the entry with queue index `at` can move to `slot`, which is empty. `second` is 1 if that is the
 * second slot of its window, otherwise 0. */
typedef struct kithi_window_end {
    uint32_t at, slot, second;
} kithi_window_end;

/* Returns a word with `slot` in its lowest bits and the next slot above it. */
KITHI_INLINE uint64_t kithi_window_slots(const uint8_t *region, uint64_t slot, uint64_t slot_bits) {
    return kithi_cf_word(region, slot * slot_bits, KITHI_ONE_WORD);
}

/* Searches from the slots of a new key, which are all taken. `queue` has space for `limit` items. Returns false if it
 * finds no empty slot, although there may be one. */
KITHI_OUTLINE bool kithi_window_find(const kithi_cf_geometry *g, const uint8_t *region,
                                     const uint32_t roots[KITHI_WINDOW_ROOTS], kithi_window_item *queue, uint64_t limit,
                                     kithi_window_end *end) {
    const uint64_t slot_bits = g->slot_bits, half = g->half;
    const uint64_t first_slot = (UINT64_C(1) << slot_bits) - 1, second_slot = first_slot << slot_bits;
    kithi_window_item *tail = queue, *const stop = queue + limit;
    if (limit < KITHI_WINDOW_ROOTS)
        return false;
    for (unsigned i = 0; i < KITHI_WINDOW_ROOTS; i++)
        *tail++ = roots[i] + i % 2 * KITHI_WINDOW_SECOND + KITHI_WINDOW_NEW_KEY * KITHI_WINDOW_INDEX;
    /* Every entry adds at least two items, so the queue does not become empty. */
    for (uint64_t at = 0; stop - tail >= KITHI_WINDOW_TARGETS; at++) {
        uint64_t from = at * KITHI_WINDOW_INDEX, slot = (uint32_t)queue[at];
        uint64_t code = kithi_window_slots(region, slot, slot_bits) & first_slot;
        uint64_t second = code & 1, fingerprint = code >> 1;
        uint64_t right_half = slot > half ? half + 1 : 0, window = slot - second - right_half;
        if (fingerprint == 0 || window >= half) /* no key has this code in this slot */
            return false;

        /* The other slot of the entry's window. If the entry was examined as one of that window, it is not empty, and
         * it is in the queue already. */
        uint64_t beside = slot + 1 - 2 * second;
        if ((kithi_window_slots(region, beside, slot_bits) & first_slot) == 0) {
            *end = (kithi_window_end){(uint32_t)at, (uint32_t)beside, 1 - (uint32_t)second};
            return true;
        }
        *tail = beside + (1 - second) * KITHI_WINDOW_SECOND + from;
        tail += (second ^ queue[at] / KITHI_WINDOW_SECOND) & 1;

        /* The other window: kithi_partner() for windows that are numbered within their half. */
        uint64_t sum = kithi_spread(fingerprint) * half >> 32;
        uint64_t other = sum - window + (sum < window ? half : 0) + (half + 1 - right_half);
        uint64_t slots = kithi_window_slots(region, other, slot_bits);
        if ((slots & first_slot) == 0 || (slots & second_slot) == 0) {
            uint32_t other_second = (slots & first_slot) != 0;
            *end = (kithi_window_end){(uint32_t)at, (uint32_t)other + other_second, other_second};
            return true;
        }
        tail[0] = other + from;
        tail[1] = other + 1 + KITHI_WINDOW_SECOND + from;
        tail += 2;
    }
    return false;
}

/* Moves the entry at the end of the chain to the empty slot, the entry before it in the chain to the slot that became
 * free, and so on. Stores the new key in the slot that is free at last. */
static inline void kithi_window_shift(const kith_filter *f, uint8_t *region, const kithi_candidates *candidates,
                                      const kithi_window_item *queue, kithi_window_end end) {
    while (end.at != KITHI_WINDOW_NEW_KEY) {
        kithi_window_item item = queue[end.at];
        uint32_t code = kithi_cf_get(f, region, (uint32_t)item);
        kithi_cf_set(f, region, end.slot, (code & ~UINT32_C(1)) | end.second);
        end = (kithi_window_end){(uint32_t)(item / KITHI_WINDOW_INDEX), (uint32_t)item, item / KITHI_WINDOW_SECOND & 1};
    }
    kithi_cf_set(f, region, end.slot, candidates->code[end.second]);
}

#endif
