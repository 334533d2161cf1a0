/* Replaces a file atomically: write a temporary file, sync it, exchange the names, sync the folder.
 *
 * POSIX cannot change the bytes of a file atomically, but rename is atomic. The new bytes therefore go into a new file
 * in the same folder (rename does not work across file systems), which gets the name only when all bytes are safely on
 * disk. The steps, and why they come in this order:
 *
 *   1 find        follow links to the last name; reject anything but a regular file, before anything is written
 *     clean up    remove the temporary files of processes that were killed
 *   2 create      O_EXCL, so that no existing file or link of that name is used; then lock the file
 *   3 access      set owner and mode while the file is empty: the bytes are never readable by more users than the old
 *                 ones, the quota of the right owner is charged, and a failure costs nothing
 *   4 reserve     space on the disk, so that a full disk is reported before gigabytes are written
 *   5 write       all parts, one after the other
 *   6 fsync file  before the rename: rename does not flush data, so otherwise the name may refer to an empty file
 *                 after a power cut
 *   7 close       network file systems report late errors here
 *   8 exchange    name <-> temporary name, atomically: readers see either the old or the new file
 *   9 fsync folder   the rename was atomic immediately, but is durable only now
 *  10 unlink      the old file, which has had the temporary name since step 8
 *
 *        after 7                              after 8                              after 10
 *        x.kith                    -> old     x.kith                    -> new     x.kith -> new
 *        .x.kith.kith-q7k2vdxqn4it -> new     .x.kith.kith-q7k2vdxqn4it -> old
 *
 * A plain rename would save step 10, but step 9 can fail, and after a plain rename the old file is gone by then. After
 * an exchange it still exists, and renaming it back over the new one keeps the promise that a failed call changes
 * nothing. On a file system without exchange, a plain rename is used, and this promise is not kept if step 9 fails.
 *
 * A process that is killed leaves the file with the temporary name behind; temporary.c says how the next save to the
 * same target recognises and removes it. To show that its new file and the old one are in use, each save holds an
 * exclusive flock on both until the temporary name is free again. The kernel drops these locks whenever and however the
 * process ends, and they also work between containers, where process ids mean nothing. A new file exists for a moment
 * before it is locked. If another save removes it in that moment, its creator sees that the name is gone and creates
 * another file. Leftovers are removed before anything is written, because their space may be needed.
 *
 * The kernel promises little about a failed fsync. ext4, XFS and Btrfs mark the pages clean anyway, and a second fsync
 * returns 0 although the data is lost (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC
 * 2020). fsync is therefore never retried, not even after EINTR; the file is discarded.
 *
 * A guard (replace.h) says which file is to be replaced. It is compared with the file that has the name before anything
 * is written, and with the one that has the temporary name after step 8, when nobody else can change the outcome any
 * more: if they differ, the names are exchanged back. A file that must be new gets its name by a link.
 *
 * Links are followed here, one name after the other, because the temporary file must be in the folder of the last one.
 * This bypasses the kernel's protection (fs.protected_symlinks), so the same rule is applied here: in a sticky folder
 * that everyone may write, a link is followed only if it belongs to the caller or to the folder's owner. Otherwise
 * anyone could point /tmp/x.kith at a file that belongs to root. The link that was examined is the
 * one that is followed (kithi_look_up()).
 *
 * Nothing is allocated. The umask is never read, because a process cannot read its umask without setting it: a new file
 * is created with mode 0666 and the kernel applies the umask; a file whose mode is known is created with 0600 and
 * changed afterwards. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/replace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/errno_status.h"
#include "os/map.h"
#include "os/posix/system.h"
#include "os/posix/temporary.h"
#include "os/posix/uninterrupted.h"
#include "os/transfer.h"

enum {
    LINKS_MAX = 40,   /* the limit of the kernel for one path */
    NAME_TRIES = 100, /* then give up: only an attacker in a shared folder can cause that many collisions */
};

/* The file that a path refers to after all links are followed. */
struct target {
    int folder;          /* open for reading, for the *at calls and the last fsync; negative: not open */
    bool exists;         /* there is a regular file of this name */
    struct stat old;     /* valid if `exists` */
    const char *name;    /* in the folder; points into path */
    bool to_read;        /* the folder is not listed or synced, so it need not be readable */
    kithi_guard *guard;  /* NULL: none */
    char path[PATH_MAX]; /* the path, or the text of the last link followed */
};

/* What the file is to hold. */
struct content {
    const kithi_part *parts;
    size_t count;
    size_t byte_count; /* of all parts */
    bool secret;
    const char *like; /* file whose access rights a new file gets; NULL: none */
    const int *open_file;
};

/* The file whose access rights the new file gets: the old file, or the one that content.like names. */
struct model {
    bool exists;
    int fd;         /* negative: not open */
    bool is_shared; /* the caller has it open, too */
    struct stat st;
};

static void unlink_quietly(int folder, const char *name) {
    int error = errno;
    (void)unlinkat(folder, name, 0);
    errno = error;
}

static bool is_named(const struct target *t, const char *name, const struct stat *st) {
    return kithi_names_file(t->folder, name, st);
}

/* Except for claim() and chown_is_not_possible(), all static helpers below that return bool return false on failure,
 * with the reason in errno. */

static bool fail(int error) {
    errno = error;
    return false;
}

/* Splits path at its last slash, opens the folder part relative to `from`, and points *name at the rest. */
static int open_folder(int from, char *path, const char **name, bool to_read) {
    const char *folder = ".";
    char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (slash == path) {
        folder = "/";
    } else if (slash) {
        *slash = '\0';
        folder = path;
    }
    return kithi_openat(from, folder, (to_read ? KITHI_O_SEARCH : O_RDONLY) | O_DIRECTORY | O_CLOEXEC, 0);
}

static bool link_is_trusted(int folder, const struct stat *link) {
    struct stat in;
    if (fstat(folder, &in) != 0)
        return false;
    bool is_sticky_and_shared = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
    if (is_sticky_and_shared && link->st_uid != geteuid() && link->st_uid != in.st_uid)
        return fail(EACCES);
    return true;
}

/* Examines what t->name refers to. The text of a link replaces t->path. A regular file is the target. Anything else is
 * rejected, except for a name that does not exist. */
static bool examine(struct target *t, bool *exists, bool *is_link) {
    *exists = kithi_look_up(t->folder, t->name, &t->old, t->path);
    if (!*exists)
        return errno == ENOENT;
    *is_link = S_ISLNK(t->old.st_mode);
    if (*is_link)
        return link_is_trusted(t->folder, &t->old);
    return S_ISREG(t->old.st_mode) || fail(S_ISDIR(t->old.st_mode) ? EISDIR : EINVAL);
}

static bool find_target(int start, const char *path, bool follow_links, struct target *t) {
    size_t path_bytes = strlen(path);
    t->folder = -1;
    t->exists = false;
    if (path_bytes == 0)
        return fail(ENOENT);
    if (path_bytes >= sizeof t->path)
        return fail(ENAMETOOLONG);
    memcpy(t->path, path, path_bytes + 1);

    for (int links = 0; links <= LINKS_MAX; links++) {
        int from = t->folder;
        t->folder = open_folder(from < 0 ? start : from, t->path, &t->name, t->to_read);
        if (from >= 0)
            kithi_close_file(from);
        if (t->folder < 0)
            return false;
        if (*t->name == '\0')
            return fail(EISDIR);
        bool exists, is_link = false;
        if (!examine(t, &exists, &is_link))
            return false;
        if (!exists)
            return true;
        if (is_link && !follow_links)
            return fail(ELOOP);
        if (!is_link) {
            t->exists = true;
            return true;
        }
    }
    return fail(ELOOP);
}

/* Returns whether the name refers to the file that the guard expects. Without a guard, any file will do. */
static bool is_expected(const struct target *t, const char *name) {
    kithi_file_id id;
    return t->guard == NULL || t->guard->any ||
           (kithi_file_id_of(t->folder, name, &id) && kithi_same_file(&id, &t->guard->is));
}

static bool fail_unexpected(const struct target *t) {
    t->guard->is_other = true;
    return fail(EBUSY);
}

/* Removes the temporary name. */
static void drop_temp(const struct target *t, const char *temp) {
    int error = errno;
    if (unlinkat(t->folder, temp, 0) != 0 && errno != ENOENT && t->guard != NULL)
        (void)snprintf(t->guard->left, sizeof t->guard->left, "%s", temp);
    errno = error;
}

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills a process that does not handle it. */
static bool size_is_allowed(size_t byte_count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return false;
    return limit.rlim_cur == RLIM_INFINITY || byte_count <= (uintmax_t)limit.rlim_cur || fail(EFBIG);
}

/* Locks a file that was just created, so that no other save removes it as a leftover. Returns false if another save has
 * locked the file first, and so has removed it or is about to. */
static bool claim(const struct target *t, int fd, const char *name) {
    struct stat st;
    if (kithi_flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) != 0 || is_named(t, name, &st);
}

static int create_temp(const struct target *t, mode_t mode, kithi_temporary_name name) {
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        if (!kithi_temporary_choose(t->name, name))
            return -1;
        int fd = kithi_openat(t->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd >= 0 && claim(t, fd, name))
            return fd;
        if (fd >= 0) {
            unlink_quietly(t->folder, name);
            kithi_close_file(fd);
            errno = EEXIST;
        }
    }
    return -1;
}

static bool chown_is_not_possible(int error) {
    return error == EPERM || error == EINVAL /* an id outside our user namespace */ || error == EOPNOTSUPP ||
           error == ENOSYS;
}

/* Gives the file the old file's owner and group, or at least the group, as far as allowed. *now describes the file
 * afterwards. */
static bool keep_owner(int fd, const struct stat *old, struct stat *now) {
    if (fstat(fd, now) != 0)
        return false;
    if (now->st_uid == old->st_uid && now->st_gid == old->st_gid)
        return true;
    if (fchown(fd, old->st_uid, old->st_gid) != 0) {
        if (!chown_is_not_possible(errno))
            return false;
        if (now->st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0 && !chown_is_not_possible(errno))
            return false;
    }
    return fstat(fd, now) == 0;
}

/* Returns the old permission bits without those that would give someone new access. If the group is different, the new
 * group's members were "other" before and the old group's members are "other" now, so both classes get only what both
 * had. If the owner is different, the old owner may now be in either class, so neither gets more than the owner had. */
static mode_t narrowed_mode(const struct stat *old, const struct stat *now) {
    mode_t owner = (old->st_mode >> 6) & 7, group = (old->st_mode >> 3) & 7, other = old->st_mode & 7;
    if (now->st_gid != old->st_gid)
        group = other = group & other;
    if (now->st_uid != old->st_uid) {
        group &= owner;
        other &= owner;
    }
    return (mode_t)(owner << 6 | group << 3 | other);
}

/* Opens the old file, to read its access list and to lock it. m->fd is negative if the file may not be read, or has
 * been removed since it was found. The lock tells other saves that the file is in use while it has the temporary name.
 * If someone else holds a lock on the file, their lock has the same effect. If there is no old file, opens the file
 * `like` instead, without locking it. */
static bool open_model(const struct target *t, const struct content *content, struct model *m) {
    *m = (struct model){.exists = t->exists, .fd = -1};
    if (t->exists)
        m->st = t->old;
    const char *name = t->exists ? t->name : content->like;
    if (name == NULL)
        return true;
    struct stat st;
    m->is_shared = t->exists && content->open_file != NULL && fstat(*content->open_file, &st) == 0 &&
                   st.st_dev == t->old.st_dev && st.st_ino == t->old.st_ino;
    if (m->is_shared)
        m->fd = fcntl(*content->open_file, F_DUPFD_CLOEXEC, 0);
    else
        m->fd = kithi_openat(t->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (t->exists) {
        if (m->fd < 0)
            return errno == EACCES || errno == EPERM || errno == ENOENT;
        (void)kithi_flock(m->fd, LOCK_EX | LOCK_NB);
        return true;
    }
    if (m->fd < 0)
        return errno == ENOENT;
    m->exists = true;
    return fstat(m->fd, &m->st) == 0;
}

static void close_model(const struct model *m) {
    int error = errno;
    if (m->fd >= 0 && m->is_shared)
        (void)kithi_flock(m->fd, LOCK_UN); /* closing it would not release the lock */
    if (m->fd >= 0)
        kithi_close_file(m->fd);
    errno = error;
}

/* Reads the access list of the model. `fd` is negative if the model is not open. *acl_bytes is the size of the list; 0:
 * there is none; negative: it could not be determined. */
static bool read_acl(int fd, void *acl, ssize_t *acl_bytes) {
    *acl_bytes = fd < 0 ? -1 : kithi_read_access_list(fd, acl);
    return fd < 0 || *acl_bytes >= 0 || errno == ERANGE;
}

/* Removes the access list that the file may have inherited from the folder, then sets the permission bits. Fails if the
 * file then has bits that are not in `mode`: on FAT, for example, fchmod may return 0 and change nothing. */
static bool set_mode(int fd, mode_t mode) {
    struct stat now;
    if (!kithi_set_access_list(fd, NULL, 0) || fstat(fd, &now) != 0)
        return false;
    if ((now.st_mode & 0777) == mode)
        return true;
    if (fchmod(fd, mode) != 0 || fstat(fd, &now) != 0)
        return false;
    return (now.st_mode & 0777 & ~mode) == 0 || fail(EPERM);
}

static bool set_access(int fd, const struct model *m, bool secret) {
    struct stat now;
    if (!m->exists)
        return !secret || set_mode(fd, 0600);
    if (!keep_owner(fd, &m->st, &now))
        return false;
    if (secret)
        return set_mode(fd, 0600);

    unsigned char acl[KITHI_ACCESS_LIST_MAX];
    ssize_t acl_bytes;
    if (!read_acl(m->fd, acl, &acl_bytes))
        return false;
    mode_t mode = narrowed_mode(&m->st, &now);
    bool list_fits = now.st_uid == m->st.st_uid && now.st_gid == m->st.st_gid;
    if (acl_bytes != 0 && !(acl_bytes > 0 && list_fits)) {
        /* Permission bits alone cannot express the list, so only the owner keeps access. */
        mode &= 0700;
        acl_bytes = 0;
    }
    if (!set_mode(fd, mode))
        return false;
    return acl_bytes == 0 || kithi_set_access_list(fd, acl, (size_t)acl_bytes);
}

static bool write_all(int fd, const struct content *content) {
    for (size_t i = 0; i < content->count; i++)
        if (kithi_write(fd, content->parts[i].bytes, content->parts[i].byte_count) != KITH_OK)
            return false;
    return true;
}

/* After EINTR Linux has closed the descriptor, and fsync has already reported that the data is safe. */
static bool close_written(int fd) {
    return close(fd) == 0 || errno == EINTR;
}

/* Some file systems cannot sync folders and report that. The rename is then as durable as it can be. */
static bool sync_folder(int folder) {
    return kithi_sync(folder, false) || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
}

static bool exchange(const struct target *t, const char *temp) {
    return kithi_exchange(t->folder, temp, t->name);
}

/* Undoes step 8, unless the name refers to another process's file by now. If the old file was displaced (it has the
 * temporary name since an exchange), it gets its name back. If there was no old file, the new one is removed. A rename
 * over an old file cannot be undone, so the new file stays. If an exchange cannot be undone, the old file is removed,
 * because the temporary name must become free. */
static void undo_publish(const struct target *t, const char *temp, const struct stat *new_file, bool displaced) {
    int error = errno;
    bool is_ours = is_named(t, t->name, new_file);
    bool restored = displaced && is_ours && renameat(t->folder, temp, t->folder, t->name) == 0;
    if (displaced && !restored)
        drop_temp(t, temp);
    else if (!displaced && is_ours && !t->exists)
        (void)unlinkat(t->folder, t->name, 0);
    errno = error;
}

/* Undoes an exchange that has displaced an unexpected file. If that is replaced by yet another one before this, the
 * other one keeps the name. */
static bool exchange_back(const struct target *t, const char *temp, const struct stat *new_file) {
    t->guard->is_written = !exchange(t, temp);
    if (t->guard->is_written)
        return false;
    if (!is_named(t, temp, new_file))
        (void)exchange(t, temp);
    return fail_unexpected(t);
}

/* Gives the new file its name, which no file may have. Uses a second link, because a rename could replace a file. */
static bool name_new_file(const struct target *t, const char *temp) {
    if (linkat(t->folder, temp, t->folder, t->name, 0) == 0) {
        drop_temp(t, temp);
        return true;
    }
    if (errno == EEXIST)
        return fail_unexpected(t);
    bool has_no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
    if (has_no_links && !is_expected(t, t->name))
        return fail_unexpected(t);
    return has_no_links && renameat(t->folder, temp, t->folder, t->name) == 0;
}

/* Step 8. Sets *displaced to whether the old file now has the temporary name. */
static bool exchange_names(const struct target *t, const char *temp, const struct stat *new_file, bool *displaced) {
    bool must_be_new = t->guard != NULL && !t->guard->any && !t->exists;
    *displaced = t->exists && exchange(t, temp);
    if (*displaced && !is_expected(t, temp)) {
        *displaced = false;
        return exchange_back(t, temp, new_file);
    }
    if (*displaced)
        return true;
    if (must_be_new)
        return name_new_file(t, temp);
    /* EINVAL and ENOSYS: there is no exchange here. ENOENT: the old file has been removed since it was found. */
    bool rename_will_do = !t->exists || errno == EINVAL || errno == ENOSYS || errno == ENOENT;
    if (rename_will_do && !is_expected(t, t->name))
        return fail_unexpected(t);
    return rename_will_do && renameat(t->folder, temp, t->folder, t->name) == 0;
}

/* Steps 8 to 10. The temporary name is free afterwards, also on failure. */
static bool publish(const struct target *t, const char *temp, const struct stat *new_file) {
    bool displaced;
    if (!exchange_names(t, temp, new_file, &displaced)) {
        drop_temp(t, temp);
        return false;
    }
    if (!sync_folder(t->folder)) {
        undo_publish(t, temp, new_file, displaced);
        return false;
    }
    if (displaced)
        drop_temp(t, temp);
    return true;
}

/* Steps 2 to 10. */
static bool replace_opened(const struct target *t, const struct model *m, const struct content *content) {
    kithi_temporary_name temp;
    struct stat new_file;
    int fd = create_temp(t, m->exists || content->secret ? 0600 : 0666, temp);
    if (fd < 0)
        return false;
    bool written = set_access(fd, m, content->secret) && kithi_reserve(fd, content->byte_count) &&
                   write_all(fd, content) && fstat(fd, &new_file) == 0 && kithi_sync(fd, false);
    /* close may fail and therefore comes before the exchange. A second descriptor keeps the lock until publish() is
     * done. */
    int lock = written ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (lock < 0)
        kithi_close_file(fd);
    else
        written = close_written(fd);
    bool published = false;
    if (lock >= 0 && written)
        published = publish(t, temp, &new_file);
    else
        drop_temp(t, temp);
    if (lock >= 0)
        kithi_close_file(lock);
    return published;
}

static bool replace(const struct target *t, const struct content *content) {
    struct model m;
    if (!size_is_allowed(content->byte_count))
        return false;
    kithi_temporary_remove(t->folder, t->name, t->exists ? &t->old : NULL);
    bool replaced = open_model(t, content, &m) && replace_opened(t, &m, content);
    close_model(&m);
    return replaced;
}

static kith_status replace_from(int start, const char *path, bool follow_links, const kithi_replacement *r) {
    assert(path && (r->parts || r->count == 0));
    struct content content = {r->parts, r->count, 0, r->secret, r->like, r->open_file};
    for (size_t i = 0; i < r->count; i++) {
        const kithi_part *part = &r->parts[i];
        assert((part->bytes || part->byte_count == 0) && part->byte_count <= PTRDIFF_MAX - content.byte_count);
        content.byte_count += part->byte_count;
    }
    struct target t = {.guard = r->guard};
    bool replaced = find_target(start, path, follow_links, &t) && (is_expected(&t, t.name) || fail_unexpected(&t)) &&
                    replace(&t, &content);
    if (replaced && t.guard != NULL)
        (void)kithi_file_id_of(t.folder, t.name, &t.guard->is);
    if (t.folder >= 0)
        kithi_close_file(t.folder);
    return replaced ? KITH_OK : kithi_status_from_errno(errno);
}

kith_status kithi_replace_file_parts(const char *path, const kithi_part *parts, size_t count, bool secret) {
    return replace_from(AT_FDCWD, path, true, &(kithi_replacement){.parts = parts, .count = count, .secret = secret});
}

kith_status kithi_replace_file_at(int folder, const kithi_replacement *r) {
    if (r->guard == NULL)
        return replace_from(folder, r->name, false, r);
    r->guard->is_other = r->guard->is_written = false;
    r->guard->left[0] = '\0';
    kith_status status = replace_from(folder, r->name, false, r);
    return r->guard->is_other ? KITH_E_REPLACED : status;
}

kith_status kithi_find_target(const char *path, bool to_read, int *folder, char *name, size_t name_bytes) {
    struct target t = {.to_read = to_read};
    bool found = find_target(AT_FDCWD, path, true, &t);
    if (found && strlen(t.name) >= name_bytes)
        found = fail(ENAMETOOLONG);
    if (found) {
        memcpy(name, t.name, strlen(t.name) + 1);
        *folder = t.folder;
        return KITH_OK;
    }
    if (t.folder >= 0)
        kithi_close_file(t.folder);
    return kithi_status_from_errno(errno);
}

kith_status kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret) {
    kithi_part whole = {bytes, byte_count};
    return kithi_replace_file_parts(path, &whole, 1, secret);
}
