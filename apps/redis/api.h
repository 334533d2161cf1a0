/* api.h: the module API of Redis and Valkey, as far as kith.so uses it.
 *
 * The server passes the address of one function to RedisModule_OnLoad(), which returns the others by name.
 * api_resolve() asks for all calls that api.def lists. From then on they are called as server.OpenKey(…) and so on. A
 * test can fill in `server` with its own functions instead.
 *
 * The structs and numbers here are the ABI that the server defines. The comments say only what is not in its
 * documentation. */
#ifndef KITH_REDIS_API_H
#define KITH_REDIS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleDefragCtx RedisModuleDefragCtx;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;

typedef int (*command_function)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

enum {
    SERVER_OK = 0,
    SERVER_ERROR = 1,

    API_VERSION = 1,

    KEY_READ = 1 << 0,
    KEY_WRITE = 1 << 1,
    NO_EXPIRE = -1,
    KEY_TYPE_EMPTY = 0, /* KeyType() of a key that does not exist */

    /* SetModuleOptions() */
    MODULE_HANDLES_IO_ERRORS = 1 << 0,
    MODULE_SIGNALS_MODIFIED_KEYS = 1 << 1, /* keys that were opened for writing count as modified only if we say so */
    MODULE_HANDLES_ASYNC_LOAD = 1 << 2,

    /* GetContextFlags() */
    CONTEXT_REPLICA = 1 << 3,     /* the server is a replica */
    CONTEXT_REPLICATED = 1 << 12, /* the command comes from the primary */
    CONTEXT_LOADING = 1 << 13,    /* the server is loading an RDB file or an AOF */
    CONTEXT_RESP3 = 1 << 22,

    NOTIFY_GENERIC = 1 << 2,
    NOTIFY_MODULE = 1 << 13,

    CONFIG_DEFAULT = 0,
    CONFIG_MEMORY = 1 << 7,
    CONFIG_UNPREFIXED = 1 << 9, /* Redis 8.0 */
};

#define WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"

/* What a data type can do: version 3, which Redis 7.0 and all later servers accept. */
typedef struct type_methods {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *io, int encoding_version);
    void (*rdb_save)(RedisModuleIO *io, void *value);
    void (*aof_rewrite)(RedisModuleIO *io, RedisModuleString *key, void *value);
    size_t (*memory_usage)(const void *value);
    void (*digest)(RedisModuleDigest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(RedisModuleIO *io, int encoding_version, int when);
    void (*aux_save)(RedisModuleIO *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(RedisModuleString *key, const void *value);
    void (*unlink)(RedisModuleString *key, const void *value);
    void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
    int (*defrag)(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);
} type_methods;

#define TYPE_METHODS_VERSION 3

/* What COMMAND INFO and COMMAND DOCS report. */
typedef struct command_argument {
    const char *name;
    int type; /* ARGUMENT_… */
    int key_spec_index;
    const char *token;
    const char *summary;
    const char *since;
    int flags; /* ARGUMENT_OPTIONAL … */
    const char *deprecated_since;
    struct command_argument *inner;
} command_argument;

enum {
    ARGUMENT_STRING = 0,
    ARGUMENT_INTEGER = 1,
    ARGUMENT_DOUBLE = 2,
    ARGUMENT_KEY = 3,
    ARGUMENT_TOKEN = 6,
    ARGUMENT_ONE_OF = 7,
    ARGUMENT_BLOCK = 8,

    ARGUMENT_OPTIONAL = 1 << 0,
    ARGUMENT_MULTIPLE = 1 << 1,
};

typedef struct command_history {
    const char *since;
    const char *changes;
} command_history;

typedef struct command_key_spec {
    const char *notes;
    uint64_t flags; /* KEY_SPEC_… */
    int begin_type; /* KEY_SPEC_INDEX or KEY_SPEC_KEYWORD */
    union {
        struct {
            int index;
        } at;
        struct {
            const char *keyword;
            int start_from;
        } after;
    } begin;
    int find_type; /* KEY_SPEC_RANGE */
    union {
        struct {
            int last_key, key_step, limit;
        } range;
        struct {
            int count_index, first_key, key_step;
        } counted;
    } find;
} command_key_spec;

enum {
    KEY_SPEC_INDEX = 2,
    KEY_SPEC_KEYWORD = 3,
    KEY_SPEC_RANGE = 2,

    KEY_SPEC_READ = 1 << 0,
    KEY_SPEC_READ_WRITE = 1 << 1,
    KEY_SPEC_OVERWRITE = 1 << 2,
    KEY_SPEC_ACCESS = 1 << 4,
    KEY_SPEC_UPDATE = 1 << 5,
    KEY_SPEC_INSERT = 1 << 6,
    KEY_SPEC_DELETE = 1 << 7,
};

typedef struct command_info_version {
    int version;
    size_t history_bytes;
    size_t key_spec_bytes;
    size_t argument_bytes;
} command_info_version;

typedef struct command_info {
    const command_info_version *version;
    const char *summary;
    const char *complexity;
    const char *since;
    command_history *history;
    const char *tips;
    int arity;
    command_key_spec *key_specs;
    command_argument *arguments;
} command_info;

struct server_api {
#define REQUIRED(name, result, arguments) result(*name) arguments;
#define OPTIONAL REQUIRED
#include "api.def"
#undef REQUIRED
#undef OPTIONAL
};

extern struct server_api server;

/* Fills in `server`. Returns NULL, or the name of the first required call that this server does not have. */
const char *api_resolve(RedisModuleCtx *ctx);

/* Returns true if the server is Valkey. Only after api_resolve(). */
bool api_is_valkey(void);

#endif
