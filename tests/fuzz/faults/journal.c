/* Damage to a synced record is taken for the end of the journal; a batch without its end is applied. */
#include "fuzz/faults/faults.h"
#include "file/journal.h"

kith_status __real_kithi_journal_scan(kithi_journal *j, kithi_position *at, uint64_t *synced);
kith_status __wrap_kithi_journal_scan(kithi_journal *j, kithi_position *at, uint64_t *synced);
kith_status __wrap_kithi_journal_scan(kithi_journal *j, kithi_position *at, uint64_t *synced) {
    kith_status status = __real_kithi_journal_scan(j, at, synced);
    if (status == KITH_E_CORRUPT && is_planted("cuts_off_a_synced_record"))
        return KITH_OK;
    bool found = status == KITH_OK && is_planted("applies_half_a_batch");
    while (found) {
        kithi_record r;
        if (kithi_journal_next(j, at, &r, &found) != KITH_OK)
            break;
    }
    return status;
}
