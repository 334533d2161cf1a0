/* building.h: builders for the commands that collect keys. */
#ifndef CLI_BUILDING_H
#define CLI_BUILDING_H

#include <stdnoreturn.h>

#include <kith/builder.h>

#include "options.h"

/* The limits of a builder: half of --memory (the other half is for the filter), --threads, and a progress bar. A filter
 * needs about 2 bytes per key and a collected key 20, so if the filter needs more than its half, the digests are
 * already on disk. */
kith_build_limits build_limits(const arguments *a);

/* Returns the memory that the builder holds: at most its half of --memory (except that a builder uses at least 1
 * MiB). */
uint64_t build_held(const kith_builder *builder, const arguments *a);

/* Adds a batch of digests. Ends the tool if there is no memory or no space for the temporary file. *done of them were
 * taken. Returns KITH_OK, or a code that concerns the filter. */
kith_status build_add(kith_builder *builder, const uint64_t *digests, size_t n, size_t *done);

/* Ends the tool if the status concerns the temporary file; otherwise returns. */
void build_check(kith_status status);

#endif
