/* config.h: the settings of the module.
 *
 * Each is a CONFIG of the server, kith.<name>, and also an argument of the module when it is loaded, "<name> <value>".
 * On servers that allow it (Redis 8), the names without the prefix work as well. docs/redis.md describes them. */
#ifndef KITH_REDIS_CONFIG_H
#define KITH_REDIS_CONFIG_H

#include "api.h"

/* RESTORE and MIGRATE of a key larger than proto-max-bulk-len (512 MB unless changed) fail. The default leaves some
 * room for the frame of the dump. */
#define CONFIG_MAX_FILTER_BYTES (INT64_C(480) << 20)

typedef struct settings {
#define NUMBER(field, name, fallback, least, most, flags) long long field;
#define RATE(field, name, fallback) double field;
#include "config.def"
#undef NUMBER
#undef RATE
    int compat;     /* CONFIG_KITH or CONFIG_REDISBLOOM: the layout of new BF. and CF. keys */
    bool only_kith; /* "bf no": no BF.* and CF.* commands, and none of RedisBloom's data types */
} settings;

enum { CONFIG_KITH = 0, CONFIG_REDISBLOOM = 1 };

extern settings config;

/* Reads the arguments of the module: pairs of a name and a value. Logs what is wrong, and returns false, if one is
 * unknown or out of range. */
bool config_arguments(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

/* Registers the settings with the server, with the values of config_arguments() as defaults, and takes over what its
 * configuration says. Logs what is wrong, and returns false, if that fails. */
bool config_register(RedisModuleCtx *ctx);

/* The expansion of new CF. keys. RedisBloom's default is 1, kith's is 2; the setting counts for both if it was given,
 * even if as 2. The server does not pass on a CONFIG SET to the value that CONFIG GET shows, so that is not noticed. */
long long config_cf_expansion(bool redisbloom);

#endif
