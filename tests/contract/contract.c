/* Runs the checks of filters: see checks_main.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "contract/contract.h"

#ifdef KITH_TEST_FAULTS
#include "fault/faults.h"

static const char *prepare_for(const char *fault) {
    uint32_t capabilities;
    if (!fault_capabilities(fault, &capabilities))
        return "there is no fault of this name";
    bool is_static = (capabilities & FAULT_NEEDS_STATIC) != 0;
    return contract_restrict(capabilities & ~FAULT_NEEDS_STATIC, is_static)
               ? NULL
               : "no kind has the capabilities that this fault needs";
}
#endif

#define CHECKS_DEF "contract/checks.def"
#include "checks_main.h"
