/* os/map.h: reads a file, either mapped or copied into memory.
 *
 * Mapping is fast to open, shares the pages among processes, and reads only the pages that are used. Copy the file if
 * it cannot be trusted to stay unchanged (another user's folder, a network file system): if a file is truncated while
 * it is mapped, the process gets SIGBUS, which no status code can report. Files written by kithi_replace_file() are
 * never truncated: a new file takes the name, and the old one continues to exist while it is mapped.
 *
 * All functions follow symbolic links, accept only regular files, and may be called from any thread. After KITH_E_IO,
 * KITH_E_PERMISSION and KITH_E_NO_FILE errno holds the reason.
 *
 * The functions with _fd at the end of their names take a file that is open for reading instead of its path. They read
 * it from its beginning, do not move its offset and do not close it. */
#ifndef KITHI_OS_MAP_H
#define KITHI_OS_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <kith/status.h>

#include "core/alloc.h"

/* Opens a file for reading. Whether it is regular is checked by the functions below. */
KITH_MUST_USE kith_status kithi_open_file(const char *path, int *fd);
void kithi_close_file(int fd); /* preserves errno */

/* The size of a regular file that is not empty; the codes are those of kithi_map_file(). */
KITH_MUST_USE kith_status kithi_file_size(int fd, size_t *byte_count);

/* Maps the whole file, read-only. Cost: a few system calls; pages are read when they are first accessed.
 *
 * KITH_OK             (*bytes)[0 .. *byte_count) is the file, page-aligned. The bytes between its end and the end of
 *                     its last page read as zeros; an access beyond that page crashes. Later changes to the file
 *                     appear in the mapping.
 * KITH_E_EMPTY        the file is empty
 * KITH_E_NO_FILE      there is no such file
 * KITH_E_PERMISSION   the file may not be read
 * KITH_E_ADDRESS      the file has more than PTRDIFF_MAX bytes, too many for one object
 * KITH_E_MEMORY       this process has not enough free address space
 * KITH_E_IO           EISDIR: a folder; EINVAL: a FIFO or a device; ENODEV: this file system cannot map files, use
 *                     kithi_read_file(); or a disk error
 *
 * On failure *bytes and *byte_count are unchanged. */
KITH_MUST_USE kith_status kithi_map_file(const char *path, const uint8_t **bytes, size_t *byte_count);
KITH_MUST_USE kith_status kithi_map_fd(int fd, const uint8_t **bytes, size_t *byte_count);

/* Unmaps what kithi_map_file() returned. Does nothing if `bytes` is NULL. Preserves errno. */
void kithi_unmap_file(const uint8_t *bytes, size_t byte_count);

/* Reads the whole file into a buffer of the caller. Once the size of the file is known (it is at least 1),
 * get_buffer(ctx, size) is called once. It returns a buffer of that many bytes, or NULL. The caller owns the buffer,
 * also after a failure.
 *
 * KITH_OK             the first *byte_count bytes of the buffer are the file; *byte_count was its size when the call
 *                     began
 * KITH_E_MEMORY       get_buffer returned NULL; nothing was read
 * KITH_E_TRUNCATED    the file became shorter while it was read; the buffer is unspecified, as after KITH_E_IO
 * KITH_E_EMPTY, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_ADDRESS, KITH_E_IO
 *                     as above. get_buffer was not called, unless KITH_E_IO comes from reading the file
 *
 * On failure *byte_count is unchanged. */
KITH_MUST_USE kith_status kithi_read_file(const char *path, uint8_t *(*get_buffer)(void *ctx, size_t byte_count),
                                          void *ctx, size_t *byte_count);
KITH_MUST_USE kith_status kithi_read_fd(int fd, uint8_t *(*get_buffer)(void *ctx, size_t byte_count), void *ctx,
                                        size_t *byte_count);

/* Like kithi_read_file(), but into a block from the allocator, which the caller must release. On failure nothing is
 * allocated. */
KITH_MUST_USE kith_status kithi_read_block(const char *path, const kith_allocator *allocator, uint8_t **bytes,
                                           size_t *byte_count);
KITH_MUST_USE kith_status kithi_read_block_fd(int fd, const kith_allocator *allocator, uint8_t **bytes,
                                              size_t *byte_count);

#endif
