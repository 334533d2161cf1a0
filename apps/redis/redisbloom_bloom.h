/* redisbloom_bloom.h: a scalable Bloom filter in the layout of RedisBloom (data type MBbloom--, encoding version 4).
 *
 * A filter is also a redisbloom_levels (redisbloom_levels.h), which has what both layouts share, and what is said there
 * holds here. */
#ifndef KITH_REDIS_REDISBLOOM_BLOOM_H
#define KITH_REDIS_REDISBLOOM_BLOOM_H

#include "redisbloom_levels.h"

typedef struct redisbloom_bloom {
    redisbloom_levels list;
    uint64_t items;
    uint32_t options; /* REDISBLOOM_… */
    uint32_t growth;
} redisbloom_bloom;

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

/* Passes everything that decides how the filter behaves (the header as it is dumped, then the bits of each level) to
 * part(), in an order that is the same for equal filters. */
void redisbloom_bloom_parts(const redisbloom_bloom *filter,
                            void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

/* ---- dumps: BF.SCANDUMP and BF.LOADCHUNK ---- */

/* The header: 20 bytes, and 53 per level. Write it to a buffer of redisbloom_bloom_header_bytes() bytes. */
size_t redisbloom_bloom_header_bytes(const redisbloom_bloom *filter);
void redisbloom_bloom_header(const redisbloom_bloom *filter, void *header);

/* Whether these bytes can be the header of a dump, judged by their length and the number of levels in them: a cheap
 * test to tell it from other data. */
bool redisbloom_bloom_is_header(const void *header, size_t header_bytes);

/* Creates a filter from a header, with all bits 0. It is then loading.
 *   KITH_E_TRUNCATED, KITH_E_TRAILING   the length does not fit the number of levels in the header
 *   KITH_E_CORRUPT                      a field has an impossible value, or contradicts another
 *   KITH_E_TOO_LARGE, KITH_E_MEMORY */
KITH_MUST_USE kith_status redisbloom_bloom_load_header(const void *header, size_t header_bytes, uint64_t most_bytes,
                                                       const kith_allocator *allocator, redisbloom_bloom **filter);

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
