/* config.c: the settings; see config.h.
 *
 * A setting may be registered under two names, with and without the prefix. While the module is loaded, the server sets
 * every name to its configured value, or to its default if it has none. The default of one name must then not undo the
 * value that was configured for the other, so a default is ignored during that time: `config` has it already.
 *
 * The server passes on every default, but a configured value only if it differs from what get_number() returns. During
 * that time get_number() returns the default, so a name for which nothing is passed on was configured to be just that.
 * This matters where "not set" and "set to the default" differ: config_cf_expansion(). */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "arguments.h"

settings config = {
#define NUMBER(field, name, fallback, least, most, flags) .field = (fallback),
#define RATE(field, name, fallback)
#include "config.def"
#undef NUMBER
#undef RATE
    .bf_error_rate = 0.01,
    .cf_error_rate = 0.01,
    .compat = CONFIG_KITH,
    .only_kith = false,
};

typedef struct number {
    const char *name;
    long long *value;
    long long fallback, least, most;
    unsigned flags;
    bool given;         /* as an argument, in the configuration, or by CONFIG SET */
    int names, ignored; /* under how many names it is registered, and for how many of them the default was ignored */
} number;

static number numbers[] = {
#define NUMBER(field, name, fallback, least, most, flags)                                                              \
    {name, &config.field, fallback, least, most, flags, false, 0, 0},
#define RATE(field, name, fallback)
#include "config.def"
#undef NUMBER
#undef RATE
};

typedef struct rate {
    const char *name;
    double *value;
    char text[64]; /* as it was given, which CONFIG GET returns */
    char fallback[64];
} rate;

static rate rates[] = {
#define NUMBER(field, name, fallback, least, most, flags)
#define RATE(field, name, fallback) {name, &config.field, fallback, fallback},
#include "config.def"
#undef NUMBER
#undef RATE
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool loading = true;

/* ---- changing one ---- */

static RedisModuleString *text_of(const char *text) {
    return server.CreateString(NULL, text, strlen(text));
}

static void log_large_filters(void) {
    if (config.max_filter_bytes > CONFIG_MAX_FILTER_BYTES)
        server.Log(NULL, "warning",
                   "kith.max-filter-bytes is %lld: RESTORE, MIGRATE and resharding of a key above proto-max-bulk-len "
                   "(512 MB by default) fail. Raise that as well, on every node",
                   config.max_filter_bytes);
}

static bool change_number(number *n, long long value) {
    if (value < n->least || value > n->most)
        return false;
    bool same = *n->value == value;
    n->given = true;
    *n->value = value;
    if (n->value == &config.max_filter_bytes && !same)
        log_large_filters();
    return true;
}

/* A rate above 0.25 becomes 0.25, as in RedisBloom: the layers of a filter that grows could not keep it anyway. */
static bool change_rate(rate *r, const RedisModuleString *string) {
    size_t bytes;
    const char *text = server.StringPtrLen(string, &bytes);
    double value;
    if (bytes >= sizeof r->text || server.StringToDouble(string, &value) != SERVER_OK || !(value > 0 && value < 1))
        return false;
    if (loading && strcmp(text, r->fallback) == 0)
        return true;
    memcpy(r->text, text, bytes);
    r->text[bytes] = 0;
    if (value > 0.25) {
        value = 0.25;
        memcpy(r->text, "0.25", 5);
    }
    *r->value = value;
    return true;
}

/* ---- as the server calls it ---- */

static long long get_number(const char *name, void *data) {
    const number *n = data;
    (void)name;
    if (loading)
        return n->fallback;
    return n->value == &config.cf_expansion_factor ? config_cf_expansion(config.compat == CONFIG_REDISBLOOM)
                                                   : *n->value;
}

static int set_number(const char *name, long long value, void *data, RedisModuleString **error) {
    (void)error; /* the server has checked the range, and reports it */
    (void)name;
    number *n = data;
    if (loading && value == n->fallback) {
        n->ignored++;
        return SERVER_OK;
    }
    return change_number(n, value) ? SERVER_OK : SERVER_ERROR;
}

/* The server does not free what this returns, so the string is kept until the next call. */
static RedisModuleString *get_rate(const char *name, void *data) {
    static RedisModuleString *last;
    (void)name;
    if (last != NULL)
        server.FreeString(NULL, last);
    last = text_of(((rate *)data)->text);
    return last;
}

static int set_rate(const char *name, RedisModuleString *value, void *data, RedisModuleString **error) {
    char text[160];
    if (change_rate(data, value))
        return SERVER_OK;
    (void)snprintf(text, sizeof text, "Value for `%s` must be in the range (0.000000, 1.000000)", name);
    *error = text_of(text);
    return SERVER_ERROR;
}

static int get_compat(const char *name, void *data) {
    (void)name;
    (void)data;
    return config.compat;
}

static int set_compat(const char *name, int value, void *data, RedisModuleString **error) {
    (void)name;
    (void)data;
    (void)error;
    config.compat = value;
    return SERVER_OK;
}

/* ---- loading the module ---- */

/* Reads a number of bytes with one of the units of redis.conf, or none. */
static bool read_bytes(const RedisModuleString *argument, long long *result) {
    static const struct {
        const char *name;
        long long bytes;
    } units[] = {{"", 1},        {"b", 1},        {"k", 1000},       {"kb", 1 << 10},
                 {"m", 1000000}, {"mb", 1 << 20}, {"g", 1000000000}, {"gb", 1 << 30}};
    size_t bytes, digits = 0;
    const char *text = server.StringPtrLen(argument, &bytes);
    long long n = 0;
    for (; digits < bytes && text[digits] >= '0' && text[digits] <= '9'; digits++) {
        int digit = text[digits] - '0';
        if (n > (INT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    for (size_t i = 0; i < COUNT(units) && digits > 0; i++)
        if (strlen(units[i].name) == bytes - digits && strncasecmp(text + digits, units[i].name, bytes - digits) == 0) {
            *result = n <= INT64_MAX / units[i].bytes ? n * units[i].bytes : -1;
            return *result >= 0;
        }
    return false;
}

static bool read_number(const RedisModuleString *value, number *n) {
    long long got;
    bool is_number =
        n->flags & CONFIG_MEMORY ? read_bytes(value, &got) : server.StringToLongLong(value, &got) == SERVER_OK;
    return is_number && change_number(n, got);
}

static bool read_argument(const RedisModuleString *name, const RedisModuleString *value) {
    static const struct {
        const char *old, *now;
    } older[] = {{"INITIAL_SIZE", "bf-initial-size"},
                 {"ERROR_RATE", "bf-error-rate"},
                 {"CF_MAX_EXPANSIONS", "cf-max-expansions"}};
    const char *legacy = "";
    for (size_t i = 0; i < COUNT(older); i++)
        if (argument_is(name, older[i].old))
            legacy = older[i].now;
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (argument_is(name, numbers[i].name) || strcmp(numbers[i].name, legacy) == 0)
            return read_number(value, &numbers[i]);
    for (size_t i = 0; i < COUNT(rates); i++)
        if (argument_is(name, rates[i].name) || strcmp(rates[i].name, legacy) == 0)
            return change_rate(&rates[i], value);
    if (argument_is(name, "compat")) {
        config.compat = argument_is(value, "redisbloom") ? CONFIG_REDISBLOOM : CONFIG_KITH;
        return config.compat == CONFIG_REDISBLOOM || argument_is(value, "kith");
    }
    if (argument_is(name, "bf")) {
        config.only_kith = argument_is(value, "no");
        return config.only_kith || argument_is(value, "yes");
    }
    return false;
}

bool config_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    for (int i = 0; i < argc; i += 2) {
        size_t bytes;
        const char *name = server.StringPtrLen(argv[i], &bytes);
        if (i + 1 == argc) {
            server.Log(ctx, "warning", "the argument %s needs a value: arguments are pairs of a name and a value",
                       name);
            return false;
        }
        if (!read_argument(argv[i], argv[i + 1])) {
            server.Log(ctx, "warning",
                       "unknown argument, or value out of range: %s %s. The arguments are \"bf yes|no\", \"compat "
                       "kith|redisbloom\", and those of docs/redis.md, such as \"bf-error-rate 0.001\"",
                       name, server.StringPtrLen(argv[i + 1], &bytes));
            return false;
        }
    }
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i].fallback = *numbers[i].value;
    for (size_t i = 0; i < COUNT(rates); i++)
        memcpy(rates[i].fallback, rates[i].text, sizeof rates[i].text);
    return true;
}

static bool register_all(RedisModuleCtx *ctx, unsigned extra_flags) {
    static const char *words[] = {"kith", "redisbloom"};
    static const int values[] = {CONFIG_KITH, CONFIG_REDISBLOOM};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        number *n = &numbers[i];
        if (server.RegisterNumericConfig(ctx, n->name, n->fallback, n->flags | extra_flags, n->least, n->most,
                                         get_number, set_number, NULL, n) != SERVER_OK)
            return false;
        n->names++;
    }
    for (size_t i = 0; i < COUNT(rates); i++) {
        rate *r = &rates[i];
        if (server.RegisterStringConfig(ctx, r->name, r->fallback, CONFIG_DEFAULT | extra_flags, get_rate, set_rate,
                                        NULL, r) != SERVER_OK)
            return false;
    }
    return extra_flags != 0 || server.RegisterEnumConfig(ctx, "compat", config.compat, CONFIG_DEFAULT, words, values, 2,
                                                         get_compat, set_compat, NULL, NULL) == SERVER_OK;
}

bool config_register(RedisModuleCtx *ctx) {
    bool unprefixed = !api_is_valkey() && server.GetServerVersion() >= 0x080000 && !config.only_kith;
    if (!register_all(ctx, 0)) {
        server.Log(ctx, "warning", "cannot register the settings of the module");
        return false;
    }
    if (unprefixed && !register_all(ctx, CONFIG_UNPREFIXED))
        server.Log(ctx, "notice", "settings without the prefix \"kith.\" are not available: their names are taken");
    if (server.LoadConfigs(ctx) != SERVER_OK) {
        server.Log(ctx, "warning", "a setting kith.* in the configuration is out of range");
        return false;
    }
    loading = false;
    for (size_t i = 0; i < COUNT(numbers); i++)
        numbers[i].given |= numbers[i].ignored < numbers[i].names;
    log_large_filters();
    return true;
}

long long config_cf_expansion(bool redisbloom) {
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (numbers[i].value == &config.cf_expansion_factor && redisbloom && !numbers[i].given)
            return 1;
    return config.cf_expansion_factor;
}
