/* faults.h: planted faults of tables, by name. */
#ifndef KITH_TESTS_TABLE_FAULTS_H
#define KITH_TESTS_TABLE_FAULTS_H

#include <stdbool.h>

/* Whether there is such a fault, and whether it shows only in tables of fixed size. */
bool fault_exists(const char *name, bool *fixed);

/* From now on the library has this fault. */
void fault_arm(const char *name);

#endif
