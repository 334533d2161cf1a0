/* core/alloc.h: memory from the caller's allocator. This is the only part of the library that calls calloc and
 * free. */
#ifndef KITHI_CORE_ALLOC_H
#define KITHI_CORE_ALLOC_H

#include <kith/base.h>

/* Returns the caller's allocator, or one that uses the C library if it is NULL. */
kith_allocator kithi_allocator_or_default(const kith_allocator *allocator);

/* Returns zeroed memory aligned to 64 bytes. Returns NULL if there is not enough memory, or if `bytes` is 0 or does not
 * fit in a size_t. */
void *kithi_allocate(const kith_allocator *allocator, uint64_t bytes);

/* Releases a block of kithi_allocate; `bytes` is the size it was allocated with. `memory` may be NULL. */
void kithi_release(const kith_allocator *allocator, void *memory, uint64_t bytes);

#endif
