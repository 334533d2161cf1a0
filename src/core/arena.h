/* core/arena.h: an arena for small pieces of memory that live about as long as their owner.
 *
 * Pieces are cut from larger allocations, the chunks. Chunks are returned to the allocator only all together, by
 * kithi_arena_clear(). A released piece goes on a free list of its size and is reused from there. Sizes are rounded up
 * to a multiple of KITHI_ARENA_STEP bytes. A piece of more than KITHI_ARENA_LARGE bytes gets a separate allocation,
 * which is returned to the allocator when the piece is released. */
#ifndef KITHI_CORE_ARENA_H
#define KITHI_CORE_ARENA_H

#include "core/alloc.h"

#define KITHI_ARENA_STEP 16
#define KITHI_ARENA_LARGE 1024

typedef struct kithi_arena {
    kith_allocator allocator;
    void *chunks;        /* newest first */
    void *large;         /* pieces that have a separate allocation */
    uint8_t *free_space; /* in the newest chunk */
    uint64_t free_bytes;
    uint64_t held_bytes;                                        /* bytes that the allocator has given to the arena */
    void *free_lists[KITHI_ARENA_LARGE / KITHI_ARENA_STEP + 1]; /* released pieces, by size in steps */
} kithi_arena;

void kithi_arena_init(kithi_arena *arena, const kith_allocator *allocator);

/* Returns a piece aligned to 16 bytes, not cleared, or NULL if there is no memory. `bytes` must be greater than 0. */
void *kithi_arena_take(kithi_arena *arena, uint64_t bytes);

/* Releases a piece. `bytes` is the size it was taken with. */
void kithi_arena_give(kithi_arena *arena, void *piece, uint64_t bytes);

/* Releases all memory to the allocator. The arena is then as after kithi_arena_init(). */
void kithi_arena_clear(kithi_arena *arena);

#endif
