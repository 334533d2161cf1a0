/* chunks.h: filters in parts, for clients: BF.SCANDUMP, BF.LOADCHUNK, the same of CF.*, KITH.DUMP and KITH.LOAD; and
 * for the rewrite of the AOF.
 *
 * A dump can be long, and other clients run between its chunks. The cursor has the version of the filter in it, so a
 * filter that has changed since the dump began is an error. While a dump is loaded, the key holds the part that has
 * arrived, and commands that use the filter return an error.
 *
 * The cursor is version * 2^16 + the number of chunks so far. It is below 2^53, because clients in JavaScript keep
 * numbers as doubles. KITH.DUMP returns a file as the command line reads it. BF.SCANDUMP and CF.SCANDUMP return the
 * same, after a prelude. Every chunk but the last has 16 MiB. */
#ifndef KITH_REDIS_CHUNKS_H
#define KITH_REDIS_CHUNKS_H

#include "keys.h"

/* The longest chunk. */
#define CHUNK_BYTES ((uint64_t)16 << 20)

#define CURSOR_BITS 16
#define MOST_CURSOR ((INT64_C(1) << 53) - 1)

#define ERROR_CHANGED "ERR the filter has changed since this dump began; start again with cursor 0"
#define ERROR_BAD_DATA "ERR received bad data"

/* The prelude of a dump; all numbers are little-endian:
 *
 *     0  "KITHDUMP"     8  1 (version)     12  1 if the filter supports deletion     16  bytes of the file
 *    24  expansion     28  bucket size     32  max iterations     36  layers     40  deleted items     48  0
 *    56  XXH3 of bytes 0 … 55 */
#define PRELUDE_BYTES 64

typedef struct prelude {
    bool removes;
    uint64_t total;
    value_request request;
    unsigned layers;
    uint64_t deleted;
} prelude;

/* Returns whether a value can have received this many chunks of SCANDUMP: none if it is complete or was loaded
 * otherwise; else all of them had their full length, because only the last one may be shorter. */
static inline bool chunks_fit(uint64_t chunks, uint64_t received, uint64_t total) {
    return chunks == 0 ||
           (chunks < 1 << CURSOR_BITS && received < total && received == chunks * CHUNK_BYTES - PRELUDE_BYTES);
}

void prelude_write(const value *v, unsigned char bytes[PRELUDE_BYTES]);

/* Returns false if the data does not begin with a prelude, or if no filter can have its numbers. */
bool prelude_read(const void *data, size_t bytes, prelude *p);

/* Writes the commands that make a value of kith again to an AOF: KITH._LOAD, several times. */
void chunks_rewrite(RedisModuleIO *io, RedisModuleString *key, value *v);

#endif
