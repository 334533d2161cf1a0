/* coverage.c: a process of the preset coverage writes its counts when it calls exit(). Linked into the tests of this
 * preset with --wrap=_exit, this file does the same for _exit(), with which child processes and failing commands of the
 * tool end. */
#include <stdbool.h>

void __gcov_dump(void);

/* A test defines this function if a process must prepare for writing, or cannot write (then it returns false). */
bool coverage_begin(void);
__attribute__((weak)) bool coverage_begin(void) {
    return true;
}

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
void __wrap__exit(int status) {
    if (coverage_begin())
        __gcov_dump();
    __real__exit(status);
}
