/* digests.h: a heap of digests that may be larger than memory.
 *
 * build does not know how many keys will come, so it keeps their digests, 8 bytes each: in memory up to a limit, past
 * it in sorted runs in unlinked temporary files ($TMPDIR or /tmp), which are merged at the end. */
#ifndef CLI_DIGESTS_H
#define CLI_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct digests digests;

/* Holds at most `memory_bytes` at any time, sorting included. `keep_copies`: equal digests stay. */
digests *digests_new(uint64_t memory_bytes, bool keep_copies);
void digests_add_many(digests *d, const uint64_t *values, size_t n);

/* No more to come; the number that there are (distinct ones, or all). Called again, it hands them out again from the
 * first. */
uint64_t digests_finish(digests *d);

/* After finish: the next up to `room` digests in ascending order; 0 at the end. */
size_t digests_next(digests *d, uint64_t *values, size_t room);

void digests_free(digests *d);

#endif
