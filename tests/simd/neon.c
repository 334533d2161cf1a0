/* simd/neon.h, over the intrinsics of simde/arm_neon.h: it runs on any processor. */
#include "simd/blocks.h"

#include "simd/neon.h"

BLOCK_TESTS(neon, , true)

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
