/* box.h: runs a function on hostile bytes in a process that can do next to nothing.
 *
 * The process may read files that are open already, use memory, and send its result to the tool. Any other system call
 * kills it (seccomp). So if a file could make the code that reads it run code from the file, that code could not
 * open files, use the network or start programs; it could only report a wrong result for this one file.
 *
 *     tool         fork ------------------------------------------> read the result, wait
 *     process      prepare() -> the box closes -> work() -> write the result to a pipe, exit
 *
 * The box needs Linux and libseccomp. Under a sanitizer there is none, because sanitizers make system calls of their
 * own. */
#ifndef CLI_BOX_H
#define CLI_BOX_H

#include <stdbool.h>
#include <stddef.h>

#define BOX_RESULT_MAX 1024

typedef struct box_job {
    void (*prepare)(void *context); /* opens files */
    /* Fills in `result`, which is zeroed, of result_bytes (at most BOX_RESULT_MAX). It may not open files, print or end
     * the tool. */
    void (*work)(void *context, void *result);
    void *context;
    void *result;
    size_t result_bytes;
} box_job;

typedef struct box_end {
    enum {
        BOX_DONE,      /* the result is there */
        BOX_FORBIDDEN, /* the process made a system call that is not allowed, and was killed */
        BOX_SIGNALLED, /* another signal killed it: `number` */
        BOX_BROKEN,    /* the process could not be started, or ended without a result: `number` is an errno, or 0 */
    } how;
    int number;
    char open_because[96]; /* not empty: the box could not be closed, and why; the work was done nevertheless */
} box_end;

/* Returns NULL if this build has a box, and otherwise why it has none. */
const char *box_missing(void);

/* Runs a job in a box. If the system does not support seccomp, it still runs in a separate process. A result must be
 * treated like the file itself: whoever wrote the file may have written it. */
box_end box_run(const box_job *job);

/* Runs a job in this process. `why` is what open_because will be. */
box_end box_run_open(const box_job *job, const char *why);

/* ---- box_seccomp.c, or box_none.c where there is no libseccomp ---- */

/* Makes the list of allowed calls, once, before the first process is started. Returns 0 or an errno. */
int box_make(void);

/* Closes the box around this process, which may only write to stdout from then on. Returns 0, an errno if something
 * went wrong, or -1 with a sentence in *why_not if the system does not support it. */
int box_close(const char **why_not);

#endif
