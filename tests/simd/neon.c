/* neon.c: tests src/simd/neon.h with the intrinsics of simde/arm_neon.h, so that the test runs on any processor. */
#include "simd/blocks.h"

#include "simd/neon.h"

BLOCK_TESTS(neon, , true)

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
