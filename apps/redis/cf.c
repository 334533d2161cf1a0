/* cf.c: CF.*, on filters with deletion. docs/redis.md describes the commands. */
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "compat.h"
#include "config.h"
#include "items.h"
#include "words.h"

#define MOST_CAPACITY (1 << 30)

/* What a filter is created with. */
typedef struct wanted {
    long long capacity;
    long long bucket_size; /* 0: not given */
    long long max_iterations;
    long long expansion; /* -1: not given; 0: the filter does not grow */
    double rate;
} wanted;

static wanted defaults(void) {
    return (wanted){config.cf_initial_size, 0, config.cf_max_iterations, -1, config.cf_error_rate};
}

/* The limits of RedisBloom hold for clients. The primary or the AOF may be of a version that had others, and has
 * carried out the command: what comes from there is refused only if RedisBloom's layout has no room for it. */
static bool is_capacity(RedisModuleCtx *ctx, long long capacity, long long bucket_size) {
    if (keys_must_obey(ctx))
        return capacity >= 1;
    return capacity >= 2 * bucket_size && capacity <= MOST_CAPACITY;
}

#define NOT_CREATED "Could not create filter"

/* The same as create(), in RedisBloom's layout. */
static value *create_redisbloom(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const wanted *w) {
    value_request r = {
        .expansion = (uint32_t)(w->expansion >= 0 ? w->expansion : config_cf_expansion(true)),
        .bucket_size = (uint32_t)(w->bucket_size != 0 ? w->bucket_size : config.cf_bucket_size),
        .max_iterations = (uint32_t)w->max_iterations,
    };
    value *v = NULL;
    if (!is_capacity(ctx, w->capacity, r.bucket_size)) {
        (void)server.ReplyWithError(ctx, "ERR Could not create filter: the capacity must be at least 2 * the bucket "
                                         "size (kith.cf-initial-size and kith.cf-bucket-size)");
        return NULL;
    }
    kith_status status = compat_create_cuckoo((uint64_t)w->capacity, &r, keys_most_bytes(ctx), &v);
    if (!items_created(ctx, key, name, status, v, NOT_CREATED))
        return NULL;
    (void)server.Replicate(ctx, "CF.RESERVE", "slclclcl", name, w->capacity, "BUCKETSIZE", (long long)r.bucket_size,
                           "MAXITERATIONS", (long long)r.max_iterations, "EXPANSION", (long long)r.expansion);
    return v;
}

/* The items_creator of CF.*. Commands of the primary and of an AOF come from RedisBloom: kith itself sends KITH._CREATE
 * instead. */
static value *create(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const void *wanted_filter) {
    const wanted *w = wanted_filter;
    value_creation c = {.capacity = (uint64_t)w->capacity, .rate = w->rate};
    if (config.compat == CONFIG_REDISBLOOM || keys_must_obey(ctx))
        return create_redisbloom(ctx, key, name, w);
    c.request.expansion = (uint32_t)(w->expansion >= 0 ? w->expansion : config_cf_expansion(false));
    c.request.bucket_size = (uint32_t)(w->bucket_size != 0 ? w->bucket_size : config.cf_bucket_size);
    c.request.max_iterations = (uint32_t)w->max_iterations;
    return items_create(ctx, key, name, value_choose_cuckoo(&c, (unsigned)w->bucket_size), &c, NOT_CREATED);
}

/* ---- CF.RESERVE ---- */

typedef struct option {
    const char *name;
    long long least, most;
    long long *value;
} option;

static int reply_range(RedisModuleCtx *ctx, const option *o) {
    char text[128];
    (void)snprintf(text, sizeof text, "%s: value must be in the range [%lld, %lld]", o->name, o->least, o->most);
    return server.ReplyWithError(ctx, text);
}

/* Reads the options of CF.RESERVE. Returns false after an error reply. Commands that may come from RedisBloom are read
 * as it reads them: other words are ignored, and of an option that is given twice the first counts. */
static bool read_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, wanted *w) {
    bool as_redisbloom = keys_must_obey(ctx), given[3] = {false, false, false};
    const option options[] = {{"BUCKETSIZE", 1, 255, &w->bucket_size},
                              {"MAXITERATIONS", 1, 65535, &w->max_iterations},
                              {"EXPANSION", 0, 32768, &w->expansion}};
    char text[64];
    if (server.StringToLongLong(argv[2], &w->capacity) != SERVER_OK) {
        (void)server.ReplyWithError(ctx, "Bad capacity");
        return false;
    }
    for (int i = 3; i < argc; i += 2) {
        size_t o = 0;
        while (o < 3 && !argument_is(argv[i], options[o].name))
            o++;
        bool is_error = o == 3 && argument_is(argv[i], "ERROR");
        if (as_redisbloom && (o == 3 || given[o])) {
            i -= o == 3; /* what follows may be an option */
            continue;
        }
        if (o == 3 && !is_error) {
            (void)server.ReplyWithError(ctx, "Unknown argument received");
            return false;
        }
        if (i + 1 == argc) {
            (void)server.WrongArity(ctx);
            return false;
        }
        argument_result result =
            is_error ? argument_rate(argv[i + 1], &w->rate)
                     : argument_number(argv[i + 1], options[o].least, options[o].most, options[o].value);
        if (result == ARGUMENT_OK) {
            if (!is_error)
                given[o] = true;
            continue;
        }
        if (is_error) {
            (void)server.ReplyWithError(ctx, result == ARGUMENT_BAD
                                                 ? "Bad error rate"
                                                 : "ERROR: value must be in the range (0.000000, 1.000000)");
        } else if (result == ARGUMENT_RANGE) {
            (void)reply_range(ctx, &options[o]);
        } else {
            (void)snprintf(text, sizeof text, "Couldn't parse %s", options[o].name);
            (void)server.ReplyWithError(ctx, text);
        }
        return false;
    }
    long long bucket_size = w->bucket_size != 0 ? w->bucket_size : config.cf_bucket_size;
    if (!is_capacity(ctx, w->capacity, bucket_size)) {
        (void)server.ReplyWithError(ctx, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
        return false;
    }
    return true;
}

int command_cf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    wanted w = defaults();
    if (!read_reserve(ctx, argv, argc, &w))
        return SERVER_OK;
    return items_reserve(ctx, &(items_target){COMMANDS_CF, argv[1], create, &w, "cf.reserve"});
}

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

static int add(RedisModuleCtx *ctx, RedisModuleString **argv, bool only_new) {
    wanted w = defaults();
    return items_add(ctx, &(items_target){COMMANDS_CF, argv[1], create, &w, "cf.add"}, argv[2], only_new);
}

int command_cf_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return add(ctx, argv, false);
}

int command_cf_addnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return add(ctx, argv, true);
}

/* Reads the options of CF.INSERT. Sets *items to the index of the first item. Returns NULL or the reply. */
static const char *read_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, wanted *w, bool *may_create,
                               int *items) {
    bool as_redisbloom = keys_must_obey(ctx);
    int i = 2;
    for (word next; i < argc && (next = word_of(argv[i], COMMANDS_CF, as_redisbloom)) != WORD_ITEMS; i++) {
        if (next == WORD_NOCREATE) {
            *may_create = false;
        } else if (next == WORD_CAPACITY) {
            if (++i == argc || server.StringToLongLong(argv[i], &w->capacity) != SERVER_OK)
                return "Bad capacity";
            if (!is_capacity(ctx, w->capacity, config.cf_bucket_size))
                return "Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        } else if (next == WORD_ERROR) {
            if (++i == argc || argument_rate(argv[i], &w->rate) != ARGUMENT_OK)
                return "Bad error rate";
        } else {
            return "Unknown argument received";
        }
    }
    *items = i + 1;
    return NULL;
}

static int insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool only_new) {
    wanted w = defaults();
    bool may_create = true;
    int items = argc;
    const char *error = read_insert(ctx, argv, argc, &w, &may_create, &items);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    if (items >= argc)
        return server.WrongArity(ctx);
    items_target to = {COMMANDS_CF, argv[1], may_create ? create : NULL, &w, "cf.add"};
    return items_add_all(ctx, &to,
                         &(items_batch){.items = argv + items,
                                        .count = (size_t)(argc - items),
                                        .only_new = only_new,
                                        .full_is_number = true,
                                        .numbers = only_new,
                                        .command = "CF.INSERT",
                                        .words = {"NOCREATE", "ITEMS"}});
}

int command_cf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv, argc, false);
}

int command_cf_insertnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return insert(ctx, argv, argc, true);
}

/* ---- reading ---- */

int command_cf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_exists(ctx, argv, COMMANDS_CF);
}

int command_cf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return items_mexists(ctx, argv, argc, COMMANDS_CF);
}

int command_cf_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_count(ctx, argv, COMMANDS_CF);
}

/* ---- CF.DEL and CF.COMPACT ---- */

int command_cf_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_delete(ctx, argv, COMMANDS_CF, "Not found", "cf.del");
}

int command_cf_compact(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error;
    value *v = keys_value(key, COMMANDS_CF, &error);
    if (v != NULL) {
        if (v->state == VALUE_REDISBLOOM) { /* kith's layers have nothing to compact */
            compat_compact(v);
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, "cf.compact");
        }
        (void)server.ReplyWithSimpleString(ctx, "OK");
    } else if (server.KeyType(key) == KEY_TYPE_EMPTY)
        (void)server.ReplyWithError(ctx, "Cuckoo filter was not found");
    else
        (void)server.ReplyWithError(ctx, error);
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- CF.INFO ---- */

static void reply_info(RedisModuleCtx *ctx, value *v, void *context) {
    (void)context;
    value_numbers n = value_get_numbers(v);
    (void)server.ReplyWithMap(ctx, 8);
    items_reply_number(ctx, "Size", n.size);
    items_reply_number(ctx, "Number of buckets", n.buckets);
    items_reply_number(ctx, "Number of filters", n.layers);
    items_reply_number(ctx, "Number of items inserted", n.items);
    items_reply_number(ctx, "Number of items deleted", n.deleted);
    items_reply_number(ctx, "Bucket size", n.bucket_size);
    items_reply_number(ctx, "Expansion rate", n.expansion);
    items_reply_number(ctx, "Max iterations", n.max_iterations);
}

int command_cf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return keys_read(ctx, argv[1], COMMANDS_CF, 0, reply_info, NULL);
}
