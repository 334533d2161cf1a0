/* kith.c: KITH.*, on all filters of kith. docs/redis.md describes the commands; those that combine filters are in
 * combine.c, and KITH.DUMP and KITH.LOAD in chunks.c. */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "compat.h"
#include "config.h"
#include "items.h"
#include "memory.h"
#include "replicate.h"

/* ---- items ---- */

/* Returns the value of the key, or NULL after an error reply. */
static value *existing(RedisModuleCtx *ctx, RedisModuleKey *key) {
    const char *error;
    value *v = keys_value(key, COMMANDS_KITH, &error);
    if (v == NULL)
        (void)server.ReplyWithError(ctx, server.KeyType(key) == KEY_TYPE_EMPTY ? ERROR_NOT_FOUND : error);
    return v;
}

int command_kith_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    value *v = existing(ctx, key);
    if (v != NULL) {
        bool was_new;
        kith_status status = items_add(ctx, v, argv[2], &was_new);
        if (status == KITH_OK && (was_new || v->removes)) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, "kith.add");
        }
        if (status == KITH_OK)
            (void)server.ReplyWithBool(ctx, was_new || v->removes);
        else
            (void)items_reply_failure(ctx, v, status, COMMANDS_KITH);
    }
    server.CloseKey(key);
    return SERVER_OK;
}

int command_kith_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    items_batch batch = {
        .name = argv[1], .items = argv + 2, .count = (size_t)argc - 2, .command = "KITH.MADD", .event = "kith.add"};
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    value *v = existing(ctx, key);
    if (v != NULL)
        (void)items_add_all(ctx, v, &batch, COMMANDS_KITH);
    server.CloseKey(key);
    return SERVER_OK;
}

int command_kith_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_exists(ctx, argv, COMMANDS_KITH);
}

int command_kith_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return items_mexists(ctx, argv, argc, COMMANDS_KITH);
}

int command_kith_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_count(ctx, argv, COMMANDS_KITH);
}

int command_kith_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_delete(ctx, argv, COMMANDS_KITH, ERROR_NOT_FOUND, "kith.del");
}

/* ---- KITH.RESERVE ---- */

/* What is asked for, apart from rate and capacity. */
typedef struct wanted {
    const char *kind; /* NULL: the smallest that is possible */
    char options[100];
    long long expansion; /* 0: not given */
    bool grows;
    bool removes;
    bool trusted;
} wanted;

/* Whether the argument is meant to be a number, even if it is not a possible one. */
static bool looks_like_number(const RedisModuleString *argument) {
    size_t bytes;
    const char *text = server.StringPtrLen(argument, &bytes);
    return bytes > 0 && strchr("+-0123456789", text[0]) != NULL && text[0] != 0;
}

static const char *read_options(RedisModuleString **argv, int argc, wanted *w) {
    for (int i = 5; i < argc; i++) {
        if (argument_is(argv[i], "TRUSTED")) {
            w->trusted = true;
        } else if (argument_is(argv[i], "REMOVE")) {
            w->removes = true;
        } else if (argument_is(argv[i], "GROW")) {
            w->grows = true;
            if (i + 1 < argc && looks_like_number(argv[i + 1]) &&
                argument_number(argv[++i], 1, 32768, &w->expansion) != ARGUMENT_OK)
                return "ERR expansion must be in the range [1, 32768]";
        } else if (argument_is(argv[i], "OPTIONS") && i + 1 < argc) {
            size_t bytes;
            const char *text = server.StringPtrLen(argv[++i], &bytes);
            if (bytes >= sizeof w->options || memchr(text, 0, bytes) != NULL)
                return "ERR the options are too long";
            memcpy(w->options, text, bytes);
            w->options[bytes] = 0;
        } else {
            return "ERR unknown argument, or one without its value: OPTIONS text, GROW [expansion], REMOVE and TRUSTED "
                   "are possible";
        }
    }
    return NULL;
}

static bool grows_by_itself(const char *kind) {
    const kith_kind_info *info = kith_filter_kind_named(kind);
    return info != NULL && (info->capabilities & KITH_CAN_GROW) != 0;
}

/* Fills in kind and options of a creation. Returns the codes of kith_filter_plan().
 *
 * If a filter must grow (KITH_CAN_GROW), the planner makes layers of its kind by itself, but only if there are no
 * options. Here there may be two: OPTIONS of the inner kind, and the expansion. So `layers` is written out. */
static kith_status choose(const wanted *w, value_creation *c) {
    const char *kind = w->kind;
    kith_plan p = KITH_PLAN_INIT;
    if (kind == NULL) {
        kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
        spec.capacity = c->capacity;
        spec.rate = c->rate;
        spec.needs = KITH_CAN_ADD | (w->removes ? KITH_CAN_REMOVE : 0U);
        kith_status status = *w->options != 0 ? KITH_E_OPTION_KIND : kith_filter_plan(&spec, &p);
        if (status != KITH_OK)
            return status;
        kind = p.kind;
    }
    bool wrap = w->grows && !grows_by_itself(kind);
    (void)snprintf(c->kind, sizeof c->kind, "%s", wrap ? "layers" : kind);
    int bytes;
    if (wrap)
        bytes = snprintf(c->options, sizeof c->options, "inner=%s growth=%lld %s", kind,
                         w->expansion != 0 ? w->expansion : 2, w->options);
    else if (w->expansion != 0)
        bytes = snprintf(c->options, sizeof c->options, "growth=%lld %s", w->expansion, w->options);
    else
        bytes = snprintf(c->options, sizeof c->options, "%s", w->options);
    return bytes < (int)sizeof c->options ? KITH_OK : KITH_E_OPTION_VALUE;
}

/* Returns NULL, or the value after creating it and replicating that; *error is set if it is a fixed text. */
static kith_status create(RedisModuleCtx *ctx, RedisModuleString *name, const wanted *w, value_creation *c, value **v) {
    kith_status status = w->trusted ? KITH_OK : kith_hash_untrusted(&c->hash);
    if (status == KITH_OK)
        status = choose(w, c);
    if (status == KITH_OK)
        status = value_create(c, keys_must_obey(ctx) ? 0 : (uint64_t)config.max_filter_bytes, v);
    if (status != KITH_OK)
        return status;
    value_read_expansion(*v);
    c->request = (*v)->request;
    if (w->removes && !(*v)->removes) {
        value_free(*v);
        return KITH_E_KIND;
    }
    replicate_create(ctx, name, c);
    return KITH_OK;
}

static kith_status create_like(RedisModuleCtx *ctx, RedisModuleString *other, value **v, const char **error) {
    RedisModuleKey *key = server.OpenKey(ctx, other, KEY_READ);
    *error = ERROR_NOT_FOUND;
    const value *like = key == NULL ? NULL : keys_value(key, COMMANDS_KITH, error);
    kith_status status = KITH_E_ABSENT; /* *error is the reply */
    if (like != NULL) {
        status = value_create_like(like, keys_must_obey(ctx) ? 0 : (uint64_t)config.max_filter_bytes, v);
        if (status == KITH_OK)
            (void)server.ReplicateVerbatim(ctx);
    }
    if (key != NULL)
        server.CloseKey(key);
    return status;
}

/* Reads "kind rate capacity …". Returns NULL or the reply. */
static const char *read_reserve(RedisModuleString **argv, int argc, wanted *w, char *kind, size_t kind_bytes,
                                value_creation *c) {
    size_t bytes;
    const char *text = server.StringPtrLen(argv[2], &bytes);
    long long capacity;
    if (bytes >= kind_bytes)
        return "ERR unknown kind";
    memcpy(kind, text, bytes);
    kind[bytes] = 0;
    w->kind = argument_is(argv[2], "auto") ? NULL : kind;
    switch (argument_rate(argv[3], &c->rate)) {
    case ARGUMENT_BAD:
        return "ERR bad error rate";
    case ARGUMENT_RANGE:
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    case ARGUMENT_OK:
        break;
    }
    if (argument_number(argv[4], 1, INT64_MAX, &capacity) != ARGUMENT_OK)
        return "ERR bad capacity";
    c->capacity = (uint64_t)capacity;
    return read_options(argv, argc, w);
}

int command_kith_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    bool like = argc == 4 && argument_is(argv[2], "LIKE");
    if (server.IsKeysPositionRequest(ctx)) { /* in a cluster, both keys must be in one slot */
        server.KeyAtPosWithFlags(ctx, 1, KEY_SPEC_OVERWRITE | KEY_SPEC_INSERT);
        if (like)
            server.KeyAtPosWithFlags(ctx, 3, KEY_SPEC_READ | KEY_SPEC_ACCESS);
        return SERVER_OK;
    }
    if (!like && argc < 5)
        return server.WrongArity(ctx);
    value_creation c = {0};
    wanted w = {0};
    char kind[sizeof c.kind];
    const char *error = like ? NULL : read_reserve(argv, argc, &w, kind, sizeof kind, &c);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    if (server.KeyType(key) != KEY_TYPE_EMPTY) {
        (void)server.ReplyWithError(ctx,
                                    keys_any_value(key, COMMANDS_KITH, &error) == NULL ? error : "ERR item exists");
    } else {
        value *v;
        kith_status status = like ? create_like(ctx, argv[3], &v, &error) : create(ctx, argv[1], &w, &c, &v);
        if (status == KITH_OK) {
            keys_set(key, v);
            keys_changed(ctx, argv[1], v, "kith.reserve");
            (void)server.ReplyWithSimpleString(ctx, "OK");
        } else if (error != NULL && status == KITH_E_ABSENT) {
            (void)server.ReplyWithError(ctx, error);
        } else {
            (void)items_reply_creation(ctx, status, "could not create filter");
        }
    }
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- KITH.STATS ---- */

static void reply_text(RedisModuleCtx *ctx, const char *name, const char *text) {
    (void)server.ReplyWithSimpleString(ctx, name);
    (void)server.ReplyWithStringBuffer(ctx, text, strlen(text));
}

static void reply_rate(RedisModuleCtx *ctx, const char *name, double rate) {
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", rate);
    reply_text(ctx, name, text);
}

static void reply_number(RedisModuleCtx *ctx, const char *name, uint64_t number) {
    (void)server.ReplyWithSimpleString(ctx, name);
    (void)server.ReplyWithLongLong(ctx, (long long)number);
}

static void reply_stats(RedisModuleCtx *ctx, const value *v, const kith_filter_stats *s) {
    char options[256];
    (void)kith_filter_options(v->filter, options, sizeof options);
    (void)server.ReplyWithMap(ctx, 14);
    reply_text(ctx, "kind", kith_filter_kind_name(v->filter));
    reply_text(ctx, "options", options);
    reply_number(ctx, "count", s->count);
    reply_number(ctx, "estimated", (uint64_t)(s->keys_now + 0.5));
    reply_number(ctx, "capacity", s->capacity);
    reply_rate(ctx, "rate", s->rate);
    reply_rate(ctx, "rate_now", s->rate_now);
    reply_number(ctx, "bytes", s->file_bytes);
    reply_number(ctx, "memory", value_memory(v));
    reply_number(ctx, "layers", s->layers);
    reply_text(ctx, "hash", kith_filter_hash(v->filter).id == KITH_HASH_SIPHASH ? "siphash" : "xxh3");
    reply_number(ctx, "recipe", kith_filter_recipe(v->filter));
    reply_number(ctx, "deleted", v->deleted);
    reply_text(ctx, "state", "complete");
}

static void reply_loading(RedisModuleCtx *ctx, const value *v) {
    bool redisbloom = v->state == VALUE_REDISBLOOM;
    (void)server.ReplyWithMap(ctx, 4);
    reply_number(ctx, "bytes", redisbloom ? compat_numbers(v).size : v->loading.total);
    reply_number(ctx, "received", redisbloom ? compat_loaded(v) : v->loading.received);
    reply_number(ctx, "memory", value_memory(v));
    reply_text(ctx, "state", "loading");
}

int command_kith_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    if (key == NULL)
        return server.ReplyWithError(ctx, ERROR_NOT_FOUND);
    const char *error;
    const value *v = keys_any_value(key, COMMANDS_KITH, &error);
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    if (v == NULL)
        (void)server.ReplyWithError(ctx, error);
    else if (value_is_loading(v))
        reply_loading(ctx, v);
    else if (kith_filter_stats_of(v->filter, &stats) != KITH_OK)
        (void)server.ReplyWithError(ctx, "ERR no statistics");
    else
        reply_stats(ctx, v, &stats);
    server.CloseKey(key);
    return SERVER_OK;
}
