/* Opens and maps a file.
 *
 * A filter is its bytes, so opening one needs only one mmap. The code here adds the checks that mmap does not make:
 * that the path names a regular file, that the file is not empty (mapping 0 bytes fails with EINVAL), and that its size
 * is at most PTRDIFF_MAX.
 *
 *   open     O_NONBLOCK, because opening a FIFO that has no writer would block forever; no effect on regular files
 *   fstat    on the descriptor, not the path, so that the file that was examined is the one that is mapped
 *   mmap     PROT_READ, MAP_SHARED
 *   close    the mapping itself keeps the file alive
 *
 * MAP_SHARED and MAP_PRIVATE both share the page cache as long as nobody writes. MAP_SHARED of a read-only descriptor
 * guarantees one thing more: the kernel refuses a later mprotect(PROT_WRITE), so no stray write can make this process's
 * filter differ from the file.
 *
 * Past the end of the file, the rest of its last page reads as zeros, and an access to a later page of the mapping
 * raises SIGBUS. A mapping has such later pages if the file was truncated after it was mapped. The library therefore
 * never truncates the file of a filter or table (replace.c). Files that another program may truncate can be read into
 * memory instead. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/map.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/errno_status.h"
#include "os/posix/uninterrupted.h"

kith_status kithi_open_file(const char *path, int *fd) {
    assert(path && fd);
    *fd = kithi_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    return *fd < 0 ? kithi_status_from_errno(errno) : KITH_OK;
}

void kithi_close_file(int fd) {
    int error = errno;
    (void)close(fd);
    errno = error;
}

kith_status kithi_map_fd(int fd, const uint8_t **bytes, size_t *byte_count) {
    assert(bytes && byte_count);
    size_t size = 0;
    kith_status status = kithi_file_size(fd, &size);
    if (status != KITH_OK)
        return status;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return kithi_status_from_errno(errno);
    *bytes = map;
    *byte_count = size;
    return KITH_OK;
}

void kithi_unmap_file(const uint8_t *bytes, size_t byte_count) {
    if (!bytes)
        return;
    int error = errno;
    /* munmap has no const parameter although it writes nothing. It fails only for invalid arguments. */
    int unmapped = munmap((void *)(uintptr_t)bytes, byte_count);
    assert(unmapped == 0);
    (void)unmapped;
    errno = error;
}
