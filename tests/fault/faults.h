/* faults.h: planted faults, by name. */
#ifndef KITH_TESTS_FAULTS_H
#define KITH_TESTS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/* What a kind must be able to do for the fault to show; false when there is no such fault. */
bool fault_capabilities(const char *name, uint32_t *capabilities);

/* From now on the library has this fault. */
void fault_arm(const char *name);

#endif
