/* The header of each layer, and the options of the layers; see layers.c for the formulas. */
#include "layers/plan.h"

#include <string.h>

#include "core/bits.h"
#include "kinds/registry.h"
#include "plan/planner.h"

void kithi_layers_encode(const kithi_layers_geometry *g, kithi_head *head) {
    head->params[KITHI_PARAM_LAYERS_INNER] = g->inner;
    head->params[KITHI_PARAM_LAYERS_GROWTH] = g->growth;
    head->params[KITHI_PARAM_LAYERS_COUNT] = g->count;
    head->params[KITHI_PARAM_LAYERS_FIRST_CAPACITY] = g->first_capacity;
    head->params[KITHI_PARAM_LAYERS_INNER_OPTIONS] = g->inner_options[0];
    head->params[KITHI_PARAM_LAYERS_INNER_OPTIONS + 1] = g->inner_options[1];
}

uint64_t kithi_layers_inner_option(const kithi_layers_geometry *g, unsigned index) {
    return g->inner_options[index / 4] >> 16 * (index % 4) & 0xffff;
}

/* Sets `options` to those of the layers. Returns KITH_E_CORRUPT if the parameters, which may come from a hostile file,
 * are not valid options of the inner kind. */
static kith_status inner_options(const kithi_layers_geometry *g, const kithi_kind *inner,
                                 uint64_t options[KITHI_OPTIONS_MAX]) {
    kith_status status = kithi_kind_options_read(inner, NULL, options);
    if (status != KITH_OK)
        return status;
    for (unsigned i = 0; i < KITHI_LAYERS_INNER_OPTIONS_MAX; i++) {
        uint64_t value = kithi_layers_inner_option(g, i);
        if (value == 0)
            continue;
        if (i >= inner->info.option_count)
            return KITH_E_CORRUPT;
        options[i] = value - 1;
    }
    return kithi_options_valid(inner->info.options, inner->info.option_count, options) ? KITH_OK : KITH_E_CORRUPT;
}

kith_status kithi_layers_plan(const kithi_head *head, unsigned i, kithi_head *layer) {
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    const kithi_kind *inner = kithi_kind_by_id(g.inner);
    uint64_t capacity;
    if (!kithi_layers_capacity(head, i, &capacity))
        return KITH_E_ADDRESS;
    double rate = kithi_layers_rate(head, i);
    uint64_t options[KITHI_OPTIONS_MAX];
    kithi_shape shape;
    kith_status status = inner_options(&g, inner, options);
    kithi_request request = {
        .capacity = capacity, .rate = rate, .options = options, .is_public = head->hash.id != KITH_HASH_SIPHASH};
    if (status == KITH_OK)
        status = kithi_plan(inner, &request, layer, &shape);
    if (status == KITH_OK)
        layer->hash = head->hash;
    return status;
}

kith_status kithi_layers_plan_first(kithi_head *head) {
    kithi_head first;
    uint64_t block_bytes;
    kith_status status = kithi_layers_plan(head, 0, &first);
    if (status != KITH_OK)
        return status;
    if (!kithi_block_bytes(first.body_bytes, &block_bytes))
        return KITH_E_ADDRESS;
    head->body_bytes = KITHI_LAYERS_DIRECTORY_BYTES + kithi_layers_padded(block_bytes);
    memcpy(head->first_params, first.params, sizeof first.params);
    return KITH_OK;
}

kith_status kithi_layers_first_head(const kithi_head *head, kithi_head *layer) {
    uint64_t any = 0;
    for (unsigned i = 0; i < KITHI_PARAM_COUNT; i++)
        any |= head->first_params[i];
    if (any == 0) /* kithi_layers_plan_first() has not made this header */
        return kithi_layers_plan(head, 0, layer);
    kithi_layers_geometry g = kithi_layers_decode(head).layers;
    *layer = (kithi_head){.kind_id = (uint16_t)g.inner,
                          .hash = head->hash,
                          .capacity = g.first_capacity,
                          .rate = kithi_layers_rate(head, 0)};
    memcpy(layer->params, head->first_params, sizeof layer->params);
    kithi_shape shape;
    kith_status status = kithi_kind_shape(kithi_kind_by_id(layer->kind_id), layer, &shape);
    layer->body_bytes = shape.body_bytes;
    return status;
}
