/* Linux: descriptors of names (O_PATH), renameat2, fallocate, access lists in extended attributes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/posix/system.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/map.h"
#include "os/posix/uninterrupted.h"

#define ACL_NAME "system.posix_acl_access"

/* The name is opened with O_PATH and examined through that descriptor. */
bool kithi_look_up(int folder, const char *name, struct stat *st, char text[PATH_MAX]) {
    int entry = kithi_openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (entry < 0)
        return false;
    bool found = fstat(entry, st) == 0 && (!S_ISLNK(st->st_mode) || kithi_read_link(entry, "", text));
    kithi_close_file(entry);
    return found;
}

/* musl has had renameat2() only since version 1.2.6. */
bool kithi_exchange(int folder, const char *a, const char *b) {
#ifdef RENAME_EXCHANGE
    return renameat2(folder, a, folder, b, RENAME_EXCHANGE) == 0;
#elif defined(SYS_renameat2)
    enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE of the kernel */
    return syscall(SYS_renameat2, folder, a, folder, b, EXCHANGE) == 0;
#else
    (void)folder, (void)a, (void)b;
    errno = ENOSYS;
    return false;
#endif
}

/* Uses fallocate instead of posix_fallocate, which writes into every block where the file system cannot reserve space.
 * After a signal, too, writing shows whether there is enough space. The call is not repeated then: tmpfs has undone
 * everything, and another signal could interrupt it again. */
bool kithi_reserve(int fd, size_t byte_count) {
    return byte_count == 0 || fallocate(fd, 0, 0, (off_t)byte_count) == 0 || errno == EOPNOTSUPP || errno == EINVAL ||
           errno == ENOSYS || errno == EINTR;
}

bool kithi_sync(int fd, bool only_data) {
    return (only_data ? fdatasync(fd) : fsync(fd)) == 0;
}

static bool has_no_list(int error) {
    return error == ENODATA || error == EOPNOTSUPP;
}

ssize_t kithi_read_access_list(int fd, void *list) {
    ssize_t list_bytes = fgetxattr(fd, ACL_NAME, list, KITHI_ACCESS_LIST_MAX);
    return list_bytes < 0 && has_no_list(errno) ? 0 : list_bytes;
}

bool kithi_set_access_list(int fd, const void *list, size_t byte_count) {
    if (byte_count == 0)
        return fremovexattr(fd, ACL_NAME) == 0 || has_no_list(errno);
    return fsetxattr(fd, ACL_NAME, list, byte_count, 0) == 0;
}

/* An entry of a folder, as the kernel writes it: bytes 16 and 17 are its size, and its name follows byte 18. C
 * libraries have different names for this struct and for the call. They agree on readdir(), but that allocates
 * memory. */
enum { ENTRY_SIZE_AT = 16, ENTRY_NAME_AT = 19, LISTING_BYTES = 4096 };

static ssize_t list(int folder, char entries[LISTING_BYTES]) {
#ifdef __GLIBC__
    return getdents64(folder, entries, LISTING_BYTES);
#else
    return syscall(SYS_getdents64, folder, entries, LISTING_BYTES);
#endif
}

void kithi_each_name(int folder, void (*visit)(void *context, const char *name), void *context) {
    char entries[LISTING_BYTES]; /* at least one entry must fit: NAME_MAX bytes and its header */
    ssize_t entries_bytes;
    while ((entries_bytes = list(folder, entries)) > 0) {
        uint16_t entry_bytes;
        for (const char *entry = entries; entry < entries + entries_bytes; entry += entry_bytes) {
            memcpy(&entry_bytes, entry + ENTRY_SIZE_AT, sizeof entry_bytes);
            visit(context, entry + ENTRY_NAME_AT);
        }
    }
}
