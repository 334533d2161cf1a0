/* server/push.h: the parts of `kith push`. */
#ifndef CLI_REDIS_PUSH_H
#define CLI_REDIS_PUSH_H

#include "cli/server/shards.h"
#include "cli/server/type.h"

/* What is under the key before it is replaced. */
typedef struct redis_before {
    redis_type_name type;
    redis_shards shards; /* if it is the description of shards; else count is 0 */
    redis_guard guard;   /* that this is still so */
} redis_before;

/* Ends the tool if the key exists, unless --replace was given and it holds a filter or shards. `before` stays where it
 * is, and the address outlives it, because the guard points to both. */
void redis_before_read(redis_before *before, redis_link *link, const redis_address *address, const arguments *a);

/* Prints what an application must do to its keys, if the keys of the filter are not the bytes that users see. */
void redis_note_recipe(const char *path, uint64_t recipe);

/* `kith push --shards N`: reads keys from the operands before the last, which is the address. */
void redis_push_shards(const arguments *a, const redis_address *address);

#endif
