/* A file without a name is created as one where the system can do that (O_TMPFILE). Elsewhere its name is removed as
 * soon as it is created. So the system deletes the file, however the program ends. (A program that is killed between
 * these two calls leaves an empty file.) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/errno_status.h"
#include "os/posix/uninterrupted.h"

enum { PIECE_MAX = 1 << 30 }; /* Linux shortens transfers to 2 GiB - 4 KiB, others reject more than INT_MAX */

static size_t piece(uint64_t byte_count) {
    return (size_t)(byte_count < PIECE_MAX ? byte_count : PIECE_MAX);
}

kith_status kithi_write(int fd, const void *bytes, uint64_t byte_count) {
    const char *from = bytes;
    while (byte_count > 0) {
        ssize_t written = write(fd, from, piece(byte_count));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return kithi_status_with_errno(written == 0 ? EIO : errno);
        from += written;
        byte_count -= (uint64_t)written;
    }
    return KITH_OK;
}

kith_status kithi_write_at(int fd, const void *bytes, uint64_t byte_count, uint64_t at) {
    const char *from = bytes;
    while (byte_count > 0) {
        ssize_t written = pwrite(fd, from, piece(byte_count), (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return kithi_status_with_errno(written == 0 ? EIO : errno);
        from += written;
        at += (uint64_t)written;
        byte_count -= (uint64_t)written;
    }
    return KITH_OK;
}

kith_status kithi_read_at(int fd, void *bytes, uint64_t byte_count, uint64_t at) {
    char *to = bytes;
    while (byte_count > 0) {
        ssize_t got = pread(fd, to, piece(byte_count), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? KITH_E_TRUNCATED : kithi_status_from_errno(errno);
        to += got;
        at += (uint64_t)got;
        byte_count -= (uint64_t)got;
    }
    return KITH_OK;
}

int kithi_open_unnamed(const char *folder) {
#ifdef O_TMPFILE
    int fd = kithi_openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL))
        return fd;
#endif
    char path[4096];
    int made;
    do {
        int length = snprintf(path, sizeof path, "%s/kith-XXXXXX", folder);
        if (length < 0 || (size_t)length >= sizeof path) {
            errno = ENOENT;
            return -1;
        }
        made = mkostemp(path, O_CLOEXEC);
    } while (made < 0 && errno == EINTR);
    if (made >= 0)
        (void)unlink(path);
    return made;
}

int kithi_open_stream(const char *path) {
    return kithi_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
}
