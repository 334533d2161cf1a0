/* tables/cuckoo/rebuild.h: creates cuckoo tables, and rebuilds them in new memory, larger or with new functions. */
#ifndef KITHI_TABLES_CUCKOO_REBUILD_H
#define KITHI_TABLES_CUCKOO_REBUILD_H

#include "tables/cuckoo/slots.h"

#define KITHI_CUCKOO_TABLE_BUCKETS_MIN 4

/* Returns the load, between 0 and 1, above which the table grows: the option `load`, or the default for its d and b. */
double kithi_cuckoo_table_load_max(const kith_table *t);

/* Returns the number of buckets to allocate for this many keys. If that number is too large,
 * kithi_cuckoo_table_make() refuses it. */
uint64_t kithi_cuckoo_table_buckets_for(const kith_table *t, uint64_t keys);

/* Returns the size of the body: records, tags and padding. */
uint64_t kithi_cuckoo_table_body_bytes(const kith_table *t, const kithi_cuckoo_table *c);

/* Creates an empty table of at least `buckets` buckets in *c, with functions drawn from `seed`. On failure nothing
 * stays allocated. */
kith_status kithi_cuckoo_table_make(const kith_table *t, uint64_t buckets, uint64_t seed, kithi_cuckoo_table *c);

/* Creates a table over the block of an image (table_kind.h), whose bytes may come from an attacker. KITH_E_CORRUPT: the
 * size or the count in the header cannot belong to this number of buckets. */
kith_status kithi_cuckoo_table_make_on_block(const kith_table *t, uint64_t buckets, uint64_t seed,
                                             const kithi_head *head, uint8_t *block, kithi_cuckoo_table *c);

/* Frees everything that *c points to, except a mapped block. */
void kithi_cuckoo_table_release(const kith_table *t, kithi_cuckoo_table *c);

/* Moves all keys into a new table of at least `buckets` buckets, and adds the record `extra` unless it is NULL.
 * `extra_hash` is the hash value of the key of `extra` by the table's current function. (If the family is xxh3 or
 * siphash, a table that grows keeps this function.) Does not change t->count. On failure the table is unchanged. */
kith_status kithi_cuckoo_table_rebuild(kith_table *t, uint64_t buckets, const uint8_t *extra, uint64_t extra_hash);

/* Stores a record whose key is not in the table, and rebuilds the table if necessary. `hash` is the key's hash value.
 * On failure the table is unchanged. */
kith_status kithi_cuckoo_table_put_absent(kith_table *t, const uint8_t *record, uint64_t hash);

#endif
