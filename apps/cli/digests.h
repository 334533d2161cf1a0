/* digests.h: collects and sorts digests, which may need more than the available memory.
 *
 * build does not know the number of keys in advance, so it keeps their digests, 8 bytes each: in memory up to a limit,
 * and beyond that in sorted runs in unlinked temporary files ($TMPDIR or /tmp), which are merged at the end. */
#ifndef CLI_DIGESTS_H
#define CLI_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct digests digests;

/* Uses at most `memory_bytes` of memory at any time, including sorting. With `keep_copies`, equal digests are kept. */
digests *digests_new(uint64_t memory_bytes, bool keep_copies);
void digests_add_many(digests *d, const uint64_t *values, size_t n);

/* Call it after the last digest. Returns the number of digests: of distinct ones, or of all with keep_copies. If it is
 * called again, digests_next() starts again with the first digest. */
uint64_t digests_finish(digests *d);

/* After digests_finish(): returns up to `room` digests in ascending order; 0 at the end. */
size_t digests_next(digests *d, uint64_t *values, size_t room);

void digests_free(digests *d);

#endif
