/* core/part.h: a piece of a sequence of bytes that is in several places of memory. */
#ifndef KITHI_CORE_PART_H
#define KITHI_CORE_PART_H

#include <stddef.h>

typedef struct kithi_part {
    const void *bytes;
    size_t byte_count;
} kithi_part;

#endif
