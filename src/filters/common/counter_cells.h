/* filters/common/counter_cells.h: the code that the counting kinds share. Their cells are 4-bit counters, which makes
 * removal possible.
 *
 *     counter c  =  low (c even) or high (c odd) half of byte c / 2
 *
 * Adding a key adds 1 to each of its counters; removing it subtracts 1 from each. has() returns true when none of
 * them is 0.
 *
 * Stuck counters. A counter that reaches 15 may have lost count, so it stays at 15 for ever: decrementing it could
 * make a key that is still in the filter disappear. This costs a little rate and never a key. stats().stuck is their
 * number.
 *
 * Copies. A key may be added until the least of its counters is 14; the next add returns KITH_E_COPIES. So a single
 * key never drives a counter to 15, and adding one key a million times does no harm. Counters get stuck only where
 * several keys share them or where filters are merged. copies() returns the least counter of the key. That is never
 * less than the true number, with one exception: 15, which occurs only after a merge or if all counters of the key
 * are stuck, means "15 or more".
 *
 * Order. Each counter is min(15, adds), whatever the order of the successful adds. Which adds are refused may depend
 * on the order: a key that shares all its counters may be added 14 times if it comes first, and fewer times if it
 * comes last.
 *
 * The header's fill is the number of counters that are not 0. The fill limit works as in filters/common/bit_cells.h. */
#ifndef KITHI_FILTERS_COUNTER_CELLS_H
#define KITHI_FILTERS_COUNTER_CELLS_H

#include "filters/common/bit_cells.h"

#define KITHI_COUNTER_BITS 4
#define KITHI_COUNTER_TOP 15
#define KITHI_COUNTER_COPIES (KITHI_COUNTER_TOP - 1)

#define KITHI_COUNTERS_CAPABILITIES                                                                                    \
    (KITH_CAN_ADD | KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE | KITH_CAN_ANY_ORDER)

/* ---- one counter ---- */

static inline unsigned kithi_counter(const uint8_t *counters, uint64_t c) {
    return counters[c / 2] >> (c % 2 * 4) & KITHI_COUNTER_TOP;
}

static inline uint64_t kithi_counters_cell(const kith_filter *f, uint64_t cell) {
    return kithi_counter(f->body, cell);
}

/* Adds 1 unless the counter is stuck; returns whether it was 0. */
static inline bool kithi_counter_raise(uint8_t *counters, uint64_t c) {
    unsigned value = kithi_counter(counters, c);
    counters[c / 2] = (uint8_t)(counters[c / 2] + ((value != KITHI_COUNTER_TOP) << (c % 2 * 4)));
    return value == 0;
}

/* Subtracts 1 from a counter that is not 0, unless it is stuck; returns whether it is 0 now. */
static inline bool kithi_counter_lower(uint8_t *counters, uint64_t c) {
    unsigned value = kithi_counter(counters, c);
    counters[c / 2] = (uint8_t)(counters[c / 2] - ((value != KITHI_COUNTER_TOP) << (c % 2 * 4)));
    return value == 1;
}

/* ---- one key; `least` is its least counter ---- */

/* Returns KITH_OK if the key may be added. */
static inline kith_status kithi_counters_can_add(const kith_filter *f, unsigned least) {
    if (least >= KITHI_COUNTER_COPIES)
        return KITH_E_COPIES;
    return kithi_bits_can_add(f) ? KITH_OK : KITH_E_FULL;
}

/* Returns KITH_OK if the key may be removed. With a count of 0, has() returns true only because of stuck counters. */
static inline kith_status kithi_counters_removable(const kith_filter *f, unsigned least) {
    return f->head.count == 0 || least == 0 ? KITH_E_ABSENT : KITH_OK;
}

/* ---- sixteen counters in a word ---- */

#define KITHI_EACH_COUNTER UINT64_C(0x1111111111111111)
#define KITHI_EVEN_COUNTERS UINT64_C(0x0f0f0f0f0f0f0f0f)

/* The sum is at most 16 * 15, which fits in a byte. */
static inline unsigned kithi_counters_sum(uint64_t x) {
    uint64_t pairs = (x & KITHI_EVEN_COUNTERS) + (x >> 4 & KITHI_EVEN_COUNTERS);
    return (unsigned)((pairs * UINT64_C(0x0101010101010101)) >> 56);
}

static inline unsigned kithi_counters_used(uint64_t x) {
    return kithi_counters_sum((x | x >> 1 | x >> 2 | x >> 3) & KITHI_EACH_COUNTER);
}

static inline unsigned kithi_counters_stuck(uint64_t x) {
    return kithi_counters_sum(x & x >> 1 & x >> 2 & x >> 3 & KITHI_EACH_COUNTER);
}

/* Adds the even counters of a and b, each in its own byte; sums above 15 become 15. */
static inline uint64_t kithi_counters_add_even(uint64_t a, uint64_t b) {
    uint64_t sum = (a & KITHI_EVEN_COUNTERS) + (b & KITHI_EVEN_COUNTERS);
    uint64_t carry = sum & ~KITHI_EVEN_COUNTERS; /* 16 in each byte whose sum is above 15 */
    return (sum | (carry - (carry >> 4))) & KITHI_EVEN_COUNTERS;
}

static inline uint64_t kithi_counters_add(uint64_t a, uint64_t b) {
    return kithi_counters_add_even(a, b) | kithi_counters_add_even(a >> 4, b >> 4) << 4;
}

static inline kith_status kithi_counters_merge(kith_filter *into, const kith_filter *from) {
    uint64_t count, fill = 0;
    if (!kithi_add(into->head.count, from->head.count, &count) || count > into->head.capacity)
        return KITH_E_FULL;
    for (uint64_t at = 0; at < into->head.body_bytes; at += 8)
        fill += kithi_counters_used(kithi_load64(into->body + at) | kithi_load64(from->body + at));
    if (kithi_bits_full(into, fill))
        return KITH_E_FULL;
    for (uint64_t at = 0; at < into->head.body_bytes; at += 8)
        kithi_store64(into->body + at,
                      kithi_counters_add(kithi_load64(into->body + at), kithi_load64(from->body + at)));
    into->head.count = count;
    into->head.fill = fill;
    return KITH_OK;
}

typedef struct kithi_tally {
    uint64_t used;  /* not 0 */
    uint64_t stuck; /* at 15 */
    uint64_t sum;   /* of the others */
} kithi_tally;

/* Tallies counters from … to - 1. The body consists of whole words, so the words that contain `from` and `to` can be
 * read. */
static inline kithi_tally kithi_counters_tally(const kith_filter *f, uint64_t from, uint64_t to) {
    kithi_tally t = {0, 0, 0};
    for (uint64_t first = from / 16 * 16; first < to; first += 16) {
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

#endif
