/* region.c: growing memory; see region.h. Linux moves the pages of a region to other addresses, so growing takes
 * microseconds per megabyte, and old and new bytes never exist at the same time. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "cli/region.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/system.h"

bool region_grow(region *r, size_t byte_count) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (byte_count <= r->allocated)
        return true;
    if (byte_count > SIZE_MAX / 2)
        return false;
    size_t wanted = (byte_count + page - 1) / page * page;
    void *bytes = r->bytes == NULL
                      ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0)
                      : grow_mapping(r->bytes, r->allocated, wanted);
    if (bytes == MAP_FAILED)
        return false;
    *r = (region){bytes, wanted};
    return true;
}

void region_free(region *r) {
    if (r->bytes != NULL)
        (void)munmap(r->bytes, r->allocated);
    *r = (region){NULL, 0};
}
