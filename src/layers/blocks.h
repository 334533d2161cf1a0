/* layers/blocks.h: the layers of a filter in memory; see layers_blocks.c. */
#ifndef KITHI_FILTERS_LAYERS_BLOCKS_H
#define KITHI_FILTERS_LAYERS_BLOCKS_H

#include "kinds/kind.h"

/* The `state` of a filter of kind layers. */
typedef struct kithi_layers {
    uint64_t in_block_bytes; /* bytes of the body in the filter's block: the directory and the first layers */
    unsigned in_block;  /* layers 0 … in_block-1 are in the filter's block; each later one has a separate block */
    unsigned allocated; /* length of `layer`; kithi_layers_count() of them are in use */
    kith_filter layer[];
} kithi_layers;

static inline kith_filter *kithi_layers_of(const kith_filter *f) {
    return ((kithi_layers *)f->state)->layer;
}

static inline unsigned kithi_layers_count(const kith_filter *f) {
    return (unsigned)f->geometry.layers.count;
}

/* Appends an empty layer. Returns KITH_E_FULL if there can be no more layers, KITH_E_TOO_LARGE if the limit of the
 * handle would be exceeded, or KITH_E_MEMORY; the filter is then unchanged. */
kith_status kithi_layers_grow(kith_filter *f);

/* The functions of these names in kithi_operations. */
kith_status kithi_layers_init(kith_filter *f);
kith_status kithi_layers_attach(kith_filter *f, const kith_filter *like, unsigned flags);
void kithi_layers_detach(kith_filter *f);
bool kithi_layers_clear(kith_filter *f);
uint64_t kithi_layers_memory(const kith_filter *f);
kith_status kithi_layers_verify(const kith_filter *f);
size_t kithi_layers_parts(const kith_filter *f, kithi_part parts[KITHI_BODY_PARTS_MAX]);
void kithi_layers_relocate(kith_filter *f, kith_move move, void *context);
kith_status kithi_layers_salvage(kith_filter *f, kithi_damage *damage); /* these two are in layers_salvage.c */
void kithi_layers_recount(kith_filter *f);

#endif
