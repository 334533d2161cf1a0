/* layers/plan.h: the header of each layer, and the options of the layers; see layers.c. */
#ifndef KITHI_FILTERS_LAYERS_PLAN_H
#define KITHI_FILTERS_LAYERS_PLAN_H

#include "layers/lookup.h"
#include "kinds/kind.h"

#define KITHI_LAYERS_INNER_OPTIONS_MAX 8 /* inner options that the two parameters have space for */

/* Writes the parameters into head->params. */
void kithi_layers_encode(const kithi_layers_geometry *g, kithi_head *head);

/* Returns 1 + the value of option `index` of the inner kind, or 0 if the option was not given. */
uint64_t kithi_layers_inner_option(const kithi_layers_geometry *g, unsigned index);

/* Plans layer i of the filter with the header `head`: sets *layer to the header that the layer has when it is empty. */
kith_status kithi_layers_plan(const kithi_head *head, unsigned i, kithi_head *layer);

/* Plans the first layer of a filter that has no other. Sets head->body_bytes and head->first_params, the parameters
 * of that layer (format/head.h). */
kith_status kithi_layers_plan_first(kithi_head *head);

/* As kithi_layers_plan() for layer 0. Takes little time if kithi_layers_plan_first() has made the header. */
kith_status kithi_layers_first_head(const kithi_head *head, kithi_head *layer);

#endif
