/* redisbloom_levels.h: the list of levels that a filter in one of RedisBloom's layouts is, with the bytes of each.
 *
 * A filter is a struct that begins with a redisbloom_levels, and a level is one that begins with a redisbloom_block.
 * Calls that can fail leave everything as it was. */
#ifndef KITH_REDIS_REDISBLOOM_LEVELS_H
#define KITH_REDIS_REDISBLOOM_LEVELS_H

#include <kith/status.h>

#include "redisbloom_bytes.h"

typedef struct redisbloom_block {
    unsigned char *bytes;
    uint64_t byte_count;
} redisbloom_block;

typedef struct redisbloom_levels {
    kith_allocator allocator;
    size_t filter_size, level_size; /* of the structs */
    uint64_t count;
    uint64_t slots; /* how many levels fit into memory[] */
    unsigned char *memory;
    uint64_t body_bytes;   /* the bytes of all levels */
    uint64_t loaded_bytes; /* how many of them were loaded; equal if the filter is complete */
} redisbloom_levels;

/* Allocates a filter without levels: all bytes of the struct after its redisbloom_levels are 0. NULL: no memory. */
void *redisbloom_levels_new(const kith_allocator *allocator, size_t filter_size, size_t level_size);
/* Frees the filter. NULL is allowed. */
void redisbloom_levels_free(redisbloom_levels *l);

static inline void *redisbloom_levels_at(const redisbloom_levels *l, uint64_t index) {
    return l->memory + index * l->level_size;
}

/* The memory of a filter with `slots` levels that have `body_bytes` bytes in all. */
uint64_t redisbloom_levels_memory(const redisbloom_levels *l, uint64_t slots, uint64_t body_bytes);

KITH_MUST_USE kith_status redisbloom_levels_reserve(redisbloom_levels *l, uint64_t slots);

/* Appends a copy of `level`. With `adopts`, its bytes then belong to the filter; otherwise they are allocated, and are
 * 0. KITH_E_TOO_LARGE: more than `most_bytes`. */
KITH_MUST_USE kith_status redisbloom_levels_append(redisbloom_levels *l, const void *level, bool adopts,
                                                   uint64_t most_bytes);
void redisbloom_levels_drop_last(redisbloom_levels *l);

/* A copy of the filter: of its struct, its levels and their bytes. NULL: no memory. */
void *redisbloom_levels_clone(const redisbloom_levels *l, const kith_allocator *allocator);

/* What redisbloom_bloom.h and redisbloom_cuckoo.h say of relocate, parts (without the header), chunk and load_chunk. */
void *redisbloom_levels_relocate(redisbloom_levels *l, void *(*move)(void *context, void *memory, size_t bytes),
                                 void *context);
void redisbloom_levels_parts(const redisbloom_levels *l,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context);
uint64_t redisbloom_levels_chunk(const redisbloom_levels *l, uint64_t cursor, const void **chunk, size_t *chunk_bytes);
KITH_MUST_USE kith_status redisbloom_levels_load_chunk(redisbloom_levels *l, uint64_t cursor, const void *chunk,
                                                       size_t chunk_bytes);

#endif
