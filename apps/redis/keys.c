/* keys.c: data types, and the values of keys; see keys.h. */
#include "keys.h"

#include <string.h>

#include "chunks.h"
#include "memory.h"
#include "rdb.h"

RedisModuleType *type_bloom, *type_cuckoo;

/* ---- data types ---- */

static void type_free(void *v) {
    value_free(v);
}

static void type_rewrite(RedisModuleIO *io, RedisModuleString *key, void *v) {
    chunks_rewrite(io, key, v);
}

/* The server digests pieces, and a filter has other pieces after it was saved and loaded: so equal ones are made. */
typedef struct digest_buffer {
    RedisModuleDigest *digest;
    size_t used;
    char bytes[1 << 16];
} digest_buffer;

static kith_status digest_piece(void *context, const void *bytes, size_t byte_count) {
    digest_buffer *b = context;
    for (const char *at = bytes; byte_count > 0;) {
        size_t space = sizeof b->bytes - b->used, here = byte_count < space ? byte_count : space;
        memcpy(b->bytes + b->used, at, here);
        b->used += here;
        at += here;
        byte_count -= here;
        if (b->used == sizeof b->bytes) {
            server.DigestAddStringBuffer(b->digest, b->bytes, b->used);
            b->used = 0;
        }
    }
    return KITH_OK;
}

static void type_digest(RedisModuleDigest *digest, void *data) {
    value *v = data;
    digest_buffer b;
    b.digest = digest;
    b.used = 0;
    kith_status status = v->state == VALUE_FILTER
                             ? kith_filter_write(v->filter, 0, kith_filter_file_bytes(v->filter), digest_piece, &b)
                             : digest_piece(&b, v->loading.block, (size_t)v->loading.received);
    if (status == KITH_OK)
        server.DigestAddStringBuffer(digest, b.bytes, b.used);
    server.DigestEndSequence(digest);
}

static size_t type_memory(const void *v) {
    return (size_t)value_memory(v);
}

/* UNLINK frees values of an effort above 64 on another thread. Freeing unmaps memory, which takes longer for more of it:
 * about as long per MiB as freeing an element of a list. */
static size_t type_free_effort(RedisModuleString *key, const void *v) {
    (void)key;
    return 1 + (size_t)(value_memory(v) >> 14);
}

static void *type_copy(RedisModuleString *from, RedisModuleString *to, const void *v) {
    (void)from;
    (void)to;
    return value_copy(v);
}

const char *types_register(RedisModuleCtx *ctx) {
    type_methods methods = {
        .version = TYPE_METHODS_VERSION,
        .rdb_load = rdb_load_bloom,
        .rdb_save = rdb_save,
        .aof_rewrite = type_rewrite,
        .digest = type_digest,
        .free = type_free,
        .memory_usage = type_memory,
        .free_effort = type_free_effort,
        .copy = type_copy,
    };
    type_bloom = server.CreateDataType(ctx, "kithbloom", RDB_VERSION, &methods);
    if (type_bloom == NULL)
        return "kithbloom";
    methods.rdb_load = rdb_load_cuckoo;
    type_cuckoo = server.CreateDataType(ctx, "kithcucko", RDB_VERSION, &methods);
    return type_cuckoo == NULL ? "kithcucko" : NULL;
}

/* ---- values ---- */

value *keys_any_value(RedisModuleKey *key, family f, const char **error) {
    RedisModuleType *type = server.ModuleTypeGetType(key);
    if ((type == type_bloom && f != FAMILY_CF) || (type == type_cuckoo && f != FAMILY_BF))
        return server.ModuleTypeGetValue(key);
    *error = WRONG_TYPE;
    return NULL;
}

value *keys_value(RedisModuleKey *key, family f, const char **error) {
    value *v = keys_any_value(key, f, error);
    if (v == NULL || v->state != VALUE_LOADING)
        return v;
    *error = ERROR_LOADING;
    return NULL;
}

bool keys_must_obey(RedisModuleCtx *ctx) {
    return (server.GetContextFlags(ctx) & (CONTEXT_REPLICATED | CONTEXT_LOADING)) != 0;
}

void keys_set(RedisModuleKey *key, value *v) {
    RedisModuleType *type = v->removes ? type_cuckoo : type_bloom;
    void *old;
    long long expire = server.KeyType(key) == KEY_TYPE_EMPTY ? NO_EXPIRE : server.GetExpire(key);
    if (server.ModuleTypeGetType(key) == type && server.ModuleTypeReplaceValue(key, type, v, &old) == SERVER_OK) {
        value_free(old);
        return;
    }
    (void)server.ModuleTypeSetValue(key, type, v);
    if (expire != NO_EXPIRE)
        (void)server.SetExpire(key, expire);
}

void keys_changed(RedisModuleCtx *ctx, RedisModuleString *name, value *v, const char *event) {
    value_changed(v);
    (void)server.SignalModifiedKey(ctx, name);
    (void)server.NotifyKeyspaceEvent(ctx, NOTIFY_MODULE, event, name);
}
