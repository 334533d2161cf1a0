/* server/shards.h: a set that is spread over several keys of a cluster.
 *
 * A key belongs to shard XXH3-64(key, seed 0) mod N. Shard i is the filter under NAME:{TAG}:iofN, where TAG puts it
 * into slot (2i + 1) · 16,384 / 2N, so that the shards are spread evenly over the slots. NAME itself is a string that
 * describes them, one line each:
 *
 *     kith-shards 1          the version of this description
 *     set 8f…                the random number of the set: 32 hex digits
 *     shards 3
 *     recipe 0               how keys are made, as in the header of a kith file
 *     NAME:{TAG}:0of3        the keys, in order
 *     NAME:{TAG}:1of3
 *     NAME:{TAG}:2of3
 *
 * Each shard has the note "kith-shard" with the value "8f… 0/3". A description is a string that anybody can write, copy
 * or rename. So a shard is replaced or removed only if its name follows from NAME, and if its note has a number that
 * the description has; the server compares the notes in the same step (KITH.UNLINK).
 *
 * N is a part of each name, so that shards of another number can be loaded while readers still use the old ones; the
 * new description then replaces the old one in one step. While shards are replaced, the description has the numbers of
 * both sets, the new one first: if that breaks off, the next push can tell that both are its own. */
#ifndef CLI_REDIS_SHARDS_H
#define CLI_REDIS_SHARDS_H

#include "cli/options.h"
#include "cli/server/upload.h"

enum { REDIS_SHARDS_MAX = SHARDS_MAX, REDIS_SETS_MAX = 16 };

#define REDIS_SHARD_NOTE "kith-shard"

typedef char redis_set[33];        /* the number of a set */
typedef char redis_shard_note[48]; /* the value of the note of a shard */

typedef struct redis_shards {
    unsigned count;
    uint64_t recipe;
    char **names; /* they contain no zero bytes and no newlines */
    redis_set sets[REDIS_SETS_MAX];
    size_t set_count;
    char *text; /* the description as the server has it; NULL for shards that were named */
    size_t text_bytes;
} redis_shards;

/* Returns the shard of a key, given its XXH3-64 digest with seed 0. */
static inline unsigned redis_shard_of(uint64_t digest, unsigned count) {
    return (unsigned)(digest % count);
}

/* Names `count` shards of a new set. Ends the tool if the key has characters that their names cannot have. */
void redis_shards_name(redis_shards *s, const redis_address *address, unsigned count, uint64_t recipe);
void redis_shards_free(redis_shards *s);

/* Writes the value of the note of shard i. */
const char *redis_shards_note(const redis_shards *s, unsigned i, redis_shard_note note);

/* Reads the description under the key of the address, which must hold a string. Returns false if it is not a
 * description of shards. Ends the tool if it is one of another version, or damaged. */
bool redis_shards_read(redis_shards *s, redis_link *link, const redis_address *address);

/* Ends the tool if one of the keys that the shards need holds something else than a shard of these sets or of those of
 * `old` (whose count may be 0). */
void redis_shards_check(const redis_shards *s, const redis_shards *old, redis_link *link);

/* Adds the set of `next` to the old description, on the server as well. Ends the tool if the guard does not hold, and
 * updates it. Does nothing if there is no old description. */
void redis_shards_announce(redis_shards *old, const redis_shards *next, redis_link *link, const redis_address *address,
                           redis_guard *guard);

/* Puts a shard in the place of what redis_shards_check() allows: see redis_upload_commit_shard(). */
bool redis_shards_commit(const redis_shards *s, unsigned i, const redis_shards *old, redis_upload *upload);

/* Stores the description. Returns false, and changes nothing, if the guard does not hold; without one (NULL), if the
 * key exists. */
bool redis_shards_write(const redis_shards *s, redis_link *link, const redis_address *address,
                        const redis_guard *guard);

/* Removes shard i if it is of the newest set of s. */
void redis_shards_withdraw(const redis_shards *s, unsigned i, redis_link *link);

/* Removes the shards, except those that `keep` (may be NULL) names as well. Prints the name of each that is not one of
 * the address's own, and stays for that reason. */
void redis_shards_remove(const redis_shards *s, const redis_shards *keep, redis_link *link,
                         const redis_address *address);

#endif
