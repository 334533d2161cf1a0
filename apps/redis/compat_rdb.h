/* compat_rdb.h: saving and loading values in RedisBloom's layouts. */
#ifndef KITH_REDIS_COMPAT_RDB_H
#define KITH_REDIS_COMPAT_RDB_H

#include "value.h"

/* The encoding version of both of RedisBloom's types. */
#define COMPAT_RDB_VERSION 4

/* The types MBbloom-- and MBbloomCF, as RedisBloom writes them. The functions that load return NULL, after logging what
 * is wrong, for damaged data. */
void compat_save(RedisModuleIO *io, void *v);
void *compat_load_bloom(RedisModuleIO *io, int encoding_version);
void *compat_load_cuckoo(RedisModuleIO *io, int encoding_version);

/* A half-loaded value, inside a value of kith's types: the header, the number of bytes loaded, and these in strings. */
void compat_save_part(RedisModuleIO *io, const value *v);
value *compat_load_part(RedisModuleIO *io, bool removes);

/* The commands that make the value again: BF.LOADCHUNK or CF.LOADCHUNK, as RedisBloom's rewrite has them. */
void compat_rewrite(RedisModuleIO *io, RedisModuleString *key, const value *v);

#endif
