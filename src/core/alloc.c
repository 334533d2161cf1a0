/* The default allocator: calloc, with the pointer moved up to the requested alignment.
 *
 *     calloc's pointer          the caller's pointer (aligned)
 *     |<- 1 … alignment bytes ->|<----------- bytes ----------->|
 *                          ^ the byte before it stores how far the pointer was moved
 *
 * It uses calloc instead of aligned_alloc and memset because for large blocks the C library returns fresh zero pages,
 * which cost nothing until they are touched. One byte is enough for the distance, which is at most 64.
 *
 * Blocks of 4 MiB and more are accessed at random positions, and each access to another 4 KiB page costs a page-table
 * walk. heap_allocate therefore asks the kernel to back them with huge pages. The kernel may ignore the request. */
#define _DEFAULT_SOURCE
#include "core/alloc.h"

#include <assert.h>
#include <stdlib.h>

#include "core/bits.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define HUGE_FROM (2 * HUGE_PAGE) /* the size from which a block gets huge pages */

/* Asks only for the huge pages that are entirely inside the block. If the kernel refuses, only speed is lost. */
static void ask_for_huge_pages(uint8_t *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
    uintptr_t from = ((uintptr_t)block + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)block + bytes) & ~(HUGE_PAGE - 1);
    if (to > from)
        (void)madvise(block + (from - (uintptr_t)block), to - from, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

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
    if (bytes >= HUGE_FROM)
        ask_for_huge_pages(raw + distance, bytes);
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
