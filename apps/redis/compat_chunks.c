/* compat_chunks.c: dumps in RedisBloom's format; see compat_chunks.h. */
#include "compat_chunks.h"

#include "chunks.h"
#include "compat.h"
#include "memory.h"

/* A dump in RedisBloom's format has RedisBloom's cursors, 1 + offset, so that RedisBloom can load it; there is no room
 * for a version in them. Instead, the value remembers how far dumps that began with its current version have come: a
 * cursor beyond that belongs to an older dump. */
void compat_scan_dump(RedisModuleCtx *ctx, value *v, long long cursor, command_set set) {
    const void *chunk = NULL;
    size_t bytes = 0;
    char *header = NULL;
    if (cursor == 0 && v->dump_version != v->version) {
        v->dump_version = v->version;
        v->dump_reach = 1;
    } else if (cursor != 0 && (v->dump_version != v->version || (uint64_t)cursor > v->dump_reach)) {
        (void)server.ReplyWithError(ctx, ERROR_CHANGED);
        return;
    }
    uint64_t next = cursor == 0 ? 1 : compat_chunk(v, (uint64_t)cursor, &chunk, &bytes);
    if (cursor == 0) {
        bytes = compat_header(v, NULL);
        chunk = header = memory_allocate(bytes);
        if (header == NULL) {
            (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
            return;
        }
        (void)compat_header(v, header);
    }
    v->dump_reach = next > v->dump_reach ? next : v->dump_reach;
    (void)server.ReplyWithArray(ctx, 2);
    (void)server.ReplyWithLongLong(ctx, (long long)next);
    if (next == 0 && set == COMMANDS_CF)
        (void)server.ReplyWithNull(ctx);
    else
        (void)server.ReplyWithStringBuffer(ctx, next == 0 ? "" : chunk, next == 0 ? 0 : bytes);
    memory_release(header, bytes);
}

/* ---- loading ---- */

/* The header of a dump of RedisBloom: creates a half-loaded value. Returns NULL, or the value that the key has now. */
static value *load_header(RedisModuleCtx *ctx, RedisModuleKey *key, const char *data, size_t bytes, command_set set) {
    value *v;
    const char *error = "ERR item exists";
    const value *old = server.KeyType(key) == KEY_TYPE_EMPTY ? NULL : keys_any_value(key, set, &error);
    if (server.KeyType(key) != KEY_TYPE_EMPTY && (old == NULL || !value_is_loading(old))) {
        (void)server.ReplyWithError(ctx, error);
        return NULL;
    }
    switch (compat_load_header(set == COMMANDS_CF, data, bytes, keys_most_bytes(ctx), &v)) {
    case KITH_OK:
        keys_set(key, v);
        return v;
    case KITH_E_TOO_LARGE:
        (void)server.ReplyWithError(ctx, "ERR the filter is larger than kith.max-filter-bytes");
        return NULL;
    case KITH_E_MEMORY:
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return NULL;
    default:
        (void)server.ReplyWithError(ctx, set == COMMANDS_CF ? "Invalid header" : ERROR_BAD_DATA);
        return NULL;
    }
}

/* A chunk of a dump of RedisBloom. When it was the last, the key gets RedisBloom's type. */
static value *load_chunk(RedisModuleCtx *ctx, RedisModuleKey *key, value *v, long long cursor, const char *data,
                         size_t bytes, command_set set) {
    value *to = compat_of(set == COMMANDS_CF, NULL);
    if (to == NULL) {
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return NULL;
    }
    kith_status status = compat_load_chunk(v, (uint64_t)cursor, data, bytes);
    if (status == KITH_OK && compat_is_complete(v)) {
        compat_move(to, v);
        keys_set(key, to); /* frees v */
        return to;
    }
    value_free(to);
    if (status == KITH_OK)
        return v;
    (void)server.ReplyWithError(ctx, set == COMMANDS_CF          ? "Couldn't load chunk!"
                                     : status == KITH_E_TRAILING ? "ERR invalid chunk - Too big for current filter"
                                                                 : "ERR invalid offset - no link found");
    return NULL;
}

bool compat_load_dump(RedisModuleCtx *ctx, RedisModuleString **argv, long long cursor, const char *data, size_t bytes,
                      command_set set, const char *event) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error;
    value *v = cursor == 1 ? NULL : keys_any_value(key, set, &error);
    bool ours = cursor != 1 && (v == NULL || v->state != VALUE_REDISBLOOM || !value_is_loading(v));
    if (!ours) {
        v = cursor == 1 ? load_header(ctx, key, data, bytes, set) : load_chunk(ctx, key, v, cursor, data, bytes, set);
        if (v != NULL) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, event);
            (void)server.ReplyWithSimpleString(ctx, "OK");
        }
    }
    server.CloseKey(key);
    return !ours;
}
