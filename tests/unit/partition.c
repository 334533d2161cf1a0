/* Tests of build/partition.c: each part holds its own digests, in the order of the input. */
#include "check.h"
#include "core/mix.h"
#include "build/partition.h"

enum { N_MAX = 20011 };

static void try_partition(size_t n, uint64_t regions, unsigned part_count, unsigned threads) {
    static uint64_t digests[N_MAX], expected[N_MAX];
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    uint64_t *out = kithi_allocate(&allocator, (n + 8) * sizeof *out);
    size_t *starts = kithi_allocate(&allocator, (part_count + 1) * sizeof *starts);
    for (size_t i = 0; i < n; i++)
        digests[i] = i % 5 == 0 ? kithi_mix(i) >> 3 : kithi_mix(i + 1); /* more digests in the lower parts */
    memset(out + n, 0xee, 8 * sizeof *out);
    kithi_part_map parts = kithi_part_map_of(regions, part_count);
    CHECK(kithi_partition(&allocator, digests, n, parts, threads, out, starts));
    size_t at = 0;
    for (unsigned p = 0; p < part_count; p++) {
        CHECK_EQ_U64(starts[p], at);
        for (size_t i = 0; i < n; i++)
            if (kithi_part_of(parts, digests[i]) == p)
                expected[at++] = digests[i];
    }
    CHECK_EQ_U64(starts[part_count], n);
    CHECK_EQ_U64(at, n); /* no digest has a part number past the last */
    CHECK(memcmp(out, expected, n * sizeof *out) == 0);
    for (size_t i = n; i < n + 8; i++)
        CHECK_EQ_U64(out[i], UINT64_C(0xeeeeeeeeeeeeeeee));
    kithi_release(&allocator, starts, (part_count + 1) * sizeof *starts);
    kithi_release(&allocator, out, (n + 8) * sizeof *out);
}

TEST(a_part_holds_its_digests_in_order) {
    static const size_t SIZES[] = {0, 1, 7, 8, 9, 63, 64, 65, 1000, N_MAX};
    static const unsigned PARTS[] = {1, 2, 3, 16, 100};
    for (size_t i = 0; i < 10; i++)
        for (size_t j = 0; j < 5; j++)
            for (unsigned threads = 1; threads <= 4; threads++)
                try_partition(SIZES[i], 1000003, PARTS[j], threads);
    try_partition(N_MAX, 100, 100, 3);
    try_partition(N_MAX, UINT64_C(1) << 53, 64, 2);
}

/* No region is divided between two parts, and the parts cover the regions in order. */
TEST(parts_are_whole_regions) {
    static const uint64_t REGIONS[] = {4, 5, 400, 4097, UINT64_C(1) << 33};
    for (size_t i = 0; i < 5; i++) {
        unsigned part_count = REGIONS[i] < 64 ? (unsigned)REGIONS[i] : 64, before = 0;
        kithi_part_map parts = kithi_part_map_of(REGIONS[i], part_count);
        uint64_t step = UINT64_MAX / 100000;
        for (uint64_t digest = 0, region = 0; digest <= UINT64_MAX - step; digest += step) {
            unsigned part = kithi_part_of(parts, digest);
            CHECK(part < part_count && part >= before);
            CHECK(part == before || kithi_mulhi(digest, REGIONS[i]) != region);
            before = part;
            region = kithi_mulhi(digest, REGIONS[i]);
        }
        CHECK_EQ_U64(before, part_count - 1);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
