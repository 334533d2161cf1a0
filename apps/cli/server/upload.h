/* server/upload.h: puts a filter under a key of a server, as a whole or not at all.
 *
 * The filter is loaded in chunks into a temporary key in the same slot, which expires if the tool or the connection
 * dies. When it is complete, the server renames it to the key. Until then readers see what was there before. */
#ifndef CLI_REDIS_UPLOAD_H
#define CLI_REDIS_UPLOAD_H

#include "cli/server/dump.h"
#include "cli/server/link.h"

typedef struct redis_upload {
    redis_link *link;
    const char *key;
    size_t key_bytes;
    unsigned slot;
    char *name; /* the temporary key */
    size_t name_bytes;
    char *undo; /* the command that removes it, or the shard that it has become, as it is sent */
    size_t undo_bytes;
    struct redis_upload *next; /* of those that are not complete */
} redis_upload;

/* Prepares an upload; nothing is sent. `key` must outlive it. If the tool fails from here on, it asks the server to
 * remove the temporary key. */
void redis_upload_begin(redis_upload *u, redis_link *link, const char *key, size_t key_bytes);

/* Load a kith file (KITH.LOAD) or a dump of RedisBloom (BF.LOADCHUNK, CF.LOADCHUNK) into the temporary key. */
void redis_upload_block(redis_upload *u, const void *bytes, size_t byte_count);
void redis_upload_dump(redis_upload *u, const redis_dump *dump);

/* Lets the temporary key live for another hour. */
void redis_upload_renew(redis_upload *u);

/* Renames the temporary key to the key, and frees the upload. Without a guard (NULL), ends the tool if the key exists;
 * with one, if the key no longer holds what the guard says. */
void redis_upload_commit(redis_upload *u, const redis_guard *guard);

/* The same for a shard. If the key exists, it is replaced if it is a filter whose note `name` is one of the texts,
 * which the server checks in the same transaction; otherwise this ends the tool. Returns true if the key did not exist.
 * Then the upload is not freed yet: until redis_upload_keep(), if the tool fails, it asks the server to remove the key
 * if its note is texts[0]. */
bool redis_upload_commit_shard(redis_upload *u, const char *name, char *const *texts, size_t text_count);

/* Frees an upload that was committed, if it is not freed yet. */
void redis_upload_keep(redis_upload *u);

/* Ends the tool because the key of a guard has changed. */
noreturn void redis_fail_changed(const redis_link *link, const char *key);

/* A random number of the system. */
uint64_t redis_random_word(void);

/* Ends the tool with an error that says that the key exists. */
noreturn void redis_fail_exists(const redis_link *link, const char *key);

#endif
