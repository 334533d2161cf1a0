/* items.h: what BF.*, CF.* and KITH.* do with items, and the replies to it. */
#ifndef KITH_REDIS_ITEMS_H
#define KITH_REDIS_ITEMS_H

#include "keys.h"

/* EXISTS key item, and MEXISTS key item…: 1 or 0 (RESP3: a boolean) for each item; 0 for all of them if there is no
 * such key. */
int items_exists(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set);
int items_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, command_set set);

/* COUNT key item: how many copies of the item there are, or more; 0 if there is no such key. */
int items_count(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set);

/* DEL key item: 1 or 0 (RESP3: a boolean). `absent` is the error if there is no such key. */
int items_delete(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set, const char *absent, const char *event);

/* Creates a filter in a key, which is open for writing and empty, and replicates that. Returns NULL after an error
 * reply. */
typedef value *(*items_creator)(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, const void *wanted);

/* The key that a command adds to. */
typedef struct items_target {
    command_set set;
    RedisModuleString *name;
    items_creator create; /* called if the key does not exist. NULL: then it is an error */
    const void *wanted;   /* for create() */
    const char *event;
} items_target;

/* RESERVE: creates a filter in a key that does not exist. */
int items_reserve(RedisModuleCtx *ctx, const items_target *to);

/* Puts a value into a key of items_creator, if `status` says that it was made; otherwise replies with an error, which
 * begins with `text`, and returns false. */
bool items_created(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, kith_status status, value *v,
                   const char *text);

/* Does what items_creator does with a creation without a hash. `chosen` is whether its kind could be chosen. */
value *items_create(RedisModuleCtx *ctx, RedisModuleKey *key, RedisModuleString *name, kith_status chosen,
                    value_creation *c, const char *text);

/* ADD key item: replies with whether the item was added. If `only_new`, it is not if the filter has it. */
int items_add(RedisModuleCtx *ctx, const items_target *to, RedisModuleString *item, bool only_new);

/* Adds several items, replies with one element for each, and replicates those that were accepted. */
typedef struct items_batch {
    RedisModuleString **items;
    size_t count;
    bool only_new;       /* do not add items that the filter has */
    bool full_is_number; /* -1 (RESP3: false unless `numbers`) instead of an error if the filter is full */
    bool numbers;        /* integers in both protocols */
    const char *command; /* replicated as: command key [words] item… */
    const char *words[2];
} items_batch;

int items_add_all(RedisModuleCtx *ctx, const items_target *to, const items_batch *batch);

/* A pair of an INFO. */
void items_reply_number(RedisModuleCtx *ctx, const char *name, uint64_t number);

#endif
