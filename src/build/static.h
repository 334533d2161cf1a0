/* build/static.h: builds filters of static kinds. */
#ifndef KITHI_BUILD_STATIC_H
#define KITHI_BUILD_STATIC_H

#include "build/collect.h"
#include "kind.h"

/* Builds the filter of a spec whose kind is static from a collection of digests; capacity 0 means the number of distinct
 * digests. Returns the codes of kith_builder_finish(). */
kith_status kithi_build_static(const kith_filter_spec *spec, kithi_collection *c, kith_filter **filter);

#endif
