/* faults.h: faults of tables that tests can plant, by name. */
#ifndef KITH_TESTS_TABLE_FAULTS_H
#define KITH_TESTS_TABLE_FAULTS_H

#include <stdbool.h>

/* Returns whether there is a fault of this name, and sets *fixed to whether it has an effect only in tables of fixed
 * size. */
bool fault_exists(const char *name, bool *fixed);

/* Plants the fault for the rest of the process. */
void fault_arm(const char *name);

#endif
