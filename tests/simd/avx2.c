/* avx2.c: tests src/kernels/avx2.h, avx2_cuckoo.h and avx2_probes.h, on processors that have AVX2. */
#include "check.h"
#include "core/cpu.h"

#ifdef KITHI_HAVE_X86
#include "kernels/avx2.h"
#include "kernels/avx2_cuckoo.h"
#include "kernels/avx2_probes.h"
#include "simd/blocks.h"
#include "simd/pairs.h"

static bool runs_here(void) {
    bool runs = kith_cpu_use("avx2") == KITH_OK;
    CHECK_OK(kith_cpu_use("auto"));
    return runs;
}

BLOCK_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
SET_MANY_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
PARITY_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
PAIR_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
WIDE_PAIR_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
LONG_PAIR_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())

KITHI_TARGET_AVX2 static unsigned least_4(const uint8_t *block, uint64_t digest) {
    return kithi_avx2_counters_least(block, digest, 4);
}

KITHI_TARGET_AVX2 static unsigned least_8(const uint8_t *block, uint64_t digest) {
    return kithi_avx2_counters_least(block, digest, 8);
}

KITHI_TARGET_AVX2 static unsigned least_16(const uint8_t *block, uint64_t digest) {
    return kithi_avx2_counters_least(block, digest, 16);
}

TEST(avx2_finds_the_least_counter) {
    if (!runs_here())
        SKIP("this processor has no AVX2");
    static unsigned (*const LEAST[])(const uint8_t *block, uint64_t digest) = {least_4, least_8, least_16};
    kithi_prng prng = {2};
    for (unsigned size = 0; size < 3; size++) {
        unsigned seen = 0, lanes = 4u << size;
        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t digest = kithi_prng_next(&prng);
            uint8_t block[1 + BLOCK_BYTES]; /* from an odd address on */
            fill_block(block + 1, &prng);
            fill_cells(block + 1, digest, lanes, 4, &prng);
            unsigned want = min_of(block + 1, digest, lanes, 4);
            CHECK_EQ_U64(LEAST[size](block + 1, digest), want);
            seen |= 1u << want;
        }
        CHECK_EQ_U64(seen, 0xffff);
    }
}

/* The product of the numbers of set bits in all lanes; for 16 lanes divided by 2^36. */
static uint64_t scalar_product(const uint8_t *block, unsigned lanes) {
    uint64_t products[2] = {1, 1};
    for (unsigned lane = 0; lane < lanes; lane++) {
        unsigned set = 0, width = BLOCK_BITS / lanes;
        for (unsigned i = 0; i < width; i++)
            set += cell_get(block, 1, lane * width + i);
        products[lane / 8] *= set;
    }
    return lanes == 16 ? kithi_mulhi(products[0] << 20, products[1] << 8) : products[0];
}

KITHI_TARGET_AVX2 static unsigned set_product(uint8_t *block, uint64_t digest, unsigned lanes, uint64_t products[2]) {
    return lanes == 4   ? kithi_avx2_bits_set_product(block, digest, 4, products)
           : lanes == 8 ? kithi_avx2_bits_set_product(block, digest, 8, products)
                        : kithi_avx2_bits_set_product(block, digest, 16, products);
}

TEST(avx2_sets_bits_and_returns_the_products_before_and_after) {
    if (!runs_here())
        SKIP("this processor has no AVX2");
    kithi_prng prng = {3};
    for (unsigned lanes = 4; lanes <= 16; lanes *= 2)
        for (unsigned round = 0; round < ROUNDS / 10; round++) {
            uint64_t digest = kithi_prng_next(&prng), products[2];
            uint8_t block[1 + BLOCK_BYTES], before[BLOCK_BYTES], want[BLOCK_BYTES]; /* from an odd address on */
            fill_block(block + 1, &prng);
            if (round % 100 == 0)
                memset(block + 1, 0xff, BLOCK_BYTES); /* the largest products */
            memcpy(before, block + 1, BLOCK_BYTES);
            memcpy(want, before, BLOCK_BYTES);
            outcome o = scalar_bits_set(want, digest, lanes);
            CHECK_EQ_U64(set_product(block + 1, digest, lanes, products), o.number);
            CHECK(memcmp(block + 1, want, BLOCK_BYTES) == 0);
            CHECK_EQ_U64(products[0], scalar_product(before, lanes));
            CHECK_EQ_U64(products[1], scalar_product(want, lanes));
        }
}

enum { PROBE_KEYS = 50, PROBES = 7 };

KITHI_TARGET_AVX2 static void cells_avx2(const uint64_t *digests, uint64_t slice, uint64_t stride, uint64_t *cells) {
    kithi_avx2_cells(digests, PROBE_KEYS, PROBES, slice, stride, cells);
}

TEST(avx2_cells_match_the_scalar_code) {
    if (!runs_here())
        SKIP("this processor has no AVX2");
    static const uint64_t SLICES[] = {1, 2, 1000, 65537, UINT32_MAX / 2, KITHI_AVX2_SLICE_MAX};
    uint64_t digests[PROBE_KEYS] = {0, 1, UINT32_MAX, UINT64_MAX - UINT32_MAX, UINT64_MAX};
    kithi_prng prng = {1};
    for (size_t i = 5; i < PROBE_KEYS; i++)
        digests[i] = kithi_prng_next(&prng);
    for (size_t s = 0; s < 2 * sizeof SLICES / sizeof *SLICES; s++) {
        uint64_t slice = SLICES[s / 2], stride = s % 2 == 0 ? slice : 0;
        uint64_t cells[PROBE_KEYS * KITHI_AVX2_CELLS(PROBES)];
        cells_avx2(digests, slice, stride, cells);
        for (size_t i = 0; i < PROBE_KEYS; i++) {
            uint64_t word = digests[i];
            for (size_t j = 0; j < PROBES; j++) {
                word = kithi_next_probe(word);
                CHECK_EQ_U64(cells[i * KITHI_AVX2_CELLS(PROBES) + j], j * stride + kithi_mulhi(word, slice));
            }
        }
    }
}
#else
TEST(avx2_blocks_match_the_scalar_code) {
    SKIP("built without AVX2");
}
#endif

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
