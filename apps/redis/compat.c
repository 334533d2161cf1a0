/* compat.c: values in RedisBloom's layouts; see compat.h. Every function does the same for the two of them. */
#include "compat.h"

#include "memory.h"
#include "redisbloom_bloom.h"
#include "redisbloom_cuckoo.h"

static uint64_t most(uint64_t max_bytes) {
    return max_bytes == 0 ? UINT64_MAX : max_bytes;
}

/* ---- creating and freeing ---- */

value *compat_of(bool removes, redisbloom_levels *levels) {
    value *v = value_new(VALUE_REDISBLOOM, removes);
    if (v != NULL)
        v->levels = levels;
    return v;
}

/* These two must only be called for values of the right layout. */
static redisbloom_bloom *bloom_of(const value *v) {
    return (redisbloom_bloom *)v->levels;
}

static redisbloom_cuckoo *cuckoo_of(const value *v) {
    return (redisbloom_cuckoo *)v->levels;
}

/* Makes a value of what a call has made, if it succeeded. */
static kith_status finish(kith_status status, bool removes, redisbloom_levels *levels, value **made) {
    if (status != KITH_OK)
        return status;
    *made = compat_of(removes, levels);
    if (*made != NULL)
        return KITH_OK;
    redisbloom_levels_free(levels);
    return KITH_E_MEMORY;
}

kith_status compat_create_bloom(double rate, uint64_t capacity, uint32_t expansion, bool scaling, uint64_t max_bytes,
                                value **made) {
    redisbloom_bloom *bloom = NULL;
    kith_status status =
        redisbloom_bloom_create(rate, capacity, expansion, scaling, most(max_bytes), &memory_plain_allocator, &bloom);
    return finish(status, false, (redisbloom_levels *)bloom, made);
}

kith_status compat_create_cuckoo(uint64_t capacity, const value_request *request, uint64_t max_bytes, value **made) {
    redisbloom_cuckoo *cuckoo = NULL;
    kith_status status =
        redisbloom_cuckoo_create(capacity, request->bucket_size, request->max_iterations, request->expansion,
                                 most(max_bytes), &memory_plain_allocator, &cuckoo);
    return finish(status, true, (redisbloom_levels *)cuckoo, made);
}

bool compat_is_complete(const value *v) {
    return redisbloom_levels_is_complete(v->levels);
}

void compat_free(value *v) {
    redisbloom_levels_free(v->levels);
}

value *compat_copy(const value *v) {
    redisbloom_levels *copy = redisbloom_levels_clone(v->levels, &memory_plain_allocator);
    value *made;
    kith_status status = copy != NULL ? KITH_OK : KITH_E_MEMORY;
    return finish(status, v->removes, copy, &made) == KITH_OK ? made : NULL;
}

uint64_t compat_memory(const value *v) {
    /* The server asks how much work it is to free a value, also one whose filter compat_move() took. */
    return v->levels == NULL ? 0 : redisbloom_levels_memory(v->levels);
}

value_numbers compat_numbers(const value *v) {
    if (!v->removes) {
        redisbloom_bloom_info info = redisbloom_bloom_get_info(bloom_of(v));
        return (value_numbers){.capacity = info.capacity,
                               .size = info.size,
                               .layers = info.levels,
                               .items = info.items,
                               .expansion = info.scaling ? info.expansion : 0};
    }
    redisbloom_cuckoo_info info = redisbloom_cuckoo_get_info(cuckoo_of(v));
    return (value_numbers){.size = info.size,
                           .buckets = info.buckets,
                           .layers = info.filters,
                           .items = info.items,
                           .deleted = info.deletes,
                           .bucket_size = info.bucket_size,
                           .expansion = info.expansion,
                           .max_iterations = info.max_iterations};
}

void compat_relocate(value *v, void *defrag_context) {
    v->levels = redisbloom_levels_relocate(v->levels, memory_move_plain, defrag_context);
}

void compat_parts(const value *v, void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    if (v->removes)
        redisbloom_cuckoo_parts(cuckoo_of(v), part, context);
    else
        redisbloom_bloom_parts(bloom_of(v), part, context);
}

/* ---- items ---- */

bool compat_has(const value *v, const void *item, size_t item_bytes) {
    return v->removes ? redisbloom_cuckoo_has(cuckoo_of(v), item, item_bytes)
                      : redisbloom_bloom_has(bloom_of(v), item, item_bytes);
}

uint64_t compat_copies(const value *v, const void *item, size_t item_bytes) {
    return v->removes ? redisbloom_cuckoo_count(cuckoo_of(v), item, item_bytes)
                      : redisbloom_bloom_has(bloom_of(v), item, item_bytes);
}

kith_status compat_add(value *v, const void *item, size_t item_bytes, value_limits limits, bool *was_new) {
    if (!v->removes)
        return redisbloom_bloom_add(bloom_of(v), item, item_bytes, most(limits.bytes), was_new);
    kith_status status = redisbloom_cuckoo_add(cuckoo_of(v), item, item_bytes, most(limits.layers), most(limits.bytes));
    *was_new = status == KITH_OK;
    return status;
}

kith_status compat_remove(value *v, const void *item, size_t item_bytes) {
    if (!v->removes)
        return KITH_E_UNSUPPORTED;
    return redisbloom_cuckoo_remove(cuckoo_of(v), item, item_bytes) ? KITH_OK : KITH_E_ABSENT;
}

void compat_move(value *to, value *v) {
    to->levels = v->levels;
    v->levels = NULL;
}

void compat_compact(value *v) {
    redisbloom_cuckoo_compact(cuckoo_of(v));
}

/* ---- dumps ---- */

size_t compat_header(const value *v, void *header) {
    if (header != NULL && v->removes)
        redisbloom_cuckoo_header(cuckoo_of(v), header);
    else if (header != NULL)
        redisbloom_bloom_header(bloom_of(v), header);
    return v->removes ? REDISBLOOM_CUCKOO_HEADER_BYTES : redisbloom_bloom_header_bytes(bloom_of(v));
}

uint64_t compat_chunk(const value *v, uint64_t cursor, const void **chunk, size_t *chunk_bytes) {
    return redisbloom_levels_chunk(v->levels, cursor, chunk, chunk_bytes);
}

kith_status compat_load_header(bool removes, const void *header, size_t header_bytes, uint64_t max_bytes,
                               value **made) {
    redisbloom_bloom *bloom = NULL;
    redisbloom_cuckoo *cuckoo = NULL;
    kith_status status =
        removes ? redisbloom_cuckoo_load_header(header, header_bytes, most(max_bytes), &memory_plain_allocator, &cuckoo)
                : redisbloom_bloom_load_header(header, header_bytes, most(max_bytes), &memory_plain_allocator, &bloom);
    return finish(status, removes, removes ? (redisbloom_levels *)cuckoo : (redisbloom_levels *)bloom, made);
}

kith_status compat_load_chunk(value *v, uint64_t cursor, const void *chunk, size_t chunk_bytes) {
    return redisbloom_levels_load_chunk(v->levels, cursor, chunk, chunk_bytes);
}

uint64_t compat_loaded(const value *v) {
    return v->levels->loaded_bytes;
}
