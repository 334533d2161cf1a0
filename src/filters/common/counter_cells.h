/* filters/common/counter_cells.h: what the counting kinds have in common: cells that are counters of 4 bits, so that keys go again.
 *
 *     counter c  =  low (c even) or high (c odd) half of byte c / 2
 *
 * A key adds 1 to each of its counters; removing it takes 1 from each; it is answered yes when none of them is 0.
 *
 * Saturating and sticky. A counter that reaches 15 (F) may stand for more, so it stays at 15 for ever: taking 1 from
 * it could take a key away that is still in. It costs a little rate and never a key; stats().stuck says how many.
 *
 * Copies. A key may be added until the least of its counters is 14; one more is KITH_E_COPIES. So a key alone never
 * drives a counter to 15, and one that is added a million times harms nobody; counters stick only where keys meet, or
 * where filters are merged. copies() is the least counter of the key: never less than the truth, except that 15, which
 * takes a merge or stuck counters all over the key, means "15 or more".
 *
 * Order. The bytes are min(15, adds) in each counter, whatever the order of the adds that went in. Which adds are
 * refused may depend on it: a key whose counters are all shared may take 14 copies when it comes first, fewer when it
 * comes last.
 *
 * The header's fill is the number of counters that are not 0; the guard against chosen keys is bloom's (filters/common/bit_cells.h). */
#ifndef KITHI_FILTERS_COUNTER_CELLS_H
#define KITHI_FILTERS_COUNTER_CELLS_H

#include "filters/common/bit_cells.h"

#define KITHI_COUNTER_BITS 4
#define KITHI_COUNTER_TOP 15
#define KITHI_COUNTER_COPIES (KITHI_COUNTER_TOP - 1)

#define KITHI_COUNTERS_CAPABILITIES (KITH_CAN_REMOVE | KITH_CAN_COPIES | KITH_CAN_MERGE | KITH_CAN_ANY_ORDER)

/* ---- one counter ---- */

static inline unsigned kithi_counter(const uint8_t *counters, uint64_t c) {
    return counters[c / 2] >> (c % 2 * 4) & KITHI_COUNTER_TOP;
}

static inline uint64_t kithi_counters_cell(const kith_filter *f, uint64_t cell) {
    return kithi_counter(f->body, cell);
}

/* Adds 1 unless it is stuck; answers whether it was 0. */
static inline bool kithi_counter_raise(uint8_t *counters, uint64_t c) {
    unsigned value = kithi_counter(counters, c);
    counters[c / 2] = (uint8_t)(counters[c / 2] + ((value != KITHI_COUNTER_TOP) << (c % 2 * 4)));
    return value == 0;
}

/* Takes 1 from one that is not 0, unless it is stuck; answers whether it is 0 now. */
static inline bool kithi_counter_lower(uint8_t *counters, uint64_t c) {
    unsigned value = kithi_counter(counters, c);
    counters[c / 2] = (uint8_t)(counters[c / 2] - ((value != KITHI_COUNTER_TOP) << (c % 2 * 4)));
    return value == 1;
}

/* ---- one key, of which `least` is the least counter ---- */

/* May it be added? */
static inline kith_status kithi_counters_open(const kith_filter *f, unsigned least) {
    if (least >= KITHI_COUNTER_COPIES)
        return KITH_E_COPIES;
    return kithi_bits_open(f) ? KITH_OK : KITH_E_FULL;
}

/* May it be removed? With a count of 0, a key that still answers yes does so by stuck counters. */
static inline kith_status kithi_counters_removable(const kith_filter *f, unsigned least) {
    return f->head.count == 0 || least == 0 ? KITH_E_ABSENT : KITH_OK;
}

/* ---- sixteen counters at a time ---- */

#define KITHI_EACH_COUNTER UINT64_C(0x1111111111111111)
#define KITHI_EVEN_COUNTERS UINT64_C(0x0f0f0f0f0f0f0f0f)

/* At most 16 * 15, which a byte holds. */
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

/* Even counters of both, each in a byte of its own: their sum, at most 15. */
static inline uint64_t kithi_counters_add_even(uint64_t a, uint64_t b) {
    uint64_t sum = (a & KITHI_EVEN_COUNTERS) + (b & KITHI_EVEN_COUNTERS);
    uint64_t carry = sum & ~KITHI_EVEN_COUNTERS; /* 16 in each byte that passed 15 */
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

/* Over counters from … to - 1. The body is whole words, so those that `from` and `to` lie in can be read. */
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
