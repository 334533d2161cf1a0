/* keys.c: data types, and the values of keys; see keys.h. */
#include "keys.h"

#include <string.h>

#include "chunks.h"
#include "compat.h"
#include "compat_rdb.h"
#include "config.h"
#include "memory.h"
#include "rdb.h"

static RedisModuleType *type_bloom, *type_cuckoo, *type_redisbloom_bloom, *type_redisbloom_cuckoo;

/* ---- data types ---- */

static void type_free(void *v) {
    value_free(v);
}

static void type_rewrite(RedisModuleIO *io, RedisModuleString *key, void *v) {
    if (((value *)v)->state == VALUE_REDISBLOOM)
        compat_rewrite(io, key, v);
    else
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

static void digest_part(void *context, const void *bytes, size_t byte_count) {
    (void)digest_piece(context, bytes, byte_count);
}

static void type_digest(RedisModuleDigest *digest, void *data) {
    value *v = data;
    digest_buffer b;
    b.digest = digest;
    b.used = 0;
    kith_status status = KITH_OK;
    if (v->state == VALUE_FILTER)
        status = kith_filter_write(v->filter, 0, kith_filter_file_bytes(v->filter), digest_piece, &b);
    else if (v->state == VALUE_LOADING)
        status = digest_piece(&b, v->loading.block, (size_t)v->loading.received);
    else
        compat_parts(v, digest_part, &b);
    if (status == KITH_OK)
        server.DigestAddStringBuffer(digest, b.bytes, b.used);
    server.DigestEndSequence(digest);
}

static size_t type_memory(const void *v) {
    return (size_t)value_memory(v);
}

/* UNLINK frees values of an effort above 64 on another thread. Freeing unmaps memory, which takes longer for more of
 * it: about as long per MiB as freeing an element of a list. */
static size_t type_free_effort(RedisModuleString *key, const void *v) {
    (void)key;
    return 1 + (size_t)(value_memory(v) >> 14);
}

static void *type_copy(RedisModuleString *from, RedisModuleString *to, const void *v) {
    (void)from;
    (void)to;
    return value_copy(v);
}

/* The server's allocator moves only small memory, so one step is always short enough. */
static int type_defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **v) {
    (void)key;
    *v = value_relocate(*v, memory_move, ctx);
    return 0; /* done */
}

const char *types_register(RedisModuleCtx *ctx, bool only_kith) {
    const struct {
        const char *name;
        RedisModuleType **type;
        int version;
        void *(*load)(RedisModuleIO *io, int encoding_version);
        void (*save)(RedisModuleIO *io, void *v);
    } types[] = {
        {"kithbloom", &type_bloom, RDB_VERSION, rdb_load_bloom, rdb_save},
        {"kithcucko", &type_cuckoo, RDB_VERSION, rdb_load_cuckoo, rdb_save},
        {"MBbloom--", &type_redisbloom_bloom, COMPAT_RDB_VERSION, compat_load_bloom, compat_save},
        {"MBbloomCF", &type_redisbloom_cuckoo, COMPAT_RDB_VERSION, compat_load_cuckoo, compat_save},
    };
    type_methods methods = {
        .version = TYPE_METHODS_VERSION,
        .aof_rewrite = type_rewrite,
        .digest = type_digest,
        .free = type_free,
        .memory_usage = type_memory,
        .free_effort = type_free_effort,
        .copy = type_copy,
        .defrag = server.DefragAlloc != NULL ? type_defrag : NULL,
    };
    for (size_t i = 0; i < (only_kith ? 2 : 4); i++) {
        methods.rdb_load = types[i].load;
        methods.rdb_save = types[i].save;
        *types[i].type = server.CreateDataType(ctx, types[i].name, types[i].version, &methods);
        if (*types[i].type == NULL)
            return types[i].name;
    }
    return NULL;
}

/* The type of a key that holds this value. A half-loaded dump of RedisBloom is a value of kith's type. */
static RedisModuleType *type_of(const value *v) {
    if (v->state == VALUE_REDISBLOOM && compat_is_complete(v))
        return v->removes ? type_redisbloom_cuckoo : type_redisbloom_bloom;
    return v->removes ? type_cuckoo : type_bloom;
}

/* ---- values ---- */

value *keys_any_value(RedisModuleKey *key, command_set set, const char **error) {
    RedisModuleType *type = server.ModuleTypeGetType(key);
    if (type != NULL && ((type == type_bloom && set != COMMANDS_CF) || (type == type_cuckoo && set != COMMANDS_BF) ||
                         (type == type_redisbloom_bloom && set == COMMANDS_BF) ||
                         (type == type_redisbloom_cuckoo && set == COMMANDS_CF)))
        return server.ModuleTypeGetValue(key);
    *error = WRONG_TYPE;
    return NULL;
}

value *keys_value(RedisModuleKey *key, command_set set, const char **error) {
    value *v = keys_any_value(key, set, error);
    if (v == NULL || v->state == VALUE_FILTER || !value_is_loading(v))
        return v;
    *error = ERROR_LOADING;
    return NULL;
}

int keys_read(RedisModuleCtx *ctx, RedisModuleString *name, command_set set, unsigned accepts,
              void (*reply)(RedisModuleCtx *ctx, value *v, void *context), void *context) {
    RedisModuleKey *key = server.OpenKey(ctx, name, KEY_READ);
    const char *error = ERROR_NOT_FOUND;
    value *v = NULL;
    if (key != NULL)
        v = (accepts & KEYS_LOADING) != 0 ? keys_any_value(key, set, &error) : keys_value(key, set, &error);
    if (v != NULL || (key == NULL && (accepts & KEYS_ABSENT) != 0))
        reply(ctx, v, context);
    else
        (void)server.ReplyWithError(ctx, error);
    if (key != NULL)
        server.CloseKey(key);
    return SERVER_OK;
}

bool keys_must_obey(RedisModuleCtx *ctx) {
    return (server.GetContextFlags(ctx) & (CONTEXT_REPLICATED | CONTEXT_LOADING)) != 0;
}

uint64_t keys_most_bytes(RedisModuleCtx *ctx) {
    return keys_must_obey(ctx) ? 0 : (uint64_t)config.max_filter_bytes;
}

void keys_set(RedisModuleKey *key, value *v) {
    RedisModuleType *type = type_of(v);
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
