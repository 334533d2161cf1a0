/* aof.c: the rewrite of the AOF for filters of kith. (Those of RedisBloom are in compat_rdb.c.)
 *
 *     KITH._LOAD key offset data received total removes expansion bucket_size max_iterations deleted layers chunks
 *
 * `data` is at `offset` of the block, which has `total` bytes. When `received` bytes of it are there, the value is as
 * it was: complete if that is all of them, and otherwise half loaded. Only the AOF and the primary may call it. */
#include "chunks.h"

#include <stdlib.h>

typedef struct rewrite {
    RedisModuleIO *io;
    RedisModuleString *key;
    const value *v;
    uint64_t offset, received, total;
} rewrite;

static kith_status emit(void *context, const void *bytes, size_t byte_count) {
    rewrite *r = context;
    const char *at = bytes;
    do {
        size_t here = byte_count < CHUNK_BYTES ? byte_count : (size_t)CHUNK_BYTES;
        server.EmitAOF(r->io, "KITH._LOAD", "slblllllllll", r->key, (long long)r->offset, at, here,
                       (long long)r->received, (long long)r->total, (long long)r->v->removes,
                       (long long)r->v->request.expansion, (long long)r->v->request.bucket_size,
                       (long long)r->v->request.max_iterations, (long long)r->v->deleted, (long long)r->v->layers,
                       (long long)r->v->loading.chunks);
        r->offset += here;
        at += here;
        byte_count -= here;
    } while (byte_count > 0);
    return KITH_OK;
}

void chunks_rewrite(RedisModuleIO *io, RedisModuleString *key, value *v) {
    bool whole = v->state == VALUE_FILTER;
    uint64_t total = whole ? kith_filter_file_bytes(v->filter) : v->loading.total;
    uint64_t received = whole ? total : v->loading.received;
    rewrite r = {io, key, v, 0, received, total};
    kith_status status =
        whole ? kith_filter_write(v->filter, 0, total, emit, &r) : emit(&r, v->loading.block, (size_t)received);
    if (status != KITH_OK) { /* as in rdb_save() */
        server.LogIOError(io, "warning", "cannot write a filter to the AOF: %s", kith_status_text(status));
        abort();
    }
}
