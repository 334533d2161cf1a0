/* building.h: builders for the commands that collect keys. */
#ifndef CLI_BUILDING_H
#define CLI_BUILDING_H

#include <stdnoreturn.h>

#include <kith/builder.h>

#include "cli/options.h"

#define BUILDER_BYTES_MIN (UINT64_C(1) << 20) /* the least that a builder uses, whatever its limit */

/* The limits of a builder: --threads, a progress bar, and the memory that a filter of filter_bytes leaves of --memory,
 * but at most half of --memory. If the size of the filter is not known yet, filter_bytes is 0. A filter needs about 2
 * bytes per key and a collected key 20, so if the filter needs more than its half, the digests are already on disk. */
kith_build_limits build_limits(const arguments *a, uint64_t filter_bytes);

/* Returns how much of --memory a filter must leave to a builder that collects digests: BUILDER_BYTES_MIN, but not more
 * than half of --memory, so that small filters can be built whatever the limit. */
uint64_t build_least(const arguments *a);

/* Returns the memory that the builder holds: at most its limit (except that a builder uses at least
 * BUILDER_BYTES_MIN). */
uint64_t build_held(const kith_builder *builder, const kith_build_limits *limits);

/* Adds a batch of digests. Ends the tool if there is no memory or no space for the temporary file. *done of them were
 * taken. Returns KITH_OK, or a code that concerns the filter. */
kith_status build_add(kith_builder *builder, const uint64_t *digests, size_t n, size_t *done);

/* Ends the tool if the status concerns the temporary file; otherwise returns. */
void build_check(kith_status status);

#endif
