/* rdb.h: values in RDB files, DUMP payloads and full synchronisations. */
#ifndef KITH_REDIS_RDB_H
#define KITH_REDIS_RDB_H

#include "api.h"

#define RDB_VERSION 1

/* The longest string that is written. While a value is loaded, memory has the block of the filter and one string. */
#define RDB_CHUNK_BYTES ((size_t)16 << 20)

void rdb_save(RedisModuleIO *io, void *v);

/* Return NULL for damaged data, after logging what is wrong, and if there is no memory. */
void *rdb_load_bloom(RedisModuleIO *io, int encoding_version);
void *rdb_load_cuckoo(RedisModuleIO *io, int encoding_version);

#endif
