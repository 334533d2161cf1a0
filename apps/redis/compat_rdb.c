/* compat_rdb.c: RedisBloom's RDB format and its rewrite of the AOF; see compat_rdb.h.
 *
 * redisbloom_bloom.h and redisbloom_cuckoo.h describe the fields. Each array of bits or slots is one string, as long as
 * RedisBloom made it. No number is trusted: the number of levels only ends a loop that reads each of them. */
#include "compat_rdb.h"

#include <stdlib.h>
#include "compat.h"
#include "config.h"
#include "memory.h"
#include "redisbloom_bloom.h"
#include "redisbloom_cuckoo.h"

static void *damaged(RedisModuleIO *io, const char *what) {
    server.LogIOError(io, "warning", "cannot load a filter of RedisBloom: %s", what);
    return NULL;
}

/* Loads a string, which is memory of memory_plain_allocator. Returns false if there is none or it is empty. */
static bool load_bytes(RedisModuleIO *io, unsigned char **bytes, uint64_t *byte_count) {
    size_t loaded_bytes = 0;
    *bytes = (unsigned char *)server.LoadStringBuffer(io, &loaded_bytes);
    *byte_count = loaded_bytes;
    if (*bytes != NULL && !server.IsIOError(io) && loaded_bytes > 0)
        return true;
    if (*bytes != NULL)
        server.Free(*bytes);
    return false;
}

/* Returns the value of a filter that was loaded, or NULL after freeing it. */
static void *finish(RedisModuleIO *io, kith_status status, bool removes, redisbloom_levels *levels) {
    value *v = status == KITH_OK ? compat_of(removes, levels) : NULL;
    if (v == NULL)
        redisbloom_levels_free(levels);
    return status == KITH_OK ? v : damaged(io, kith_status_text(status));
}

/* ---- MBbloom-- ---- */

static void save_bloom(RedisModuleIO *io, const redisbloom_bloom *bloom) {
    redisbloom_bloom_fields f = redisbloom_bloom_get_fields(bloom);
    server.SaveUnsigned(io, f.items);
    server.SaveUnsigned(io, f.levels);
    server.SaveUnsigned(io, f.options);
    server.SaveUnsigned(io, f.growth);
    for (uint64_t i = 0; i < f.levels; i++) {
        redisbloom_bloom_level l = redisbloom_bloom_get_level(bloom, i);
        server.SaveUnsigned(io, l.capacity);
        server.SaveDouble(io, l.rate);
        server.SaveUnsigned(io, l.hashes);
        server.SaveDouble(io, l.bits_per_entry);
        server.SaveUnsigned(io, l.bits);
        server.SaveUnsigned(io, l.log2_bits);
        server.SaveStringBuffer(io, (const char *)l.bytes, (size_t)l.byte_count);
        server.SaveUnsigned(io, l.items);
    }
}

static kith_status load_bloom_level(RedisModuleIO *io, redisbloom_bloom *bloom) {
    redisbloom_bloom_level l = {0};
    l.capacity = server.LoadUnsigned(io);
    l.rate = server.LoadDouble(io);
    l.hashes = server.LoadUnsigned(io);
    l.bits_per_entry = server.LoadDouble(io);
    l.bits = server.LoadUnsigned(io);
    l.log2_bits = server.LoadUnsigned(io);
    if (server.IsIOError(io) || !load_bytes(io, &l.bytes, &l.byte_count))
        return KITH_E_TRUNCATED;
    l.items = server.LoadUnsigned(io);
    kith_status status = server.IsIOError(io) ? KITH_E_TRUNCATED : redisbloom_bloom_load_append(bloom, &l, UINT64_MAX);
    if (status != KITH_OK)
        server.Free(l.bytes);
    return status;
}

void *compat_load_bloom(RedisModuleIO *io, int encoding_version) {
    if (encoding_version != COMPAT_RDB_VERSION)
        return damaged(io, "only encoding version 4 is known");
    redisbloom_bloom_fields f = {0};
    redisbloom_bloom *bloom;
    f.items = server.LoadUnsigned(io);
    f.levels = server.LoadUnsigned(io);
    f.options = server.LoadUnsigned(io);
    f.growth = server.LoadUnsigned(io);
    kith_status status = server.IsIOError(io)
                             ? KITH_E_TRUNCATED
                             : redisbloom_bloom_load_begin(&f, UINT64_MAX, &memory_plain_allocator, &bloom);
    if (status != KITH_OK)
        return damaged(io, kith_status_text(status));
    for (uint64_t i = 0; i < f.levels && status == KITH_OK; i++)
        status = load_bloom_level(io, bloom);
    if (status == KITH_OK)
        status = redisbloom_bloom_load_end(bloom);
    return finish(io, status, false, &bloom->list);
}

/* ---- MBbloomCF ---- */

static void save_cuckoo(RedisModuleIO *io, const redisbloom_cuckoo *cuckoo) {
    redisbloom_cuckoo_fields f = redisbloom_cuckoo_get_fields(cuckoo);
    server.SaveUnsigned(io, f.filters);
    server.SaveUnsigned(io, f.buckets);
    server.SaveUnsigned(io, f.items);
    server.SaveUnsigned(io, f.deletes);
    server.SaveUnsigned(io, f.bucket_size);
    server.SaveUnsigned(io, f.max_iterations);
    server.SaveUnsigned(io, f.expansion);
    for (uint64_t i = 0; i < f.filters; i++) {
        redisbloom_cuckoo_level l = redisbloom_cuckoo_get_level(cuckoo, i);
        server.SaveUnsigned(io, l.buckets);
        server.SaveStringBuffer(io, (const char *)l.slots, (size_t)l.byte_count);
    }
}

static kith_status load_cuckoo_level(RedisModuleIO *io, redisbloom_cuckoo *cuckoo) {
    redisbloom_cuckoo_level l = {0};
    l.buckets = server.LoadUnsigned(io);
    if (server.IsIOError(io) || !load_bytes(io, &l.slots, &l.byte_count))
        return KITH_E_TRUNCATED;
    kith_status status = redisbloom_cuckoo_load_append(cuckoo, &l, UINT64_MAX);
    if (status != KITH_OK)
        server.Free(l.slots);
    return status;
}

void *compat_load_cuckoo(RedisModuleIO *io, int encoding_version) {
    if (encoding_version != COMPAT_RDB_VERSION)
        return damaged(io, "only encoding version 4 is known");
    redisbloom_cuckoo_fields f = {0};
    redisbloom_cuckoo *cuckoo;
    f.filters = server.LoadUnsigned(io);
    f.buckets = server.LoadUnsigned(io);
    f.items = server.LoadUnsigned(io);
    f.deletes = server.LoadUnsigned(io);
    f.bucket_size = server.LoadUnsigned(io);
    f.max_iterations = server.LoadUnsigned(io);
    f.expansion = server.LoadUnsigned(io);
    kith_status status = server.IsIOError(io)
                             ? KITH_E_TRUNCATED
                             : redisbloom_cuckoo_load_begin(&f, UINT64_MAX, &memory_plain_allocator, &cuckoo);
    if (status != KITH_OK)
        return damaged(io, kith_status_text(status));
    for (uint64_t i = 0; i < f.filters && status == KITH_OK; i++)
        status = load_cuckoo_level(io, cuckoo);
    if (status == KITH_OK)
        status = redisbloom_cuckoo_load_end(cuckoo);
    return finish(io, status, true, &cuckoo->list);
}

void compat_save(RedisModuleIO *io, void *data) {
    const value *v = data;
    if (v->removes)
        save_cuckoo(io, (const redisbloom_cuckoo *)v->levels);
    else
        save_bloom(io, (const redisbloom_bloom *)v->levels);
}

/* ---- chunks: half-loaded values, and the AOF ---- */

/* Calls part() for the chunks that are loaded, with the cursor that belongs to each. */
static void each_chunk(const value *v, void (*part)(void *context, uint64_t cursor, const void *chunk, size_t bytes),
                       void *context) {
    const void *chunk;
    size_t bytes;
    uint64_t end = 1 + compat_loaded(v), cursor = 1;
    while (cursor < end) {
        uint64_t next = compat_chunk(v, cursor, &chunk, &bytes);
        if (next == 0)
            return;
        if (next > end) {
            bytes -= (size_t)(next - end);
            next = end;
        }
        part(context, next, chunk, bytes);
        cursor = next;
    }
}

static void save_chunk(void *io, uint64_t cursor, const void *chunk, size_t bytes) {
    server.SaveUnsigned(io, cursor);
    server.SaveStringBuffer(io, chunk, bytes);
}

void compat_save_part(RedisModuleIO *io, const value *v) {
    size_t header_bytes = compat_header(v, NULL);
    char *header = memory_allocate(header_bytes);
    if (header == NULL) { /* as in rdb_save() */
        server.LogIOError(io, "warning", "cannot save a half-loaded filter: out of memory");
        abort();
    }
    (void)compat_header(v, header);
    server.SaveStringBuffer(io, header, header_bytes);
    memory_release(header, header_bytes);
    server.SaveUnsigned(io, compat_loaded(v));
    each_chunk(v, save_chunk, io);
}

/* Loads one chunk of a half-loaded value. Returns how many bytes it has, or 0. */
static uint64_t load_chunk(RedisModuleIO *io, value *v) {
    size_t bytes = 0;
    uint64_t cursor = server.LoadUnsigned(io);
    char *chunk = server.IsIOError(io) ? NULL : server.LoadStringBuffer(io, &bytes);
    if (chunk == NULL)
        return 0;
    bool fits = !server.IsIOError(io) && compat_load_chunk(v, cursor, chunk, bytes) == KITH_OK;
    server.Free(chunk);
    return fits ? bytes : 0;
}

value *compat_load_part(RedisModuleIO *io, bool removes) {
    size_t bytes = 0;
    value *v;
    if (config.only_kith)
        return damaged(io, "it has RedisBloom's layout, and kith.so was loaded with the arguments \"bf no\"");
    char *header = server.LoadStringBuffer(io, &bytes);
    if (header == NULL)
        return damaged(io, "its header is missing");
    kith_status status = server.IsIOError(io) ? KITH_E_TRUNCATED : compat_load_header(removes, header, bytes, 0, &v);
    server.Free(header);
    if (status != KITH_OK)
        return damaged(io, kith_status_text(status));
    uint64_t loaded = server.LoadUnsigned(io), step = 1;
    for (uint64_t at = 0; at < loaded && step != 0; at += step)
        step = load_chunk(io, v);
    if (!server.IsIOError(io) && step != 0 && compat_loaded(v) == loaded && !compat_is_complete(v))
        return v;
    value_free(v);
    return damaged(io, "a chunk is missing or has the wrong size");
}

typedef struct rewrite {
    RedisModuleIO *io;
    RedisModuleString *key;
    const char *command;
} rewrite;

static void emit_chunk(void *context, uint64_t cursor, const void *chunk, size_t bytes) {
    const rewrite *r = context;
    server.EmitAOF(r->io, r->command, "slb", r->key, (long long)cursor, chunk, bytes);
}

void compat_rewrite(RedisModuleIO *io, RedisModuleString *key, const value *v) {
    rewrite r = {io, key, v->removes ? "CF.LOADCHUNK" : "BF.LOADCHUNK"};
    size_t header_bytes = compat_header(v, NULL);
    char *header = memory_allocate(header_bytes);
    if (header == NULL) { /* as in rdb_save() */
        server.LogIOError(io, "warning", "cannot write a filter to the AOF: out of memory");
        abort();
    }
    (void)compat_header(v, header);
    emit_chunk(&r, 1, header, header_bytes);
    memory_release(header, header_bytes);
    each_chunk(v, emit_chunk, &r);
}
