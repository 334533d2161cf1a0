/* Tests of core/bits.h: wide products and packed fields. */
#include "core/bits.h"

#include "check.h"
#include "core/prng.h"

TEST(portable_and_native_wide_products_are_equal) {
    static const uint64_t edges[] = {0, 1, 2, 0xffffffff, 0x100000000, 0x100000001, UINT64_MAX - 1, UINT64_MAX};
    kithi_prng prng = {1};
    for (int i = 0; i < 100000; i++) {
        uint64_t a = i < 64 ? edges[i / 8] : kithi_prng_next(&prng), b = i < 64 ? edges[i % 8] : kithi_prng_next(&prng);
        uint64_t low, portable_low;
        uint64_t high = kithi_mul_wide(a, b, &low), portable_high = kithi_mul_wide_portable(a, b, &portable_low);
        CHECK_EQ_U64(portable_low, low);
        CHECK_EQ_U64(portable_high, high);
    }
    uint64_t low;
    CHECK_EQ_U64(kithi_mul_wide_portable(UINT64_MAX, UINT64_MAX, &low), UINT64_MAX - 1);
    CHECK_EQ_U64(low, 1);
}

TEST(packed_fields_of_every_width_keep_their_neighbours) {
    enum { FIELDS = 200 };
    for (unsigned width = 1; width <= 57; width++) {
        uint8_t array[FIELDS * 57 / 8 + 8] = {0};
        uint64_t truth[FIELDS] = {0}, mask = (UINT64_C(1) << width) - 1;
        kithi_prng prng = {width};
        for (int i = 0; i < 2000; i++) {
            uint64_t at = kithi_prng_below(&prng, FIELDS);
            truth[at] = kithi_prng_next(&prng) & mask;
            kithi_field_set(array, at, width, truth[at]);
        }
        for (uint64_t at = 0; at < FIELDS; at++)
            CHECK_EQ_U64(kithi_field_get(array, at, width), truth[at]);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
