/* memory.h: an allocator that counts, and fails on request. Needs _GNU_SOURCE for posix_memalign, which, unlike
 * aligned_alloc, accepts any size: a sanitizer then detects an access to the first byte past the end. */
#ifndef KITH_TESTS_UNIT_MEMORY_H
#define KITH_TESTS_UNIT_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <kith/base.h>

struct memory {
    uint64_t calls;      /* calls of allocate */
    uint64_t fail_at;    /* the number of the call that fails, from 1; 0: none */
    bool stays;          /* all later calls fail, too */
    uint64_t most_bytes; /* the most bytes that may be allocated; 0: no limit */
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t peak_bytes;
};

static inline void *memory_allocate(void *context, size_t bytes, size_t alignment) {
    struct memory *m = context;
    if (++m->calls == m->fail_at || (m->stays && m->fail_at != 0 && m->calls > m->fail_at))
        return NULL;
    if (m->most_bytes != 0 && bytes > m->most_bytes - m->live_bytes)
        return NULL;
    void *block = NULL;
    if (bytes > SIZE_MAX / 2 || posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes))
        return NULL;
    memset(block, 0, bytes);
    m->live_blocks++;
    m->live_bytes += bytes;
    if (m->live_bytes > m->peak_bytes)
        m->peak_bytes = m->live_bytes;
    return block;
}

static inline void memory_release(void *context, void *block, size_t bytes) {
    struct memory *m = context;
    m->live_blocks--;
    m->live_bytes -= bytes;
    free(block);
}

static inline kith_allocator memory_allocator(struct memory *m) {
    return (kith_allocator){memory_allocate, memory_release, m};
}

#endif
