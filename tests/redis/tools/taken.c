/* A module that has one command, named by its argument: stands in for modules that have BF.* already. */
#include <stddef.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef int command(RedisModuleCtx *, RedisModuleString **, int);

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

static int reply_nothing(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)ctx, (void)argv, (void)argc;
    return 0;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    int (*get)(const char *, void *) = *(int (**)(const char *, void *))(void *)ctx;
    void (*set_attributes)(RedisModuleCtx *, const char *, int, int);
    int (*create_command)(RedisModuleCtx *, const char *, command *, const char *, int, int, int);
    const char *(*text)(const RedisModuleString *, size_t *);
    if (argc != 1 || get("RedisModule_SetModuleAttribs", &set_attributes) != 0 ||
        get("RedisModule_CreateCommand", &create_command) != 0 || get("RedisModule_StringPtrLen", &text) != 0)
        return 1;
    set_attributes(ctx, "taken", 1, 1);
    return create_command(ctx, text(argv[0], NULL), reply_nothing, "readonly", 1, 1, 1);
}
