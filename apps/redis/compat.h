/* compat.h: values in RedisBloom's own layouts (redisbloom_bloom.h, redisbloom_cuckoo.h).
 *
 * They come from RDB files, AOFs, replication and dumps of RedisBloom, and are made here with the setting "compat
 * redisbloom". Their data types have RedisBloom's names, MBbloom-- and MBbloomCF, and are saved as RedisBloom saves
 * them. While a dump is being loaded, the key has kith's type instead, since RedisBloom's RDB format has no half-loaded
 * filters.
 *
 * Their memory comes from memory_plain_allocator, so that the strings of an RDB file become the filter without a copy.
 *
 * value.c calls these functions for values whose state is VALUE_REDISBLOOM. They mean the same as the functions of
 * value.h without the prefix. */
#ifndef KITH_REDIS_COMPAT_H
#define KITH_REDIS_COMPAT_H

#include "value.h"

/* Create a filter as BF.RESERVE and CF.RESERVE of RedisBloom do; see redisbloom_bloom_create() and
 * redisbloom_cuckoo_create(). max_bytes: 0 for no limit. */
KITH_MUST_USE kith_status compat_create_bloom(double rate, uint64_t capacity, uint32_t expansion, bool scaling,
                                              uint64_t max_bytes, value **made);
KITH_MUST_USE kith_status compat_create_cuckoo(uint64_t capacity, const value_request *request, uint64_t max_bytes,
                                               value **made);

/* Makes a value of a filter, which belongs to it from then on. NULL: no memory. */
value *compat_of(bool removes, struct redisbloom_levels *levels);

/* Returns false while a dump is being loaded. */
bool compat_is_complete(const value *v);

void compat_free(value *v);
value *compat_copy(const value *v);
uint64_t compat_memory(const value *v);
value_numbers compat_numbers(const value *v);
void compat_relocate(value *v, void *defrag_context);

/* Passes all that determines how the filter behaves to part(). */
void compat_parts(const value *v, void (*part)(void *context, const void *bytes, size_t byte_count), void *context);

bool compat_has(const value *v, const void *item, size_t item_bytes);
uint64_t compat_copies(const value *v, const void *item, size_t item_bytes);
KITH_MUST_USE kith_status compat_add(value *v, const void *item, size_t item_bytes, value_limits limits, bool *was_new);
KITH_MUST_USE kith_status compat_remove(value *v, const void *item, size_t item_bytes);

/* Moves the filter of v to an empty value that compat_of(removes, NULL) has made. */
void compat_move(value *to, value *v);

/* CF.COMPACT. */
void compat_compact(value *v);

/* ---- dumps ---- */

/* The header of a dump. Returns its length; writes it if `header` is not NULL. */
size_t compat_header(const value *v, void *header);

/* The chunk after `cursor`: see redisbloom_levels_chunk(). */
uint64_t compat_chunk(const value *v, uint64_t cursor, const void **chunk, size_t *chunk_bytes);

/* Begins a half-loaded value from a header. */
KITH_MUST_USE kith_status compat_load_header(bool removes, const void *header, size_t header_bytes, uint64_t max_bytes,
                                             value **made);
KITH_MUST_USE kith_status compat_load_chunk(value *v, uint64_t cursor, const void *chunk, size_t chunk_bytes);

/* How many bytes of chunks were loaded; all of them if the filter is complete. */
uint64_t compat_loaded(const value *v);

#endif
