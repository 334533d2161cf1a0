/* wake.c: a pipe to which wake_up() writes a byte. A condition variable would not do: a signal handler must not use it.
 * Both ends are non-blocking: a full pipe is readable anyway. */
#define _GNU_SOURCE

#include "cli/wake.h"

#include <errno.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/system.h"

static int ends[2] = {-1, -1};

void wake_open(void) {
    if (ends[0] < 0 && open_pipe(ends, false) != 0)
        fail("cannot create a pipe: %s", text_of_errno(errno));
}

int wake_fd(void) {
    return ends[0];
}

void wake_up(void) {
    int error = errno;
    ssize_t written = ends[1] < 0 ? 0 : write(ends[1], "", 1);
    (void)written;
    errno = error;
}

void wake_drain(void) {
    char bytes[64];
    ssize_t got;
    do
        got = read(ends[0], bytes, sizeof bytes);
    while (got == (ssize_t)sizeof bytes || (got < 0 && errno == EINTR));
}
