/* compat_chunks.h: SCANDUMP and LOADCHUNK in RedisBloom's format. */
#ifndef KITH_REDIS_COMPAT_CHUNKS_H
#define KITH_REDIS_COMPAT_CHUNKS_H

#include "keys.h"

/* Replies to SCANDUMP of a complete value in RedisBloom's layout. */
void compat_scan_dump(RedisModuleCtx *ctx, value *v, long long cursor, command_set set);

/* LOADCHUNK: argv[1] is the key. Returns false, without a reply, if this is no dump of RedisBloom: the cursor is
 * neither 1, that of a header, nor is such a dump being loaded into the key. */
bool compat_load_dump(RedisModuleCtx *ctx, RedisModuleString **argv, long long cursor, const char *data, size_t bytes,
                      command_set set, const char *event);

#endif
