/* memory.c: an allocator for kith over the server's.
 *
 * The server's memory is aligned to 16 bytes, and filters need 64. So 64 bytes more are allocated, and the byte before
 * the aligned address holds its distance from the start of the allocation (1 … 64), and a bit that is set if the kernel
 * was asked for huge pages:
 *
 *     | unused … distance | the block, aligned to 64 … |
 *     ^ server.Free()      ^ what the filter has
 *
 * A block must be zeroed. TryCalloc does that without writing to fresh pages, but older servers do not have it. There,
 * large blocks come from TryAlloc and are zeroed by giving their pages back to the kernel, which is the same for
 * private anonymous memory: they read as zero when they are next used. Otherwise, growing a filter by 100 MB would stop
 * the server for as long as it takes to write to all of these pages. */
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "api.h"
#include "config.h"

/* Other systems have no huge pages to ask for, and pages that are given back there keep their bytes. */
#ifndef __linux__
#define MADV_DONTNEED 0
#define MADV_HUGEPAGE 0
#define MADV_NOHUGEPAGE 0
#define madvise(memory, bytes, advice) ((void)(advice), -1)
#endif

#define ALIGNMENT ((uintptr_t)64)

/* Below this size, clearing costs less than a system call and the page faults after it. */
#define MADVISE_BYTES ((size_t)1 << 20)

#define HUGE_PAGES 0x80 /* in the byte before the block */

/* Gives the kernel an advice for the whole pages of this memory. *first and *last are set to their ends. */
static bool advise(unsigned char *memory, size_t bytes, int advice, unsigned char **first, unsigned char **last) {
    long page_bytes = sysconf(_SC_PAGESIZE);
    uintptr_t page = page_bytes > 0 ? (uintptr_t)page_bytes : bytes;
    uintptr_t start = (uintptr_t)memory, end = start + bytes;
    uintptr_t from = (start + page - 1) / page * page, to = end / page * page;
    *first = memory + (from - start);
    *last = *first + (to > from ? to - from : 0);
    return to > from && madvise(*first, to - from, advice) == 0;
}

static void clear(unsigned char *memory, size_t bytes) {
    unsigned char *first, *last;
    /* It fails for locked pages, for example. */
    if (bytes >= MADVISE_BYTES && advise(memory, bytes, MADV_DONTNEED, &first, &last)) {
        memset(memory, 0, (size_t)(first - memory));
        memset(last, 0, (size_t)(memory + bytes - last));
    } else {
        memset(memory, 0, bytes);
    }
}

/* `base` has room for `bytes` after the aligned address. */
static unsigned char *align(unsigned char *base, size_t bytes, bool wants_huge_pages) {
    uintptr_t distance = ALIGNMENT - (uintptr_t)base % ALIGNMENT;
    unsigned char *first, *last;
    base[distance - 1] = (unsigned char)distance;
    if (wants_huge_pages && advise(base + distance, bytes, MADV_HUGEPAGE, &first, &last))
        base[distance - 1] |= HUGE_PAGES;
    return base + distance;
}

static size_t distance_of(const unsigned char *memory) {
    return memory[-1] & (HUGE_PAGES - 1);
}

/* The server may use the memory for other things afterwards, and those must not get huge pages. */
static void stop_huge_pages(unsigned char *memory, size_t bytes) {
    unsigned char *first, *last;
    if (memory[-1] & HUGE_PAGES)
        (void)advise(memory, bytes, MADV_NOHUGEPAGE, &first, &last);
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
    long long from = config.huge_pages_from;
    return base == NULL ? NULL : align(base, bytes, from > 0 && bytes >= (unsigned long long)from);
}

void memory_release(void *memory, size_t bytes) {
    if (memory == NULL)
        return;
    stop_huge_pages(memory, bytes);
    server.Free((unsigned char *)memory - distance_of(memory));
}

void *memory_move(void *defrag_context, void *memory, size_t bytes) {
    unsigned char *old = memory;
    size_t old_distance = distance_of(old);
    bool has_huge_pages = old[-1] & HUGE_PAGES;
    unsigned char *base = server.DefragAlloc(defrag_context, old - old_distance);
    if (base == NULL)
        return memory;
    unsigned char *now = base + old_distance; /* where the server has copied the block to */
    unsigned char *aligned = base + (ALIGNMENT - (uintptr_t)base % ALIGNMENT);
    memmove(aligned, now, bytes);
    return align(base, bytes, has_huge_pages);
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
