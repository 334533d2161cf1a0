/* plan/planner.h: computes the header of an empty filter from a spec. */
#ifndef KITHI_PLAN_PLANNER_H
#define KITHI_PLAN_PLANNER_H

#include "kinds/kind.h"

/* Plans a filter of this kind for a request. Of head->hash, sets only the id, to one that is as public as the
 * request. */
kith_status kithi_plan(const kithi_kind *kind, const kithi_request *request, kithi_head *head, kithi_shape *shape);

/* Copies the spec of a caller. The caller's struct may be smaller, if the program was compiled against an older
 * version; missing fields become 0. Fails with KITH_E_STRUCT, KITH_E_RECIPE or KITH_E_ARGUMENT. */
kith_status kithi_spec_read(const kith_filter_spec *given, kith_filter_spec *spec);

/* Plans the filter of a spec that was read by kithi_spec_read(). Sets only the id of head->hash; the caller sets
 * the rest. */
kith_status kithi_plan_spec(const kith_filter_spec *spec, kithi_head *head);

/* Plans the same filter again for build attempt 1, 2, …, after KITH_E_FULL from the build of a static kind (kind.h).
 * `first` is the plan of attempt 0; its kind, capacity, rate, hash, recipe and size of notes are kept. `largest` is
 * that of kithi_request. Returns KITH_E_FULL if the kind makes no such attempt, and KITH_E_TOO_LARGE also if the filter
 * would exceed spec->bytes or spec->max_bytes. */
kith_status kithi_plan_again(const kith_filter_spec *spec, const kithi_head *first, unsigned attempt, uint64_t largest,
                             kithi_head *head);

#endif
