/* items.c: lookups and additions; see items.h.
 *
 * BF.EXISTS and BF.ADD are called millions of times per second, so they allocate nothing: one key is opened and closed,
 * the item is hashed where the server has it, and the reply is one of the server's shared objects. */
#include "items.h"

#include <stdio.h>

#include "config.h"
#include "replicate.h"

/* Replies with the error of an operation on an item that failed. */
static int reply_failure(RedisModuleCtx *ctx, const value *v, kith_status status, command_set set) {
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

static kith_status key_of(const value *v, const RedisModuleString *item, value_typed *typed, kith_key *key) {
    size_t bytes;
    const char *at = server.StringPtrLen(item, &bytes);
    return value_key_of(v, at, bytes, typed, key);
}

/* ---- lookups ---- */

typedef struct lookups {
    RedisModuleString **items;
    size_t count;
    command_set set;
} lookups;

/* Sets *key to the key of the only item; without a value, to an empty one. Returns false after an error reply. */
static bool only_key(RedisModuleCtx *ctx, const value *v, const lookups *l, value_typed *typed, kith_key *key) {
    *key = (kith_key){NULL, 0};
    kith_status status = v == NULL ? KITH_OK : key_of(v, l->items[0], typed, key);
    if (status != KITH_OK)
        (void)reply_failure(ctx, v, status, l->set);
    return status == KITH_OK;
}

static void reply_exists(RedisModuleCtx *ctx, value *v, void *context) {
    value_typed typed;
    kith_key key;
    if (only_key(ctx, v, context, &typed, &key))
        (void)server.ReplyWithBool(ctx, v != NULL && value_has(v, key));
}

int items_exists(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set) {
    lookups l = {argv + 2, 1, set};
    return keys_read(ctx, argv[1], set, KEYS_ABSENT, reply_exists, &l);
}

/* Enough to hide the latency of memory, and to hash eight keys at a time. */
#define GROUP 128

static void reply_mexists(RedisModuleCtx *ctx, value *v, void *context) {
    const lookups *l = context;
    (void)server.ReplyWithArray(ctx, (long)l->count);
    for (size_t at = 0; at < l->count; at += GROUP) {
        kith_key keys[GROUP];
        value_typed typed[GROUP];
        kith_status wrong[GROUP];
        uint64_t found[GROUP / 64] = {0};
        size_t here = l->count - at < GROUP ? l->count - at : GROUP;
        for (size_t i = 0; v != NULL && i < here; i++)
            wrong[i] = key_of(v, l->items[at + i], &typed[i], &keys[i]);
        if (v != NULL)
            value_has_many(v, keys, here, found);
        for (size_t i = 0; i < here; i++) {
            if (v == NULL || wrong[i] == KITH_OK)
                (void)server.ReplyWithBool(ctx, kith_bitmap_get(found, i));
            else
                (void)reply_failure(ctx, v, wrong[i], l->set);
        }
    }
}

int items_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, command_set set) {
    lookups l = {argv + 2, (size_t)argc - 2, set};
    return keys_read(ctx, argv[1], set, KEYS_ABSENT, reply_mexists, &l);
}

static void reply_count(RedisModuleCtx *ctx, value *v, void *context) {
    value_typed typed;
    kith_key key;
    if (only_key(ctx, v, context, &typed, &key))
        (void)server.ReplyWithLongLong(ctx, v == NULL ? 0 : (long long)value_copies(v, key));
}

int items_count(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set) {
    lookups l = {argv + 2, 1, set};
    return keys_read(ctx, argv[1], set, KEYS_ABSENT, reply_count, &l);
}

void items_reply_number(RedisModuleCtx *ctx, const char *name, uint64_t number) {
    (void)server.ReplyWithSimpleString(ctx, name);
    (void)server.ReplyWithLongLong(ctx, (long long)number);
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
        value_typed typed;
        kith_key item;
        kith_status status = key_of(v, argv[2], &typed, &item);
        if (status == KITH_OK)
            status = value_remove(v, item);
        if (status == KITH_OK) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, event);
        }
        if (status == KITH_OK || status == KITH_E_ABSENT)
            (void)server.ReplyWithBool(ctx, status == KITH_OK);
        else if (status == KITH_E_UNSUPPORTED)
            (void)server.ReplyWithError(ctx, "ERR this filter does not support deletion");
        else
            (void)reply_failure(ctx, v, status, set);
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- creations ---- */

static int reply_not_created(RedisModuleCtx *ctx, kith_status status, const char *name) {
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

bool items_created(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, kith_status status, value *v,
                   const char *text) {
    if (status != KITH_OK) {
        (void)reply_not_created(ctx, status, text);
        return false;
    }
    keys_set(key, v);
    (void)server.SignalModifiedKey(ctx, name);
    return true;
}

value *items_create(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, kith_status chosen,
                    value_creation *c, const char *text) {
    value *v = NULL;
    kith_status status = chosen == KITH_OK ? kith_hash_untrusted(&c->hash) : chosen;
    if (status == KITH_OK)
        status = value_create(c, (uint64_t)config.max_filter_bytes, &v);
    if (!items_created(ctx, key, name, status, v, text))
        return NULL;
    replicate_create(ctx, name, c);
    return v;
}

int items_reserve(RedisModuleCtx *ctx, const items_target *to) {
    RedisModuleKey *key = server.OpenKey(ctx, to->name, KEY_READ | KEY_WRITE);
    const char *error = "ERR item exists";
    if (server.KeyType(key) != KEY_TYPE_EMPTY) {
        (void)keys_any_value(key, to->set, &error);
        (void)server.ReplyWithError(ctx, error);
    } else {
        value *v = to->create(ctx, key, to->name, to->wanted);
        if (v != NULL) {
            keys_changed(ctx, to->name, v, to->event);
            (void)server.ReplyWithSimpleString(ctx, "OK");
        }
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- additions ---- */

/* Opens the key of an addition. Returns its value, which is created if it does not exist, or NULL after an error
 * reply. */
static value *open_target(RedisModuleCtx *ctx, const items_target *to, RedisModuleKey **key) {
    *key = server.OpenKey(ctx, to->name, KEY_READ | KEY_WRITE);
    bool absent = server.KeyType(*key) == KEY_TYPE_EMPTY;
    if (absent && to->create != NULL)
        return to->create(ctx, *key, to->name, to->wanted);
    const char *error;
    value *v = keys_value(*key, to->set, &error);
    if (v == NULL)
        (void)server.ReplyWithError(ctx, absent ? ERROR_NOT_FOUND : error);
    return v;
}

/* Adds an item to a filter; with `only_new`, if the filter does not have it yet. Limits do not apply to commands of the
 * primary and of an AOF. Sets *changed to whether the filter has changed. Returns the codes of kith_filter_add(), and
 * those of value_key_of(). */
static kith_status add(RedisModuleCtx *ctx, value *v, const RedisModuleString *item, bool only_new, bool *changed) {
    value_typed typed;
    kith_key key;
    *changed = false;
    kith_status parsed = key_of(v, item, &typed, &key);
    if (parsed != KITH_OK || (only_new && value_has(v, key)))
        return parsed;
    const value_limits limits = {(uint64_t)config.max_filter_bytes,
                                 v->removes ? (uint64_t)config.cf_max_expansions : 0};
    bool was_new;
    kith_status status = value_add(v, key, limits, &was_new);
    if ((status == KITH_E_TOO_LARGE || status == KITH_E_FULL) && keys_must_obey(ctx))
        status = value_add(v, key, (value_limits){0, 0}, &was_new);
    *changed = status == KITH_OK && (was_new || v->removes);
    return status;
}

int items_add(RedisModuleCtx *ctx, const items_target *to, RedisModuleString *item, bool only_new) {
    RedisModuleKey *key;
    value *v = open_target(ctx, to, &key);
    if (v != NULL) {
        bool changed;
        kith_status status = add(ctx, v, item, only_new, &changed);
        if (changed) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, to->name, v, to->event);
        }
        if (status == KITH_OK)
            (void)server.ReplyWithBool(ctx, changed);
        else
            (void)reply_failure(ctx, v, status, to->set);
    }
    server.CloseKey(key);
    return SERVER_OK;
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

static bool is_full(kith_status status) {
    return status == KITH_E_FULL || status == KITH_E_TOO_LARGE || status == KITH_E_MEMORY;
}

/* Adds the items, and replies with one element for each. Moves those that were accepted to `accepted`, and returns how
 * many there are. */
static size_t add_each(RedisModuleCtx *ctx, value *v, const items_batch *batch, command_set set,
                       RedisModuleString **accepted) {
    size_t accepted_count = 0;
    (void)server.ReplyWithArray(ctx, (long)batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        bool changed;
        kith_status status = add(ctx, v, batch->items[i], batch->only_new, &changed);
        if (changed)
            accepted[accepted_count++] = batch->items[i];
        if (status == KITH_OK)
            reply_added(ctx, batch, changed);
        else if (batch->full_is_number && is_full(status))
            reply_full(ctx, batch);
        else
            (void)reply_failure(ctx, v, status, set);
    }
    return accepted_count;
}

int items_add_all(RedisModuleCtx *ctx, const items_target *to, const items_batch *batch) {
    RedisModuleKey *key;
    value *v = open_target(ctx, to, &key);
    RedisModuleString **accepted = v == NULL ? NULL : server.TryAlloc(batch->count * sizeof *accepted);
    if (v != NULL && accepted == NULL)
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
    size_t count = accepted == NULL ? 0 : add_each(ctx, v, batch, to->set, accepted);
    if (count > 0 && batch->words[0] == NULL)
        (void)server.Replicate(ctx, batch->command, "sv", to->name, accepted, count);
    else if (count > 0)
        (void)server.Replicate(ctx, batch->command, "sccv", to->name, batch->words[0], batch->words[1], accepted,
                               count);
    if (count > 0)
        keys_changed(ctx, to->name, v, to->event);
    server.Free(accepted);
    server.CloseKey(key);
    return SERVER_OK;
}
