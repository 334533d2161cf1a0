/* avx512.c: tests src/simd/avx512.h with the intrinsics of simde/immintrin.h, so that the test runs on any processor.
 * */
#include "core/cpu.h"
#include "simd/blocks.h"

#undef KITHI_TARGET_AVX512
#define KITHI_TARGET_AVX512
#include "simd/avx512.h"

BLOCK_TESTS(avx512, , true)
PARITY_TESTS(avx512, , true)

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
