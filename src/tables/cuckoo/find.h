/* tables/cuckoo/find.h: lookups in a cuckoo table. kithi_cuckoo_table_find() is for put and remove; the others are
 * functions of table_kind.h. */
#ifndef KITHI_TABLES_CUCKOO_FIND_H
#define KITHI_TABLES_CUCKOO_FIND_H

#include "tables/cuckoo/slots.h"

#define KITHI_CUCKOO_TABLE_NO_SLOT UINT64_MAX

/* Returns the number of the key's slot, or KITHI_CUCKOO_TABLE_NO_SLOT. Sets *hash to the key's hash value in both
 * cases. */
uint64_t kithi_cuckoo_table_find(const kith_table *t, const kithi_key *key, uint64_t *hash);

bool kithi_cuckoo_table_get(const kith_table *t, const kithi_key *key, uint64_t *value);
uint64_t kithi_cuckoo_table_get_group(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values);
void kithi_cuckoo_table_prefetch(const kith_table *t, const kithi_key *key);

#endif
