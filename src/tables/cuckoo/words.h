/* tables/cuckoo/words.h: the faster functions of table_kind.h for cuckoo tables whose keys are words. */
#ifndef KITHI_TABLES_CUCKOO_WORDS_H
#define KITHI_TABLES_CUCKOO_WORDS_H

#include "tables/cuckoo/slots.h"

/* Returns the functions for this table, or NULL if there are none for its key size, its options or its family. */
const kithi_table_words *kithi_cuckoo_table_words(const kith_table *t);

#endif
