/* neon.c: tests src/kernels/neon.h and neon_cuckoo.h with the intrinsics of simde/arm_neon.h, so that the test runs on
 * any processor. */
#include "simd/blocks.h"
#include "simd/pairs.h"

#include "kernels/neon.h"
#include "kernels/neon_cuckoo.h"

BLOCK_TESTS(neon, , true)
PAIR_TESTS(neon, , true)
WIDE_PAIR_TESTS(neon, , true)
LONG_PAIR_TESTS(neon, , true)

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
