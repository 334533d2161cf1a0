/* faults.h: plants faults by name. */
#ifndef KITH_TESTS_FAULTS_H
#define KITH_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* In place of a capability: a static kind, without KITH_CAN_ADD. */
#define FAULT_NEEDS_STATIC (UINT32_C(1) << 31)

/* Returns in *capabilities what a kind needs for the fault to have an effect. Returns false if there is no such
 * fault. */
bool fault_capabilities(const char *name, uint32_t *capabilities);

/* Plants this fault in the library, permanently. */
void fault_arm(const char *name);

#endif
