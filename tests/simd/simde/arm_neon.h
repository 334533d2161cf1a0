/* Provides NEON intrinsics on other processors: those of SIMDe, under Arm's names. */
#ifndef KITH_TESTS_SIMDE_ARM_NEON_H
#define KITH_TESTS_SIMDE_ARM_NEON_H

#ifdef __ARM_NEON
#include_next <arm_neon.h>
#else
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/arm/neon.h>
#endif

#endif
