/* replace.c: write beside, sync, swap names, sync the folder.
 *
 * POSIX has no "change these bytes all or not at all", but it has one step that is atomic: rename. So the new bytes go
 * into a new file in the same folder (rename does not cross file systems), and the name moves when nothing can go wrong
 * with the bytes any more. The steps, and why they come in this order:
 *
 *   1 find        follow links to the last name; refuse what is no regular file      nothing is written yet
 *     clean up    remove the temporary files of processes that were killed
 *   2 create      O_EXCL, so that no file or link that waits under the name is used; lock it
 *   3 access      owner and mode while the file is empty: quota goes to the right    the bytes are never
 *                 owner, and a refusal costs nothing                                 readable more widely
 *   4 reserve     fallocate: a full disk says so before gigabytes are written
 *   5 write       all bytes
 *   6 fsync file  before the rename: rename does not flush data, and after a power cut a name may otherwise
 *                 stand over an empty file
 *   7 close       network file systems report late errors here
 *   8 exchange    name <-> temporary name, atomically: readers see old or new
 *   9 fsync folder   a rename is atomic at once but durable only now
 *  10 unlink      the old file, until now kept under the temporary name
 *
 *        after 7                    after 8                    after 10
 *        x.kith          -> old     x.kith          -> new     x.kith -> new
 *        .x.kith.kith-a2 -> new     .x.kith.kith-a2 -> old
 *
 * Why exchange, where a plain rename would save step 10: step 9 can fail, and after a plain rename the old file is
 * gone by then. After an exchange it is still there, and renaming it back over the new one keeps the promise that a
 * failed call changes nothing. A file system without exchange gets the plain rename and loses this one promise.
 *
 * A process that is killed leaves the file that has the temporary name. The next save to the same target removes it, if it
 * can tell that no process is using it: each save holds an exclusive flock on its new file, and on the old one, until the
 * temporary name is free again. The kernel drops these locks when the process ends, however it ends, and they work between
 * containers, where process ids mean nothing. A save therefore removes a file with a temporary name of this target
 * only if it gets a shared lock on it. A new file exists for a moment before it is locked; if another save removes it in
 * that moment, its maker sees that the name is gone and makes another file. Where flock does not work, leftovers stay.
 * Leftovers are removed before anything is written, because their space may be needed. Failures of this step are ignored.
 *
 * What the kernel promises about a failed fsync is little: ext4, XFS and Btrfs mark the pages clean all the same, and a
 * second fsync answers 0 with the data lost (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX
 * ATC 2020). Hence no retry, not even after EINTR: the file is thrown away.
 *
 * Links are followed by hand, one name at a time, because the temporary file must lie in the folder of the last
 * one. This passes by the kernel's own guard (fs.protected_symlinks), so its rule is kept here: in a sticky folder
 * that all may write, a link counts only if it belongs to us or to the folder's owner. Else anyone could point
 * /tmp/x.kith at a file of root's. Each name is opened with O_PATH and examined through that descriptor, so
 * that what was examined is what is followed.
 *
 * Nothing is allocated, and no step reads the process's umask, which cannot be read without setting it: a new file is
 * created with 0666 and the kernel applies the umask; a file whose mode is known is created 0600 and then set. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "format/replace.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/errno_status.h"

enum {
    LINKS_MAX = 40,            /* as many as the kernel follows in one path */
    NAME_SHOWN_BYTES = 64,     /* of the target's name: known again, and fits everywhere (eCryptfs: 143) */
    NAME_RANDOM_BYTES = 6,     /* 30 bits; O_EXCL guards, chance only has to avoid collisions */
    NAME_TRIES = 100,          /* all taken by chance: never; by an enemy in a shared folder: give up */
    WRITE_BYTES_MAX = 1 << 30, /* Linux cuts a write at 2 GiB - 4 KiB, others refuse past INT_MAX */
    ACL_BYTES_MAX = 4096,      /* 511 entries; ext4 holds about as many */
    LISTING_BYTES = 4096,      /* at least one entry, of NAME_MAX bytes and a head, must fit */
};

#define NAME_MARK ".kith-"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz234567" /* one case: some file systems know only one */
#define ACL_NAME "system.posix_acl_access"

typedef char temp_name[1 + NAME_SHOWN_BYTES + sizeof NAME_MARK + NAME_RANDOM_BYTES];

/* The file that a path means once all links are followed. */
struct target {
    int folder;  /* open for reading: for the *at calls and for the last fsync; negative: none */
    bool exists; /* a regular file, described by old */
    struct stat old;
    const char *name;    /* within the folder; points into path */
    char path[PATH_MAX]; /* the path, or the text of the last link followed */
};

static void close_quietly(int fd) {
    int error = errno;
    (void)close(fd);
    errno = error;
}

static void unlink_quietly(int folder, const char *name) {
    int error = errno;
    (void)unlinkat(folder, name, 0);
    errno = error;
}

/* Whether the name still means the file that `st` describes. */
static bool is_named(const struct target *t, const char *name, const struct stat *st) {
    struct stat now;
    return fstatat(t->folder, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
           now.st_dev == st->st_dev;
}

/* All static helpers below that return bool: false means failed, and errno says why. */

static bool fail(int error) {
    errno = error;
    return false;
}

/* Splits path at its last slash, opens the folder part relative to `from`, and points *name at the rest. */
static int open_folder(int from, char *path, const char **name) {
    const char *folder = ".";
    char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (slash == path) {
        folder = "/";
    } else if (slash) {
        *slash = '\0';
        folder = path;
    }
    return openat(from, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool link_is_trusted(int folder, const struct stat *link) {
    struct stat in;
    if (fstat(folder, &in) != 0)
        return false;
    bool anyone_may_plant = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
    if (anyone_may_plant && link->st_uid != geteuid() && link->st_uid != in.st_uid)
        return fail(EACCES);
    return true;
}

/* Looks at the entry behind an O_PATH descriptor: a link's text replaces t->path, a regular file is what was sought,
 * anything else is refused. */
static bool examine(struct target *t, int entry, bool *is_link) {
    struct stat *st = &t->old;
    if (fstat(entry, st) != 0)
        return false;
    *is_link = S_ISLNK(st->st_mode);
    if (!*is_link)
        return S_ISREG(st->st_mode) || fail(S_ISDIR(st->st_mode) ? EISDIR : EINVAL);
    if (!link_is_trusted(t->folder, st))
        return false;
    ssize_t text_bytes = readlinkat(entry, "", t->path, sizeof t->path);
    if (text_bytes < 0)
        return false;
    if ((size_t)text_bytes == sizeof t->path)
        return fail(ENAMETOOLONG);
    t->path[text_bytes] = '\0';
    return true;
}

static bool find_target(const char *path, struct target *t) {
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
        t->folder = open_folder(from < 0 ? AT_FDCWD : from, t->path, &t->name);
        if (from >= 0)
            close_quietly(from);
        if (t->folder < 0)
            return false;
        if (*t->name == '\0')
            return fail(EISDIR);
        int entry = openat(t->folder, t->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (entry < 0)
            return errno == ENOENT;
        bool is_link = false;
        bool examined = examine(t, entry, &is_link);
        close_quietly(entry);
        if (!examined)
            return false;
        if (!is_link) {
            t->exists = true;
            return true;
        }
    }
    return fail(ELOOP);
}

/* Past RLIMIT_FSIZE the kernel sends SIGXFSZ, which kills a process that does not expect it. */
static bool size_is_allowed(size_t byte_count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return false;
    return limit.rlim_cur == RLIM_INFINITY || byte_count <= limit.rlim_cur || fail(EFBIG);
}

/* The part of a temporary name that all files of one target share; returns its length. */
static size_t begin_name(const char *target_name, temp_name name) {
    size_t shown = strlen(target_name);
    if (shown > NAME_SHOWN_BYTES) {
        shown = NAME_SHOWN_BYTES;
        while (shown > 0 && ((unsigned char)target_name[shown] & 0xC0) == 0x80) /* never within a UTF-8 character */
            shown--;
    }
    name[0] = '.';
    memcpy(name + 1, target_name, shown);
    memcpy(name + 1 + shown, NAME_MARK, sizeof NAME_MARK);
    return 1 + shown + sizeof NAME_MARK - 1;
}

static bool choose_name(const char *target_name, temp_name name) {
    static_assert(sizeof NAME_LETTERS == 32 + 1, "five bits a letter, without bias");
    unsigned char random[NAME_RANDOM_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    char *end = name + begin_name(target_name, name);
    for (size_t i = 0; i < sizeof random; i++)
        *end++ = NAME_LETTERS[random[i] % 32];
    *end = '\0';
    return true;
}

/* Removes a file that has a temporary name of this target, unless someone is using it or it is not ours. Saves give their
 * files to the owner of the file that they replace, so his count as ours. */
static void remove_leftover(const struct target *t, const char *name) {
    struct stat st;
    int fd = openat(t->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || (t->exists && st.st_uid == t->old.st_uid));
    if (ours && flock(fd, LOCK_SH | LOCK_NB) == 0 && is_named(t, name, &st))
        unlink_quietly(t->folder, name);
    close_quietly(fd);
}

/* The folder was opened by find_target and is read here once, from its beginning. */
static void remove_leftovers(const struct target *t) {
    temp_name stem;
    size_t stem_bytes = begin_name(t->name, stem);
    char entries[LISTING_BYTES];
    ssize_t entries_bytes;
    while ((entries_bytes = getdents64(t->folder, entries, sizeof entries)) > 0) {
        unsigned short entry_bytes;
        for (const char *entry = entries; entry < entries + entries_bytes; entry += entry_bytes) {
            const char *name = entry + offsetof(struct dirent64, d_name);
            memcpy(&entry_bytes, entry + offsetof(struct dirent64, d_reclen), sizeof entry_bytes);
            if (strncmp(name, stem, stem_bytes) == 0 && strlen(name + stem_bytes) == NAME_RANDOM_BYTES &&
                strspn(name + stem_bytes, NAME_LETTERS) == NAME_RANDOM_BYTES)
                remove_leftover(t, name);
        }
    }
}

/* Locks a file that was just made, so that nobody takes it for a leftover. Returns false if another save has done so
 * already and has removed the file, or is about to. */
static bool claim(const struct target *t, int fd, const char *name) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) != 0 || is_named(t, name, &st);
}

static int create_temp(const struct target *t, mode_t mode, temp_name name) {
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        if (!choose_name(t->name, name))
            return -1;
        int fd = openat(t->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            return -1;
        if (fd >= 0 && claim(t, fd, name))
            return fd;
        if (fd >= 0) {
            unlink_quietly(t->folder, name);
            close_quietly(fd);
            errno = EEXIST;
        }
    }
    return -1;
}

static bool chown_is_not_for_us(int error) {
    return error == EPERM || error == EINVAL /* an id outside our user namespace */ || error == EOPNOTSUPP ||
           error == ENOSYS;
}

/* Gives the file the old one's owner and group, or at least the group, as far as allowed; *now is what it then has. */
static bool keep_owner(int fd, const struct stat *old, struct stat *now) {
    if (fstat(fd, now) != 0)
        return false;
    if (now->st_uid == old->st_uid && now->st_gid == old->st_gid)
        return true;
    if (fchown(fd, old->st_uid, old->st_gid) != 0) {
        if (!chown_is_not_for_us(errno))
            return false;
        if (now->st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0 && !chown_is_not_for_us(errno))
            return false;
    }
    return fstat(fd, now) == 0;
}

/* The old bits, less what would be a gain for someone: with another group, its members were "other" and the old
 * group's become it, so both classes get only what both had; with another owner, the old one falls into either. */
static mode_t narrowed_mode(const struct stat *old, const struct stat *now) {
    mode_t owner = (old->st_mode >> 6) & 7, group = (old->st_mode >> 3) & 7, other = old->st_mode & 7;
    if (now->st_gid != old->st_gid)
        group = other = group & other;
    if (now->st_uid != old->st_uid) {
        group &= owner;
        other &= owner;
    }
    return owner << 6 | group << 3 | other;
}

/* Opens the old file, for its access list and to lock it; *old is negative where it may not be read. Its lock shows others
 * that it is in use while it has the temporary name. A lock that someone else holds shows that too. */
static bool open_old(const struct target *t, int *old) {
    *old = -1;
    if (!t->exists)
        return true;
    *old = openat(t->folder, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*old < 0)
        return errno == EACCES || errno == EPERM;
    (void)flock(*old, LOCK_EX | LOCK_NB);
    return true;
}

/* Reads the old file's access list. *acl_bytes: its size; 0: it has none; negative: it cannot be told. */
static bool read_acl(int old, void *acl, ssize_t *acl_bytes) {
    *acl_bytes = -1;
    if (old < 0)
        return true;
    *acl_bytes = fgetxattr(old, ACL_NAME, acl, ACL_BYTES_MAX);
    if (*acl_bytes >= 0 || errno == ERANGE)
        return true;
    if (errno != ENODATA && errno != EOPNOTSUPP)
        return false;
    *acl_bytes = 0;
    return true;
}

/* Drops what a default list of the folder may have given the file, then sets the bits, and looks whether the file
 * system took them: FAT, for one, may answer 0 and keep its own. */
static bool set_mode(int fd, mode_t mode) {
    struct stat now;
    if (fremovexattr(fd, ACL_NAME) != 0 && errno != ENODATA && errno != EOPNOTSUPP)
        return false;
    if (fstat(fd, &now) != 0)
        return false;
    if ((now.st_mode & 0777) == mode)
        return true;
    if (fchmod(fd, mode) != 0 || fstat(fd, &now) != 0)
        return false;
    return (now.st_mode & 0777 & ~mode) == 0 || fail(EPERM);
}

static bool settle_access(int fd, int old, const struct target *t, bool secret) {
    struct stat now;
    if (!t->exists)
        return !secret || set_mode(fd, 0600);
    if (!keep_owner(fd, &t->old, &now))
        return false;
    if (secret)
        return set_mode(fd, 0600);

    unsigned char acl[ACL_BYTES_MAX];
    ssize_t acl_bytes;
    if (!read_acl(old, acl, &acl_bytes))
        return false;
    mode_t mode = narrowed_mode(&t->old, &now);
    bool list_fits = now.st_uid == t->old.st_uid && now.st_gid == t->old.st_gid;
    if (acl_bytes != 0 && !(acl_bytes > 0 && list_fits)) {
        /* Bits alone cannot say what the list said, so nobody but the owner keeps access. */
        mode &= 0700;
        acl_bytes = 0;
    }
    if (!set_mode(fd, mode))
        return false;
    return acl_bytes == 0 || fsetxattr(fd, ACL_NAME, acl, (size_t)acl_bytes, 0) == 0;
}

/* fallocate and not posix_fallocate, which writes into every block where the file system cannot reserve. Where it
 * cannot, or a signal cuts in (tmpfs then undoes all, and would again), writing finds out. */
static bool reserve(int fd, size_t byte_count) {
    return byte_count == 0 || fallocate(fd, 0, 0, (off_t)byte_count) == 0 || errno == EOPNOTSUPP || errno == EINVAL ||
           errno == ENOSYS || errno == EINTR;
}

static bool write_all(int fd, const unsigned char *bytes, size_t byte_count) {
    while (byte_count > 0) {
        ssize_t written = write(fd, bytes, byte_count < WRITE_BYTES_MAX ? byte_count : WRITE_BYTES_MAX);
        if (written > 0) {
            bytes += written;
            byte_count -= (size_t)written;
        } else if (written == 0) {
            return fail(EIO);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* After EINTR Linux has closed the descriptor, and fsync has spoken for the data. */
static bool close_written(int fd) {
    return close(fd) == 0 || errno == EINTR;
}

/* Some file systems have no sync of folders and say so: there the rename is as durable as it gets. */
static bool sync_folder(int folder) {
    return fsync(folder) == 0 || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS;
}

static bool exchange(const struct target *t, const char *temp) {
#ifdef RENAME_EXCHANGE
    return renameat2(t->folder, temp, t->folder, t->name, RENAME_EXCHANGE) == 0;
#else
    (void)t, (void)temp;
    return fail(ENOSYS);
#endif
}

/* Undoes the move of the name, unless someone else's file stands there by now. */
static void take_back(const struct target *t, const char *temp, const struct stat *fresh, bool displaced) {
    int error = errno;
    bool is_ours = is_named(t, t->name, fresh);
    if (displaced && is_ours)
        (void)renameat(t->folder, temp, t->folder, t->name);
    else if (displaced)
        (void)unlinkat(t->folder, temp, 0);
    else if (is_ours && !t->exists)
        (void)unlinkat(t->folder, t->name, 0);
    errno = error;
}

/* Steps 8 to 10. The temporary name is free afterwards, whatever happens. */
static bool publish(const struct target *t, const char *temp, const struct stat *fresh) {
    bool displaced = t->exists && exchange(t, temp);
    if (!displaced) {
        bool rename_will_do = !t->exists || errno == EINVAL || errno == ENOSYS || errno == ENOENT;
        if (!rename_will_do || renameat(t->folder, temp, t->folder, t->name) != 0) {
            unlink_quietly(t->folder, temp);
            return false;
        }
    }
    if (!sync_folder(t->folder)) {
        take_back(t, temp, fresh, displaced);
        return false;
    }
    if (displaced)
        unlink_quietly(t->folder, temp);
    return true;
}

/* Steps 2 to 10, with the old file open, or not. */
static bool replace_opened(const struct target *t, int old, const void *bytes, size_t byte_count, bool secret) {
    temp_name temp;
    struct stat fresh;
    int fd = create_temp(t, t->exists || secret ? 0600 : 0666, temp);
    if (fd < 0)
        return false;
    bool written = settle_access(fd, old, t, secret) && reserve(fd, byte_count) && write_all(fd, bytes, byte_count) &&
                   fstat(fd, &fresh) == 0 && fsync(fd) == 0;
    /* A second descriptor keeps the lock past the close, which may fail and so comes before the exchange. */
    int lock = written ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (lock < 0)
        close_quietly(fd);
    else
        written = close_written(fd);
    bool published = false;
    if (lock >= 0 && written)
        published = publish(t, temp, &fresh);
    else
        unlink_quietly(t->folder, temp);
    if (lock >= 0)
        close_quietly(lock);
    return published;
}

static bool replace(const struct target *t, const void *bytes, size_t byte_count, bool secret) {
    int old;
    if (!size_is_allowed(byte_count))
        return false;
    remove_leftovers(t);
    if (!open_old(t, &old))
        return false;
    bool replaced = replace_opened(t, old, bytes, byte_count, secret);
    if (old >= 0)
        close_quietly(old);
    return replaced;
}

kith_status kithi_replace_file(const char *path, const void *bytes, size_t byte_count, bool secret) {
    assert(path && (bytes || byte_count == 0) && byte_count <= PTRDIFF_MAX);
    struct target t;
    bool replaced = find_target(path, &t) && replace(&t, bytes, byte_count, secret);
    if (t.folder >= 0)
        close_quietly(t.folder);
    return replaced ? KITH_OK : kithi_status_from_errno(errno);
}
