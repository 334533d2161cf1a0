/* avx2.c: tests src/simd/avx2.h and avx2_cuckoo.h, on processors that have AVX2. */
#include "check.h"
#include "core/cpu.h"

#ifdef KITHI_HAVE_X86
#include "simd/avx2.h"
#include "simd/avx2_cuckoo.h"
#include "simd/blocks.h"
#include "simd/pairs.h"

static bool runs_here(void) {
    bool runs = kith_cpu_use("avx2") == KITH_OK;
    CHECK_OK(kith_cpu_use("auto"));
    return runs;
}

BLOCK_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
PARITY_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
PAIR_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
WIDE_PAIR_TESTS(avx2, KITHI_TARGET_AVX2, runs_here())
#else
TEST(avx2_blocks_match_the_scalar_code) {
    SKIP("built without AVX2");
}
#endif

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
