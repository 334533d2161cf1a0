/* keys.h: opening keys, and what all commands do after a change. */
#ifndef KITH_REDIS_KEYS_H
#define KITH_REDIS_KEYS_H

#include "value.h"

/* Registers the data types, without those of RedisBloom if `only_kith`. Returns the name of one that cannot be
 * registered, or NULL. */
const char *types_register(RedisModuleCtx *ctx, bool only_kith);

/* The set that a command belongs to. It determines which keys the command works on. */
typedef enum command_set {
    COMMANDS_BF,
    COMMANDS_CF,
    COMMANDS_KITH, /* works on all filters of kith */
} command_set;

#define ERROR_LOADING "ERR the filter is being loaded: its last chunk has not arrived yet"
#define ERROR_NOT_FOUND "ERR not found"

/* Returns the value of an open key, which exists. If it has another type, or is half loaded, returns NULL and sets
 * *error to the reply. */
value *keys_value(RedisModuleKey *key, command_set set, const char **error);

/* Like keys_value(), but returns half-loaded values as well. */
value *keys_any_value(RedisModuleKey *key, command_set set, const char **error);

/* What keys_read() accepts besides the value of a key that is complete. */
enum {
    KEYS_ABSENT = 1,  /* no such key: reply() is called with NULL */
    KEYS_LOADING = 2, /* half-loaded values */
};

/* Opens a key for reading and calls reply() with its value, or replies with an error. */
int keys_read(RedisModuleCtx *ctx, RedisModuleString *name, command_set set, unsigned accepts,
              void (*reply)(RedisModuleCtx *ctx, value *v, void *context), void *context);

/* Returns true if the command comes from the primary or from an AOF: it must then be carried out as it is, and limits
 * do not apply. */
bool keys_must_obey(RedisModuleCtx *ctx);

/* The most bytes of a filter that the command may create; 0: no limit. */
uint64_t keys_most_bytes(RedisModuleCtx *ctx);

/* Puts a new value into a key, which is open for writing. The type follows from the value. */
void keys_set(RedisModuleKey *key, value *v);

/* To be called once per command that changed the value of a key: tells the server, which tells clients that watch or
 * track the key, and sends the keyspace event. It does not replicate anything. */
void keys_changed(RedisModuleCtx *ctx, RedisModuleString *name, value *v, const char *event);

#endif
