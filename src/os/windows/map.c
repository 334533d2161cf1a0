/* Files are read into memory instead of being mapped: a file that is mapped cannot be replaced. */
#include "os/map.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>

#include "os/errno_status.h"
#include "os/transfer.h"
#include "os/windows/windows.h"

kith_status kithi_open_file(const char *path, int *fd) {
    assert(path && fd);
    wchar_t wide[KITHI_PATH_UNITS];
    *fd = kithi_wide_path(path, wide) ? _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT) : -1;
    return *fd < 0 ? kithi_status_from_errno(errno) : KITH_OK;
}

void kithi_close_file(int fd) {
    int error = errno;
    (void)_close(fd);
    errno = error;
}

kith_status kithi_map_fd(int fd, const uint8_t **bytes, size_t *byte_count) {
    assert(bytes && byte_count);
    size_t size = 0;
    kith_status status = kithi_file_size(fd, &size);
    if (status != KITH_OK)
        return status;
    void *memory = VirtualAlloc(NULL, size, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    DWORD before;
    status = memory != NULL ? kithi_read_at(fd, memory, size, 0) : KITH_E_MEMORY;
    if (status != KITH_OK || !VirtualProtect(memory, size, PAGE_READONLY, &before)) {
        kithi_unmap_file(memory, size);
        return status != KITH_OK ? status : KITH_E_MEMORY;
    }
    *bytes = memory;
    *byte_count = size;
    return KITH_OK;
}

void kithi_unmap_file(const uint8_t *bytes, size_t byte_count) {
    (void)byte_count;
    if (bytes != NULL)
        (void)VirtualFree((void *)(uintptr_t)bytes, 0, MEM_RELEASE);
}
