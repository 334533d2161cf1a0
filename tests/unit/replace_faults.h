/* replace_faults.h: makes system calls fail, for the tests of kithi_replace_file.
 *
 * This header defines the calls that replace.c makes (openat, write, fsync, …). The library is linked into the
 * executable, so its calls go to these functions, which forward them to the kernel. While the `fault` record is armed,
 * the n-th of them fails with a chosen errno, or kills the process. Include it once per executable, before any other
 * header. */
#ifndef KITH_TESTS_UNIT_REPLACE_FAULTS_H
#define KITH_TESTS_UNIT_REPLACE_FAULTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Both the plain and the 64-bit names are defined below, so the headers must not redirect one to the other. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "check.h"
#include "os/replace.h"
#include "folder.h"
#include "unit/leftover.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { OLD = 1, NEW = 2, OLD_BYTES = 4096, NEW_BYTES = 10000 };

enum call {
    ANY_CALL,
    OPENAT,
    GETRANDOM,
    FCHOWN,
    FCHMOD,
    FGETXATTR,
    FSETXATTR,
    FREMOVEXATTR,
    FALLOCATE,
    WRITE,
    FSYNC,
    CLOSE,
    RENAMEAT2,
    RENAMEAT,
    UNLINKAT,
    FLOCK,
    DUPLICATE, /* fcntl with F_DUPFD_CLOEXEC */
    GETDENTS,
    CALLS
};

static struct {
    bool armed;
    bool kills;     /* the process dies before the call */
    bool stays;     /* later calls fail too */
    enum call only; /* which calls are counted */
    unsigned at;    /* the number of the call that fails, from 1; 0: none */
    int error;
    unsigned seen;
    unsigned made[CALLS];
    enum call hit;                /* the call that failed first; ANY_CALL: none did */
    bool hit_written;             /* whether it used a descriptor open for writing, or created the file */
    bool hit_leftover;            /* whether it opened an existing temporary file */
    unsigned written_closed;      /* closed descriptors that were open for writing */
    bool loses_race;              /* the new file is removed before it is locked, once */
    bool loses_old;               /* the old file is removed after it was found, before it is opened, once */
    const struct folder *watched; /* at each call, all temporary files here must be locked */
    unsigned watches, unlocked;   /* temporary files examined, and those that were not locked */
    size_t write_most;            /* the most bytes of a write; 0: no limit */
    bool write_pretends;          /* writes and reservations are only counted */
    bool no_exchange;             /* the file system cannot exchange names */
    char created[NAME_MAX + 1];   /* the last file opened with O_CREAT */
    uint64_t written_bytes;
    size_t write_largest;
} fault;

/* Returns the number of temporary files in the folder. */
static inline unsigned temporary_files_with(const struct folder *f, void (*visit)(const char *path)) {
    unsigned found = 0;
    DIR *dir = opendir(f->path);
    if (dir == NULL)
        return UINT_MAX;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strstr(entry->d_name, ".kith-") != NULL) {
            found++;
            if (visit != NULL)
                visit(in(f, entry->d_name));
        }
    }
    (void)closedir(dir);
    return found;
}

static inline unsigned temporary_files(const struct folder *f) {
    return temporary_files_with(f, NULL);
}

static void watch(const char *path) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    fault.watches++;
    fault.unlocked += syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) == 0;
    (void)syscall(SYS_close, fd);
}

static bool faulty(enum call call, bool written) {
    if (!fault.armed)
        return false;
    /* The call that locks the new file is the only one that may find it unlocked. */
    if (fault.watched != NULL && call != FLOCK) {
        const struct folder *watched = fault.watched;
        fault.armed = false;
        (void)temporary_files_with(watched, watch);
        fault.armed = true;
    }
    fault.made[call]++;
    if (fault.only != ANY_CALL && fault.only != call)
        return false;
    fault.seen++;
    if (fault.at == 0 || fault.seen < fault.at || (fault.seen > fault.at && !fault.stays))
        return false;
    if (fault.kills)
        (void)kill(getpid(), SIGKILL);
    if (fault.hit == ANY_CALL) {
        fault.hit = call;
        fault.hit_written = written;
    }
    errno = fault.error;
    return true;
}

static bool is_written(int fd) {
    int error = errno;
    int flags = fcntl(fd, F_GETFL);
    errno = error;
    return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY && !(flags & O_PATH);
}

static int open_at(int folder, const char *path, int flags, va_list rest) {
    unsigned mode = flags & O_CREAT ? va_arg(rest, unsigned) : 0;
    if (faulty(OPENAT, flags & O_CREAT)) {
        fault.hit_leftover = !(flags & O_CREAT) && strstr(path, ".kith-") != NULL;
        return -1;
    }
    if (fault.armed && fault.loses_old && !(flags & (O_CREAT | O_PATH | O_DIRECTORY)))
        fault.loses_old = syscall(SYS_unlinkat, folder, path, 0) != 0;
    if (fault.armed && flags & O_CREAT)
        (void)snprintf(fault.created, sizeof fault.created, "%s", path);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = open_at(folder, path, flags, rest);
    va_end(rest);
    return fd;
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = open_at(folder, path, flags | O_LARGEFILE, rest);
    va_end(rest);
    return fd;
}

ssize_t getrandom(void *bytes, size_t byte_count, unsigned flags) {
    memset(bytes, 0, byte_count); /* MSan does not know what this system call writes */
    return faulty(GETRANDOM, false) ? -1 : syscall(SYS_getrandom, bytes, byte_count, flags);
}

int fchown(int fd, uid_t uid, gid_t gid) {
    return faulty(FCHOWN, true) ? -1 : fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
}

int fchmod(int fd, mode_t mode) {
    return faulty(FCHMOD, true) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t value_bytes) {
    return faulty(FGETXATTR, false) ? -1 : syscall(SYS_fgetxattr, fd, name, value, value_bytes);
}

int fsetxattr(int fd, const char *name, const void *value, size_t value_bytes, int flags) {
    return faulty(FSETXATTR, true) ? -1 : (int)syscall(SYS_fsetxattr, fd, name, value, value_bytes, flags);
}

int fremovexattr(int fd, const char *name) {
    return faulty(FREMOVEXATTR, true) ? -1 : (int)syscall(SYS_fremovexattr, fd, name);
}

static int reserve(int fd, int mode, int64_t offset, int64_t byte_count) {
    if (faulty(FALLOCATE, true))
        return -1;
    if (fault.write_pretends)
        return 0;
#if LONG_MAX > 0x7fffffff
    return (int)syscall(SYS_fallocate, fd, mode, offset, byte_count);
#else
    (void)fd, (void)mode, (void)offset, (void)byte_count; /* 32-bit kernels differ in how they pass 64-bit arguments */
    errno = EOPNOTSUPP;
    return -1;
#endif
}

int fallocate(int fd, int mode, off_t offset, off_t byte_count) {
    return reserve(fd, mode, offset, byte_count);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t byte_count) {
    return reserve(fd, mode, offset, byte_count);
}

ssize_t write(int fd, const void *bytes, size_t byte_count) {
    if (faulty(WRITE, true))
        return -1;
    if (fault.armed) {
        if (byte_count > fault.write_largest)
            fault.write_largest = byte_count;
        if (fault.write_most != 0 && byte_count > fault.write_most)
            byte_count = fault.write_most;
        if (fault.write_pretends) {
            fault.written_bytes += byte_count;
            return (ssize_t)byte_count;
        }
    }
    return syscall(SYS_write, fd, bytes, byte_count);
}

int fsync(int fd) {
    return faulty(FSYNC, is_written(fd)) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* As on Linux, a close that reports an error has closed the descriptor. The new file is closed twice; only the first
 * counts. */
int close(int fd) {
    bool written = is_written(fd);
    bool fails = faulty(CLOSE, written && fault.written_closed == 0);
    fault.written_closed += written;
    int closed = (int)syscall(SYS_close, fd);
    if (fails)
        errno = fault.error;
    return fails ? -1 : closed;
}

int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
    if (fault.armed && fault.no_exchange) {
        errno = EINVAL;
        return -1;
    }
    return faulty(RENAMEAT2, true) ? -1 : (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

int renameat(int from, const char *name, int to, const char *new_name) {
    return faulty(RENAMEAT, true) ? -1 : (int)syscall(SYS_renameat2, from, name, to, new_name, 0);
}

int unlinkat(int folder, const char *name, int flags) {
    return faulty(UNLINKAT, true) ? -1 : (int)syscall(SYS_unlinkat, folder, name, flags);
}

int flock(int fd, int operation) {
    if (faulty(FLOCK, is_written(fd)))
        return -1;
    if (fault.armed && fault.loses_race && is_written(fd)) {
        char link[64], path[PATH_MAX];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t bytes = readlink(link, path, sizeof path - 1);
        path[bytes > 0 ? bytes : 0] = '\0';
        fault.loses_race = unlink(path) != 0;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static int control(int fd, int command, long argument) {
    if (command == F_DUPFD_CLOEXEC && faulty(DUPLICATE, is_written(fd)))
        return -1;
#ifdef SYS_fcntl64
    return (int)syscall(SYS_fcntl64, fd, command, argument);
#else
    return (int)syscall(SYS_fcntl, fd, command, argument);
#endif
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    int result = control(fd, command, va_arg(rest, long));
    va_end(rest);
    return result;
}

int fcntl64(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    int result = control(fd, command, va_arg(rest, long));
    va_end(rest);
    return result;
}

ssize_t getdents64(int fd, void *entries, size_t entries_bytes) {
    return faulty(GETDENTS, false) ? -1 : syscall(SYS_getdents64, fd, entries, entries_bytes);
}

/* Helpers of the tests. */

static uint8_t new_bytes[NEW_BYTES];

/* Saves the new bytes in several parts, one of them empty, so that a fault can happen between two of them. */
static inline kith_status save(const char *path, bool secret) {
    enum { FIRST = 100 };
    fill_content(new_bytes, sizeof new_bytes, NEW);
    const kithi_part parts[] = {{new_bytes, FIRST}, {NULL, 0}, {new_bytes + FIRST, sizeof new_bytes - FIRST}};
    return kithi_replace_file_parts(path, parts, sizeof parts / sizeof *parts, secret);
}

static inline void no_fault(void) {
    memset(&fault, 0, sizeof fault);
}

static inline void plan_fault(enum call only, unsigned at, int error) {
    no_fault();
    fault.only = only;
    fault.at = at;
    fault.error = error;
}

/* Saves with the planned fault. errno is that of the save. */
static inline kith_status save_with_fault(const char *path, bool secret) {
    fault.armed = true;
    kith_status status = save(path, secret);
    int error = errno;
    fault.armed = false;
    errno = error;
    return status;
}

static void remove_file(const char *path) {
    (void)unlink(path);
}

/* Removes the temporary files next to the targets and returns how many there were. */
static inline unsigned sweep(const struct folder *f) {
    return temporary_files_with(f, remove_file);
}

static inline unsigned mode_of(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_mode & 07777 : UINT_MAX;
}

static inline bool owner_is(const char *path, uid_t uid, gid_t gid) {
    struct stat st;
    return lstat(path, &st) == 0 && st.st_uid == uid && st.st_gid == gid;
}

static inline bool is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static inline bool is_absent(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

static inline bool make_old(const char *path) {
    (void)unlink(path);
    return make_file(path, OLD_BYTES, OLD, 0640) && (geteuid() != 0 || chown(path, SOMEBODY, SOMEBODY) == 0);
}

#endif
