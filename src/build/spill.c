/* The temporary file of a builder. It is created without a name where the system can do that (O_TMPFILE). Elsewhere its
 * name is removed as soon as it is created. So the system deletes the file, however the program ends. (A program that
 * is killed between these two calls leaves an empty file.) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "build/spill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/posix/uninterrupted.h"
#include "os/errno_status.h"

enum { IO_BYTES_MAX = 1 << 30 }; /* of one read or write; some systems reject more than INT_MAX */

/* Returns the descriptor, or -1 with the reason in errno. */
static int open_without_name(const char *folder) {
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

kith_status kithi_spill_open(kithi_spill_file *s, const char *folder, const kith_allocator *allocator) {
    *s = (kithi_spill_file){.allocator = *allocator, .fd = open_without_name(folder)};
    return s->fd >= 0 ? KITH_OK : kithi_status_from_errno(errno);
}

void kithi_spill_close(kithi_spill_file *s) {
    kithi_release(&s->allocator, s->entries, s->allocated * sizeof *s->entries);
    int saved = errno;
    (void)close(s->fd);
    errno = saved;
    s->fd = -1;
}

static kith_status write_all(int fd, const void *memory, uint64_t bytes, uint64_t at) {
    const char *from = memory;
    while (bytes > 0) {
        ssize_t written = pwrite(fd, from, (size_t)(bytes < IO_BYTES_MAX ? bytes : IO_BYTES_MAX), (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return kithi_status_from_errno(errno);
        if (written == 0)
            return kithi_status_with_errno(ENOSPC);
        from += written;
        at += (uint64_t)written;
        bytes -= (uint64_t)written;
    }
    return KITH_OK;
}

static kith_status read_all(int fd, void *memory, uint64_t bytes, uint64_t at) {
    char *to = memory;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, (size_t)(bytes < IO_BYTES_MAX ? bytes : IO_BYTES_MAX), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return KITH_E_IO;
        to += got;
        at += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return KITH_OK;
}

static bool reserve_entry(kithi_spill_file *s) {
    if (s->count < s->allocated)
        return true;
    size_t allocated = s->allocated == 0 ? 16 : 2 * s->allocated;
    kithi_spill *larger = kithi_allocate(&s->allocator, allocated * sizeof *larger);
    if (larger == NULL)
        return false;
    if (s->count != 0)
        memcpy(larger, s->entries, s->count * sizeof *larger);
    kithi_release(&s->allocator, s->entries, s->allocated * sizeof *larger);
    s->entries = larger;
    s->allocated = allocated;
    return true;
}

kith_status kithi_spill_write(kithi_spill_file *s, const uint64_t *by_part, const size_t *starts,
                              const uint8_t *order) {
    if (!reserve_entry(s))
        return KITH_E_MEMORY;
    uint64_t n = starts[KITHI_SPILL_PARTS], digests_bytes = n * sizeof *by_part;
    kith_status status = write_all(s->fd, by_part, digests_bytes, s->file_bytes);
    if (status == KITH_OK)
        status = write_all(s->fd, order, n, s->file_bytes + digests_bytes);
    if (status != KITH_OK)
        return status;
    kithi_spill *entry = &s->entries[s->count++];
    entry->at = s->file_bytes;
    memcpy(entry->starts, starts, sizeof entry->starts);
    s->file_bytes += digests_bytes + n;
    return KITH_OK;
}

uint64_t kithi_spill_total(const kithi_spill_file *s) {
    return s->file_bytes / (sizeof(uint64_t) + 1);
}

uint64_t kithi_spill_part_total(const kithi_spill_file *s, unsigned part) {
    uint64_t total = 0;
    for (size_t i = 0; i < s->count; i++)
        total += s->entries[i].starts[part + 1] - s->entries[i].starts[part];
    return total;
}

kith_status kithi_spill_read_part(const kithi_spill_file *s, unsigned part, uint64_t *digests) {
    kith_status status = KITH_OK;
    for (size_t i = 0; i < s->count && status == KITH_OK; i++) {
        const kithi_spill *entry = &s->entries[i];
        size_t from = entry->starts[part], n = entry->starts[part + 1] - from;
        status = read_all(s->fd, digests, n * sizeof *digests, entry->at + from * sizeof *digests);
        digests += n;
    }
    return status;
}

kith_status kithi_spill_read(const kithi_spill_file *s, size_t index, uint64_t *by_part, uint8_t *order) {
    const kithi_spill *entry = &s->entries[index];
    uint64_t n = entry->starts[KITHI_SPILL_PARTS], digests_bytes = n * sizeof *by_part;
    kith_status status = read_all(s->fd, by_part, digests_bytes, entry->at);
    return status == KITH_OK ? read_all(s->fd, order, n, entry->at + digests_bytes) : status;
}
