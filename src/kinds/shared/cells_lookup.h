/* kinds/shared/cells_lookup.h: a parameter of all Bloom and counting kinds, and how counters are read. lookup.h has
 * the rules of this header. */
#ifndef KITHI_FILTERS_CELLS_LOOKUP_H
#define KITHI_FILTERS_CELLS_LOOKUP_H

#include "core/bits.h"
#include "kinds/lookup.h"

/* Index of the parameter that holds the fill limit, in the Bloom and counting kinds. */
#define KITHI_PARAM_FILL_LIMIT (KITHI_PARAM_COUNT - 1)

/* ---- counters: see kinds/shared/counter_cells.h ---- */

/* The default width of a counter, and what follows from it. */
#define KITHI_COUNTER_BITS 4
#define KITHI_COUNTER_TOP 15                         /* the largest value */
#define KITHI_COUNTER_COPIES (KITHI_COUNTER_TOP - 1) /* how many times a key may be added */

/* Returns the largest value of a counter of `width` bits. */
KITHI_INLINE unsigned kithi_counter_top(unsigned width) {
    return (1u << width) - 1;
}

/* Returns the value of counter c. A counter of 4 bits is in one byte. A counter of another width may extend into a
 * second byte. Code that reads or changes a counter accesses the second byte only in this case, because otherwise
 * another thread may be changing that byte (add_cells in kind.h). Callers pass a constant `width` where they can,
 * because this is faster. */
KITHI_INLINE unsigned kithi_counter(const uint8_t *counters, uint64_t c, unsigned width) {
    if (width == 4)
        return counters[c / 2] >> (c % 2 * 4) & KITHI_COUNTER_TOP;
    const uint8_t *at = counters + c * width / 8;
    unsigned shift = (unsigned)(c * width % 8), bits = at[0];
    if (shift + width > 8)
        bits |= (unsigned)at[1] << 8;
    return bits >> shift & kithi_counter_top(width);
}

#endif
