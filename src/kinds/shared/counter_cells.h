/* kinds/shared/counter_cells.h: the code that the counting kinds share. Their cells are counters, which makes removal
 * possible. Counters have 4 bits; in the kind counting they may have 2 to 8.
 *
 *     counter c  =  bits c * width … c * width + width - 1      4 bits: low (c even) or high (c odd) half of byte c / 2
 *
 * The largest value of a counter, its top, is 2^width - 1: 15 for 4 bits.
 *
 * Adding a key adds 1 to each of its counters; removing it subtracts 1 from each. has() returns true when none of
 * them is 0.
 *
 * Stuck counters. A counter at its top does not count further adds, so more keys may have it than its value says. It
 * stays at its top for ever: otherwise removals could bring it to 0 although a key that has it is still in the filter.
 * So no key is lost, but the false-positive rate becomes slightly higher, because stuck counters are never 0 again.
 * stats().stuck is their number.
 *
 * Copies. A key may be added until the least of its counters is top - 1; the next add returns KITH_E_COPIES. So one key
 * alone never brings a counter to its top, and adding it a million times does no harm. Counters get stuck only where
 * several keys share them, where filters are merged, or where a repair has set them (kithi_cells_salvage). copies()
 * returns the least counter of the key. A result below the top is an upper bound of the number of copies of the key in
 * the filter. A result equal to the top means "top or more"; it occurs only if all counters of the key are stuck.
 *
 * That no key is lost, and that copies() is an upper bound, is true only if no key is removed that was never added. If
 * has() returns true for such a key, its removal decrements counters of other keys, and these keys may be lost.
 *
 * Order. If keys are only added, a counter is min(top, number of successful adds of keys that have this counter). This
 * does not depend on the order of the adds, but which adds are refused may: a key that shares all its counters with
 * other keys may be added top - 1 times if it comes first, and fewer times if it comes last.
 *
 * The header's fill is the number of counters that are not 0. The fill limit works as in kinds/shared/bit_cells.h. */
#ifndef KITHI_FILTERS_COUNTER_CELLS_H
#define KITHI_FILTERS_COUNTER_CELLS_H

#include "kinds/shared/bit_cells.h"

/* What the counting kinds can do. */
#define KITHI_COUNTERS_CAPABILITIES                                                                                    \
    (KITH_CAN_ADD | KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE | KITH_CAN_ANY_ORDER)

/* ---- one counter ---- */

/* Adds `change` to the counter, modulo 2^32, so 0u - 1 subtracts 1. The result must be in the range of the counter. */
KITHI_INLINE void kithi_counter_change(uint8_t *counters, uint64_t c, unsigned width, unsigned change) {
    if (width == 4) {
        counters[c / 2] = (uint8_t)(counters[c / 2] + (change << (c % 2 * 4)));
        return;
    }
    uint8_t *at = counters + c * width / 8;
    unsigned shift = (unsigned)(c * width % 8), bits = at[0] + (change << shift);
    at[0] = (uint8_t)bits;
    if (shift + width > 8)
        at[1] = (uint8_t)(at[1] + (bits >> 8));
}

/* Adds 1 unless the counter is stuck; returns whether it was 0. */
KITHI_INLINE bool kithi_counter_raise(uint8_t *counters, uint64_t c, unsigned width) {
    unsigned value = kithi_counter(counters, c, width);
    kithi_counter_change(counters, c, width, value != kithi_counter_top(width));
    return value == 0;
}

/* Subtracts 1 from a counter that is not 0, unless it is stuck; returns whether it is 0 now. */
KITHI_INLINE bool kithi_counter_lower(uint8_t *counters, uint64_t c, unsigned width) {
    unsigned value = kithi_counter(counters, c, width);
    kithi_counter_change(counters, c, width, 0u - (value != kithi_counter_top(width)));
    return value == 1;
}

/* ---- one key; `least` is its least counter ---- */

/* Returns KITH_OK if the key may be added. */
static inline kith_status kithi_counters_add_status(const kith_filter *f, unsigned least, unsigned width) {
    if (least >= kithi_counter_top(width) - 1)
        return KITH_E_COPIES;
    return kithi_bits_can_add(f) ? KITH_OK : KITH_E_FULL;
}

/* Returns KITH_OK if the key may be removed. With a count of 0, no key may be removed, although has() may return true:
 * because of stuck counters or, with layout=whole, after removals of keys that were never added. */
static inline kith_status kithi_counters_remove_status(const kith_filter *f, unsigned least) {
    return f->head.count == 0 || least == 0 ? KITH_E_ABSENT : KITH_OK;
}

/* ---- sixteen 4-bit counters in a word ---- */

#define KITHI_COUNTER_LOW_BITS UINT64_C(0x1111111111111111) /* the lowest bit of each counter */
#define KITHI_EVEN_COUNTERS UINT64_C(0x0f0f0f0f0f0f0f0f)    /* all bits of counters 0, 2, 4, … 14 */

/* Returns the sum of the 16 counters. It is at most 16 * 15, which fits in a byte. */
static inline unsigned kithi_counters_sum(uint64_t x) {
    uint64_t pairs = (x & KITHI_EVEN_COUNTERS) + (x >> 4 & KITHI_EVEN_COUNTERS);
    return (unsigned)((pairs * UINT64_C(0x0101010101010101)) >> 56);
}

/* Returns how many counters are not 0. */
static inline unsigned kithi_counters_used(uint64_t x) {
    return kithi_counters_sum((x | x >> 1 | x >> 2 | x >> 3) & KITHI_COUNTER_LOW_BITS);
}

/* Returns how many counters are 15. */
static inline unsigned kithi_counters_stuck(uint64_t x) {
    return kithi_counters_sum(x & x >> 1 & x >> 2 & x >> 3 & KITHI_COUNTER_LOW_BITS);
}

/* Adds the even counters of a and b, each in its own byte; sums above 15 become 15. */
static inline uint64_t kithi_counters_add_even(uint64_t a, uint64_t b) {
    uint64_t sum = (a & KITHI_EVEN_COUNTERS) + (b & KITHI_EVEN_COUNTERS);
    uint64_t carry = sum & ~KITHI_EVEN_COUNTERS; /* 16 in each byte whose sum is above 15 */
    return (sum | (carry - (carry >> 4))) & KITHI_EVEN_COUNTERS;
}

/* The same for all counters. */
static inline uint64_t kithi_counters_add(uint64_t a, uint64_t b) {
    return kithi_counters_add_even(a, b) | kithi_counters_add_even(a >> 4, b >> 4) << 4;
}

/* ---- all counters ---- */

/* Adds the counters of `from` to those of `into`; sums above the top become the top. As kithi_kind.merge. */
static inline kith_status kithi_counters_merge(kith_filter *into, const kith_filter *from) {
    unsigned width = into->shape.cell_bits;
    uint64_t count, fill = 0, words = width == 4 ? into->head.body_bytes / 8 : 0;
    uint64_t one_by_one = width == 4 ? 0 : into->shape.cells; /* counters that are not added 16 at a time */
    if (!kithi_checked_add(into->head.count, from->head.count, &count) || count > into->head.capacity)
        return KITH_E_FULL;
    for (uint64_t i = 0; i < words; i++)
        fill += kithi_counters_used(kithi_load64(into->body + 8 * i) | kithi_load64(from->body + 8 * i));
    for (uint64_t c = 0; c < one_by_one; c++)
        fill += (kithi_counter(into->body, c, width) | kithi_counter(from->body, c, width)) != 0;
    if (kithi_bits_above_limit(into, fill))
        return KITH_E_FULL;
    for (uint64_t i = 0; i < words; i++)
        kithi_store64(into->body + 8 * i,
                      kithi_counters_add(kithi_load64(into->body + 8 * i), kithi_load64(from->body + 8 * i)));
    for (uint64_t c = 0; c < one_by_one; c++) {
        unsigned left = kithi_counter_top(width) - kithi_counter(into->body, c, width);
        unsigned more = kithi_counter(from->body, c, width);
        kithi_counter_change(into->body, c, width, more < left ? more : left);
    }
    into->head.count = count;
    into->head.fill = fill;
    return KITH_OK;
}

typedef struct kithi_tally {
    uint64_t used;  /* number of counters that are not 0 */
    uint64_t stuck; /* number of counters at the top */
    uint64_t sum;   /* sum of all counters that are not stuck */
} kithi_tally;

/* Tallies the counters `from` … `to` - 1. The body consists of whole words, so the words that contain the first and the
 * last of these counters can be read. */
static inline kithi_tally kithi_counters_tally(const kith_filter *f, uint64_t from, uint64_t to) {
    unsigned width = f->shape.cell_bits;
    kithi_tally t = {0, 0, 0};
    for (uint64_t c = from; c < to && width != 4; c++) {
        unsigned value = kithi_counter(f->body, c, width);
        t.used += value != 0;
        t.stuck += value == kithi_counter_top(width);
        t.sum += value != kithi_counter_top(width) ? value : 0;
    }
    for (uint64_t first = from / 16 * 16; first < to && width == 4; first += 16) {
        uint64_t x = kithi_load64(f->body + first / 2);
        if (first < from)
            x &= UINT64_MAX << (from - first) * 4;
        if (to - first < 16)
            x &= ~(UINT64_MAX << (to - first) * 4);
        unsigned stuck = kithi_counters_stuck(x);
        t.used += kithi_counters_used(x);
        t.stuck += stuck;
        t.sum += kithi_counters_sum(x) - stuck * KITHI_COUNTER_TOP;
    }
    return t;
}

/* As kithi_repair.recount. */
static inline void kithi_counters_recount(kith_filter *f) {
    f->head.fill = kithi_counters_tally(f, 0, f->shape.cells).used;
}

/* As kithi_kind.cell. */
static inline uint64_t kithi_counters_cell(const kith_filter *f, uint64_t cell) {
    return kithi_counter(f->body, cell, f->shape.cell_bits);
}

#endif
