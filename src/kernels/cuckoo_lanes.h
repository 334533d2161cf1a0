/* kernels/cuckoo_lanes.h: how wide the lanes must be in which the vector code compares the slots of wide buckets. */
#ifndef KITHI_SIMD_CUCKOO_LANES_H
#define KITHI_SIMD_CUCKOO_LANES_H

#include "core/compiler.h"
#include "plan/geometry.h"

/* Returns whether lanes of 32 bits are enough for the slots of wide buckets (KITHI_CF_WIDE_BUCKETS in core/batch.h). A
 * slot begins at bit 8 - gcd(8, slot_bits) of a byte at the latest. Even then it must end in one of the four bytes from
 * this one on. */
KITHI_INLINE bool kithi_cf_fits_lanes32(const kithi_cf_geometry *g) {
    unsigned bits = (unsigned)g->slot_bits, divisor = bits & -bits;
    return bits + 8 - (divisor < 8 ? divisor : 8) <= 32;
}

#endif
