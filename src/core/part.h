/* core/part.h: one piece of a byte sequence that is stored in several pieces of memory, like struct iovec. */
#ifndef KITHI_CORE_PART_H
#define KITHI_CORE_PART_H

#include <stddef.h>

typedef struct kithi_part {
    const void *bytes;
    size_t byte_count;
} kithi_part;

#endif
