/* plan/planner.h: from what is wanted to the header of an empty filter. */
#ifndef KITHI_PLAN_PLANNER_H
#define KITHI_PLAN_PLANNER_H

#include "kind.h"

/* Plans a filter of this kind, capacity and rate. `options` has one value per option of the kind. */
kith_status kithi_plan(const kithi_kind *kind, const uint64_t *options, uint64_t capacity, double rate,
                       kithi_head *head, kithi_shape *shape);

/* Plans what a spec asks for. The hash of the spec is left to the caller. */
kith_status kithi_plan_spec(const kith_filter_spec *spec, kithi_head *head);

#endif
