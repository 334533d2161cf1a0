/* redisbloom_levels.h: what filters in both of RedisBloom's layouts are (redisbloom_bloom.h, redisbloom_cuckoo.h): a
 * list of levels with the bytes of each, memory, copies and the chunks of dumps.
 *
 * A filter is a struct that begins with a redisbloom_levels, and a level is one that begins with a redisbloom_block.
 * The same sequence of calls gives the same bytes, the same numbers and the same dumps as RedisBloom gives on a
 * little-endian machine. There is no server API in here. Memory comes from the allocator, which must return zeroed
 * memory and is never asked for more than the alignment of max_align_t; NULL means calloc and free.
 *
 * Calls that can fail return a kith_status. After any status other than KITH_OK, the filter is as it was. `most_bytes`
 * is the most that redisbloom_levels_memory() may become by this call (UINT64_MAX: no limit); a call that would need
 * more returns KITH_E_TOO_LARGE before it allocates anything.
 *
 * Threads: as for any plain struct. Calls with a const filter may run at the same time, others need a lock. */
#ifndef KITH_REDIS_REDISBLOOM_LEVELS_H
#define KITH_REDIS_REDISBLOOM_LEVELS_H

#include <kith/base.h>
#include <kith/status.h>

/* The largest chunk of a dump. */
#define REDISBLOOM_CHUNK_BYTES (UINT64_C(16) << 20)

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
    uint64_t loaded_bytes; /* how many of them were loaded */
    uint64_t missing;      /* levels that are still to be appended to a filter of an RDB file */
} redisbloom_levels;

/* Allocates a filter without levels: all bytes of the struct after its redisbloom_levels are 0. NULL: no memory. */
void *redisbloom_levels_new(const kith_allocator *allocator, size_t filter_size, size_t level_size);
/* Frees a filter, a struct that begins with a redisbloom_levels. NULL is allowed. */
void redisbloom_levels_free(void *filter);

static inline void *redisbloom_levels_at(const redisbloom_levels *l, uint64_t index) {
    return l->memory + index * l->level_size;
}

/* The bytes that were allocated for this filter. */
uint64_t redisbloom_levels_memory(const redisbloom_levels *l);

KITH_MUST_USE kith_status redisbloom_levels_reserve(redisbloom_levels *l, uint64_t slots);

/* Appends a copy of `level`. With `adopts`, its bytes then belong to the filter; otherwise they are allocated, and are
 * 0. KITH_E_TOO_LARGE: more than `most_bytes`. */
KITH_MUST_USE kith_status redisbloom_levels_append(redisbloom_levels *l, const void *level, bool adopts,
                                                   uint64_t most_bytes);
/* The same for a level of an RDB file, whose bytes it adopts. KITH_E_CORRUPT: none is missing. */
KITH_MUST_USE kith_status redisbloom_levels_load_append(redisbloom_levels *l, const void *level, uint64_t most_bytes);
void redisbloom_levels_drop_last(redisbloom_levels *l);

/* Returns a copy that shares no memory with the filter. NULL: no memory. */
void *redisbloom_levels_clone(const redisbloom_levels *l, const kith_allocator *allocator);

/* For active defragmentation: calls move() for every piece of memory of the filter, the handle included. If it returns
 * another address, the content is already there and the old memory is gone; NULL means that the piece stays. Returns
 * the filter's new address. */
void *redisbloom_levels_relocate(redisbloom_levels *l, void *(*move)(void *context, void *memory, size_t bytes),
                                 void *context);

/* Passes the bytes of each level to part(). */
void redisbloom_levels_parts(const redisbloom_levels *l,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

/* ---- dumps: SCANDUMP and LOADCHUNK ---- */

/* The chunk after `cursor`, which is 1 after the header, and later what the previous call returned. Returns the cursor
 * after it and sets *chunk (which points into the filter) and *chunk_bytes (1 … REDISBLOOM_CHUNK_BYTES). Returns 0 at
 * the end, and for a cursor below 1 or past the end. A chunk does not cross from one level to the next. (RedisBloom
 * dumps nothing at all of a cuckoo filter without items: CF.SCANDUMP then replies with the end at once.) */
uint64_t redisbloom_levels_chunk(const redisbloom_levels *l, uint64_t cursor, const void **chunk, size_t *chunk_bytes);

/* Loads a chunk into a filter that was made of a header. `cursor` is the number that SCANDUMP returned with it: 1 + the
 * offset of the chunk's end. Chunks must come in order, without gaps; they may have other sizes than those that
 * redisbloom_levels_chunk() makes.
 *   KITH_E_ARGUMENT   the chunk does not begin where the last one ended, or the filter is complete
 *   KITH_E_TRAILING   the chunk is longer than what is left of its level, or the cursor is past the end */
KITH_MUST_USE kith_status redisbloom_levels_load_chunk(redisbloom_levels *l, uint64_t cursor, const void *chunk,
                                                       size_t chunk_bytes);

/* Returns whether all chunks were loaded. A created filter is complete. One that is not is *loading*: only the calls of
 * this header, header, info and parts may be used. To save it, save its header and the chunks below 1 +
 * l->loaded_bytes; load_header and load_chunk restore it. */
static inline bool redisbloom_levels_is_complete(const redisbloom_levels *l) {
    return l->loaded_bytes == l->body_bytes && l->missing == 0;
}

/* To be called when all bytes are there. */
static inline void redisbloom_levels_complete(redisbloom_levels *l) {
    l->loaded_bytes = l->body_bytes;
}

#endif
