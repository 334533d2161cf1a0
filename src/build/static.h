/* build/static.h: builds filters of static kinds. */
#ifndef KITHI_BUILD_STATIC_H
#define KITHI_BUILD_STATIC_H

#include "build/collect.h"
#include "kinds/kind.h"

/* Builds a filter of a static kind from a collection of digests. If the spec gives no capacity, neither directly nor by
 * bytes and rate, the capacity is the number of distinct digests. Returns the codes of kith_builder_finish(). */
kith_status kithi_build_static(const kith_filter_spec *spec, kithi_collection *c, kith_filter **filter);

#endif
