/* Checks that structs of callers compiled against an older header, which had fewer fields, are accepted. */
#include "tables/tables.h"

/* A struct of the caller may end at any field: only the fields before its end are read and written. */
void structs_of_older_callers_are_accepted(void) {
    enum { GUARD = 0x5a, KEYS = 20 };
    EACH_SUBJECT(s, DEFAULTS) {
        uint64_t n = keys_of(&s, KEYS);
        kith_table_spec spec = spec_for(&s, n), older;
        memset(&older, GUARD, sizeof older); /* an invalid family, allocator and trace, if they are read */
        memcpy(&older, &spec, offsetof(kith_table_spec, family));
        older.struct_bytes = offsetof(kith_table_spec, family);
        kith_table *t = made(&older);
        fill(t, &s, 0, n);
        kith_table_stats full = table_stats(t), stats;
        CHECK_EQ_U64(full.count, n);
        memset(&stats, GUARD, sizeof stats);
        stats.struct_bytes = offsetof(kith_table_stats, bytes);
        CHECK_OK(kith_table_stats_of(t, &stats));
        CHECK_EQ_U64(stats.struct_bytes, offsetof(kith_table_stats, bytes));
        CHECK(stats.count == full.count && stats.slots == full.slots && stats.load == full.load);
        for (size_t i = offsetof(kith_table_stats, bytes); i < sizeof stats; i++)
            CHECK_EQ_U64(((uint8_t *)&stats)[i], GUARD);

        static const size_t WRONG[] = {0, 1, sizeof(size_t)};
        for (size_t i = 0; i <= sizeof WRONG / sizeof *WRONG; i++) {
            bool newer = i == sizeof WRONG / sizeof *WRONG;
            spec.struct_bytes = newer ? sizeof spec + 1 : WRONG[i];
            stats = full;
            stats.struct_bytes = newer ? sizeof stats + 1 : WRONG[i];
            kith_table *none = NULL;
            CHECK_STATUS(kith_table_create(&spec, &none), KITH_E_STRUCT);
            CHECK(none == NULL);
            CHECK_STATUS(kith_table_stats_of(t, &stats), KITH_E_STRUCT);
            CHECK(stats.count == full.count && stats.bytes == full.bytes);
        }
        kith_table_free(t);
    }
}
