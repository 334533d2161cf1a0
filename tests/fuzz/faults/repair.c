/* Keys of damaged pages are not reported as lost; records of the journal are left out. */
#include "fuzz/faults/faults.h"
#include "handle/salvage.h"
#include "store_calls.h"

kith_status __real_kithi_salvage_body(uint8_t *block, uint64_t block_bytes, uint64_t present, kithi_head *head,
                                      kithi_salvage *s);
kith_status __wrap_kithi_salvage_body(uint8_t *block, uint64_t block_bytes, uint64_t present, kithi_head *head,
                                      kithi_salvage *s);
kith_status __wrap_kithi_salvage_body(uint8_t *block, uint64_t block_bytes, uint64_t present, kithi_head *head,
                                      kithi_salvage *s) {
    kith_status status = __real_kithi_salvage_body(block, block_bytes, present, head, s);
    if (is_planted("lost_keys_are_not_reported"))
        s->keys_at_risk = 0;
    return status;
}

kith_status __real_kithi_store_replay_record(kith_filter *filter, const kithi_record *r, bool *stopped);
kith_status __wrap_kithi_store_replay_record(kith_filter *filter, const kithi_record *r, bool *stopped);
kith_status __wrap_kithi_store_replay_record(kith_filter *filter, const kithi_record *r, bool *stopped) {
    return is_planted("a_record_is_left_out") && r->sequence % 3 == 0
               ? KITH_OK
               : __real_kithi_store_replay_record(filter, r, stopped);
}
