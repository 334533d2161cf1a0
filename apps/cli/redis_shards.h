/* redis_shards.h: a set that is spread over several keys of a cluster.
 *
 * A key belongs to shard XXH3-64(key, seed 0) mod N. Shard i is the filter under NAME:{TAG}:iofN, where TAG puts it
 * into slot (2i + 1) · 16,384 / 2N, so that the shards are spread evenly over the slots. NAME itself is a string that
 * describes them, one line each:
 *
 *     kith-shards 1          the version of this description
 *     shards 3
 *     recipe 0               how keys are made, as in the header of a kith file
 *     NAME:{TAG}:0of3        the keys, in order
 *     NAME:{TAG}:1of3
 *     NAME:{TAG}:2of3
 *
 * N is a part of each name, so that shards of another number can be loaded while readers still use the old ones; the
 * new description then replaces the old one in one step. */
#ifndef CLI_REDIS_SHARDS_H
#define CLI_REDIS_SHARDS_H

#include "options.h"
#include "redis_link.h"

enum { REDIS_SHARDS_MAX = SHARDS_MAX };

typedef struct redis_shards {
    unsigned count;
    uint64_t recipe;
    char **names; /* they contain no zero bytes and no newlines */
} redis_shards;

/* Returns the shard of a key, given its XXH3-64 digest with seed 0. */
static inline unsigned redis_shard_of(uint64_t digest, unsigned count) {
    return (unsigned)(digest % count);
}

/* Names `count` shards. Ends the tool if the key has characters that their names cannot have. */
void redis_shards_name(redis_shards *s, const redis_address *address, unsigned count, uint64_t recipe);
void redis_shards_free(redis_shards *s);

/* Reads the description under the key of the address, which must hold a string. Returns false if it is not a
 * description of shards. Ends the tool if it is one of another version, or damaged. */
bool redis_shards_read(redis_shards *s, redis_link *link, const redis_address *address);

/* Stores the description. Ends the tool if the key exists and `replace` is false. */
void redis_shards_write(const redis_shards *s, redis_link *link, const redis_address *address, bool replace);

/* Removes the shards, except those that `keep` (may be NULL) names as well. */
void redis_shards_remove(const redis_shards *s, const redis_shards *keep, redis_link *link);

#endif
