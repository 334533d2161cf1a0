/* api.c: resolves the calls of the module API by name; see api.h. */
#include "api.h"

#include <string.h>

struct server_api server;

static int (*get_api)(const char *name, void *target);

static bool resolve(const char *name, void *target) {
    return get_api(name, target) == SERVER_OK;
}

const char *api_resolve(RedisModuleCtx *ctx) {
    memcpy(&get_api, ctx, sizeof get_api); /* the first member of the context, on every server */
#define REQUIRED(name, result, arguments)                                                                              \
    if (!resolve("RedisModule_" #name, &server.name))                                                                  \
        return #name;
#define OPTIONAL(name, result, arguments)                                                                              \
    if (!resolve("RedisModule_" #name, &server.name))                                                                  \
        server.name = NULL;
#include "api.def"
#undef REQUIRED
#undef OPTIONAL
    return NULL;
}

bool api_is_valkey(void) {
    int (*version)(void) = NULL;
    return resolve("ValkeyModule_GetServerVersion", &version);
}
