/* compat.c: values in RedisBloom's layouts; see compat.h. Every function does the same for the two of them. */
#include "compat.h"

#include "memory.h"
#include "redisbloom_bloom.h"
#include "redisbloom_cuckoo.h"

static uint64_t most(uint64_t max_bytes) {
    return max_bytes == 0 ? UINT64_MAX : max_bytes;
}

/* ---- creating and freeing ---- */

value *compat_of_bloom(redisbloom_bloom *bloom) {
    value *v = value_new(VALUE_REDISBLOOM, false);
    if (v != NULL)
        v->bloom = bloom;
    return v;
}

value *compat_of_cuckoo(redisbloom_cuckoo *cuckoo) {
    value *v = value_new(VALUE_REDISBLOOM, true);
    if (v != NULL)
        v->cuckoo = cuckoo;
    return v;
}

/* Makes a value of what a call has made, if it succeeded. */
static kith_status finish(kith_status status, redisbloom_bloom *bloom, redisbloom_cuckoo *cuckoo, value **made) {
    if (status != KITH_OK)
        return status;
    *made = bloom != NULL ? compat_of_bloom(bloom) : compat_of_cuckoo(cuckoo);
    if (*made != NULL)
        return KITH_OK;
    redisbloom_bloom_free(bloom);
    redisbloom_cuckoo_free(cuckoo);
    return KITH_E_MEMORY;
}

kith_status compat_create_bloom(double rate, uint64_t capacity, uint32_t expansion, bool scaling, uint64_t max_bytes,
                                value **made) {
    redisbloom_bloom *bloom = NULL;
    kith_status status =
        redisbloom_bloom_create(rate, capacity, expansion, scaling, most(max_bytes), &memory_plain_allocator, &bloom);
    return finish(status, bloom, NULL, made);
}

kith_status compat_create_cuckoo(uint64_t capacity, const value_request *request, uint64_t max_bytes, value **made) {
    redisbloom_cuckoo *cuckoo = NULL;
    kith_status status =
        redisbloom_cuckoo_create(capacity, request->bucket_size, request->max_iterations, request->expansion,
                                 most(max_bytes), &memory_plain_allocator, &cuckoo);
    return finish(status, NULL, cuckoo, made);
}

bool compat_is_complete(const value *v) {
    return v->removes ? redisbloom_cuckoo_is_complete(v->cuckoo) : redisbloom_bloom_is_complete(v->bloom);
}

void compat_free(value *v) {
    redisbloom_bloom_free(v->bloom);
    redisbloom_cuckoo_free(v->cuckoo);
}

value *compat_copy(const value *v) {
    redisbloom_bloom *bloom = NULL;
    redisbloom_cuckoo *cuckoo = NULL;
    value *made;
    kith_status status = v->removes ? redisbloom_cuckoo_clone(v->cuckoo, &memory_plain_allocator, &cuckoo)
                                    : redisbloom_bloom_clone(v->bloom, &memory_plain_allocator, &bloom);
    return finish(status, bloom, cuckoo, &made) == KITH_OK ? made : NULL;
}

uint64_t compat_memory(const value *v) {
    /* The server asks how much work it is to free a value, also one whose filter compat_move() took. */
    if (v->bloom == NULL && v->cuckoo == NULL)
        return 0;
    return v->removes ? redisbloom_cuckoo_memory(v->cuckoo) : redisbloom_bloom_memory(v->bloom);
}

value_numbers compat_numbers(const value *v) {
    if (!v->removes) {
        redisbloom_bloom_info info = redisbloom_bloom_get_info(v->bloom);
        return (value_numbers){.capacity = info.capacity,
                               .size = info.size,
                               .layers = info.levels,
                               .items = info.items,
                               .expansion = info.scaling ? info.expansion : 0};
    }
    redisbloom_cuckoo_info info = redisbloom_cuckoo_get_info(v->cuckoo);
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
    if (v->removes)
        v->cuckoo = redisbloom_cuckoo_relocate(v->cuckoo, memory_move_plain, defrag_context);
    else
        v->bloom = redisbloom_bloom_relocate(v->bloom, memory_move_plain, defrag_context);
}

void compat_parts(const value *v, void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    if (v->removes)
        redisbloom_cuckoo_parts(v->cuckoo, part, context);
    else
        redisbloom_bloom_parts(v->bloom, part, context);
}

/* ---- items ---- */

bool compat_has(const value *v, const void *item, size_t item_bytes) {
    return v->removes ? redisbloom_cuckoo_has(v->cuckoo, item, item_bytes)
                      : redisbloom_bloom_has(v->bloom, item, item_bytes);
}

uint64_t compat_copies(const value *v, const void *item, size_t item_bytes) {
    return v->removes ? redisbloom_cuckoo_count(v->cuckoo, item, item_bytes)
                      : redisbloom_bloom_has(v->bloom, item, item_bytes);
}

kith_status compat_add(value *v, const void *item, size_t item_bytes, value_limits limits, bool *was_new) {
    if (!v->removes)
        return redisbloom_bloom_add(v->bloom, item, item_bytes, most(limits.bytes), was_new);
    kith_status status = redisbloom_cuckoo_add(v->cuckoo, item, item_bytes, most(limits.layers), most(limits.bytes));
    *was_new = status == KITH_OK;
    return status;
}

kith_status compat_remove(value *v, const void *item, size_t item_bytes) {
    if (!v->removes)
        return KITH_E_UNSUPPORTED;
    return redisbloom_cuckoo_remove(v->cuckoo, item, item_bytes) ? KITH_OK : KITH_E_ABSENT;
}

void compat_move(value *to, value *v) {
    to->bloom = v->bloom;
    to->cuckoo = v->cuckoo;
    v->bloom = NULL;
    v->cuckoo = NULL;
}

void compat_compact(value *v) {
    redisbloom_cuckoo_compact(v->cuckoo);
}

/* ---- dumps ---- */

size_t compat_header(const value *v, void *header) {
    if (header != NULL && v->removes)
        redisbloom_cuckoo_header(v->cuckoo, header);
    else if (header != NULL)
        redisbloom_bloom_header(v->bloom, header);
    return v->removes ? REDISBLOOM_CUCKOO_HEADER_BYTES : redisbloom_bloom_header_bytes(v->bloom);
}

uint64_t compat_chunk(const value *v, uint64_t cursor, const void **chunk, size_t *chunk_bytes) {
    return v->removes ? redisbloom_cuckoo_chunk(v->cuckoo, cursor, chunk, chunk_bytes)
                      : redisbloom_bloom_chunk(v->bloom, cursor, chunk, chunk_bytes);
}

kith_status compat_load_header(bool removes, const void *header, size_t header_bytes, uint64_t max_bytes,
                               value **made) {
    redisbloom_bloom *bloom = NULL;
    redisbloom_cuckoo *cuckoo = NULL;
    kith_status status =
        removes ? redisbloom_cuckoo_load_header(header, header_bytes, most(max_bytes), &memory_plain_allocator, &cuckoo)
                : redisbloom_bloom_load_header(header, header_bytes, most(max_bytes), &memory_plain_allocator, &bloom);
    return finish(status, bloom, cuckoo, made);
}

kith_status compat_load_chunk(value *v, uint64_t cursor, const void *chunk, size_t chunk_bytes) {
    return v->removes ? redisbloom_cuckoo_load_chunk(v->cuckoo, cursor, chunk, chunk_bytes)
                      : redisbloom_bloom_load_chunk(v->bloom, cursor, chunk, chunk_bytes);
}

uint64_t compat_loaded(const value *v) {
    return v->removes ? redisbloom_cuckoo_loaded(v->cuckoo) : redisbloom_bloom_loaded(v->bloom);
}
