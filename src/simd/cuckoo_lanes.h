/* simd/cuckoo_lanes.h: what the vector lookups of the cuckoo kinds have in common on all processors. */
#ifndef KITHI_SIMD_CUCKOO_LANES_H
#define KITHI_SIMD_CUCKOO_LANES_H

#include "core/compiler.h"
#include "plan/geometry.h"

/* Returns whether lanes of 32 bits are enough for the slots of wide buckets. A slot begins at bit 8 - gcd(8, slot_bits)
 * of a byte at the latest, and must then end within four bytes. */
KITHI_INLINE bool kithi_cf_fits_lanes32(const kithi_cf_geometry *g) {
    unsigned bits = (unsigned)g->slot_bits, divisor = bits & -bits;
    return bits + 8 - (divisor < 8 ? divisor : 8) <= 32;
}

#endif
