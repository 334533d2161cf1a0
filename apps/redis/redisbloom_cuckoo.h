/* redisbloom_cuckoo.h: a cuckoo filter in the layout of RedisBloom (data type MBbloomCF, encoding version 4).
 *
 * A filter is also a redisbloom_levels (redisbloom_levels.h), which has what both layouts share, and what is said there
 * holds here, kicks and compaction included. Its levels are called sub-filters. */
#ifndef KITH_REDIS_REDISBLOOM_CUCKOO_H
#define KITH_REDIS_REDISBLOOM_CUCKOO_H

#include "redisbloom_levels.h"

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

typedef struct redisbloom_cuckoo {
    redisbloom_levels list;
    redisbloom_cuckoo_fields fields; /* fields.filters is the number of levels, also while they are being loaded */
} redisbloom_cuckoo;

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

/* Passes everything that decides how the filter behaves (the header as it is dumped, then the slots of each sub-filter)
 * to part(), in an order that is the same for equal filters. */
void redisbloom_cuckoo_parts(const redisbloom_cuckoo *filter,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

/* ---- dumps: CF.SCANDUMP and CF.LOADCHUNK ---- */

#define REDISBLOOM_CUCKOO_HEADER_BYTES 38

void redisbloom_cuckoo_header(const redisbloom_cuckoo *filter, unsigned char header[REDISBLOOM_CUCKOO_HEADER_BYTES]);

/* Creates a filter from a header, with all slots empty. It is then loading.
 *   KITH_E_TRUNCATED, KITH_E_TRAILING   the length is not 38
 *   KITH_E_CORRUPT                      a field has an impossible value, or contradicts another
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_cuckoo_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                                        const kith_allocator *allocator, redisbloom_cuckoo **filter);

/* ---- fields: RDB ---- */

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
