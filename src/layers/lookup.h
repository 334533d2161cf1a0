/* layers/lookup.h: the parameters of layers, where the layers are in the body, and which headers they may have.
 * See layers.c for the idea and the layout, and lookup.h for the rules of this header. */
#ifndef KITHI_FILTERS_LAYERS_LOOKUP_H
#define KITHI_FILTERS_LAYERS_LOOKUP_H

#include "core/bits.h"
#include "core/digest.h"
#include "kinds/lookup.h"

#define KITHI_LAYERS_ID 6
#define KITHI_LAYERS_MAX 64
#define KITHI_LAYERS_DIRECTORY_BYTES (8 * KITHI_LAYERS_MAX)
#define KITHI_LAYERS_GROWTH_MAX 32768

/* The indices of the parameters. */
enum {
    KITHI_PARAM_LAYERS_INNER,
    KITHI_PARAM_LAYERS_GROWTH,
    KITHI_PARAM_LAYERS_COUNT,
    KITHI_PARAM_LAYERS_FIRST_CAPACITY,
    KITHI_PARAM_LAYERS_INNER_OPTIONS /* two of them */
};
#define KITHI_LAYERS_PARAMS_MASK ((1 << (KITHI_PARAM_LAYERS_INNER_OPTIONS + 2)) - 1)

static inline kithi_geometry kithi_layers_decode(const kithi_head *head) {
    kithi_geometry geometry;
    memset(&geometry, 0, sizeof geometry);
    geometry.fill_limit = UINT64_MAX;
    kithi_layers_geometry *g = &geometry.layers;
    g->inner = head->params[KITHI_PARAM_LAYERS_INNER];
    g->growth = head->params[KITHI_PARAM_LAYERS_GROWTH];
    g->count = head->params[KITHI_PARAM_LAYERS_COUNT];
    g->first_capacity = head->params[KITHI_PARAM_LAYERS_FIRST_CAPACITY];
    for (unsigned i = 0; i < 2; i++)
        g->inner_options[i] = head->params[KITHI_PARAM_LAYERS_INNER_OPTIONS + i];
    return geometry;
}

/* Checks the header. Does not check that the kind of the layers exists, only that it is not `layers`. Sets only
 * body_bytes: everything else depends on the layers. */
static inline kith_status kithi_layers_shape(const kithi_head *head, kithi_shape *shape) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    memset(shape, 0, sizeof *shape);
    if (g.inner == KITHI_LAYERS_ID || g.growth < 1 || g.growth > KITHI_LAYERS_GROWTH_MAX || g.count < 1 ||
        g.count > KITHI_LAYERS_MAX || g.first_capacity == 0 || g.first_capacity > head->capacity ||
        head->body_bytes < KITHI_LAYERS_DIRECTORY_BYTES + KITHI_HEADER_BYTES || head->body_bytes % 64 != 0)
        return KITH_E_CORRUPT;
    shape->body_bytes = head->body_bytes;
    return KITH_OK;
}

/* The position of a layer in the body. */
typedef struct kithi_inner_block {
    uint64_t at; /* offset in the body */
    uint64_t bytes;
} kithi_inner_block;

/* Returns how many bytes the block of a layer takes in the body, padding included. */
static inline uint64_t kithi_layers_padded(uint64_t block_bytes) {
    return (block_bytes + 63) & ~UINT64_C(63);
}

/* Reads the directory: sets *block to the position of layer i. Before the call, *block is the position of layer i - 1,
 * or all 0 if i is 0. Returns KITH_OK, KITH_E_ABSENT if there is no layer i, or KITH_E_CORRUPT. */
static inline kith_status kithi_layers_block(const kithi_head *head, const uint8_t *body, unsigned i,
                                             kithi_inner_block *block) {
    block->at = i == 0 ? KITHI_LAYERS_DIRECTORY_BYTES : block->at + kithi_layers_padded(block->bytes);
    uint64_t left = head->body_bytes - block->at;
    if (i == kithi_layers_decode(head).layers.count)
        return left == 0 ? KITH_E_ABSENT : KITH_E_CORRUPT;
    block->bytes = kithi_load64(body + 8 * (size_t)i);
    if (block->bytes < KITHI_HEADER_BYTES || block->bytes > left || kithi_layers_padded(block->bytes) > left)
        return KITH_E_CORRUPT;
    return KITH_OK;
}

/* Sets *capacity to that of layer i; returns false if it is 2^64 or more. */
static inline bool kithi_layers_capacity(const kithi_head *head, unsigned i, uint64_t *capacity) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    *capacity = g.first_capacity;
    for (unsigned j = 0; j < i; j++)
        if (!kithi_checked_mul(*capacity, g.growth, capacity))
            return false;
    return true;
}

/* The rate that layer i is planned for: see layers.c. */
static inline double kithi_layers_rate(const kithi_head *head, unsigned i) {
    const double share = 0.60792710185402662866; /* 6/pi^2 */
    return head->rate * share / ((double)(i + 1) * (double)(i + 1));
}

/* Returns log2(1/x), 0 < x < 1, rounded up to a multiple of 2^-20. It is computed bit by bit, because a program that
 * includes kith/reader.h need not link the mathematical library. */
static inline double kithi_log2_inverse(double x) {
    double bits = 0;
    while (x < 1) {
        x *= 2;
        bits++;
    }
    for (unsigned i = 1; i <= 20; i++) {
        x *= x;
        if (x >= 2) {
            x /= 2;
            bits -= 1.0 / (1u << i);
        }
    }
    return bits;
}

/* Returns whether `layer` may be the header of layer i. The kind is checked before the layer is opened: otherwise
 * layers nested in layers could make the recursion as deep as the file is long. Recipe, notes and the mark of a store
 * belong to the whole filter, so no layer has them. More checks are needed because the sizes of new layers follow from
 * the headers: a small forged file whose layers claim to hold far more keys than they have bits for would become a huge
 * filter when it grows. So the layer's
 *
 *   capacity   must be kithi_layers_capacity(), from which the capacities of new layers are computed, too;
 *   rate       must be at most kithi_layers_rate() (plus rounding error), so that the sum of all rates is bounded;
 *   body       must have at least 0.9 * capacity * log2(1/rate) bits. No filter of that capacity, of any kind, keeps
 *              that rate with fewer than capacity * log2(1/rate) bits (Carter, Floyd, Gill, Markowsky, Wegman, 1978).
 *              The factor 0.9 allows plans that keep their rate only on average. */
static inline bool kithi_layers_fits(const kithi_head *head, unsigned i, const kithi_head *layer) {
    uint64_t capacity;
    return layer->kind_id == kithi_layers_decode(head).layers.inner && layer->recipe == 0 && layer->notes_bytes == 0 &&
           !layer->store.is_store && kithi_hash_equal_inline(&layer->hash, &head->hash) &&
           kithi_layers_capacity(head, i, &capacity) && layer->capacity == capacity && layer->rate > 0 &&
           layer->rate <= kithi_layers_rate(head, i) * (1 + 1e-9) &&
           (double)layer->body_bytes * 8 >= 0.9 * (double)layer->capacity * kithi_log2_inverse(layer->rate);
}

static const kithi_lookup kithi_lookup_layers = {
    KITHI_LAYERS_ID,     KITHI_LAYERS_PARAMS_MASK, true, /* adds */
    kithi_layers_decode, kithi_layers_shape,       NULL, /* has */
};

#endif
