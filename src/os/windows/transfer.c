#include "os/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdint.h>

#include "os/errno_status.h"
#include "os/windows/windows.h"

enum { PIECE_MAX = 1 << 30 };

static DWORD piece(uint64_t byte_count) {
    return (DWORD)(byte_count < PIECE_MAX ? byte_count : PIECE_MAX);
}

bool kithi_wide_path(const char *path, wchar_t wide[KITHI_PATH_UNITS]) {
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, KITHI_PATH_UNITS) > 0)
        return true;
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EINVAL;
    return false;
}

bool kithi_fail_windows(void) {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
        errno = ENOENT;
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
        errno = EACCES;
        break;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        errno = ENOSPC;
        break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        errno = ENOMEM;
        break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        errno = EEXIST;
        break;
    default:
        errno = EIO;
    }
    return false;
}

kith_status kithi_write(int fd, const void *bytes, uint64_t byte_count) {
    const char *from = bytes;
    while (byte_count > 0) {
        int written = _write(fd, from, piece(byte_count));
        if (written <= 0)
            return kithi_status_with_errno(written == 0 ? EIO : errno);
        from += written;
        byte_count -= (unsigned)written;
    }
    return KITH_OK;
}

/* An OVERLAPPED names the position, so that several threads can read at once. */
static OVERLAPPED position(uint64_t at) {
    return (OVERLAPPED){.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
}

kith_status kithi_write_at(int fd, const void *bytes, uint64_t byte_count, uint64_t at) {
    const char *from = bytes;
    while (byte_count > 0) {
        OVERLAPPED where = position(at);
        DWORD written = 0;
        if (!WriteFile((HANDLE)_get_osfhandle(fd), from, piece(byte_count), &written, &where) || written == 0) {
            (void)kithi_fail_windows();
            return kithi_status_from_errno(errno);
        }
        from += written;
        at += written;
        byte_count -= written;
    }
    return KITH_OK;
}

kith_status kithi_read_at(int fd, void *bytes, uint64_t byte_count, uint64_t at) {
    char *to = bytes;
    while (byte_count > 0) {
        OVERLAPPED where = position(at);
        DWORD got = 0;
        if (!ReadFile((HANDLE)_get_osfhandle(fd), to, piece(byte_count), &got, &where) &&
            GetLastError() != ERROR_HANDLE_EOF) {
            (void)kithi_fail_windows();
            return kithi_status_from_errno(errno);
        }
        if (got == 0)
            return KITH_E_TRUNCATED;
        to += got;
        at += got;
        byte_count -= got;
    }
    return KITH_OK;
}

/* Windows removes the file when its last handle is closed, however the program ends. */
int kithi_open_unnamed(const char *folder) {
    wchar_t wide[KITHI_PATH_UNITS], path[MAX_PATH];
    if (!kithi_wide_path(folder, wide))
        return -1;
    HANDLE file = INVALID_HANDLE_VALUE;
    if (GetTempFileNameW(wide, L"kth", 0, path) != 0)
        file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                           FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        (void)kithi_fail_windows();
        return -1;
    }
    return _open_osfhandle((intptr_t)file, _O_RDWR | _O_BINARY | _O_NOINHERIT);
}

int kithi_open_stream(const char *path) {
    wchar_t wide[KITHI_PATH_UNITS];
    return kithi_wide_path(path, wide) ? _wopen(wide, _O_WRONLY | _O_BINARY | _O_NOINHERIT) : -1;
}
