/* avx512.c: tests src/kernels/avx512.h and avx512_cuckoo.h with the intrinsics of simde/immintrin.h, so that the test
 * runs on any processor. */
#include "core/cpu.h"
#include "simd/blocks.h"
#include "simd/pairs.h"

#undef KITHI_TARGET_AVX2
#define KITHI_TARGET_AVX2
#undef KITHI_TARGET_AVX512
#define KITHI_TARGET_AVX512
#include "kernels/avx512.h"
#include "kernels/avx512_cuckoo.h"

BLOCK_TESTS(avx512, , true)
SET_MANY_TESTS(avx512, , true)
PARITY_TESTS(avx512, , true)
PAIR_TESTS(avx512, , true)
WIDE_PAIR_TESTS(avx512, , true)

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
