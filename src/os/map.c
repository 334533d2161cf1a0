/* What opening a file is made of on every system; posix/map.c and windows/map.c have the rest. */
#define _FILE_OFFSET_BITS 64

#include "os/map.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "os/errno_status.h"
#include "os/transfer.h"

kith_status kithi_file_size(int fd, size_t *byte_count) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return kithi_status_from_errno(errno);
    if (!S_ISREG(st.st_mode))
        return kithi_status_with_errno(S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
    if (st.st_size <= 0)
        return KITH_E_EMPTY;
    if ((uintmax_t)st.st_size > PTRDIFF_MAX) /* no object may be larger: pointer differences would overflow */
        return KITH_E_ADDRESS;
    *byte_count = (size_t)st.st_size;
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

kith_status kithi_read_fd(int fd, uint8_t *(*get_buffer)(void *ctx, size_t byte_count), void *ctx, size_t *byte_count) {
    assert(get_buffer && byte_count);
    size_t size = 0;
    kith_status status = kithi_file_size(fd, &size);
    if (status != KITH_OK)
        return status;
    uint8_t *buffer = get_buffer(ctx, size);
    status = buffer ? kithi_read_at(fd, buffer, size, 0) : KITH_E_MEMORY;
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
