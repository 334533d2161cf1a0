/* core/arena.h: small pieces of memory that live about as long as their owner.
 *
 * Pieces are cut from chunks that are never given back one by one; a piece that is released waits in a list of its size
 * for the next one. Sizes are rounded up to a multiple of 16; above ARENA_LARGE a piece is an allocation of its own. */
#ifndef KITHI_CORE_ARENA_H
#define KITHI_CORE_ARENA_H

#include "core/alloc.h"

#define KITHI_ARENA_STEP 16
#define KITHI_ARENA_LARGE 1024

typedef struct kithi_arena {
    kith_allocator allocator;
    void *chunks;        /* newest first */
    void *large;         /* pieces with an allocation of their own */
    uint8_t *free_space; /* in the newest chunk */
    uint64_t free_bytes;
    uint64_t held_bytes; /* all that was taken from the allocator */
    void *waiting[KITHI_ARENA_LARGE / KITHI_ARENA_STEP + 1];
} kithi_arena;

void kithi_arena_init(kithi_arena *arena, const kith_allocator *allocator);

/* A piece aligned to 16, not cleared; NULL when there is no memory. bytes > 0. */
void *kithi_arena_take(kithi_arena *arena, uint64_t bytes);

/* Gives a piece back, with the bytes that it was taken with. */
void kithi_arena_give(kithi_arena *arena, void *piece, uint64_t bytes);

/* Gives everything back to the allocator; the arena is as after init. */
void kithi_arena_clear(kithi_arena *arena);

#endif
