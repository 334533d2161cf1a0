/* tables/cuckoo_find.h: looking up in a cuckoo table; the verbs of table_kind.h, and find for those that change it. */
#ifndef KITHI_TABLES_CUCKOO_FIND_H
#define KITHI_TABLES_CUCKOO_FIND_H

#include "tables/cuckoo_slots.h"

/* The tables that have get_word, besides keys of 8 bytes, xxh3 and layout=one. */
#define KITHI_CUCKOO_PLAIN_D 2
#define KITHI_CUCKOO_PLAIN_B 4

#define KITHI_CUCKOO_NO_SLOT UINT64_MAX

/* The key's slot, or KITHI_CUCKOO_NO_SLOT; and its hash value in any case. */
uint64_t kithi_cuckoo_find(const kith_table *t, const kithi_key *key, uint64_t *hash);

bool kithi_cuckoo_get(const kith_table *t, const kithi_key *key, uint64_t *value);
bool kithi_cuckoo_get_word(const kith_table *t, uint64_t word, uint64_t *value);
uint64_t kithi_cuckoo_get_group(const kith_table *t, const kithi_key *keys, size_t n, uint64_t *values);
void kithi_cuckoo_prefetch(const kith_table *t, const kithi_key *key);

#endif
