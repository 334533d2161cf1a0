/* memory.c: an allocator for kith over the server's.
 *
 * The server's memory is aligned to 16 bytes, and filters need 64. So 64 bytes more are allocated, and the byte before
 * the aligned address holds its distance from the start of the allocation (1 … 64):
 *
 *     | unused … distance | the block, aligned to 64 … |
 *     ^ server.Free()      ^ what the filter has
 *
 * A block must be zeroed. TryCalloc does that without writing to fresh pages, but older servers do not have it. There,
 * large blocks come from TryAlloc and are zeroed by giving their pages back to the kernel, which is the same for
 * private anonymous memory: they read as zero when they are next used. Otherwise, growing a filter by 100 MB would stop
 * the server for as long as it takes to write to all of these pages. */
#include "memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define ALIGNMENT ((uintptr_t)64)

/* Below this size, clearing costs less than a system call and the page faults after it. */
#define MADVISE_BYTES ((size_t)1 << 20)

static void clear(unsigned char *memory, size_t bytes) {
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (bytes >= MADVISE_BYTES && page_bytes > 0) {
        uintptr_t page = (uintptr_t)page_bytes;
        uintptr_t start = (uintptr_t)memory, end = start + bytes;
        uintptr_t first = (start + page - 1) & ~(page - 1), last = end & ~(page - 1);
        /* It fails for locked and for huge pages, for example. */
        if (madvise(memory + (first - start), last - first, MADV_DONTNEED) == 0) {
            memset(memory, 0, first - start);
            memset(memory + (last - start), 0, end - last);
            return;
        }
    }
    memset(memory, 0, bytes);
}

static unsigned char *align(unsigned char *base) {
    uintptr_t distance = ALIGNMENT - (uintptr_t)base % ALIGNMENT;
    base[distance - 1] = (unsigned char)distance;
    return base + distance;
}

static unsigned char *base_of(unsigned char *memory) {
    return memory - memory[-1];
}

/* Zeroed memory with the server's alignment, or NULL. */
static unsigned char *allocate_zeroed(size_t bytes) {
    if (server.TryCalloc != NULL)
        return server.TryCalloc(1, bytes);
    unsigned char *memory = server.TryAlloc(bytes);
    if (memory != NULL)
        clear(memory, bytes);
    return memory;
}

void *memory_allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    unsigned char *base = allocate_zeroed(bytes + ALIGNMENT);
    return base == NULL ? NULL : align(base);
}

void memory_release(void *memory, size_t bytes) {
    (void)bytes;
    if (memory != NULL)
        server.Free(base_of(memory));
}

void *memory_move(void *defrag_context, void *memory, size_t bytes) {
    unsigned char *old = memory;
    size_t old_distance = old[-1];
    unsigned char *base = server.DefragAlloc(defrag_context, base_of(old));
    if (base == NULL)
        return memory;
    unsigned char *now = base + old_distance; /* where the server has copied the block to */
    unsigned char *aligned = base + (ALIGNMENT - (uintptr_t)base % ALIGNMENT);
    memmove(aligned, now, bytes);
    return align(base);
}

static void *allocate(void *context, size_t bytes, size_t alignment) {
    (void)context;
    (void)alignment; /* at most 64 */
    return memory_allocate(bytes);
}

static void release(void *context, void *memory, size_t bytes) {
    (void)context;
    memory_release(memory, bytes);
}

const kith_allocator memory_allocator = {allocate, release, NULL};

static void *allocate_plain(void *context, size_t bytes, size_t alignment) {
    (void)context;
    (void)alignment; /* at most that of max_align_t */
    return allocate_zeroed(bytes);
}

static void release_plain(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    server.Free(memory);
}

void *memory_move_plain(void *defrag_context, void *memory, size_t bytes) {
    (void)bytes;
    void *moved = server.DefragAlloc(defrag_context, memory);
    return moved == NULL ? memory : moved;
}

const kith_allocator memory_plain_allocator = {allocate_plain, release_plain, NULL};
