/* calls.h: makes calls of the C library fail in a process that runs the tool.
 *
 * The linker replaces the calls of the tool by those of calls.c (--wrap), which pass them on. While the record is
 * armed, the n-th of the calls that can fail in the chosen way does so. The record is in memory that the parent shares
 * with the process, so that the parent can read what happened, however the process ended. Calls of shared libraries are
 * not replaced, except allocations in a build without sanitizer. */
#ifndef KITH_TESTS_CALLS_H
#define KITH_TESTS_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MEMORY = 1 << 0,
    SYSTEM = 1 << 1,
    INTERRUPTED = 1 << 2,
    SPACE = 1 << 3,
    TRANSFERS = 1 << 4,
    SYNCS = 1 << 5,
    UNLINKS = 1 << 6,
};

typedef enum call {
#define CALL(name, properties) CALL_##name,
#include "calls.def"
#undef CALL
    CALLS,
} call;

extern const char *const call_names[CALLS];
extern const int call_properties[CALLS];

typedef struct calls {
    int which;   /* only calls with all of these properties are counted */
    int error;   /* the errno, or 0: the call transfers only the first byte, or the first half */
    uint64_t at; /* the number of the call that fails, from 1; 0: none */
    bool stays;  /* all later ones fail, too */

    _Atomic uint64_t seen;                            /* calls counted */
    _Atomic uint64_t made[CALLS];                     /* all calls */
    _Atomic int hit;                                  /* the call that failed first, plus 1 */
    _Atomic unsigned renames, renames_before_failure; /* of files, in all and before the last call that failed */
    atomic_bool unlink_failed, sync_failed, sync_repeated;
    dev_t sync_device;
    ino_t sync_inode;
    _Atomic uint64_t drawn; /* random numbers */
} calls;

/* In memory that is shared with child processes. */
extern calls *faults;

void calls_share(void);

/* Whether calls of this process can fail. */
void calls_arm(bool armed);

#endif
