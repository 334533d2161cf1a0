/* A table that was refused leaves its memory behind. */
#include "fuzz/faults/faults.h"
#include "tables/table_kind.h"

void __real_kithi_table_drop(kith_table *t);
void __wrap_kithi_table_drop(kith_table *t);
void __wrap_kithi_table_drop(kith_table *t) {
    if (!is_planted("leaks_a_refused_table"))
        __real_kithi_table_drop(t);
}
