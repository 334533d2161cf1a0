/* combine.c: KITH.MERGE and KITH.INTERSECT.
 *
 * All or nothing: with several sources, the work is done on a copy, which replaces the destination at the end. With one
 * source no copy is needed, because kith_filter_merge() and kith_filter_intersect() change nothing if they fail. Both
 * are deterministic, so the commands are replicated as they are. */
#include <stdio.h>

#include "commands.h"
#include "items.h"
#include "memory.h"

typedef kith_status (*combine_function)(kith_filter *into, const kith_filter *from);

/* The sources: different filters, none of which is the destination. */
typedef struct sources {
    RedisModuleKey **keys; /* all that were opened */
    const value **values;
    size_t key_count, value_count;
} sources;

static void close_sources(sources *s) {
    for (size_t i = 0; i < s->key_count; i++)
        server.CloseKey(s->keys[i]);
    server.Free(s->keys);
    server.Free(s->values);
}

static bool has_value(const sources *s, const value *v) {
    for (size_t i = 0; i < s->value_count; i++)
        if (s->values[i] == v)
            return true;
    return false;
}

/* Opens the sources. Returns NULL, or the reply; close_sources() must be called in either case. */
static const char *open_sources(RedisModuleCtx *ctx, RedisModuleString **names, size_t count, const value *into,
                                sources *s) {
    *s = (sources){server.TryAlloc(count * sizeof *s->keys), server.TryAlloc(count * sizeof *s->values), 0, 0};
    if (s->keys == NULL || s->values == NULL)
        return "ERR Insufficient memory";
    for (size_t i = 0; i < count; i++) {
        RedisModuleKey *key = server.OpenKey(ctx, names[i], KEY_READ);
        if (key == NULL)
            return ERROR_NOT_FOUND;
        s->keys[s->key_count++] = key;
        const char *error;
        const value *v = keys_value(key, COMMANDS_KITH, &error);
        if (v == NULL)
            return error;
        if (v != into && !has_value(s, v))
            s->values[s->value_count++] = v;
    }
    return NULL;
}

static kith_status combine_all(value *into, const sources *s, size_t first, combine_function combine) {
    kith_status status = KITH_OK;
    for (size_t i = first; i < s->value_count && status == KITH_OK; i++)
        status = combine(into->filter, s->values[i]->filter);
    return status;
}

/* Combines the sources with the destination, which is NULL if the key is empty. Sets *made to a new value for the key,
 * or to NULL if `into` was changed in place. */
static kith_status combine(value *into, const sources *s, combine_function function, value **made) {
    *made = NULL;
    if (s->value_count == 0)
        return KITH_OK;
    if (into != NULL && s->value_count == 1)
        return function(into->filter, s->values[0]->filter);
    value *copy = value_copy(into != NULL ? into : s->values[0]);
    if (copy == NULL)
        return KITH_E_MEMORY;
    kith_status status = combine_all(copy, s, into == NULL, function);
    if (status == KITH_OK)
        *made = copy;
    else
        value_free(copy);
    return status;
}

static bool grows(const value *v) {
    return (kith_filter_capabilities(v->filter) & KITH_CAN_GROW) != 0;
}

static bool one_grows(const value *into, const sources *s) {
    for (size_t i = 0; i < s->value_count; i++)
        if (grows(s->values[i]))
            return true;
    return into != NULL && grows(into);
}

/* Writes why the filters cannot be combined. `done` is "merged" or "intersected". */
static void explain(const value *into, const sources *s, kith_status status, const char *done, char *text,
                    size_t text_bytes) {
    if (status != KITH_E_MEMORY && one_grows(into, s))
        (void)snprintf(text, text_bytes, "ERR filters that grow cannot be %s", done);
    else if (status == KITH_E_UNSUPPORTED)
        (void)snprintf(text, text_bytes, "ERR filters of kind %s cannot be %s",
                       kith_filter_kind_name(s->values[0]->filter), done);
    else
        (void)snprintf(text, text_bytes, "ERR %s", kith_status_text(status));
}

static int command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, combine_function function,
                   const char *event, const char *done) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error = NULL;
    bool absent = server.KeyType(key) == KEY_TYPE_EMPTY;
    value *made, *into = absent ? NULL : keys_value(key, COMMANDS_KITH, &error);
    if (!absent && into == NULL) {
        server.CloseKey(key);
        return server.ReplyWithError(ctx, error);
    }
    sources s;
    error = open_sources(ctx, argv + 2, (size_t)argc - 2, into, &s);
    kith_status status = error == NULL ? combine(into, &s, function, &made) : KITH_OK;
    bool changed = error == NULL && status == KITH_OK && s.value_count > 0;
    char text[300];
    if (error == NULL && status != KITH_OK)
        explain(into, &s, status, done, text, sizeof text);
    close_sources(&s);
    if (changed) {
        if (made != NULL)
            keys_set(key, made);
        keys_changed(ctx, argv[1], made != NULL ? made : into, event);
        (void)server.ReplicateVerbatim(ctx);
    }
    server.CloseKey(key);
    if (error == NULL && status == KITH_OK)
        return server.ReplyWithSimpleString(ctx, "OK");
    return server.ReplyWithError(ctx, error != NULL ? error : text);
}

int command_kith_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return command(ctx, argv, argc, kith_filter_merge, "kith.merge", "merged");
}

int command_kith_intersect(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return command(ctx, argv, argc, kith_filter_intersect, "kith.intersect", "intersected");
}
