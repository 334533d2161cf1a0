/* A removal returns success and keeps the key. */
#include <kith/table.h>

#include "fuzz/faults/faults.h"

kith_status __real_kith_table_remove(kith_table *table, const void *key, size_t key_bytes, uint64_t *value);
kith_status __wrap_kith_table_remove(kith_table *table, const void *key, size_t key_bytes, uint64_t *value);
kith_status __wrap_kith_table_remove(kith_table *table, const void *key, size_t key_bytes, uint64_t *value) {
    if (is_planted("keeps_a_removed_key") && kith_table_count(table) == 5)
        return kith_table_get(table, key, key_bytes, value) ? KITH_OK : KITH_E_ABSENT;
    return __real_kith_table_remove(table, key, key_bytes, value);
}
