/* tables/cuckoo_room.h: a place for one more key in a cuckoo table, by moving others. */
#ifndef KITHI_TABLES_CUCKOO_ROOM_H
#define KITHI_TABLES_CUCKOO_ROOM_H

#include "tables/cuckoo_slots.h"

/* The most buckets that a search looks at. At d = 2 and b = 4 the worst of a hundred tables of 10^5 slots is 97.7% full
 * before a search of that many finds nothing. */
#define KITHI_CUCKOO_SEARCH_MAX 16384

/* Puts a record whose key is not in. False: no room found, no entry moved. */
bool kithi_cuckoo_insert(kith_table *t, const kithi_cuckoo *c, const uint8_t *record, uint64_t value);

#endif
