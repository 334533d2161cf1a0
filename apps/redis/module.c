/* module.c: loads kith.so into a Redis or Valkey server.
 *
 *     loadmodule /path/to/kith.so [bf no] [compat redisbloom] [bf-error-rate 0.001 …]
 *
 * docs/redis.md describes the arguments, the commands and the settings. */
#include <kith/kith.h>

#include "api.h"
#include "commands.h"
#include "config.h"
#include "keys.h"

#define MODULE_NAME "kith"

static void report(RedisModuleInfoCtx *ctx, int for_crash_report) {
    (void)for_crash_report;
    value_statistics s = value_get_statistics();
    if (server.InfoAddSection(ctx, "filters") != SERVER_OK)
        return;
    (void)server.InfoAddFieldULongLong(ctx, "filters", s.filters);
    (void)server.InfoAddFieldULongLong(ctx, "half_loaded", s.loading);
    (void)server.InfoAddFieldULongLong(ctx, "redisbloom_filters", s.redisbloom);
    (void)server.InfoAddFieldULongLong(ctx, "layers_appended", s.growths);
}

static int refuse(RedisModuleCtx *ctx, const char *name, const char *what) {
    server.Log(
        ctx, "warning",
        "%s %s is already there: another module, such as RedisBloom or valkey-bloom, has it. To use kith beside it, "
        "load kith.so with the arguments \"bf no\": then only KITH.* commands are added",
        what, name);
    return SERVER_ERROR;
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    const char *missing = api_resolve(ctx);
    if (missing != NULL) {
        /* SetModuleAttribs and Log are first in the list, so they are there on any server that knows modules. */
        if (server.SetModuleAttribs != NULL)
            server.SetModuleAttribs(ctx, MODULE_NAME, 1, API_VERSION);
        if (server.Log != NULL)
            server.Log(ctx, "warning", "this server has no RedisModule_%s: kith needs Redis 7.0 or Valkey", missing);
        return SERVER_ERROR;
    }
    if (server.IsModuleNameBusy(MODULE_NAME)) {
        server.Log(ctx, "warning", "kith is loaded already");
        return SERVER_ERROR;
    }
    int version = KITH_VERSION_MAJOR * 10000 + KITH_VERSION_MINOR * 100 + KITH_VERSION_PATCH;
    server.SetModuleAttribs(ctx, MODULE_NAME, version, API_VERSION);
    if (!config_arguments(ctx, argv, argc))
        return SERVER_ERROR;
    const char *taken = commands_register(ctx, config.only_kith);
    if (taken != NULL)
        return refuse(ctx, taken, "the command");
    taken = types_register(ctx, config.only_kith);
    if (taken != NULL)
        return refuse(ctx, taken, "the data type");
    if (!config_register(ctx))
        return SERVER_ERROR;
    server.SetModuleOptions(ctx, MODULE_HANDLES_IO_ERRORS | MODULE_SIGNALS_MODIFIED_KEYS | MODULE_HANDLES_ASYNC_LOAD);
    if (server.RegisterInfoFunc != NULL && server.InfoAddSection != NULL && server.InfoAddFieldULongLong != NULL)
        (void)server.RegisterInfoFunc(ctx, report);
    if (server.SetCommandACLCategories == NULL)
        server.Log(ctx, "warning",
                   "this server has no ACL categories for commands of modules: a user with +@all -@write may still run "
                   "BF.ADD. docs/redis.md has the rules to use instead, under \"Access control\"");
    server.Log(ctx, "notice", "kith %s: %s", kith_version(),
               config.only_kith ? "KITH.* commands only" : "BF.*, CF.* and KITH.* commands");
    return SERVER_OK;
}
