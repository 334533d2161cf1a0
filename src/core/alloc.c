/* The default allocator: calloc, moved up to the alignment asked for.
 *
 *     calloc's pointer          what the caller gets (aligned)
 *     |<- 1 … alignment bytes ->|<----------- bytes ----------->|
 *                          ^ one byte before: how far it was moved
 *
 * calloc rather than aligned_alloc and memset: for large blocks the C library hands out fresh zero pages that cost
 * nothing until touched. The byte before the block holds a distance of at most 64. */
#include "core/alloc.h"

#include <assert.h>
#include <stdlib.h>

#include "core/bits.h"

static void *heap_allocate(void *context, size_t bytes, size_t alignment) {
    (void)context;
    assert(alignment > 0 && alignment <= 64 && (alignment & (alignment - 1)) == 0);
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    uint8_t *raw = calloc(1, bytes + alignment);
    if (raw == NULL)
        return NULL;
    size_t distance = alignment - ((uintptr_t)raw & (alignment - 1));
    raw[distance - 1] = (uint8_t)distance;
    return raw + distance;
}

static void heap_release(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    uint8_t *block = memory;
    free(block - block[-1]);
}

kith_allocator kithi_allocator_or_default(const kith_allocator *allocator) {
    if (allocator != NULL)
        return *allocator;
    return (kith_allocator){heap_allocate, heap_release, NULL};
}

void *kithi_allocate(const kith_allocator *allocator, uint64_t bytes) {
    if (bytes == 0 || bytes > SIZE_MAX)
        return NULL;
    return allocator->allocate(allocator->context, (size_t)bytes, 64);
}

void kithi_release(const kith_allocator *allocator, void *memory, uint64_t bytes) {
    if (memory != NULL)
        allocator->release(allocator->context, memory, (size_t)bytes);
}
