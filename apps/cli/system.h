/* system.h: calls that not every system has, with what stands in for them.
 *
 * The file that includes this header must define _GNU_SOURCE and _FILE_OFFSET_BITS first. */
#ifndef CLI_SYSTEM_H
#define CLI_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Fills in at most 256 random bytes. Returns false if the system has none. */
static inline bool random_fully(void *bytes, size_t byte_count) {
#ifdef __APPLE__
    return getentropy(bytes, byte_count) == 0;
#else
    ssize_t got;
    do
        got = getrandom(bytes, byte_count, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)byte_count;
#endif
}

/* A pipe, both ends of which a new program does not get. */
static inline int open_pipe(int ends[2], bool is_blocking) {
#ifdef __APPLE__
    if (pipe(ends) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        if (!is_blocking)
            (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
#else
    return pipe2(ends, is_blocking ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK);
#endif
}

static inline int sync_data(int fd) {
#ifdef __APPLE__
    return fsync(fd);
#else
    return fdatasync(fd);
#endif
}

/* Makes a private mapping larger, at another address if need be. MAP_FAILED: it is as it was. */
static inline void *grow_mapping(void *old, size_t old_bytes, size_t byte_count) {
#ifdef MREMAP_MAYMOVE
    return mremap(old, old_bytes, byte_count, MREMAP_MAYMOVE);
#else
    void *bytes = mmap(NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (bytes != MAP_FAILED) {
        memcpy(bytes, old, old_bytes);
        (void)munmap(old, old_bytes);
    }
    return bytes;
#endif
}

#endif
