/* replicate.h: what replicas and the AOF get.
 *
 * Replicas must not draw their own secret key, nor depend on their own settings. So the creation of a filter is
 * replicated as KITH._CREATE with everything that determines it, and then the items that were accepted. */
#ifndef KITH_REDIS_REPLICATE_H
#define KITH_REDIS_REPLICATE_H

#include "value.h"

/* Replicates the creation of a filter. */
void replicate_create(RedisModuleCtx *ctx, RedisModuleString *key, const value_creation *creation);

/* KITH._CREATE key kind options capacity rate hash secret expansion bucket_size max_iterations keys
 *
 * Creates a filter; only the primary and the AOF may call it. `hash` is a number, `secret` the seed (8 bytes,
 * little-endian) and the secret key (16 bytes). It is not shown by MONITOR and SLOWLOG. */
int command_create(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

#endif
