/* Opens and examines a file, then maps it or reads it into memory.
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

#include "os/posix/uninterrupted.h"
#include "os/errno_status.h"

enum { READ_BYTES_MAX = 1 << 30 }; /* Linux shortens a read to 2 GiB - 4 KiB, other systems reject more than INT_MAX */

static kith_status refuse(int error) {
    errno = error;
    return kithi_status_from_errno(error);
}

static kith_status size_of(int fd, size_t *byte_count) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return kithi_status_from_errno(errno);
    if (!S_ISREG(st.st_mode))
        return refuse(S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
    if (st.st_size <= 0)
        return KITH_E_EMPTY;
    if ((uintmax_t)st.st_size > PTRDIFF_MAX) /* no object may be larger: pointer differences would overflow */
        return KITH_E_TOO_LARGE;
    *byte_count = (size_t)st.st_size;
    return KITH_OK;
}

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
    kith_status status = size_of(fd, &size);
    if (status != KITH_OK)
        return status;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return kithi_status_from_errno(errno);
    *bytes = map;
    *byte_count = size;
    return KITH_OK;
}

kith_status kithi_map_file(const char *path, const uint8_t **bytes, size_t *byte_count) {
    int fd;
    kith_status status = kithi_open_file(path, &fd);
    if (status != KITH_OK)
        return status;
    status = kithi_map_fd(fd, bytes, byte_count);
    kithi_close_file(fd);
    return status;
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

static kith_status read_all(int fd, uint8_t *buffer, size_t byte_count) {
    off_t at = 0;
    while (byte_count > 0) {
        ssize_t got = pread(fd, buffer, byte_count < READ_BYTES_MAX ? byte_count : READ_BYTES_MAX, at);
        if (got > 0) {
            buffer += got;
            at += got;
            byte_count -= (size_t)got;
        } else if (got == 0) {
            return KITH_E_TRUNCATED;
        } else if (errno != EINTR) {
            return kithi_status_from_errno(errno);
        }
    }
    return KITH_OK;
}

kith_status kithi_read_fd(int fd, uint8_t *(*get_buffer)(void *ctx, size_t byte_count), void *ctx, size_t *byte_count) {
    assert(get_buffer && byte_count);
    size_t size = 0;
    kith_status status = size_of(fd, &size);
    if (status != KITH_OK)
        return status;
    uint8_t *buffer = get_buffer(ctx, size);
    status = buffer ? read_all(fd, buffer, size) : KITH_E_MEMORY;
    if (status == KITH_OK)
        *byte_count = size;
    return status;
}

kith_status kithi_read_file(const char *path, uint8_t *(*get_buffer)(void *ctx, size_t byte_count), void *ctx,
                            size_t *byte_count) {
    int fd;
    kith_status status = kithi_open_file(path, &fd);
    if (status != KITH_OK)
        return status;
    status = kithi_read_fd(fd, get_buffer, ctx, byte_count);
    kithi_close_file(fd);
    return status;
}

typedef struct block_request {
    const kith_allocator *allocator;
    uint8_t *block;
    size_t byte_count;
} block_request;

static uint8_t *allocate_block(void *ctx, size_t byte_count) {
    block_request *request = ctx;
    request->block = kithi_allocate(request->allocator, byte_count);
    request->byte_count = byte_count;
    return request->block;
}

/* Returns `status`. Gives the block to the caller, or, if the file could not be read, releases it. */
static kith_status finish_block(kith_status status, const block_request *request, uint8_t **bytes) {
    if (status == KITH_OK)
        *bytes = request->block;
    else
        kithi_release(request->allocator, request->block, request->byte_count);
    return status;
}

kith_status kithi_read_block(const char *path, const kith_allocator *allocator, uint8_t **bytes, size_t *byte_count) {
    block_request request = {allocator, NULL, 0};
    return finish_block(kithi_read_file(path, allocate_block, &request, byte_count), &request, bytes);
}

kith_status kithi_read_block_fd(int fd, const kith_allocator *allocator, uint8_t **bytes, size_t *byte_count) {
    block_request request = {allocator, NULL, 0};
    return finish_block(kithi_read_fd(fd, allocate_block, &request, byte_count), &request, bytes);
}
