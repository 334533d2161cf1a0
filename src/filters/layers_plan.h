/* filters/layers_plan.h: the parameters of layers, and the capacity, rate and header of each layer; see layers.c. */
#ifndef KITHI_FILTERS_LAYERS_PLAN_H
#define KITHI_FILTERS_LAYERS_PLAN_H

#include "kind.h"

#define KITHI_LAYERS_ID 6
#define KITHI_LAYERS_MAX 64
#define KITHI_LAYERS_DIRECTORY_BYTES (8 * KITHI_LAYERS_MAX)

/* The indices of the parameters. */
enum {
    KITHI_LAYERS_INNER,
    KITHI_LAYERS_GROWTH,
    KITHI_LAYERS_COUNT,
    KITHI_LAYERS_FIRST_CAPACITY,
    KITHI_LAYERS_INNER_OPTIONS, /* two of them */
};

#define KITHI_LAYERS_GROWTH_MAX 32768
#define KITHI_LAYERS_INNER_OPTIONS_MAX 8 /* inner options that the two parameters have space for */

/* Returns how many bytes the block of a layer takes in the body, padding included. */
static inline uint64_t kithi_layers_padded(uint64_t block_bytes) {
    return (block_bytes + 63) & ~UINT64_C(63);
}

kithi_geometry kithi_layers_decode(const kithi_head *head);
void kithi_layers_encode(const kithi_layers_geometry *g, kithi_head *head);

/* Returns the value of option `index` of the inner kind + 1, or 0 if it was not given. */
uint64_t kithi_layers_inner_option(const kithi_layers_geometry *g, unsigned index);

/* Sets *capacity to that of layer i; returns false if it is 2^64 or more. */
bool kithi_layers_capacity(const kithi_head *head, unsigned i, uint64_t *capacity);

/* The rate that layer i is planned for. */
double kithi_layers_rate(const kithi_head *head, unsigned i);

/* The header that layer i of this filter has when it is empty. */
kith_status kithi_layers_plan(const kithi_head *head, unsigned i, kithi_head *layer);

/* Sets *body_bytes to the size of the body of a filter of one layer. */
kith_status kithi_layers_first_body(const kithi_head *head, uint64_t *body_bytes);

#endif
