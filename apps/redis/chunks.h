/* chunks.h: filters in parts, for clients: BF.SCANDUMP, BF.LOADCHUNK, the same of CF.*, KITH.DUMP and KITH.LOAD; and for
 * the rewrite of the AOF.
 *
 * A dump can be long, and other clients run between its chunks. The cursor has the version of the filter in it, so a
 * filter that has changed since the dump began is an error. While it is loaded, the key holds the part that has arrived:
 * commands that use the filter return an error. */
#ifndef KITH_REDIS_CHUNKS_H
#define KITH_REDIS_CHUNKS_H

#include "keys.h"

/* The longest chunk. */
#define CHUNK_BYTES ((uint64_t)16 << 20)

/* KITH._LOAD key offset data received total removes expansion bucket_size max_iterations deleted layers chunks
 *
 * The rewrite of an AOF: `data` is at `offset` of the block; when `received` bytes are there, the value is as it was.
 * Only the AOF and the primary may call it. */
void chunks_rewrite(RedisModuleIO *io, RedisModuleString *key, value *v);

#endif
