/* macOS and FreeBSD. What they lack: descriptors of names that may be links (so a link is looked at twice), reserved
 * space (so a full disk shows while the file is written), on FreeBSD the exchange of names (so replace.c renames), and
 * calls that list a folder without memory of the C library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/posix/system.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/acl.h>
#include <unistd.h>

#include "os/map.h"
#include "os/posix/uninterrupted.h"

static bool fail(int error) {
    errno = error;
    return false;
}

/* Two descriptions that agree enclose the text: nobody can change the text of a link, only replace the link. */
bool kithi_look_up(int folder, const char *name, struct stat *st, char text[PATH_MAX]) {
    enum { TRIES = 100 }; /* then somebody is playing with the name */
    char read[PATH_MAX];  /* `name` may be part of `text` */
    for (int tries = 0; tries < TRIES; tries++) {
        struct stat after;
        if (fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW) != 0)
            return false;
        if (!S_ISLNK(st->st_mode))
            return true;
        if (!kithi_read_link(folder, name, read)) {
            if (errno == EINVAL) /* it is no link any more */
                continue;
            return false;
        }
        if (fstatat(folder, name, &after, AT_SYMLINK_NOFOLLOW) == 0 && after.st_dev == st->st_dev &&
            after.st_ino == st->st_ino && S_ISLNK(after.st_mode)) {
            memcpy(text, read, strlen(read) + 1);
            return true;
        }
    }
    return fail(EBUSY);
}

bool kithi_exchange(int folder, const char *a, const char *b) {
#ifdef RENAME_SWAP
    return renameatx_np(folder, a, folder, b, RENAME_SWAP) == 0 || (errno == ENOTSUP && fail(ENOSYS));
#else
    (void)folder, (void)a, (void)b;
    return fail(ENOSYS);
#endif
}

bool kithi_reserve(int fd, size_t byte_count) {
    (void)fd, (void)byte_count;
    return true;
}

/* fsync of macOS leaves the bytes in the disk's own memory. Not every file system knows the request that does not. */
bool kithi_sync(int fd, bool only_data) {
#ifdef F_FULLFSYNC
    (void)only_data;
    return fcntl(fd, F_FULLFSYNC) == 0 || fsync(fd) == 0;
#else
    return (only_data ? fdatasync(fd) : fsync(fd)) == 0;
#endif
}

#ifdef __APPLE__

static bool has_no_list(int error) {
    return error == ENOENT || error == EOPNOTSUPP || error == ENOTSUP;
}

ssize_t kithi_read_access_list(int fd, void *list) {
    acl_t acl = acl_get_fd_np(fd, ACL_TYPE_EXTENDED);
    if (acl == NULL)
        return has_no_list(errno) ? 0 : -1;
    ssize_t list_bytes = acl_size(acl);
    if (list_bytes > KITHI_ACCESS_LIST_MAX) {
        list_bytes = -1;
        errno = ERANGE;
    } else {
        list_bytes = acl_copy_ext_native(list, acl, list_bytes);
    }
    (void)acl_free(acl);
    return list_bytes;
}

bool kithi_set_access_list(int fd, const void *list, size_t byte_count) {
    acl_t acl = byte_count == 0 ? acl_init(0) : acl_copy_int_native(list);
    if (acl == NULL)
        return false;
    bool set = acl_set_fd_np(fd, acl, ACL_TYPE_EXTENDED) == 0 || (byte_count == 0 && has_no_list(errno));
    (void)acl_free(acl);
    return set;
}

#else

/* FreeBSD has two types of lists, and each file has one. It is trivial if the permission bits say the same. */
static acl_type_t type_of_list(int fd) {
    return fpathconf(fd, _PC_ACL_NFS4) == 1 ? ACL_TYPE_NFS4 : ACL_TYPE_ACCESS;
}

ssize_t kithi_read_access_list(int fd, void *list) {
    int trivial = 0;
    (void)list;
    acl_t acl = acl_get_fd_np(fd, type_of_list(fd));
    if (acl == NULL)
        return errno == EOPNOTSUPP || errno == EINVAL ? 0 : -1;
    bool known = acl_is_trivial_np(acl, &trivial) == 0;
    (void)acl_free(acl);
    if (known && trivial)
        return 0;
    errno = ERANGE;
    return -1;
}

bool kithi_set_access_list(int fd, const void *list, size_t byte_count) {
    int trivial = 0;
    (void)list;
    if (byte_count != 0)
        return fail(ERANGE);
    acl_type_t type = type_of_list(fd);
    acl_t acl = acl_get_fd_np(fd, type);
    if (acl == NULL)
        return errno == EOPNOTSUPP || errno == EINVAL;
    bool done = acl_is_trivial_np(acl, &trivial) == 0 && trivial;
    acl_t bare = done ? NULL : acl_strip_np(acl, 0);
    if (bare != NULL) {
        done = acl_set_fd_np(fd, bare, type) == 0;
        (void)acl_free(bare);
    }
    (void)acl_free(acl);
    return done;
}

#endif

void kithi_each_name(int folder, void (*visit)(void *context, const char *name), void *context) {
    int copy = kithi_openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (dir == NULL) {
        if (copy >= 0)
            kithi_close_file(copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        visit(context, entry->d_name);
    (void)closedir(dir);
}
