/* plan/planner.h: from what is wanted to the header of an empty filter. */
#ifndef KITHI_PLAN_PLANNER_H
#define KITHI_PLAN_PLANNER_H

#include "kind.h"

/* Plans a filter of this kind, capacity and rate. `options` has one value per option of the kind. */
kith_status kithi_plan(const kithi_kind *kind, const uint64_t *options, uint64_t capacity, double rate,
                       kithi_head *head, kithi_shape *shape);

/* Reads the spec of a caller, who may have an older and smaller one. KITH_E_ARGUMENT. */
kith_status kithi_spec_read(const kith_filter_spec *given, kith_filter_spec *spec);

/* Plans what a spec, read as above, asks for. The hash of the spec is left to the caller. */
kith_status kithi_plan_spec(const kith_filter_spec *spec, kithi_head *head);

/* Plans the same filter again for build attempt 1, 2, …, after KITH_E_FULL from the build of a static kind (kind.h).
 * `before` is the plan of attempt 0: kind, capacity, rate, hash, recipe and the size of the notes stay. May raise
 * KITH_E_TOO_LARGE, also for spec->bytes and spec->max_bytes. */
kith_status kithi_plan_again(const kith_filter_spec *spec, const kithi_head *before, unsigned attempt,
                             kithi_head *head);

#endif
