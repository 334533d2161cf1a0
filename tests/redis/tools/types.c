/* A module with the data types of TOPK, CMS and t-digest, and with an argument also those of Bloom and cuckoo filters.
 * Its one command is MAKE.KEY key type. Stands in for RedisBloom. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleType RedisModuleType;
typedef int command(RedisModuleCtx *, RedisModuleString **, int);

typedef struct type_methods {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *, int);
    void (*rdb_save)(RedisModuleIO *, void *);
    void *rest[16];
} type_methods;

static struct {
    void (*SetModuleAttribs)(RedisModuleCtx *, const char *, int, int);
    int (*CreateCommand)(RedisModuleCtx *, const char *, command *, const char *, int, int, int);
    RedisModuleType *(*CreateDataType)(RedisModuleCtx *, const char *, int, type_methods *);
    const char *(*StringPtrLen)(const RedisModuleString *, size_t *);
    RedisModuleKey *(*OpenKey)(RedisModuleCtx *, RedisModuleString *, int);
    void (*CloseKey)(RedisModuleKey *);
    int (*ModuleTypeSetValue)(RedisModuleKey *, RedisModuleType *, void *);
    int (*ReplyWithSimpleString)(RedisModuleCtx *, const char *);
    int (*ReplyWithError)(RedisModuleCtx *, const char *);
    void (*SaveUnsigned)(RedisModuleIO *, uint64_t);
    uint64_t (*LoadUnsigned)(RedisModuleIO *);
} server;

static const char *const names[] = {"TopK-TYPE", "CMSk-TYPE", "TDIS-TYPE", "MBbloom--", "MBbloomCF"};
enum { TYPES = sizeof names / sizeof *names };
static RedisModuleType *types[TYPES];
static int value;

static void *load(RedisModuleIO *io, int encoding_version) {
    (void)encoding_version;
    return server.LoadUnsigned(io) == 7 ? &value : NULL;
}

static void save(RedisModuleIO *io, void *data) {
    (void)data;
    server.SaveUnsigned(io, 7);
}

static int make_key(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    for (int i = 0; argc == 3 && i < TYPES; i++)
        if (strcmp(server.StringPtrLen(argv[2], NULL), names[i]) == 0 && types[i] != NULL) {
            RedisModuleKey *key = server.OpenKey(ctx, argv[1], 3);
            (void)server.ModuleTypeSetValue(key, types[i], &value);
            server.CloseKey(key);
            return server.ReplyWithSimpleString(ctx, "OK");
        }
    return server.ReplyWithError(ctx, "ERR there is no such type");
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    int (*get)(const char *, void *) = *(int (**)(const char *, void *))(void *)ctx;
#define GET(call)                                                                                                      \
    if (get("RedisModule_" #call, &server.call) != 0)                                                                  \
    return 1
    GET(SetModuleAttribs);
    GET(CreateCommand);
    GET(CreateDataType);
    GET(StringPtrLen);
    GET(OpenKey);
    GET(CloseKey);
    GET(ModuleTypeSetValue);
    GET(ReplyWithSimpleString);
    GET(ReplyWithError);
    GET(SaveUnsigned);
    GET(LoadUnsigned);
    server.SetModuleAttribs(ctx, "types", 1, 1);
    type_methods methods = {.version = 1, .rdb_load = load, .rdb_save = save};
    for (int i = 0; i < (argc > 0 ? TYPES : 3); i++)
        types[i] = server.CreateDataType(ctx, names[i], 0, &methods);
    return server.CreateCommand(ctx, "make.key", make_key, "write", 1, 1, 1);
}
