/* keys.c: data types, and the values of keys; see keys.h. */
#include "keys.h"

#include "memory.h"
#include "rdb.h"

RedisModuleType *type_bloom, *type_cuckoo;

/* ---- data types ---- */

static void type_free(void *v) {
    value_free(v);
}

static size_t type_memory(const void *v) {
    return (size_t)value_memory(v);
}

/* UNLINK frees values of an effort above 64 on another thread. Freeing unmaps memory, which takes longer for more of it:
 * about as long per MiB as freeing an element of a list. */
static size_t type_free_effort(RedisModuleString *key, const void *v) {
    (void)key;
    return 1 + (size_t)(value_memory(v) >> 14);
}

static void *type_copy(RedisModuleString *from, RedisModuleString *to, const void *v) {
    (void)from;
    (void)to;
    return value_copy(v);
}

const char *types_register(RedisModuleCtx *ctx) {
    type_methods methods = {
        .version = TYPE_METHODS_VERSION,
        .rdb_load = rdb_load_bloom,
        .rdb_save = rdb_save,
        .free = type_free,
        .memory_usage = type_memory,
        .free_effort = type_free_effort,
        .copy = type_copy,
    };
    type_bloom = server.CreateDataType(ctx, "kithbloom", RDB_VERSION, &methods);
    if (type_bloom == NULL)
        return "kithbloom";
    methods.rdb_load = rdb_load_cuckoo;
    type_cuckoo = server.CreateDataType(ctx, "kithcucko", RDB_VERSION, &methods);
    return type_cuckoo == NULL ? "kithcucko" : NULL;
}

/* ---- values ---- */

value *keys_any_value(RedisModuleKey *key, family f, const char **error) {
    RedisModuleType *type = server.ModuleTypeGetType(key);
    if ((type == type_bloom && f != FAMILY_CF) || (type == type_cuckoo && f != FAMILY_BF))
        return server.ModuleTypeGetValue(key);
    *error = WRONG_TYPE;
    return NULL;
}

value *keys_value(RedisModuleKey *key, family f, const char **error) {
    value *v = keys_any_value(key, f, error);
    if (v == NULL || v->state != VALUE_LOADING)
        return v;
    *error = ERROR_LOADING;
    return NULL;
}

bool keys_must_obey(RedisModuleCtx *ctx) {
    return (server.GetContextFlags(ctx) & (CONTEXT_REPLICATED | CONTEXT_LOADING)) != 0;
}

void keys_set(RedisModuleKey *key, value *v) {
    (void)server.ModuleTypeSetValue(key, v->removes ? type_cuckoo : type_bloom, v);
}

void keys_changed(RedisModuleCtx *ctx, RedisModuleString *name, value *v, const char *event) {
    value_changed(v);
    (void)server.SignalModifiedKey(ctx, name);
    (void)server.NotifyKeyspaceEvent(ctx, NOTIFY_MODULE, event, name);
}
