/* rdb.c: values in RDB files; see rdb.h.
 *
 *     form (0, or 1: a half-loaded dump of RedisBloom follows, as compat_rdb.h says)
 *     expansion  bucket size  max iterations  deleted  layers  chunks  total  received      unsigned integers
 *     chunk …                                                                               strings of at most 16 MiB
 *
 * The chunks together are the first `received` bytes of a block of `total` bytes, the same as a file of the filter
 * (docs/format.md). If received < total, the value is half loaded.
 *
 * No number is trusted. The block is allocated before its content arrives, but no page of it is touched before that, so
 * a wrong total costs no memory. */
#include "rdb.h"

#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "compat_rdb.h"
#include "config.h"
#include "memory.h"
#include "value.h"

/* Filters cannot be larger than this, whatever a damaged file says. */
#define MOST_BYTES (UINT64_C(1) << 46)

enum { FORM_KITH, FORM_REDISBLOOM };

static kith_status save_piece(void *io, const void *bytes, size_t byte_count) {
    const char *at = bytes;
    while (byte_count > 0) {
        size_t n = byte_count < RDB_CHUNK_BYTES ? byte_count : RDB_CHUNK_BYTES;
        server.SaveStringBuffer(io, at, n);
        at += n;
        byte_count -= n;
    }
    return KITH_OK;
}

void rdb_save(RedisModuleIO *io, void *data) {
    value *v = data;
    bool whole = v->state == VALUE_FILTER;
    server.SaveUnsigned(io, v->state == VALUE_REDISBLOOM ? FORM_REDISBLOOM : FORM_KITH);
    if (v->state == VALUE_REDISBLOOM) {
        compat_save_part(io, v);
        return;
    }
    uint64_t total = whole ? kith_filter_file_bytes(v->filter) : v->loading.total;
    uint64_t received = whole ? total : v->loading.received;
    server.SaveUnsigned(io, v->request.expansion);
    server.SaveUnsigned(io, v->request.bucket_size);
    server.SaveUnsigned(io, v->request.max_iterations);
    server.SaveUnsigned(io, v->deleted);
    server.SaveUnsigned(io, v->layers);
    server.SaveUnsigned(io, v->loading.chunks);
    server.SaveUnsigned(io, total);
    server.SaveUnsigned(io, received);
    kith_status status = whole ? kith_filter_write(v->filter, 0, total, save_piece, io)
                               : save_piece(io, v->loading.block, (size_t)received);
    /* Without all chunks the whole RDB file is unreadable, and there is no way to tell the server. The only cause is
     * that there are not even a few KiB of memory for checksums: in that case the server itself ends, too. */
    if (status != KITH_OK) {
        server.LogIOError(io, "warning", "cannot save a filter: %s", kith_status_text(status));
        abort();
    }
}

static void *damaged(RedisModuleIO *io, const char *what) {
    server.LogIOError(io, "warning", "cannot load a filter: %s", what);
    return NULL;
}

/* Reads chunks until `received` bytes are in the block. */
static bool load_chunks(RedisModuleIO *io, unsigned char *block, uint64_t received) {
    uint64_t at = 0;
    while (at < received) {
        size_t bytes = 0;
        char *chunk = server.LoadStringBuffer(io, &bytes);
        if (chunk == NULL)
            return false;
        bool fits = !server.IsIOError(io) && bytes > 0 && bytes <= RDB_CHUNK_BYTES && bytes <= received - at;
        if (fits)
            memcpy(block + at, chunk, bytes);
        server.Free(chunk);
        if (!fits)
            return false;
        at += bytes;
    }
    return true;
}

/* A half-loaded filter can claim any size, so the limit holds for it, unless it comes from an RDB file or from the
 * primary. (A complete filter was allowed when it was made, and its bytes are all there.) */
static bool may_claim(RedisModuleIO *io, uint64_t total) {
    int flags = server.GetContextFlags(server.GetContextFromIO(io));
    return (flags & (CONTEXT_LOADING | CONTEXT_REPLICA)) != 0 || total <= (uint64_t)config.max_filter_bytes;
}

static value *load(RedisModuleIO *io, int encoding_version, bool removes) {
    if (encoding_version != RDB_VERSION)
        return damaged(io, "it was written by a newer version of kith");
    uint64_t form = server.LoadUnsigned(io);
    if (server.IsIOError(io) || form > FORM_REDISBLOOM)
        return damaged(io, "its form is unknown");
    if (form == FORM_REDISBLOOM)
        return compat_load_part(io, removes);
    value_stored n;
    value_part part = {0};
    n.expansion = server.LoadUnsigned(io);
    n.bucket_size = server.LoadUnsigned(io);
    n.max_iterations = server.LoadUnsigned(io);
    n.deleted = server.LoadUnsigned(io);
    n.layers = server.LoadUnsigned(io);
    part.chunks = server.LoadUnsigned(io);
    part.total = server.LoadUnsigned(io);
    part.received = server.LoadUnsigned(io);
    if (server.IsIOError(io) || part.total == 0 || part.total > MOST_BYTES || part.received > part.total ||
        part.received == 0)
        return damaged(io, "its sizes are impossible");
    bool whole = part.received == part.total;
    if (!value_can_have(removes, &n) || !chunks_fit(part.chunks, part.received, part.total) || (whole && n.layers == 0))
        return damaged(io, "no filter can have its numbers");
    if (!whole && !may_claim(io, part.total))
        return damaged(io, "it is half loaded, and would be larger than kith.max-filter-bytes");
    part.block = memory_allocate((size_t)part.total);
    if (part.block == NULL)
        return damaged(io, "there is no memory for it");
    if (!load_chunks(io, part.block, part.received)) {
        memory_release(part.block, (size_t)part.total);
        return damaged(io, "a chunk is missing or has the wrong size");
    }
    value_request request = {(uint32_t)n.expansion, (uint32_t)n.bucket_size, (uint32_t)n.max_iterations};
    value *v = value_of_part(removes, &request, part);
    if (v == NULL) {
        memory_release(part.block, (size_t)part.total);
        return damaged(io, "there is no memory for it");
    }
    v->deleted = n.deleted;
    v->layers = (unsigned)n.layers;
    if (!whole)
        return v;
    value *made;
    kith_status status = value_complete(v, true, &made);
    value_free(v);
    return status == KITH_OK ? made : damaged(io, kith_status_text(status));
}

void *rdb_load_bloom(RedisModuleIO *io, int encoding_version) {
    return load(io, encoding_version, false);
}

void *rdb_load_cuckoo(RedisModuleIO *io, int encoding_version) {
    return load(io, encoding_version, true);
}
