/* bf.c: BF.*, on filters without deletion. docs/redis.md describes the commands. */
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "compat.h"
#include "config.h"
#include "items.h"
#include "words.h"

#define MOST_CAPACITY (1 << 30)
#define MOST_EXPANSION 32768

/* The limits of RedisBloom hold for clients. The primary or the AOF may be of a version that had others, and has
 * carried out the command: what comes from there is refused only if RedisBloom's layout has no room for it. */
static long long most_capacity(bool as_redisbloom) {
    return as_redisbloom ? INT64_MAX : MOST_CAPACITY;
}

static long long most_expansion(bool as_redisbloom) {
    return as_redisbloom ? UINT32_MAX : MOST_EXPANSION;
}

/* What a filter is created with. */
typedef struct wanted {
    double rate;
    long long capacity;
    long long expansion; /* 0: the filter does not grow */
    long long growth;    /* the expansion that was asked for, which RedisBloom's layout stores in any case */
} wanted;

static wanted defaults(void) {
    return (wanted){config.bf_error_rate, config.bf_initial_size, config.bf_expansion_factor,
                    config.bf_expansion_factor};
}

/* Takes over an expansion that was asked for, or that there shall be none. */
static void set_growth(wanted *w, bool nonscaling) {
    w->growth = w->expansion;
    if (nonscaling)
        w->expansion = 0;
}

#define NOT_CREATED "could not create filter"

/* RedisBloom lowers rates to this, and so its layout must have them. */
#define REDISBLOOM_MOST_RATE 0.25

/* The same as create(), in RedisBloom's layout. */
static value *create_redisbloom(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const wanted *w) {
    value *v = NULL;
    char rate[40];
    bool scaling = w->expansion != 0;
    kith_status status =
        compat_create_bloom(w->rate > REDISBLOOM_MOST_RATE ? REDISBLOOM_MOST_RATE : w->rate, (uint64_t)w->capacity,
                            (uint32_t)w->growth, scaling, keys_most_bytes(ctx), &v);
    if (!items_created(ctx, key, name, status, v, NOT_CREATED))
        return NULL;
    (void)snprintf(rate, sizeof rate, "%.17g", w->rate);
    /* Clients may not give both an expansion and NONSCALING, but they say exactly what was made. */
    if (scaling || w->growth == 0)
        (void)server.Replicate(ctx, "BF.RESERVE", "sclcl", name, rate, w->capacity, "EXPANSION", w->growth);
    else
        (void)server.Replicate(ctx, "BF.RESERVE", "sclclc", name, rate, w->capacity, "EXPANSION", w->growth,
                               "NONSCALING");
    return v;
}

/* The items_creator of BF.*. Commands of the primary and of an AOF come from RedisBloom: kith itself sends KITH._CREATE
 * instead. */
static value *create(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const void *wanted_filter) {
    const wanted *w = wanted_filter;
    value_creation c = {.capacity = (uint64_t)w->capacity, .rate = w->rate};
    if (config.compat == CONFIG_REDISBLOOM || keys_must_obey(ctx))
        return create_redisbloom(ctx, key, name, w);
    c.request.expansion = (uint32_t)w->expansion;
    return items_create(ctx, key, name, value_choose_bloom(&c), &c, NOT_CREATED);
}

static items_target target(RedisModuleString *name, const wanted *w) {
    return (items_target){COMMANDS_BF, name, create, w, "bf.add"};
}

/* ---- BF.RESERVE ---- */

/* Reads error_rate and capacity. Returns NULL or the reply. */
static const char *read_required(RedisModuleString **argv, bool as_redisbloom, wanted *w) {
    const char *error = argument_rate_or_error(argv[2], &w->rate);
    if (error != NULL)
        return error;
    switch (argument_number(argv[3], 1, most_capacity(as_redisbloom), &w->capacity)) {
    case ARGUMENT_BAD:
        return "ERR bad capacity";
    case ARGUMENT_RANGE:
        return "ERR capacity must be in the range [1, 1073741824]";
    case ARGUMENT_OK:
        break;
    }
    return NULL;
}

/* `as_redisbloom`: other words are ignored, and a filter that does not grow may have an expansion. */
static const char *read_reserve(RedisModuleString **argv, int argc, bool as_redisbloom, wanted *w) {
    const char *error = read_required(argv, as_redisbloom, w);
    bool expansion_given = false, nonscaling = false;
    for (int i = 4; i < argc && error == NULL; i++) {
        if (argument_is(argv[i], "NONSCALING")) {
            nonscaling = true;
        } else if (!argument_is(argv[i], "EXPANSION")) {
            error = as_redisbloom ? NULL : "Unknown argument received";
        } else if (++i == argc) {
            error = "ERR no expansion";
        } else {
            argument_result result = argument_number(argv[i], 0, most_expansion(as_redisbloom), &w->expansion);
            if (result != ARGUMENT_OK)
                error = result == ARGUMENT_BAD ? "ERR bad expansion" : "ERR expansion must be in the range [0, 32768]";
            expansion_given = true;
        }
    }
    if (error == NULL && nonscaling && expansion_given && w->expansion > 0 && !as_redisbloom)
        error = "Nonscaling filters cannot expand";
    set_growth(w, nonscaling);
    return error;
}

int command_bf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    wanted w = defaults();
    const char *error = read_reserve(argv, argc, keys_must_obey(ctx), &w);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    return items_reserve(ctx, &(items_target){COMMANDS_BF, argv[1], create, &w, "bf.reserve"});
}

/* ---- BF.ADD, BF.MADD, BF.INSERT ---- */

int command_bf_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    wanted w = defaults();
    items_target to = target(argv[1], &w);
    return items_add(ctx, &to, argv[2], false);
}

static int add_all(RedisModuleCtx *ctx, RedisModuleString *name, const wanted *w, RedisModuleString **items,
                   size_t count) {
    items_target to = target(name, w);
    return items_add_all(ctx, &to, &(items_batch){.items = items, .count = count, .command = "BF.MADD"});
}

int command_bf_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    wanted w = defaults();
    return add_all(ctx, argv[1], &w, argv + 2, (size_t)argc - 2);
}

/* Reads the options of BF.INSERT. *items is set to the index of the first item, argc if there is none. */
static const char *read_insert(RedisModuleString **argv, int argc, bool as_redisbloom, wanted *w, bool *may_create,
                               int *items) {
    bool expansion_given = false, nonscaling = false;
    int i = 2;
    for (word next; i < argc && (next = word_of(argv[i], COMMANDS_BF, as_redisbloom)) != WORD_ITEMS; i++) {
        if (next == WORD_NOCREATE) {
            *may_create = false;
        } else if (next == WORD_NONSCALING) {
            nonscaling = true;
        } else if (next == WORD_CAPACITY) {
            if (++i == argc || argument_number(argv[i], 1, most_capacity(as_redisbloom), &w->capacity) != ARGUMENT_OK)
                return "Bad capacity";
        } else if (next == WORD_ERROR) {
            if (++i == argc || argument_rate(argv[i], &w->rate) != ARGUMENT_OK)
                return "Bad error rate";
        } else if (next == WORD_EXPANSION) {
            if (++i == argc || argument_number(argv[i], 0, most_expansion(as_redisbloom), &w->expansion) != ARGUMENT_OK)
                return "Bad expansion";
            expansion_given = true;
        } else {
            return "Unknown argument received";
        }
    }
    if (nonscaling && expansion_given && w->expansion > 0 && !as_redisbloom)
        return "Nonscaling filters cannot expand";
    set_growth(w, nonscaling);
    *items = i + 1;
    return NULL;
}

/* Returns true if the key exists; otherwise replies with an error. */
static bool exists(RedisModuleCtx *ctx, RedisModuleString *name) {
    RedisModuleKey *key = server.OpenKey(ctx, name, KEY_READ);
    if (key == NULL) {
        (void)server.ReplyWithError(ctx, ERROR_NOT_FOUND);
        return false;
    }
    server.CloseKey(key);
    return true;
}

int command_bf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    wanted w = defaults();
    bool may_create = true;
    int items = argc;
    const char *error = read_insert(argv, argc, keys_must_obey(ctx), &w, &may_create, &items);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    if (items >= argc)
        return server.WrongArity(ctx);
    if (!may_create && !exists(ctx, argv[1]))
        return SERVER_OK;
    return add_all(ctx, argv[1], &w, argv + items, (size_t)(argc - items));
}

/* ---- reading ---- */

int command_bf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return items_exists(ctx, argv, COMMANDS_BF);
}

int command_bf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return items_mexists(ctx, argv, argc, COMMANDS_BF);
}

static void reply_card(RedisModuleCtx *ctx, value *v, void *context) {
    (void)context;
    (void)server.ReplyWithLongLong(ctx, v == NULL ? 0 : (long long)value_get_numbers(v).items);
}

int command_bf_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return keys_read(ctx, argv[1], COMMANDS_BF, KEYS_ABSENT, reply_card, NULL);
}

/* ---- BF.INFO ---- */

enum { CAPACITY, SIZE, FILTERS, ITEMS, EXPANSION, FIELDS };

static const struct {
    const char *argument, *name;
} fields[FIELDS] = {{"CAPACITY", "Capacity"},
                    {"SIZE", "Size"},
                    {"FILTERS", "Number of filters"},
                    {"ITEMS", "Number of items inserted"},
                    {"EXPANSION", "Expansion rate"}};

static void reply_field(RedisModuleCtx *ctx, const value *v, int field) {
    value_numbers n = value_get_numbers(v);
    const uint64_t numbers[FIELDS] = {n.capacity, n.size, n.layers, n.items, n.expansion};
    if (field == EXPANSION && n.expansion == 0)
        (void)server.ReplyWithNull(ctx);
    else
        (void)server.ReplyWithLongLong(ctx, (long long)numbers[field]);
}

/* `context` is NULL, or the index of the only field. */
static void reply_info(RedisModuleCtx *ctx, value *v, void *context) {
    const int *one = context;
    int from = one == NULL ? 0 : *one, to = one == NULL ? FIELDS : *one + 1;
    bool named = one == NULL || (server.GetContextFlags(ctx) & CONTEXT_RESP3) != 0;
    if (named)
        (void)server.ReplyWithMap(ctx, to - from);
    else
        (void)server.ReplyWithArray(ctx, 1);
    for (int field = from; field < to; field++) {
        if (named)
            (void)server.ReplyWithSimpleString(ctx, fields[field].name);
        reply_field(ctx, v, field);
    }
}

int command_bf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc > 3)
        return server.WrongArity(ctx);
    int field = 0;
    while (argc == 3 && field < FIELDS && !argument_is(argv[2], fields[field].argument))
        field++;
    if (field == FIELDS)
        return server.ReplyWithError(ctx, "Invalid information value");
    return keys_read(ctx, argv[1], COMMANDS_BF, 0, reply_info, argc == 3 ? &field : NULL);
}
