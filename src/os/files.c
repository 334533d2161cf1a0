/* The loops that repeat short and interrupted calls. */
#include "os/files.h"

#include <errno.h>

#include "os/errno_status.h"

kith_status kithi_files_write(const kithi_files *files, int file, const void *bytes, size_t byte_count,
                              uint64_t offset) {
    const uint8_t *at = bytes;
    while (byte_count > 0) {
        int64_t written = files->write(files->context, file, at, byte_count, offset);
        if (written > 0) {
            at += written;
            offset += (uint64_t)written;
            byte_count -= (size_t)written;
        } else if (written == 0) {
            return kithi_status_with_errno(EIO);
        } else if (errno != EINTR) {
            return kithi_status_from_errno(errno);
        }
    }
    return KITH_OK;
}

kith_status kithi_files_read(const kithi_files *files, int file, void *bytes, size_t byte_count, uint64_t offset,
                             size_t *got) {
    *got = 0;
    while (*got < byte_count) {
        int64_t more = files->read(files->context, file, (uint8_t *)bytes + *got, byte_count - *got, offset + *got);
        if (more == 0)
            break;
        if (more > 0)
            *got += (size_t)more;
        else if (errno != EINTR)
            return kithi_status_from_errno(errno);
    }
    return KITH_OK;
}

kith_status kithi_files_truncate(const kithi_files *files, int file, uint64_t bytes) {
    while (files->truncate(files->context, file, bytes) != 0)
        if (errno != EINTR)
            return kithi_status_from_errno(errno);
    return KITH_OK;
}

kith_status kithi_files_open(const kithi_files *files, int folder, const char *name, bool writable, int *file) {
    do
        *file = files->open(files->context, folder, name, writable);
    while (*file < 0 && errno == EINTR);
    return *file < 0 ? kithi_status_from_errno(errno) : KITH_OK;
}

kith_status kithi_files_open_journal(const kithi_files *files, int folder, const char *name, bool writable, int *file) {
    kith_status status = kithi_files_open(files, folder, name, writable, file);
    bool is_regular = errno != EISDIR && errno != ELOOP && errno != EINVAL && errno != ENXIO;
    return status == KITH_E_IO && !is_regular ? KITH_E_JOURNAL_FOREIGN : status;
}
