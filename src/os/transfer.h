/* os/transfer.h: reads and writes of all bytes, repeated if they are interrupted or short, and files without a name.
 * After a failure errno holds the reason. */
#ifndef KITHI_OS_TRANSFER_H
#define KITHI_OS_TRANSFER_H

#include <stdint.h>

#include <kith/status.h>

/* Writes at the current position, which the file need not have: a pipe, a device. */
KITH_MUST_USE kith_status kithi_write(int fd, const void *bytes, uint64_t byte_count);

/* These do not use the current position. KITH_E_TRUNCATED: the file ends before. */
KITH_MUST_USE kith_status kithi_write_at(int fd, const void *bytes, uint64_t byte_count, uint64_t at);
KITH_MUST_USE kith_status kithi_read_at(int fd, void *bytes, uint64_t byte_count, uint64_t at);

/* Creates a file without a name in a folder, open for reading and writing. Returns its descriptor, or -1. */
int kithi_open_unnamed(const char *folder);

/* Opens a pipe or a device for writing. Returns its descriptor, or -1. */
int kithi_open_stream(const char *path);

#endif
