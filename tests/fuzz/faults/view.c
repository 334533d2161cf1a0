/* A filter whose count is a multiple of seven is sealed with a count that is too high by one, so its bytes do not open
 * again. */
#include "format/format.h"
#include "fuzz/faults/faults.h"

void __real_kithi_block_seal(uint8_t *block, const kithi_head *head);
void __wrap_kithi_block_seal(uint8_t *block, const kithi_head *head);
void __wrap_kithi_block_seal(uint8_t *block, const kithi_head *head) {
    kithi_head wrong = *head;
    wrong.count += is_planted("seals_a_wrong_count") && head->count % 7 == 0;
    __real_kithi_block_seal(block, &wrong);
}
