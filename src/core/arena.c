/* The arena allocator of arena.h. Chunks start at 4 KiB and double up to 1 MiB: a table of ten keys stays small, and a
 * table of ten million keys needs few calls to the allocator.
 *
 *     chunk         | link: next chunk, bytes | pieces, allocated from the left … | free space |
 *     large piece   | link: next, previous, bytes | the piece |
 */
#include "core/arena.h"

#include <assert.h>

#include "core/bits.h"

#define CHUNK_MIN 4096
#define CHUNK_MAX (UINT64_C(1) << 20)

/* The links are aligned explicitly so that the pieces after them are aligned even where pointers have 4 bytes. */
typedef struct chunk_link {
    _Alignas(KITHI_ARENA_STEP) struct chunk_link *next;
    uint64_t bytes;
} chunk_link;

typedef struct large_link {
    _Alignas(KITHI_ARENA_STEP) struct large_link *next;
    struct large_link *previous;
    uint64_t bytes;
} large_link;

static_assert(sizeof(chunk_link) % KITHI_ARENA_STEP == 0 && sizeof(large_link) % KITHI_ARENA_STEP == 0,
              "pieces start at multiples of the step");

void kithi_arena_init(kithi_arena *arena, const kith_allocator *allocator) {
    *arena = (kithi_arena){.allocator = *allocator};
}

static void *take_large(kithi_arena *arena, uint64_t bytes) {
    uint64_t total;
    large_link *link = kithi_checked_add(bytes, sizeof *link, &total) ? kithi_allocate(&arena->allocator, total) : NULL;
    if (link == NULL)
        return NULL;
    link->bytes = total;
    link->next = arena->large;
    if (link->next != NULL)
        link->next->previous = link;
    arena->large = link;
    arena->held_bytes += total;
    return link + 1;
}

static bool add_chunk(kithi_arena *arena) {
    const chunk_link *newest = arena->chunks;
    uint64_t bytes = newest == NULL ? CHUNK_MIN : 2 * newest->bytes;
    if (bytes > CHUNK_MAX)
        bytes = CHUNK_MAX;
    chunk_link *chunk = kithi_allocate(&arena->allocator, bytes);
    if (chunk == NULL)
        return false;
    chunk->next = arena->chunks;
    chunk->bytes = bytes;
    arena->chunks = chunk;
    arena->free_space = (uint8_t *)(chunk + 1);
    arena->free_bytes = bytes - sizeof *chunk;
    arena->held_bytes += bytes;
    return true;
}

void *kithi_arena_take(kithi_arena *arena, uint64_t bytes) {
    assert(bytes > 0);
    if (bytes > KITHI_ARENA_LARGE)
        return take_large(arena, bytes);
    uint64_t steps = (bytes + KITHI_ARENA_STEP - 1) / KITHI_ARENA_STEP;
    void **released = arena->free_lists[steps];
    if (released != NULL) {
        arena->free_lists[steps] = *released;
        return released;
    }
    if (arena->free_bytes < steps * KITHI_ARENA_STEP && !add_chunk(arena))
        return NULL;
    void *piece = arena->free_space;
    arena->free_space += steps * KITHI_ARENA_STEP;
    arena->free_bytes -= steps * KITHI_ARENA_STEP;
    return piece;
}

void kithi_arena_give(kithi_arena *arena, void *piece, uint64_t bytes) {
    if (bytes > KITHI_ARENA_LARGE) {
        large_link *link = (large_link *)piece - 1;
        if (link->previous != NULL)
            link->previous->next = link->next;
        else
            arena->large = link->next;
        if (link->next != NULL)
            link->next->previous = link->previous;
        arena->held_bytes -= link->bytes;
        kithi_release(&arena->allocator, link, link->bytes);
        return;
    }
    uint64_t steps = (bytes + KITHI_ARENA_STEP - 1) / KITHI_ARENA_STEP;
    *(void **)piece = arena->free_lists[steps];
    arena->free_lists[steps] = piece;
}

void kithi_arena_clear(kithi_arena *arena) {
    for (chunk_link *chunk = arena->chunks; chunk != NULL;) {
        chunk_link *next = chunk->next;
        kithi_release(&arena->allocator, chunk, chunk->bytes);
        chunk = next;
    }
    for (large_link *link = arena->large; link != NULL;) {
        large_link *next = link->next;
        kithi_release(&arena->allocator, link, link->bytes);
        link = next;
    }
    kith_allocator allocator = arena->allocator;
    kithi_arena_init(arena, &allocator);
}
