/* box_none.c: takes the place of box_seccomp.c in a build that has no box. */
#include "cli/commands/box.h"

int box_make(void) {
    return 0;
}

int box_close(const char **why_not) {
    *why_not = box_missing();
    return -1;
}

const char *box_missing(void) {
#ifdef CLI_SANITIZED
    return "this kith was built with a sanitizer, which needs other system calls";
#else
    return "this kith was built without libseccomp";
#endif
}
