/* The library accepts a body with a wrong checksum, and the reader does not. */
#include "format/format.h"
#include "fuzz/faults/faults.h"

kith_status __real_kithi_body_verify(const uint8_t *block, const kithi_head *head);
kith_status __wrap_kithi_body_verify(const uint8_t *block, const kithi_head *head);
kith_status __wrap_kithi_body_verify(const uint8_t *block, const kithi_head *head) {
    return is_planted("ignores_body_checksums") ? KITH_OK : __real_kithi_body_verify(block, head);
}
