/* memory.h: memory for filters from the server's allocator, so that maxmemory and INFO memory count it. */
#ifndef KITH_REDIS_MEMORY_H
#define KITH_REDIS_MEMORY_H

#include <kith/base.h>

/* An allocator over the server's. It returns NULL, and does not end the server, if there is no memory. Large blocks are
 * not cleared by writing to them: pages that a filter has not used yet take up no physical memory. Thread-safe. */
extern const kith_allocator memory_allocator;

/* memory_allocator.allocate() with alignment 64, and release(), which allows NULL. */
void *memory_allocate(size_t bytes);
void memory_release(void *memory, size_t bytes);

/* For kith_filter_relocate() and the like, with the server's RedisModuleDefragCtx as context: moves memory that
 * memory_allocator returned to a place that the server prefers. Returns the new address, or the old one. */
void *memory_move(void *defrag_context, void *memory, size_t bytes);

/* The same for objects that need no more than the server's own alignment, which is that of max_align_t. A string from
 * LoadStringBuffer is such memory, and can be adopted by an object with this allocator. */
extern const kith_allocator memory_plain_allocator;
void *memory_move_plain(void *defrag_context, void *memory, size_t bytes);

#endif
