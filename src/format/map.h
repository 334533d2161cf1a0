/* map.h: a file's bytes for reading, mapped or copied.
 *
 * Map to open at once, to share the pages among processes, and to read only what is asked for. Copy where the file is
 * not to be trusted to stay as it is (another's folder, a network file system): a file that is cut while it is
 * mapped ends the process with SIGBUS, which no status can tell. Files written by kithi_replace_file are never cut:
 * a new one takes the name, and the old one lives on under its maps.
 *
 * Both follow symbolic links, and take regular files only. Both may be called from any thread. After KITH_E_IO,
 * KITH_E_PERMISSION and KITH_E_NO_FILE errno says why. */
#ifndef KITHI_FORMAT_MAP_H
#define KITHI_FORMAT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <kith/status.h>

#include "core/alloc.h"

/* Maps the whole file, read-only. Cost: a few system calls; pages are read when touched.
 *
 * KITH_OK             (*bytes)[0 .. *byte_count) is the file, page-aligned; reading past its last byte up to the end of
 *                     the page gives zeros, past the page a crash. A later change of the file's bytes shows in the map.
 * KITH_E_EMPTY        the file has no bytes
 * KITH_E_NO_FILE      there is no such file
 * KITH_E_PERMISSION   it may not be read
 * KITH_E_TOO_LARGE    larger than this machine's address space
 * KITH_E_MEMORY       no room for it in the address space of this process
 * KITH_E_IO           EISDIR: a folder; EINVAL: a FIFO or a device; ENODEV: this file system cannot map, use
 *                     kithi_read_file; or an error of the disk
 *
 * On failure *bytes and *byte_count are untouched. */
KITH_MUST_USE kith_status kithi_map_file(const char *path, const uint8_t **bytes, size_t *byte_count);

/* Ends a map, given as kithi_map_file gave it. bytes may be NULL: nothing happens. Leaves errno alone. */
void kithi_unmap_file(const uint8_t *bytes, size_t byte_count);

/* Reads the whole file into memory of the caller's. Once the size is known, take(ctx, size) is called, once, with size
 * at least 1; it returns room for that many bytes, or NULL. The room stays the caller's, also after a failure.
 *
 * KITH_OK             the first *byte_count bytes of the room are the file, as long as it was when it was opened
 * KITH_E_MEMORY       take returned NULL; nothing was read
 * KITH_E_TRUNCATED    the file became shorter while it was read; the room's content is unspecified, as after KITH_E_IO
 * KITH_E_EMPTY, KITH_E_NO_FILE, KITH_E_PERMISSION, KITH_E_TOO_LARGE, KITH_E_IO
 *                     as above; take was not called, except that KITH_E_IO can also come from reading
 *
 * On failure *byte_count is untouched. */
KITH_MUST_USE kith_status kithi_read_file(const char *path, uint8_t *(*take)(void *ctx, size_t byte_count), void *ctx,
                                          size_t *byte_count);

/* The same into a block of the allocator's, which is the caller's on success; on failure nothing is held. */
KITH_MUST_USE kith_status kithi_read_block(const char *path, const kith_allocator *allocator, uint8_t **bytes,
                                           size_t *byte_count);

#endif
