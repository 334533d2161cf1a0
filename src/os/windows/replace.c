/* Replaces a file: writes a temporary file in the same folder, flushes it, and moves it over the old one, which Windows
 * does atomically on its own file systems. What it lacks of replace.h: the file gets the access rights of its folder,
 * also if it is secret; a killed process leaves its temporary file, which nobody removes; links are followed only for
 * the folder; and there are no guards and no folders that are kept open (kithi_find_target: KITH_E_UNSUPPORTED). */
#include "os/replace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>

#include "core/random.h"
#include "os/errno_status.h"
#include "os/map.h"
#include "os/transfer.h"
#include "os/windows/windows.h"

static kith_status fail_windows(void) {
    (void)kithi_fail_windows();
    return kithi_status_from_errno(errno);
}

/* Refuses what is there and is not a file. */
static kith_status check_target(const wchar_t *path) {
    DWORD attributes = GetFileAttributesW(path);
    if (attributes == INVALID_FILE_ATTRIBUTES)
        return GetLastError() == ERROR_FILE_NOT_FOUND ? KITH_OK : fail_windows();
    if (attributes & FILE_ATTRIBUTE_DIRECTORY)
        return kithi_status_with_errno(EISDIR);
    return attributes & (FILE_ATTRIBUTE_DEVICE | FILE_ATTRIBUTE_REPARSE_POINT) ? kithi_status_with_errno(EINVAL)
                                                                               : KITH_OK;
}

static kith_status write_file(const wchar_t *path, const kithi_part *parts, size_t count) {
    int fd = _wopen(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, 0600);
    if (fd < 0)
        return kithi_status_from_errno(errno);
    kith_status status = KITH_OK;
    for (size_t i = 0; i < count && status == KITH_OK; i++)
        status = kithi_write(fd, parts[i].bytes, parts[i].byte_count);
    if (status == KITH_OK && !FlushFileBuffers((HANDLE)_get_osfhandle(fd)))
        status = fail_windows();
    kithi_close_file(fd);
    return status;
}

kith_status kithi_replace_file_parts(const char *path, const kithi_part *parts, size_t count, bool secret) {
    assert(path && (parts || count == 0));
    (void)secret;
    uint64_t random;
    wchar_t wide[KITHI_PATH_UNITS], temp[KITHI_PATH_UNITS];
    if (!kithi_wide_path(path, wide) || !kithi_random(&random, sizeof random))
        return kithi_status_from_errno(errno);
    int length = _snwprintf(temp, KITHI_PATH_UNITS, L"%ls.kith-%016llx", wide, (unsigned long long)random);
    if (length < 0 || length >= KITHI_PATH_UNITS)
        return kithi_status_with_errno(ENAMETOOLONG);
    kith_status status = check_target(wide);
    if (status != KITH_OK)
        return status;
    status = write_file(temp, parts, count);
    if (status == KITH_OK && !MoveFileExW(temp, wide, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        status = fail_windows();
    if (status != KITH_OK) {
        int error = errno;
        (void)DeleteFileW(temp);
        errno = error;
    }
    return status;
}

kith_status kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret) {
    kithi_part whole = {bytes, byte_count};
    return kithi_replace_file_parts(path, &whole, 1, secret);
}

kith_status kithi_replace_file_at(int folder, const kithi_replacement *replacement) {
    (void)folder, (void)replacement;
    return kithi_status_with_errno(ENOSYS);
}

kith_status kithi_find_target(const char *path, bool to_read, int *folder, char *name, size_t name_bytes) {
    (void)path, (void)to_read, (void)folder, (void)name, (void)name_bytes;
    return kithi_status_with_errno(ENOSYS);
}
