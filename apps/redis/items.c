/* items.c: lookups and additions; see items.h.
 *
 * BF.EXISTS and BF.ADD are called millions of times per second, so they allocate nothing: one key is opened and closed,
 * the item is hashed where the server has it, and the reply is one of the server's shared objects. */
#include "items.h"

#include <stdio.h>

#include "config.h"

/* ---- lookups ---- */

bool items_has(const value *v, const RedisModuleString *item) {
    size_t bytes;
    const char *at = server.StringPtrLen(item, &bytes);
    return value_has(v, at, bytes);
}

int items_exists(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    if (key == NULL)
        return server.ReplyWithBool(ctx, 0);
    const char *error;
    const value *v = keys_value(key, set, &error);
    if (v == NULL) {
        (void)server.ReplyWithError(ctx, error);
    } else {
        (void)server.ReplyWithBool(ctx, items_has(v, argv[2]));
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* Enough to hide the latency of memory, and to hash eight keys at a time. */
#define GROUP 128

static void reply_group(RedisModuleCtx *ctx, const value *v, RedisModuleString **items, size_t count) {
    kith_key keys[GROUP];
    uint64_t found[GROUP / 64];
    for (size_t i = 0; i < count; i++)
        keys[i].bytes = server.StringPtrLen(items[i], &keys[i].byte_count);
    value_has_many(v, keys, count, found);
    for (size_t i = 0; i < count; i++)
        (void)server.ReplyWithBool(ctx, kith_bitmap_get(found, i));
}

int items_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, command_set set) {
    size_t count = (size_t)argc - 2;
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    const char *error;
    const value *v = key == NULL ? NULL : keys_value(key, set, &error);
    if (key != NULL && v == NULL) {
        server.CloseKey(key);
        return server.ReplyWithError(ctx, error);
    }
    (void)server.ReplyWithArray(ctx, (long)count);
    for (size_t at = 0; at < count; at += GROUP) {
        size_t here = count - at < GROUP ? count - at : GROUP;
        if (v != NULL)
            reply_group(ctx, v, argv + 2 + at, here);
        else
            for (size_t i = 0; i < here; i++)
                (void)server.ReplyWithBool(ctx, 0);
    }
    if (key != NULL)
        server.CloseKey(key);
    return SERVER_OK;
}

int items_count(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    if (key == NULL)
        return server.ReplyWithLongLong(ctx, 0);
    const char *error;
    const value *v = keys_value(key, set, &error);
    if (v == NULL) {
        (void)server.ReplyWithError(ctx, error);
    } else {
        size_t bytes;
        const char *item = server.StringPtrLen(argv[2], &bytes);
        (void)server.ReplyWithLongLong(ctx, (long long)value_copies(v, item, bytes));
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- removals ---- */

int items_delete(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set, const char *absent,
                 const char *event) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error;
    value *v = keys_value(key, set, &error);
    if (v == NULL) {
        (void)server.ReplyWithError(ctx, server.KeyType(key) == KEY_TYPE_EMPTY ? absent : error);
    } else {
        size_t bytes;
        const char *item = server.StringPtrLen(argv[2], &bytes);
        kith_status status = value_remove(v, item, bytes);
        if (status == KITH_OK) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, event);
        }
        if (status == KITH_OK || status == KITH_E_ABSENT)
            (void)server.ReplyWithBool(ctx, status == KITH_OK);
        else if (status == KITH_E_UNSUPPORTED)
            (void)server.ReplyWithError(ctx, "ERR this filter does not support deletion");
        else
            (void)items_reply_failure(ctx, v, status, set);
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- additions ---- */

kith_status items_add(RedisModuleCtx *ctx, value *v, const RedisModuleString *item, bool *was_new) {
    size_t bytes;
    const char *at = server.StringPtrLen(item, &bytes);
    const value_limits limits = {(uint64_t)config.max_filter_bytes,
                                 v->removes ? (uint64_t)config.cf_max_expansions : 0};
    kith_status status = value_add(v, at, bytes, limits, was_new);
    if ((status == KITH_E_TOO_LARGE || status == KITH_E_FULL) && keys_must_obey(ctx))
        status = value_add(v, at, bytes, (value_limits){0, 0}, was_new);
    return status;
}

int items_reply_failure(RedisModuleCtx *ctx, const value *v, kith_status status, command_set set) {
    char text[300];
    switch (status) {
    case KITH_E_FULL:
        if (value_get_numbers(v).expansion != 0)
            return server.ReplyWithError(ctx, v->removes ? "Maximum expansions reached"
                                                         : "ERR the filter is full: a filter has at most 64 layers");
        return server.ReplyWithError(ctx, set == COMMANDS_CF ? "Filter is full" : "ERR non scaling filter is full");
    case KITH_E_TOO_LARGE:
        (void)snprintf(text, sizeof text,
                       "ERR the filter is full: with another layer it would exceed kith.max-filter-bytes (%lld)",
                       config.max_filter_bytes);
        return server.ReplyWithError(ctx, text);
    case KITH_E_MEMORY:
        return server.ReplyWithError(ctx, "ERR Insufficient memory");
    case KITH_E_UNSUPPORTED:
        return server.ReplyWithError(
            ctx, "ERR items cannot be added to this filter: its kind is built from a complete list of keys");
    case KITH_E_COPIES:
        return server.ReplyWithError(ctx, "ERR the filter stores no more copies of this item");
    case KITH_E_AMBIGUOUS:
        return server.ReplyWithError(
            ctx, "ERR more than one layer may contain this item: removing it could remove another item");
    default:
        (void)snprintf(text, sizeof text, "ERR %s", kith_status_text(status));
        return server.ReplyWithError(ctx, text);
    }
}

static void reply_added(RedisModuleCtx *ctx, const items_batch *batch, int result) {
    if (batch->numbers)
        (void)server.ReplyWithLongLong(ctx, result);
    else
        (void)server.ReplyWithBool(ctx, result);
}

/* In RESP2, -1; in RESP3, false, because the other elements are booleans. */
static void reply_full(RedisModuleCtx *ctx, const items_batch *batch) {
    if (!batch->numbers && (server.GetContextFlags(ctx) & CONTEXT_RESP3) != 0)
        (void)server.ReplyWithBool(ctx, 0);
    else
        (void)server.ReplyWithLongLong(ctx, -1);
}

static void replicate_items(RedisModuleCtx *ctx, const items_batch *batch, RedisModuleString **accepted, size_t count) {
    if (batch->words[0] == NULL)
        (void)server.Replicate(ctx, batch->command, "sv", batch->name, accepted, count);
    else
        (void)server.Replicate(ctx, batch->command, "sccv", batch->name, batch->words[0], batch->words[1], accepted,
                               count);
}

static bool is_full(kith_status status) {
    return status == KITH_E_FULL || status == KITH_E_TOO_LARGE || status == KITH_E_MEMORY;
}

int items_add_all(RedisModuleCtx *ctx, value *v, const items_batch *batch, command_set set) {
    RedisModuleString **accepted = server.TryAlloc(batch->count * sizeof *accepted);
    if (accepted == NULL)
        return server.ReplyWithError(ctx, "ERR Insufficient memory");
    size_t accepted_count = 0;
    (void)server.ReplyWithArray(ctx, (long)batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->only_new && items_has(v, batch->items[i])) {
            reply_added(ctx, batch, 0);
            continue;
        }
        bool was_new;
        kith_status status = items_add(ctx, v, batch->items[i], &was_new);
        bool changed = status == KITH_OK && (was_new || v->removes);
        if (changed)
            accepted[accepted_count++] = batch->items[i];
        if (status == KITH_OK)
            reply_added(ctx, batch, changed);
        else if (batch->full_is_number && is_full(status))
            reply_full(ctx, batch);
        else
            (void)items_reply_failure(ctx, v, status, set);
    }
    if (accepted_count > 0) {
        replicate_items(ctx, batch, accepted, accepted_count);
        keys_changed(ctx, batch->name, v, batch->event);
    }
    server.Free(accepted);
    return SERVER_OK;
}

int items_reply_creation(RedisModuleCtx *ctx, kith_status status, const char *name) {
    char text[300];
    if (status == KITH_E_MEMORY)
        return server.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
    if (status == KITH_E_TOO_LARGE)
        (void)snprintf(text, sizeof text, "ERR %s: it would be larger than kith.max-filter-bytes (%lld)", name,
                       config.max_filter_bytes);
    else
        (void)snprintf(text, sizeof text, "ERR %s: %s", name, kith_status_text(status));
    return server.ReplyWithError(ctx, text);
}
