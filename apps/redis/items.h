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

/* Returns true if the item may be in the filter. */
bool items_has(const value *v, const RedisModuleString *item);

/* Adds an item to a filter. Limits do not apply to commands of the primary and of an AOF. Returns the codes of
 * kith_filter_add(). */
KITH_MUST_USE kith_status items_add(RedisModuleCtx *ctx, value *v, const RedisModuleString *item, bool *was_new);

/* Replies with the error of an add or a removal that failed. */
int items_reply_failure(RedisModuleCtx *ctx, const value *v, kith_status status, command_set set);

/* Adds several items, replies with one element for each, and replicates those that were accepted. */
typedef struct items_batch {
    RedisModuleString *name; /* of the key */
    RedisModuleString **items;
    size_t count;
    bool only_new;       /* do not add items that the filter has */
    bool full_is_number; /* -1 (RESP3: false unless `numbers`) instead of an error if the filter is full */
    bool numbers;        /* integers in both protocols */
    const char *command; /* replicated as: command key [words] item… */
    const char *words[2];
    const char *event;
} items_batch;

int items_add_all(RedisModuleCtx *ctx, value *v, const items_batch *batch, command_set set);

/* Replies with the error of a creation that failed. `name` is the beginning of the text. */
int items_reply_creation(RedisModuleCtx *ctx, kith_status status, const char *name);

#endif
