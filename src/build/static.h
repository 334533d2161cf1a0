/* build/static.h: builds a filter of a static kind from an array of digests. */
#ifndef KITHI_BUILD_STATIC_H
#define KITHI_BUILD_STATIC_H

#include "kind.h"

/* As kith_filter_build() with KITH_BUILD_SET. spec->kind must be a static kind; spec->capacity 0 means the number of
 * distinct digests. */
kith_status kithi_build_static(const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned threads,
                               kith_filter **filter);

#endif
