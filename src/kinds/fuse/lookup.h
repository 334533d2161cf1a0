/* kinds/fuse/lookup.h: the parameters of fuse, where the cells of a digest are, and lookups. See fuse.c for the idea
 * and the layout, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_FUSE_LOOKUP_H
#define KITHI_FILTERS_FUSE_LOOKUP_H

#include "core/mix.h"
#include "kinds/lookup.h"

#define KITHI_FUSE_ID 8

/* The indices of the parameters. */
enum {
    KITHI_PARAM_FUSE_CELL_BITS,
    KITHI_PARAM_FUSE_ARITY,
    KITHI_PARAM_FUSE_SEGMENT_CELLS,
    KITHI_PARAM_FUSE_SEGMENTS,
    KITHI_PARAM_FUSE_SHARDS
};
#define KITHI_FUSE_PARAMS_MASK ((1 << (KITHI_PARAM_FUSE_SHARDS + 1)) - 1)

#define KITHI_FUSE_CELL_BITS_MIN 4
#define KITHI_FUSE_CELL_BITS_MAX 32
/* A shard has fewer cells than this, because construction stores cell numbers in 32 bits. */
#define KITHI_FUSE_SHARD_CELLS_LIMIT (UINT64_C(1) << 32)
#define KITHI_FUSE_ARITY_MAX 4
#define KITHI_FUSE_SEED_BYTES 8 /* at the beginning of a shard */

/* Returns the number of cells of a shard. */
static inline uint64_t kithi_fuse_shard_cells(const kithi_fuse_geometry *g) {
    return (g->segments + g->arity - 1) * g->segment_cells;
}

/* The most cells that a segment may have. An offset in a segment then has at most 18 bits with 3 cells per key, and 14
 * bits with 4. So kithi_fuse_cells() can take the offsets of a key's cells from different bits of the hash. */
static inline uint64_t kithi_fuse_segment_max(uint64_t arity) {
    return arity == 3 ? UINT64_C(1) << 18 : UINT64_C(1) << 14;
}

static inline kithi_geometry kithi_fuse_decode(const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.fill_limit = UINT64_MAX;
    kithi_fuse_geometry *g = &geometry.fuse;
    g->cell_bits = head->params[KITHI_PARAM_FUSE_CELL_BITS];
    g->arity = head->params[KITHI_PARAM_FUSE_ARITY];
    g->segment_cells = head->params[KITHI_PARAM_FUSE_SEGMENT_CELLS];
    g->segments = head->params[KITHI_PARAM_FUSE_SEGMENTS];
    g->shards = head->params[KITHI_PARAM_FUSE_SHARDS];
    g->starts = g->segments * g->segment_cells;
    /* A load of the last cell reads 8 bytes from its first byte on. */
    g->shard_bytes =
        (KITHI_FUSE_SEED_BYTES + (kithi_fuse_shard_cells(g) * g->cell_bits + 7) / 8 + 7 + 63) & ~UINT64_C(63);
    return geometry;
}

static inline kith_status kithi_fuse_shape(const kithi_head *head, kithi_shape *shape) {
    kithi_fuse_geometry g = kithi_fuse_decode(head).fuse;
    bool valid = g.cell_bits >= KITHI_FUSE_CELL_BITS_MIN && g.cell_bits <= KITHI_FUSE_CELL_BITS_MAX &&
                 (g.arity == 3 || g.arity == 4) && g.segment_cells >= 1 &&
                 g.segment_cells <= kithi_fuse_segment_max(g.arity) && (g.segment_cells & (g.segment_cells - 1)) == 0 &&
                 g.segments >= 1 && g.segments < KITHI_FUSE_SHARD_CELLS_LIMIT &&
                 kithi_fuse_shard_cells(&g) < KITHI_FUSE_SHARD_CELLS_LIMIT && g.shards >= 1 &&
                 (g.shards & (g.shards - 1)) == 0;
    memset(shape, 0, sizeof *shape);
    if (!valid || !kithi_checked_mul(g.shards, kithi_fuse_shard_cells(&g), &shape->cells) ||
        !kithi_checked_mul(g.shards, g.shard_bytes, &shape->body_bytes) || shape->body_bytes > UINT64_C(1) << 62)
        return KITH_E_CORRUPT;
    shape->regions = g.shards;
    shape->cell_bits = (unsigned)g.cell_bits;
    shape->fingerprint_bits = (unsigned)g.cell_bits;
    shape->lines = shape->lookup_cells = (unsigned)g.arity;
    shape->max_copies = 1;
    return KITH_OK;
}

/* The hash of a digest in its shard. It is a bijection, so distinct digests always have distinct hashes. */
static inline uint64_t kithi_fuse_hash(uint64_t digest, uint64_t seed) {
    return kithi_mix(digest + seed);
}

/* Sets at[i] to the i-th cell of a hash and returns its fingerprint.
 *
 * `starts` is the number of cells that can be the first cell of a key. hash * starts / 2^64 is a number with an integer
 * and a fractional part. The integer part is the first cell, and the first bits of the fraction are the fingerprint, so
 * the two are independent. Cell i is in the i-th segment after that of the first cell. Its offset there is the offset
 * of the first cell XOR some low bits of the hash, which are different ones for each i.
 *
 * The first cell and the fingerprint depend mainly on the high bits of the hash: in a shard of 2^20 keys with 8-bit
 * fingerprints, on the highest 28. With 3 cells per key the XORs use none of these 28 bits. With 4 cells per key, a
 * segment of such a shard has 2^12 cells, so the last XOR uses bits 28 … 39 of the hash. Bits 36 … 39 are among the
 * highest 28, so the last cell and the fingerprint have about four bits in common. The rate is nevertheless
 * 2^-cell_bits: tests/unit/fuse.c measures it with 4 cells per key, too. */
KITHI_INLINE uint64_t kithi_fuse_cells(const kithi_fuse_geometry *g, uint64_t hash, unsigned arity, unsigned cell_bits,
                                       uint64_t *at) {
    uint64_t rest, mask = g->segment_cells - 1;
    at[0] = kithi_mul_wide(hash, g->starts, &rest);
    unsigned shift = arity == 3 ? 18 : 14;
    for (unsigned i = 1; i < arity; i++)
        at[i] = (at[0] + i * g->segment_cells) ^ ((hash >> ((i - 1) * shift)) & mask);
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

KITHI_INLINE const uint8_t *kithi_fuse_shard(const kithi_fuse_geometry *g, const uint8_t *body, uint64_t digest) {
    return body + kithi_mulhi(digest, g->shards) * g->shard_bytes;
}

/* Returns the XOR of the fingerprint and the cells of this hash: 0 if its key may be in the set. */
KITHI_INLINE uint64_t kithi_fuse_difference(const kithi_fuse_geometry *g, const uint8_t *cells, uint64_t hash,
                                            unsigned arity, unsigned cell_bits) {
    uint64_t at[KITHI_FUSE_ARITY_MAX], sum = kithi_fuse_cells(g, hash, arity, cell_bits, at);
    for (unsigned i = 0; i < arity; i++)
        sum ^= kithi_fuse_get(cells, at[i], cell_bits);
    return sum;
}

KITHI_INLINE bool kithi_fuse_has_inline(const kithi_fuse_geometry *g, const uint8_t *body, uint64_t digest) {
    const uint8_t *shard = kithi_fuse_shard(g, body, digest), *cells = shard + KITHI_FUSE_SEED_BYTES;
    uint64_t hash = kithi_fuse_hash(digest, kithi_load64(shard));
    unsigned cell_bits = (unsigned)g->cell_bits;
    return (g->arity == 3 ? kithi_fuse_difference(g, cells, hash, 3, cell_bits)
                          : kithi_fuse_difference(g, cells, hash, 4, cell_bits)) == 0;
}

static inline bool kithi_fuse_has(const kithi_geometry *g, const uint8_t *body, uint64_t digest) {
    return kithi_fuse_has_inline(&g->fuse, body, digest);
}

static const kithi_lookup kithi_lookup_fuse = {
    KITHI_FUSE_ID,     KITHI_FUSE_PARAMS_MASK, false, /* adds */
    kithi_fuse_decode, kithi_fuse_shape,       kithi_fuse_has,
};

#endif
