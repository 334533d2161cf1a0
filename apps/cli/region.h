/* region.h: memory for bytes whose number is not known before: it grows without copying, and is returned to the system
 * as soon as it is freed. A zeroed struct is an empty region. */
#ifndef CLI_REGION_H
#define CLI_REGION_H

#include <stdbool.h>
#include <stddef.h>

typedef struct region {
    char *bytes;      /* NULL: empty */
    size_t allocated; /* whole pages */
} region;

/* Makes the region at least as large as `byte_count`. It may move; its bytes stay the same, and new ones are 0. Memory
 * is used from the first access on, page by page; before, a region only takes address space, which the user may limit
 * (ulimit -v). Returns false, and changes nothing, if there is not enough. */
bool region_grow(region *r, size_t byte_count);

void region_free(region *r); /* empties it */

#endif
