/* The main program of the table checks: see checks_main.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tables/tables.h"

#ifdef KITH_TEST_FAULTS
#include "table_fault/faults.h"

static const char *prepare_for(const char *fault) {
    bool fixed;
    if (!fault_exists(fault, &fixed))
        return "there is no fault of this name";
    return restrict_tables(fixed) ? NULL : "no table kind can show this fault";
}
#endif

#define CHECKS_DEF "tables/checks.def"
#include "checks_main.h"
