/* redisbloom_cuckoo.h: a cuckoo filter in the layout of RedisBloom (data type MBbloomCF, encoding version 4).
 *
 * The same sequence of calls gives the same slots, the same numbers and the same dumps as RedisBloom gives on a
 * little-endian machine, kicks and compaction included. There is no server API in here. Memory comes from the
 * allocator, which must return zeroed memory and is never asked for more than the alignment of max_align_t; NULL means
 * calloc and free.
 *
 * Calls that can fail return a kith_status. After any status other than KITH_OK, the filter is as it was. `most_bytes`
 * is the most that redisbloom_cuckoo_memory() may become by this call (UINT64_MAX: no limit); a call that would need
 * more returns KITH_E_TOO_LARGE before it allocates anything.
 *
 * Threads: as for any plain struct. Calls with a const filter may run at the same time, others need a lock. */
#ifndef KITH_REDIS_REDISBLOOM_CUCKOO_H
#define KITH_REDIS_REDISBLOOM_CUCKOO_H

#include <kith/base.h>
#include <kith/status.h>

typedef struct redisbloom_cuckoo redisbloom_cuckoo;

/* ---- use ---- */

/* Creates a filter with one sub-filter.
 *
 * capacity         at least 1; the number of buckets is the next power of two from capacity / bucket_size, at least 1.
 *                  RedisBloom refuses less than 2 * bucket_size now, but did not always
 * bucket_size      1 … 255
 * max_iterations   the most kicks of an insertion, 1 … 65535
 * expansion        0 … 32768, rounded up to a power of two: the factor between the sizes of sub-filters; 0: no growth
 *
 *   KITH_E_CAPACITY, KITH_E_OPTION_VALUE, KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_cuckoo_create(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                                                   uint32_t expansion, uint64_t most_bytes,
                                                   const kith_allocator *allocator, redisbloom_cuckoo **filter);

/* Frees the filter. NULL is allowed. */
void redisbloom_cuckoo_free(redisbloom_cuckoo *filter);

/* Adds an item: another copy of it if the filter has it already. `max_expansions` is the most sub-filters that growth
 * may lead to (config cf-max-expansions, which is not a property of the filter; UINT64_MAX: no limit).
 *   KITH_E_FULL       no free slot was found, and the filter does not grow (info.expansion is 0: "Filter is full") or
 *                     has as many sub-filters as allowed ("Maximum expansions reached")
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY   no free slot was found, and the next sub-filter is not possible */
KITH_MUST_USE kith_status redisbloom_cuckoo_add(redisbloom_cuckoo *filter, const void *item, size_t item_bytes,
                                                uint64_t max_expansions, uint64_t most_bytes);

/* Adds an item unless the filter has it; *was_new is set to whether it was added. Fails like
 * redisbloom_cuckoo_add(). */
KITH_MUST_USE kith_status redisbloom_cuckoo_add_new(redisbloom_cuckoo *filter, const void *item, size_t item_bytes,
                                                    uint64_t max_expansions, uint64_t most_bytes, bool *was_new);

bool redisbloom_cuckoo_has(const redisbloom_cuckoo *filter, const void *item, size_t item_bytes);

/* How many slots have the fingerprint of this item: the copies of it, or more. As in RedisBloom, slots count twice if
 * the two buckets of the item are the same one. */
uint64_t redisbloom_cuckoo_count(const redisbloom_cuckoo *filter, const void *item, size_t item_bytes);

/* Removes one copy of an item, and returns whether there was one. May compact the filter, as RedisBloom does: when more
 * than 10% of its items were deleted and it has several sub-filters. */
bool redisbloom_cuckoo_remove(redisbloom_cuckoo *filter, const void *item, size_t item_bytes);

/* CF.COMPACT: moves items to older sub-filters, and frees the newest ones that became empty. Time: all slots. */
void redisbloom_cuckoo_compact(redisbloom_cuckoo *filter);

/* The numbers of CF.INFO. */
typedef struct redisbloom_cuckoo_info {
    uint64_t size;    /* "Size" as RedisBloom computes it: 40 + 16 per sub-filter + the bytes of slots */
    uint64_t buckets; /* "Number of buckets": of the first sub-filter */
    uint64_t filters; /* "Number of filters" */
    uint64_t items;
    uint64_t deletes;
    uint32_t bucket_size;
    uint32_t expansion;
    uint32_t max_iterations;
} redisbloom_cuckoo_info;

redisbloom_cuckoo_info redisbloom_cuckoo_get_info(const redisbloom_cuckoo *filter);

/* The bytes that were allocated for this filter. */
uint64_t redisbloom_cuckoo_memory(const redisbloom_cuckoo *filter);

/* Returns a copy that shares no memory with the filter. KITH_E_MEMORY. */
KITH_MUST_USE kith_status redisbloom_cuckoo_clone(const redisbloom_cuckoo *filter, const kith_allocator *allocator,
                                                  redisbloom_cuckoo **copy);

/* For active defragmentation: calls move() for every piece of memory of the filter, the handle included. If it returns
 * another address, the content is already there and the old memory is gone; NULL means that the piece stays. Returns
 * the filter's new address. */
redisbloom_cuckoo *redisbloom_cuckoo_relocate(redisbloom_cuckoo *filter,
                                              void *(*move)(void *context, void *memory, size_t bytes), void *context);

/* Passes everything that decides how the filter behaves (the header as it is dumped, then the slots of each sub-filter)
 * to part(), in an order that is the same for equal filters. */
void redisbloom_cuckoo_parts(const redisbloom_cuckoo *filter,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

/* ---- dumps: CF.SCANDUMP and CF.LOADCHUNK ---- */

#define REDISBLOOM_CUCKOO_HEADER_BYTES 38

void redisbloom_cuckoo_header(const redisbloom_cuckoo *filter, unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES]);

/* The chunk after `cursor`, which is 1 after the header, and later what the previous call returned. Returns the cursor
 * after it and sets *chunk (which points into the filter) and *chunk_bytes. Returns 0 at the end, and for a cursor
 * below 1 or past the end. A chunk does not cross from one sub-filter to the next. (RedisBloom dumps nothing at all of
 * a filter without items: CF.SCANDUMP then replies with the end at once.) */
uint64_t redisbloom_cuckoo_chunk(const redisbloom_cuckoo *filter, uint64_t cursor, const void **chunk,
                                 size_t *chunk_bytes);

/* Creates a filter from a header, with all slots empty. It is then *loading*: only chunk, load_chunk, loaded,
 * is_complete, header, info, memory, clone, parts, relocate and free may be called until is_complete() returns true.
 *   KITH_E_TRUNCATED, KITH_E_TRAILING   the length is not 38
 *   KITH_E_CORRUPT                      a field has an impossible value, or contradicts another
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_cuckoo_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                                        const kith_allocator *allocator, redisbloom_cuckoo **filter);

/* Loads a chunk. `cursor` is the number that CF.SCANDUMP returned together with it: 1 + the offset of the chunk's end.
 * Chunks must come in order, without gaps; they may have other sizes than those that redisbloom_cuckoo_chunk() makes.
 *   KITH_E_ARGUMENT   the chunk does not begin where the last one ended, or the filter is complete
 *   KITH_E_TRAILING   the chunk is longer than what is left of its sub-filter, or the cursor is past the end */
KITH_MUST_USE kith_status redisbloom_cuckoo_load_chunk(redisbloom_cuckoo *filter, uint64_t cursor, const void *chunk,
                                                       size_t chunk_bytes);

/* How many bytes of chunks were loaded, and whether these are all. A created filter is complete. To save a filter that
 * is loading, save its header and the chunks below redisbloom_cuckoo_loaded(); load_header and load_chunk restore
 * it. */
uint64_t redisbloom_cuckoo_loaded(const redisbloom_cuckoo *filter);
bool redisbloom_cuckoo_is_complete(const redisbloom_cuckoo *filter);

/* ---- fields: RDB ---- */

/* RDB, encoding version 4, in the order of this struct (all are unsigned integers), then per sub-filter its number of
 * buckets and its slots (a string). */
typedef struct redisbloom_cuckoo_fields {
    uint64_t filters;
    uint64_t buckets;
    uint64_t items;
    uint64_t deletes;
    uint64_t bucket_size;
    uint64_t max_iterations;
    uint64_t expansion;
} redisbloom_cuckoo_fields;

typedef struct redisbloom_cuckoo_level {
    unsigned char *slots; /* with byte_count, a redisbloom_block (redisbloom_levels.h) */
    uint64_t byte_count;  /* buckets * bucket_size */
    uint64_t buckets;
} redisbloom_cuckoo_level;

/* Writing: the fields of the filter, and of sub-filter `index` (0 is the oldest). level.slots points into the
 * filter. */
redisbloom_cuckoo_fields redisbloom_cuckoo_get_fields(const redisbloom_cuckoo *filter);
redisbloom_cuckoo_level redisbloom_cuckoo_get_level(const redisbloom_cuckoo *filter, uint64_t index);

/* Reading, in three steps, because the number of sub-filters cannot be trusted: begin, append for each sub-filter, end.
 * In between the filter may only be freed.
 *
 * begin    KITH_E_CORRUPT for impossible values, KITH_E_MEMORY
 * append   adopts level->slots on success: they must come from the same allocator, with level->byte_count as their
 * size.
 *          After any other status they still belong to the caller. KITH_E_CORRUPT, KITH_E_TOO_LARGE, KITH_E_MEMORY
 * end      KITH_E_TRUNCATED if sub-filters are missing, KITH_E_CORRUPT if there are more items than slots. On success
 * the
 *          filter is complete.
 *
 * That the number of items is the number of slots in use is not demanded: RedisBloom writes filters that were only half
 * loaded, and dumps filters that change meanwhile. */
KITH_MUST_USE kith_status redisbloom_cuckoo_load_begin(const redisbloom_cuckoo_fields *fields, uint64_t most_bytes,
                                                       const kith_allocator *allocator, redisbloom_cuckoo **filter);
KITH_MUST_USE kith_status redisbloom_cuckoo_load_append(redisbloom_cuckoo *filter, const redisbloom_cuckoo_level *level,
                                                        uint64_t most_bytes);
KITH_MUST_USE kith_status redisbloom_cuckoo_load_end(redisbloom_cuckoo *filter);

#endif
