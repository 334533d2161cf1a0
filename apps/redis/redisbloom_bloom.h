/* redisbloom_bloom.h: a scalable Bloom filter in the layout of RedisBloom (data type MBbloom--, encoding version 4).
 *
 * The same sequence of calls gives the same bits, the same numbers and the same dumps as RedisBloom gives on a
 * little-endian machine. There is no server API in here. Memory comes from the allocator, which must return zeroed
 * memory and is never asked for more than the alignment of max_align_t; NULL means calloc and free.
 *
 * Calls that can fail return a kith_status. After any status other than KITH_OK, the filter is as it was. `most_bytes`
 * is the most that redisbloom_bloom_memory() may become by this call (UINT64_MAX: no limit); a call that would need
 * more returns KITH_E_TOO_LARGE before it allocates anything.
 *
 * Threads: as for any plain struct. Calls with a const filter may run at the same time, others need a lock. */
#ifndef KITH_REDIS_REDISBLOOM_BLOOM_H
#define KITH_REDIS_REDISBLOOM_BLOOM_H

#include <kith/base.h>
#include <kith/status.h>

typedef struct redisbloom_bloom redisbloom_bloom;

/* The largest chunk of a dump. */
#define REDISBLOOM_CHUNK_BYTES (UINT64_C(16) << 20)

/* Bits of the options word. New filters have NOROUND and FORCE64, and NOSCALING if asked for. */
enum {
    REDISBLOOM_NOROUND = 1,      /* the number of bits is not rounded up to a power of two */
    REDISBLOOM_ENTRIES_BITS = 2, /* capacity is the binary logarithm of the number of bits */
    REDISBLOOM_FORCE64 = 4,      /* hash is MurmurHash64A; otherwise the 32-bit MurmurHash2 */
    REDISBLOOM_NOSCALING = 8
};

/* ---- use ---- */

/* Creates a filter with one level. A rate above 0.25 becomes 0.25. `expansion` is the factor between the capacities of
 * two levels, at least 1. If `scaling` is false, it may also be 0; it is stored, but not used.
 *   KITH_E_RATE           rate is not in (0, 1)
 *   KITH_E_CAPACITY       capacity is 0
 *   KITH_E_OPTION_VALUE   expansion is 0, and `scaling` is true
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_bloom_create(double rate, uint64_t capacity, uint32_t expansion, bool scaling,
                                                  uint64_t most_bytes, const kith_allocator *allocator,
                                                  redisbloom_bloom **filter);

/* Frees the filter. NULL is allowed. */
void redisbloom_bloom_free(redisbloom_bloom *filter);

/* Adds an item. *was_new is set to whether no level had it. A full filter with scaling grows by one level first.
 *   KITH_E_FULL       the filter does not scale, is full, and the item is not in it
 *   KITH_E_TOO_LARGE  the next level would pass most_bytes, or its size is not representable
 *   KITH_E_MEMORY     no memory for the next level */
KITH_MUST_USE kith_status redisbloom_bloom_add(redisbloom_bloom *filter, const void *item, size_t item_bytes,
                                               uint64_t most_bytes, bool *was_new);

bool redisbloom_bloom_has(const redisbloom_bloom *filter, const void *item, size_t item_bytes);

/* The numbers of BF.INFO and BF.CARD. */
typedef struct redisbloom_bloom_info {
    uint64_t capacity;  /* of all levels together */
    uint64_t size;      /* "Size" as RedisBloom computes it: 32 + 64 per level + the bytes of bits */
    uint64_t levels;    /* "Number of filters" */
    uint64_t items;     /* "Number of items inserted"; BF.CARD */
    uint32_t expansion; /* "Expansion rate"; to be shown as nil if !scaling */
    uint32_t options;   /* REDISBLOOM_… */
    bool scaling;
} redisbloom_bloom_info;

redisbloom_bloom_info redisbloom_bloom_get_info(const redisbloom_bloom *filter);

/* The bytes that were allocated for this filter. Constant time per level. */
uint64_t redisbloom_bloom_memory(const redisbloom_bloom *filter);

/* Returns a copy that shares no memory with the filter. KITH_E_MEMORY. */
KITH_MUST_USE kith_status redisbloom_bloom_clone(const redisbloom_bloom *filter, const kith_allocator *allocator,
                                                 redisbloom_bloom **copy);

/* For active defragmentation: calls move() for every piece of memory of the filter, the handle included. If it returns
 * another address, the content is already there and the old memory is gone; NULL means that the piece stays. Returns
 * the filter's new address. */
redisbloom_bloom *redisbloom_bloom_relocate(redisbloom_bloom *filter,
                                            void *(*move)(void *context, void *memory, size_t bytes), void *context);

/* Passes everything that decides how the filter behaves (the header as it is dumped, then the bits of each level) to
 * part(), in an order that is the same for equal filters. */
void redisbloom_bloom_parts(const redisbloom_bloom *filter,
                            void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

/* ---- dumps: BF.SCANDUMP and BF.LOADCHUNK ---- */

/* The header: 20 bytes, and 53 per level. Write it to a buffer of redisbloom_bloom_header_bytes() bytes. */
size_t redisbloom_bloom_header_bytes(const redisbloom_bloom *filter);
void redisbloom_bloom_header(const redisbloom_bloom *filter, void *header);

/* The chunk after `cursor`, which is 1 after the header, and later what the previous call returned. Returns the cursor
 * after it and sets *chunk (which points into the filter) and *chunk_bytes (1 … REDISBLOOM_CHUNK_BYTES). Returns 0 at
 * the end, and for a cursor below 1 or past the end. A chunk does not cross from one level to the next. */
uint64_t redisbloom_bloom_chunk(const redisbloom_bloom *filter, uint64_t cursor, const void **chunk,
                                size_t *chunk_bytes);

/* Whether these bytes can be the header of a dump, judged by their length and the number of levels in them: a cheap
 * test to tell it from other data. */
bool redisbloom_bloom_is_header(const void *header, size_t header_bytes);

/* Creates a filter from a header, with all bits 0. It is then *loading*: only chunk, load_chunk, loaded, is_complete,
 * header, info, memory, clone, parts, relocate and free may be called until is_complete() returns true.
 *   KITH_E_TRUNCATED, KITH_E_TRAILING   the length does not fit the number of levels in the header
 *   KITH_E_CORRUPT                      a field has an impossible value, or contradicts another
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_bloom_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                                       const kith_allocator *allocator, redisbloom_bloom **filter);

/* Loads a chunk. `cursor` is the number that BF.SCANDUMP returned together with it: 1 + the offset of the chunk's end.
 * Chunks must come in order, without gaps; they may have other sizes than those that redisbloom_bloom_chunk() makes.
 *   KITH_E_ARGUMENT   the chunk does not begin where the last one ended, or the filter is complete
 *   KITH_E_TRAILING   the chunk is longer than what is left of its level, or the cursor is past the end */
KITH_MUST_USE kith_status redisbloom_bloom_load_chunk(redisbloom_bloom *filter, uint64_t cursor, const void *chunk,
                                                      size_t chunk_bytes);

/* How many bytes of chunks were loaded, and whether these are all. A created filter is complete. To save a filter that
 * is loading, save its header and the chunks below redisbloom_bloom_loaded(); load_header and load_chunk restore it. */
uint64_t redisbloom_bloom_loaded(const redisbloom_bloom *filter);
bool redisbloom_bloom_is_complete(const redisbloom_bloom *filter);

/* ---- fields: RDB ---- */

/* RDB, encoding version 4. All but rate and bits_per_entry (doubles) and the bits (a string) are unsigned integers.
 *
 *     items  levels  options  growth
 *     per level:  capacity  rate  hashes  bits_per_entry  bits  log2_bits  bytes  items
 */
typedef struct redisbloom_bloom_fields {
    uint64_t items;
    uint64_t levels;
    uint64_t options;
    uint64_t growth;
} redisbloom_bloom_fields;

typedef struct redisbloom_bloom_level {
    unsigned char *bytes; /* with byte_count, a redisbloom_block (redisbloom_levels.h) */
    uint64_t byte_count;
    uint64_t capacity; /* the most items */
    double rate;
    uint64_t hashes; /* bits per item */
    double bits_per_entry;
    uint64_t bits;
    uint64_t log2_bits; /* 0, or the logarithm of bits if that is a power of two */
    uint64_t items;
} redisbloom_bloom_level;

/* Writing: the fields of the filter, and of level `index` (0 is the oldest). level.bytes points into the filter. */
redisbloom_bloom_fields redisbloom_bloom_get_fields(const redisbloom_bloom *filter);
redisbloom_bloom_level redisbloom_bloom_get_level(const redisbloom_bloom *filter, uint64_t index);

/* Reading, in three steps, because the number of levels cannot be trusted: begin, append for each level, end. In
 * between the filter may only be freed.
 *
 * begin    KITH_E_CORRUPT for impossible values, KITH_E_MEMORY
 * append   adopts level->bytes on success: it must come from the same allocator, with level->byte_count as its size.
 *          After any other status the bytes still belong to the caller. KITH_E_CORRUPT, KITH_E_TOO_LARGE, KITH_E_MEMORY
 * end      KITH_E_TRUNCATED if levels are missing, KITH_E_CORRUPT if the counts of the levels do not add up. On success
 *          the filter is complete. */
KITH_MUST_USE kith_status redisbloom_bloom_load_begin(const redisbloom_bloom_fields *fields, uint64_t most_bytes,
                                                      const kith_allocator *allocator, redisbloom_bloom **filter);
KITH_MUST_USE kith_status redisbloom_bloom_load_append(redisbloom_bloom *filter, const redisbloom_bloom_level *level,
                                                       uint64_t most_bytes);
KITH_MUST_USE kith_status redisbloom_bloom_load_end(redisbloom_bloom *filter);

#endif
