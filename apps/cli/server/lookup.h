/* server/lookup.h: lookups in a filter on a server, or in the shards of a set, for `kith query`. */
#ifndef CLI_SERVER_LOOKUP_H
#define CLI_SERVER_LOOKUP_H

#include "cli/options.h"
#include "cli/server/address.h"

typedef struct redis_query redis_query;

/* Connects, and finds out what is under the key. Applies the recipe of the filter to `a`, as for a file. Ends the tool
 * if there is no filter. The address must outlive the query. */
redis_query *redis_query_open(const redis_address *address, arguments *a);

/* Looks up the keys of n records (at most INPUT_BATCH), whose XXH3-64 digests with seed 0 are `digests`. Sets bit i of
 * `results` to whether key i may be in the set, and returns how many are. All shards are asked at the same time. */
size_t redis_query_has_many(redis_query *q, const input_record *records, const uint64_t *digests, size_t n,
                            uint64_t *results);

void redis_query_close(redis_query *q);

#endif
