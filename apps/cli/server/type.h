/* server/type.h: what a key of a server holds. */
#ifndef CLI_REDIS_TYPE_H
#define CLI_REDIS_TYPE_H

#include "cli/server/link.h"

typedef enum redis_type {
    REDIS_TYPE_NONE,   /* there is no such key */
    REDIS_TYPE_KITH,   /* a filter of kith.so */
    REDIS_TYPE_BLOOM,  /* a Bloom filter in the layout of RedisBloom: BF.* */
    REDIS_TYPE_CUCKOO, /* a cuckoo filter in the layout of RedisBloom: CF.* */
    REDIS_TYPE_VALKEY, /* a Bloom filter of valkey-bloom: BF.* without SCANDUMP */
    REDIS_TYPE_STRING,
    REDIS_TYPE_OTHER,
} redis_type;

/* Interprets the reply of TYPE. */
redis_type redis_type_of_reply(const redisReply *reply);

/* Returns the type of a key. `name` receives the word of the server for it. */
typedef char redis_type_name[32];
redis_type redis_type_of(redis_link *link, const char *key, size_t key_bytes, redis_type_name name);

/* Returns true if the type is a filter. */
bool redis_type_is_filter(redis_type type);

#endif
