/* os/posix/uninterrupted.h: system calls that are repeated if a signal interrupts them.
 *
 * A program that handles signals without SA_RESTART gets EINTR from calls that can block: opening a file on a network
 * file system or a FIFO, locking. Nothing has happened then, and the call can be repeated. fsync and close are
 * different, and are never repeated (os/posix/replace.c).
 *
 * The file that includes this header must define _GNU_SOURCE and _FILE_OFFSET_BITS first. */
#ifndef KITHI_OS_UNINTERRUPTED_H
#define KITHI_OS_UNINTERRUPTED_H

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>

/* Opens a file. `mode` is ignored unless the flags contain O_CREAT or O_TMPFILE. */
static inline int kithi_openat(int folder, const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = openat(folder, path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static inline int kithi_flock(int fd, int operation) {
    int locked;
    do
        locked = flock(fd, operation);
    while (locked != 0 && errno == EINTR);
    return locked;
}

#endif
