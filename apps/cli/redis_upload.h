/* redis_upload.h: puts a filter under a key of a server, as a whole or not at all.
 *
 * The filter is loaded in chunks into a temporary key in the same slot, which expires if the tool or the connection
 * dies. When it is complete, the server renames it to the key. Until then readers see what was there before. */
#ifndef CLI_REDIS_UPLOAD_H
#define CLI_REDIS_UPLOAD_H

#include "redis_dump.h"
#include "redis_link.h"

typedef struct redis_upload {
    redis_link *link;
    const char *key;
    size_t key_bytes;
    unsigned slot;
    char *name; /* the temporary key */
    size_t name_bytes;
    char *undo; /* the command that removes it, as it is sent */
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

/* Renames the temporary key to the key, and frees the upload. Ends the tool if the key exists and `replace` is
 * false. */
void redis_upload_commit(redis_upload *u, bool replace);

/* Ends the tool with an error that says that the key exists. */
noreturn void redis_fail_exists(const redis_link *link, const char *key);

#endif
