/* uninterrupted.h: system calls that are repeated if a signal interrupts them before they have done anything.
 *
 * The tool's own handlers restart them (SA_RESTART), but SIGALRM does not (opened.c), and some file systems return
 * EINTR whatever the handler says. */
#ifndef CLI_UNINTERRUPTED_H
#define CLI_UNINTERRUPTED_H

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>

/* open(2). The mode is ignored unless the flags say that a file is created. */
static inline int open_fully(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = open(path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* openat(2), likewise. */
static inline int openat_fully(int folder, const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = openat(folder, path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

#endif
