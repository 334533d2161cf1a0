/* tables/cuckoo/insert.h: inserts a key into a cuckoo table, moving other keys if necessary. */
#ifndef KITHI_TABLES_CUCKOO_INSERT_H
#define KITHI_TABLES_CUCKOO_INSERT_H

#include "tables/cuckoo/slots.h"

/* The maximum number of buckets that a search reads. With d = 2 and b = 4, in a hundred tables of 10^5 slots, no search
 * with this limit failed at a load below 97.7%. */
#define KITHI_CUCKOO_TABLE_SEARCH_MAX 16384

/* Returns the most steps that a walk may make when the table has this many keys. */
uint64_t kithi_cuckoo_table_walk_max(const kith_table *t, const kithi_cuckoo_table *c, uint64_t keys);

/* Inserts a record whose key is not in the table; `hash` is the key's hash value. Returns false if no slot could be
 * freed; the table then has the same entries in the same slots. (A walk may leave more overflow bits than are needed:
 * see cuckoo_slots.h.) */
bool kithi_cuckoo_table_insert(kith_table *t, const kithi_cuckoo_table *c, const uint8_t *record, uint64_t hash);

#endif
