/* lab_none.c: takes the place of the files that need the lab, in a build without it. */
#include <stdnoreturn.h>

#include "cli/commands.h"
#include "cli/output/report.h"

static noreturn void fail_none(void) {
    fail("this build of kith has no lab: it was built with KITH_LAB=OFF");
}

int command_lab(const arguments *a) {
    (void)a;
    fail_none();
}

void help_lab(const arguments *a) {
    (void)a;
    fail_none();
}
