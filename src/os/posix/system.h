/* os/posix/system.h: what POSIX leaves out, or each system does in its own way. linux/system.c has the calls of Linux,
 * bsd/system.c those of macOS and FreeBSD and, where they have none, the next best.
 *
 * Functions that return bool return false on failure, with the reason in errno.
 *
 * The file that includes this header must define _GNU_SOURCE and _FILE_OFFSET_BITS first. */
#ifndef KITHI_OS_SYSTEM_H
#define KITHI_OS_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The flag that opens a folder only to look up names in it: it need not be readable. */
#if defined(O_PATH)
#define KITHI_O_SEARCH O_PATH
#elif defined(O_SEARCH)
#define KITHI_O_SEARCH O_SEARCH
#else
#define KITHI_O_SEARCH O_RDONLY
#endif

#ifdef __APPLE__
#define KITHI_MTIM st_mtimespec
#else
#define KITHI_MTIM st_mtim
#endif

static inline bool kithi_read_link(int folder, const char *name, char text[PATH_MAX]) {
    ssize_t text_bytes = readlinkat(folder, name, text, PATH_MAX);
    if (text_bytes == PATH_MAX)
        errno = ENAMETOOLONG;
    if (text_bytes < 0 || text_bytes == PATH_MAX)
        return false;
    text[text_bytes] = '\0';
    return true;
}

/* Describes what a name refers to, without following a link; the text of a link is copied to `text`. It is the text of
 * the link that `st` describes, also if the name changes meanwhile. */
bool kithi_look_up(int folder, const char *name, struct stat *st, char text[PATH_MAX]);

/* Exchanges two names atomically. ENOSYS or EINVAL: the system, or the file system, cannot do that. */
bool kithi_exchange(int folder, const char *a, const char *b);

/* Reserves space on the disk, if the file system can do that. It is not a failure if it cannot. */
bool kithi_reserve(int fd, size_t byte_count);

/* Waits until the bytes of a file, or the names of a folder, would survive a power cut. With `only_data`, the times of
 * the file need not survive. */
bool kithi_sync(int fd, bool only_data);

/* Access lists, in addition to the permission bits. kithi_read_access_list() returns the size of the list, 0 if there
 * is none, and -1 on failure. ERANGE: the list is too large, or of a kind that cannot be copied. `byte_count` 0 removes
 * the list. */
enum { KITHI_ACCESS_LIST_MAX = 4096 }; /* 511 entries; ext4 holds about as many */
ssize_t kithi_read_access_list(int fd, void *list);
bool kithi_set_access_list(int fd, const void *list, size_t byte_count);

/* Calls visit() for each name in a folder, from its first one; nothing may have read entries through this descriptor.
 * If the folder cannot be listed, there are none. */
void kithi_each_name(int folder, void (*visit)(void *context, const char *name), void *context);

#endif
