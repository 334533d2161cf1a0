/* Bytes from anywhere, given to kith/reader.h and to the library: both refuse them with the same status, or both open
 * them and return the same results. blocks.h makes the bytes. */
#include <kith/reader.h>

#include "core/prng.h"
#include "fuzz/blocks.h"

static void compare(const uint8_t *bytes, size_t byte_count, unsigned flags) {
    enum { LOOKUPS = 40 };
    static kith_reader reader;
    (void)flags;
    kith_filter *filter = NULL, *whole = NULL;
    kith_status status = kith_filter_view(bytes, byte_count, KITH_OPEN_LAZY, &FUZZ_ALLOCATOR, &filter);
    HOLD(status == KITH_E_MEMORY || kith_reader_open(bytes, byte_count, &reader) == status);
    if (status != KITH_OK)
        return;
    kithi_prng prng = {1};
    for (unsigned i = 0; i < LOOKUPS; i++) {
        uint64_t digest = i == 0 ? 0 : i == 1 ? UINT64_MAX : kithi_prng_next(&prng);
        HOLD(kith_reader_has(&reader, digest) == kith_filter_has_digest(filter, digest));
    }
    for (uint64_t key = 0; key < LOOKUPS; key++) { /* the keys of the prototypes */
        uint64_t digest = kith_reader_digest(&reader, &key, sizeof key);
        HOLD(kith_reader_has(&reader, digest) == kith_filter_has(filter, &key, sizeof key));
    }
    /* The library also compares the counts in the header with the body. */
    bool verified = kith_reader_verify(&reader) == KITH_OK;
    kith_status opened = kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, &FUZZ_ALLOCATOR, &whole);
    HOLD(verified || opened == KITH_E_CORRUPT);
    kith_filter_free(whole);
    kith_filter_free(filter);
    HOLD(fuzz_live_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_block(data, size, compare);
    return 0;
}
