/* fuse.h: where the cells of a digest are, shared by lookups (fuse.c) and construction (fuse_build.c). */
#ifndef KITHI_FILTERS_FUSE_H
#define KITHI_FILTERS_FUSE_H

#include "core/compiler.h"
#include "core/mix.h"
#include "kind.h"

#define KITHI_FUSE_ARITY_MAX 4
#define KITHI_FUSE_SEED_BYTES 8 /* at the beginning of a shard */

/* Returns the number of cells of a shard. */
static inline uint64_t kithi_fuse_shard_cells(const kithi_fuse_geometry *g) {
    return (g->segments + g->arity - 1) * g->segment;
}

/* The seed of try 1, 2, … to build a shard. Never 0: that is the seed of a shard without keys. */
static inline uint64_t kithi_fuse_seed(unsigned try) {
    return kithi_mix(try * KITHI_GOLDEN);
}

/* The hash of a digest in its shard. It is a bijection, so distinct digests have distinct hashes, whatever they are. */
static inline uint64_t kithi_fuse_hash(uint64_t digest, uint64_t seed) {
    return kithi_mix(digest + seed);
}

/* Sets at[i] to the i-th cell of a hash and returns its fingerprint.
 *
 * hash * starts / 2^64 is a number with an integer and a fractional part. The integer part is the first cell, and the
 * fingerprint is the first bits of the fraction: they are independent. The offsets in the other segments come from the
 * low bits of the hash. In a shard of 2^20 keys with 8-bit fingerprints, these are other bits of the hash than those
 * that determine the first cell and the fingerprint. */
KITHI_INLINE uint64_t kithi_fuse_cells(const kithi_fuse_geometry *g, uint64_t hash, unsigned arity, unsigned cell_bits,
                                       uint64_t *at) {
    uint64_t rest, mask = g->segment - 1;
    at[0] = kithi_mul_wide(hash, g->starts, &rest);
    unsigned shift = arity == 3 ? 18 : 14;
    for (unsigned i = 1; i < arity; i++)
        at[i] = (at[0] + i * g->segment) ^ ((hash >> ((i - 1) * shift)) & mask);
    return rest >> (64 - cell_bits);
}

/* Cell `index` of a shard. Widths of 8, 16 and 32 bits are compiled to plain loads if cell_bits is a constant. */
KITHI_INLINE uint64_t kithi_fuse_get(const uint8_t *cells, uint64_t index, unsigned cell_bits) {
    switch (cell_bits) {
    case 8:
        return cells[index];
    case 16:
        return kithi_load16(cells + 2 * index);
    case 32:
        return kithi_load32(cells + 4 * index);
    default:
        return kithi_field_get(cells, index, cell_bits);
    }
}

/* The function `build` of kithi_kind. */
kith_status kithi_fuse_build(kith_filter *f, uint64_t region, const uint64_t *digests, size_t n);

/* Returns whether kithi_fuse_build() can have used this seed. */
bool kithi_fuse_seed_valid(uint64_t seed);

#endif
