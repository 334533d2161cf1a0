/* value.h: what a key of this module holds.
 *
 * There are two data types of kith, kithbloom (filters without deletion, for BF.*) and kithcucko (filters with
 * deletion, for CF.*), and two of RedisBloom, MBbloom-- and MBbloomCF. All have the same value: a kith filter, and what
 * the user asked for when it was created; or a filter in RedisBloom's layout (compat.h). While a dump is being loaded
 * in chunks, the value holds the part that has arrived. */
#ifndef KITH_REDIS_VALUE_H
#define KITH_REDIS_VALUE_H

#include <kith/filter.h>
#include <kith/keys.h>

#include "api.h"

typedef enum value_state {
    VALUE_FILTER,     /* `filter` is complete */
    VALUE_LOADING,    /* `loading` has the first part of a filter */
    VALUE_REDISBLOOM, /* `levels` is in RedisBloom's layout; it may be half loaded */
} value_state;

/* What the user asked for. It does not change how a filter works; INFO reports it. */
typedef struct value_request {
    uint32_t expansion; /* capacity of a new layer as a multiple of the last one; 0: the filter does not grow */
    uint32_t bucket_size;
    uint32_t max_iterations;
} value_request;

/* The numbers that are saved beside a filter. From outside, they can be anything. */
typedef struct value_stored {
    uint64_t expansion, bucket_size, max_iterations;
    uint64_t deleted;
    uint64_t layers; /* 0: not known */
} value_stored;

/* The part of a filter that has arrived. */
typedef struct value_part {
    unsigned char *block; /* `total` bytes from memory_allocate() */
    uint64_t total;
    uint64_t received;
    uint64_t chunks; /* how many chunks of SCANDUMP have arrived */
} value_part;

typedef struct value {
    value_state state;
    bool removes; /* the data type: one for CF.* if true, else one for BF.* */
    kith_filter *filter;
    value_request request;
    uint64_t deleted; /* number of items that were removed */
    unsigned layers;
    uint64_t version; /* another one after every change: see value_changed() */
    value_part loading;
    struct redisbloom_levels *levels; /* VALUE_REDISBLOOM: a redisbloom_cuckoo if removes, else a redisbloom_bloom */
    uint64_t dump_version;            /* VALUE_REDISBLOOM: see compat_scan_dump() */
    uint64_t dump_reach;
} value;

/* Limits of growth; 0 means no limit. */
typedef struct value_limits {
    uint64_t bytes;
    uint64_t layers;
} value_limits;

/* Everything that determines a new filter, secret key included: equal creations give equal bytes. */
typedef struct value_creation {
    char kind[32];
    char options[128];
    uint64_t capacity;
    double rate;
    kith_hash hash;
    kith_key_type keys;
    value_request request;
} value_creation;

/* Fills in kind and options for BF.* and CF.*, from capacity, rate and request. `bucket_size` is 0 if the user did not
 * choose one. Returns the codes of kith_filter_plan(). */
KITH_MUST_USE kith_status value_choose_bloom(value_creation *creation);
KITH_MUST_USE kith_status value_choose_cuckoo(value_creation *creation, unsigned bucket_size);

/* Creates an empty filter of at most max_bytes (0: no limit). Returns the codes of kith_filter_create(). */
KITH_MUST_USE kith_status value_create(const value_creation *creation, uint64_t max_bytes, value **made);

/* Creates an empty filter that can be merged with `like`. Returns the codes of kith_filter_create_like(). */
KITH_MUST_USE kith_status value_create_like(const value *like, uint64_t max_bytes, value **made);

/* Allocates a value with nothing in it, and counts it. NULL: no memory. */
value *value_new(value_state state, bool removes);

/* Makes a value of a complete filter or of a part, which belong to it from then on. NULL: no memory. */
value *value_of_filter(kith_filter *filter, const value_request *request);
value *value_of_part(bool removes, const value_request *request, value_part part);

/* Returns whether a value of the data type can have these numbers. value_complete() compares them with the filter. */
bool value_can_have(bool removes, const value_stored *numbers);

/* Makes a complete value of a half-loaded one whose block is complete. The filter is verified. If `type_known`, a
 * filter that does not belong to the data type of v is KITH_E_MISMATCH. If the layers of v are known, an expansion or
 * layers that the filter does not have are KITH_E_CORRUPT. On success the block is in *made, and v holds
 * nothing any more; it can only be freed. After any other status v is as it was. Returns the codes of
 * kith_filter_adopt(). */
KITH_MUST_USE kith_status value_complete(value *v, bool type_known, value **made);

/* Fill in expansion, or layers, from the filter itself, for filters that come without them. Counting the layers costs a
 * pass over the filter. */
void value_read_expansion(value *v);
void value_count_layers(value *v);

/* Frees a value and all it holds. May run on another thread. */
void value_free(value *v);

/* A copy with its own memory, or NULL if there is no memory for it. */
value *value_copy(const value *v);

/* Returns the bytes of memory that the value uses. Constant time. */
uint64_t value_memory(const value *v);

/* For active defragmentation: calls move() for the value itself, for the blocks of its filter, or for the part that has
 * arrived. If it returns another address, the content is there already. Returns the address of the value. */
value *value_relocate(value *v, kith_move move, void *context);

/* Returns true if the value is half loaded. */
bool value_is_loading(const value *v);

/* Must be called after every change of the filter. Gives the value a version that no value had before, so that a dump
 * can find out whether the filter has changed since it began. Versions are below 2^37. */
void value_changed(value *v);

/* What INFO reports about all values. */
typedef struct value_statistics {
    uint64_t filters;    /* of kith, complete */
    uint64_t loading;    /* of kith, half loaded */
    uint64_t redisbloom; /* in RedisBloom's layout */
    uint64_t growths;    /* layers that were appended since the module was loaded */
} value_statistics;

value_statistics value_get_statistics(void);

/* What INFO reports about one value, which is complete. */
typedef struct value_numbers {
    uint64_t capacity;
    uint64_t
        size; /* bytes of the block: memory that searches use is not counted, since it differs between equal filters */
    uint64_t buckets;
    uint64_t layers;
    uint64_t items;
    uint64_t deleted;
    uint64_t bucket_size;
    uint64_t expansion; /* 0: the filter does not grow */
    uint64_t max_iterations;
} value_numbers;

/* Constant time. */
value_numbers value_get_numbers(const value *v);

/* ---- items ----
 *
 * The item of a filter with keys of type int, uint or uuid is the text of such a key. */

/* The bytes of a number or UUID. */
typedef uint8_t value_typed[KITH_TYPED_KEY_BYTES];

/* Sets *key to the key of an item: the item itself, or `typed`. Returns the codes of kith_key_parse(); *key is then
 * empty. */
KITH_MUST_USE kith_status value_key_of(const value *v, const void *item, size_t item_bytes, value_typed *typed,
                                       kith_key *key);

/* Adds a key. Sets *was_new to whether the filter did not have it before. Returns the codes of kith_filter_add(); a
 * filter that may not grow further returns KITH_E_TOO_LARGE or, if it has limits.layers, KITH_E_FULL. */
KITH_MUST_USE kith_status value_add(value *v, kith_key key, value_limits limits, bool *was_new);

/* Returns true if the key may be in the filter. */
bool value_has(const value *v, kith_key key);

/* Looks up n keys, and sets bit i of the bitmap `found` for those that may be in the filter. n is at most 128. */
void value_has_many(const value *v, const kith_key *keys, size_t n, uint64_t *found);

/* Returns how many copies of a key the filter has, or more. */
uint64_t value_copies(const value *v, kith_key key);

/* Removes one copy of a key. Returns the codes of kith_filter_remove(). */
KITH_MUST_USE kith_status value_remove(value *v, kith_key key);

#endif
