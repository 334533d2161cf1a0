/* fuzz/faults/faults.h: planted faults, which show that a target finds something. For each target there is a file with
 * its name. It replaces a function of the library, or of the tool, by a faulty one at link time (--wrap, as in
 * tests/fault). CMake finds the wrapped functions and the names of the faults in the text of the file. */
#ifndef KITH_TESTS_FUZZ_FAULTS_H
#define KITH_TESTS_FUZZ_FAULTS_H

#include <stdbool.h>
#include <string.h>

/* The fault that is planted; "" means none. Set by replay.c. */
extern const char *fuzz_fault;

static inline bool is_planted(const char *fault) {
    return strcmp(fuzz_fault, fault) == 0;
}

#endif
