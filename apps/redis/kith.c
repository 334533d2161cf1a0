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

int command_kith_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_add(ctx, &(items_target){.set = COMMANDS_KITH, .name = argv[1], .event = "kith.add"}, argv[2], false);
}

int command_kith_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return items_add_all(ctx, &(items_target){.set = COMMANDS_KITH, .name = argv[1], .event = "kith.add"},
                         &(items_batch){.items = argv + 2, .count = (size_t)argc - 2, .command = "KITH.MADD"});
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

/* What is asked for. */
typedef struct wanted {
    RedisModuleString *like; /* a key: a filter like the one there. Otherwise NULL, and the rest counts */
    const char *kind;        /* NULL: the smallest that is possible */
    uint64_t capacity;
    double rate;
    char options[100];
    kith_key_type keys;
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

static bool read_key_type(const RedisModuleString *argument, kith_key_type *type) {
    static const kith_key_type TYPES[] = {KITH_KEYS_BYTES, KITH_KEYS_INT, KITH_KEYS_UINT, KITH_KEYS_UUID};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        *type = TYPES[i];
        if (argument_is(argument, kith_key_type_name(*type)))
            return true;
    }
    return false;
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
        } else if (argument_is(argv[i], "KEYS") && i + 1 < argc) {
            if (!read_key_type(argv[++i], &w->keys))
                return "ERR the keys are of type bytes, int, uint or uuid";
        } else {
            return "ERR unknown argument, or one without its value: KEYS type, OPTIONS text, GROW [expansion], REMOVE "
                   "and TRUSTED are possible";
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

#define NOT_CREATED "could not create filter"

static kith_status make(RedisModuleCtx *ctx, const wanted *w, value_creation *c, value **v) {
    kith_status status = w->trusted ? KITH_OK : kith_hash_untrusted(&c->hash);
    if (status == KITH_OK)
        status = choose(w, c);
    if (status == KITH_OK)
        status = value_create(c, keys_most_bytes(ctx), v);
    if (status != KITH_OK)
        return status;
    value_read_expansion(*v);
    c->request = (*v)->request;
    if (!w->removes || (*v)->removes)
        return KITH_OK;
    value_free(*v);
    return KITH_E_KIND;
}

static value *create_like(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, RedisModuleString *other) {
    RedisModuleKey *other_key = server.OpenKey(ctx, other, KEY_READ);
    const char *error = ERROR_NOT_FOUND;
    const value *like = other_key == NULL ? NULL : keys_value(other_key, COMMANDS_KITH, &error);
    value *v = NULL;
    kith_status status = like == NULL ? KITH_OK : value_create_like(like, keys_most_bytes(ctx), &v);
    if (like == NULL)
        (void)server.ReplyWithError(ctx, error);
    else if (items_created(ctx, key, name, status, v, NOT_CREATED))
        (void)server.ReplicateVerbatim(ctx);
    if (other_key != NULL)
        server.CloseKey(other_key);
    return v;
}

/* The items_creator of KITH.RESERVE. */
static value *create(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const void *wanted_filter) {
    const wanted *w = wanted_filter;
    value_creation c = {.capacity = w->capacity, .rate = w->rate, .keys = w->keys};
    value *v = NULL;
    if (w->like != NULL)
        return create_like(ctx, key, name, w->like);
    kith_status status = make(ctx, w, &c, &v);
    if (!items_created(ctx, key, name, status, v, NOT_CREATED))
        return NULL;
    replicate_create(ctx, name, &c);
    return v;
}

/* Reads "kind rate capacity …". Returns NULL or the reply. */
static const char *read_reserve(RedisModuleString **argv, int argc, wanted *w, char *kind, size_t kind_bytes) {
    size_t bytes;
    const char *text = server.StringPtrLen(argv[2], &bytes);
    long long capacity;
    if (bytes >= kind_bytes)
        return "ERR unknown kind";
    memcpy(kind, text, bytes);
    kind[bytes] = 0;
    w->kind = argument_is(argv[2], "auto") ? NULL : kind;
    const char *error = argument_rate_or_error(argv[3], &w->rate);
    if (error != NULL)
        return error;
    if (argument_number(argv[4], 1, INT64_MAX, &capacity) != ARGUMENT_OK)
        return "ERR bad capacity";
    w->capacity = (uint64_t)capacity;
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
    wanted w = {.like = like ? argv[3] : NULL};
    char kind[sizeof((value_creation *)NULL)->kind];
    const char *error = like ? NULL : read_reserve(argv, argc, &w, kind, sizeof kind);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    return items_reserve(ctx, &(items_target){COMMANDS_KITH, argv[1], create, &w, "kith.reserve"});
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

static void reply_stats(RedisModuleCtx *ctx, const value *v) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    const kith_filter_stats *s = &stats;
    if (kith_filter_stats_of(v->filter, &stats) != KITH_OK) {
        (void)server.ReplyWithError(ctx, "ERR no statistics");
        return;
    }
    char options[256];
    (void)kith_filter_options(v->filter, options, sizeof options);
    (void)server.ReplyWithMap(ctx, 15);
    reply_text(ctx, "kind", kith_filter_kind_name(v->filter));
    reply_text(ctx, "options", options);
    items_reply_number(ctx, "count", s->count);
    items_reply_number(ctx, "estimated", (uint64_t)(s->keys_now + 0.5));
    items_reply_number(ctx, "capacity", s->capacity);
    reply_rate(ctx, "rate", s->rate);
    reply_rate(ctx, "rate_now", s->rate_now);
    items_reply_number(ctx, "bytes", s->file_bytes);
    items_reply_number(ctx, "memory", value_memory(v));
    items_reply_number(ctx, "layers", s->layers);
    reply_text(ctx, "hash", kith_filter_hash(v->filter).id == KITH_HASH_SIPHASH ? "siphash" : "xxh3");
    reply_text(ctx, "keys", kith_key_type_name(kith_key_type_of(kith_filter_recipe(v->filter))));
    items_reply_number(ctx, "recipe", kith_filter_recipe(v->filter));
    items_reply_number(ctx, "deleted", v->deleted);
    reply_text(ctx, "state", "complete");
}

static void reply_loading(RedisModuleCtx *ctx, const value *v) {
    bool redisbloom = v->state == VALUE_REDISBLOOM;
    (void)server.ReplyWithMap(ctx, 4);
    items_reply_number(ctx, "bytes", redisbloom ? compat_numbers(v).size : v->loading.total);
    items_reply_number(ctx, "received", redisbloom ? compat_loaded(v) : v->loading.received);
    items_reply_number(ctx, "memory", value_memory(v));
    reply_text(ctx, "state", "loading");
}

static void reply_state(RedisModuleCtx *ctx, value *v, void *context) {
    (void)context;
    if (value_is_loading(v))
        reply_loading(ctx, v);
    else
        reply_stats(ctx, v);
}

int command_kith_stats(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return keys_read(ctx, argv[1], COMMANDS_KITH, KEYS_LOADING, reply_state, NULL);
}
