/* The calls that fail; see calls.h. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "splitmix.h"

calls *faults;
static atomic_bool is_armed;

void calls_arm(bool armed) {
    atomic_store(&is_armed, armed);
}

const char *const call_names[CALLS] = {
#define CALL(name, properties) #name,
#include "calls.def"
#undef CALL
};

const int call_properties[CALLS] = {
#define CALL(name, properties) properties,
#include "calls.def"
#undef CALL
};

void calls_share(void) {
    faults = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (faults == MAP_FAILED)
        abort();
}

/* Counts the call and returns true if it fails, with errno set. */
static bool fails(call c) {
    if (!atomic_load_explicit(&is_armed, memory_order_relaxed))
        return false;
    (void)atomic_fetch_add(&faults->made[c], 1);
    if ((call_properties[c] & faults->which) != faults->which)
        return false;
    uint64_t number = atomic_fetch_add(&faults->seen, 1) + 1;
    if (faults->at == 0 || number < faults->at || (number > faults->at && !faults->stays))
        return false;
    int none = 0;
    (void)atomic_compare_exchange_strong(&faults->hit, &none, (int)c + 1);
    atomic_store(&faults->renames_before_failure, atomic_load(&faults->renames));
    if (call_properties[c] & UNLINKS)
        atomic_store(&faults->unlink_failed, true);
    errno = faults->error;
    return true;
}

/* `type name parameters` fails with `failure`, or does what it always does. */
#define WRAP(type, name, parameters, arguments, failure)                                                               \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        return fails(CALL_##name) ? (failure) : __real_##name arguments;                                               \
    }

/* ---- memory ---- */

#ifdef WRAP_MALLOC
/* The sanitizer has its own malloc, which must stay. */
WRAP(void *, malloc, (size_t bytes), (bytes), NULL)
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes), NULL)
WRAP(void *, realloc, (void *block, size_t bytes), (block, bytes), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)
#else
/* Replaces the functions also for the C library and for shared libraries (zlib …). */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void *malloc(size_t bytes) {
    return fails(CALL_malloc) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
    return fails(CALL_calloc) ? NULL : __libc_calloc(n, bytes);
}
void *realloc(void *block, size_t bytes) {
    return fails(CALL_realloc) ? NULL : __libc_realloc(block, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails(CALL_aligned_alloc) ? NULL : __libc_memalign(alignment, bytes);
}
#endif
WRAP(void *, mmap64, (void *at, size_t bytes, int protection, int flags, int fd, off64_t offset),
     (at, bytes, protection, flags, fd, offset), MAP_FAILED)
WRAP(void *, mremap, (void *at, size_t bytes, size_t more, int flags), (at, bytes, more, flags), MAP_FAILED)

/* ---- opening and closing ---- */

int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
int __real_openat64(int folder, const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int folder, const char *path, int flags, ...);

static mode_t mode_of(int flags, va_list rest) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = fails(CALL_open) ? -1 : __real_open(path, flags, mode_of(flags, rest));
    va_end(rest);
    return fd;
}

int __wrap_open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = fails(CALL_open64) ? -1 : __real_open64(path, flags, mode_of(flags, rest));
    va_end(rest);
    return fd;
}

int __wrap_openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int fd = fails(CALL_openat64) ? -1 : __real_openat64(folder, path, flags, mode_of(flags, rest));
    va_end(rest);
    return fd;
}

/* As on Linux, a close that reports an error has closed the file. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    bool failed = fails(CALL_close);
    int error = errno, closed = __real_close(fd);
    if (failed)
        errno = error;
    return failed ? -1 : closed;
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file) {
    bool failed = fails(CALL_fclose);
    int error = errno, closed = __real_fclose(file);
    if (failed)
        errno = error;
    return failed ? EOF : closed;
}

int __real_fcntl(int fd, int command, long argument);
int __real_fcntl64(int fd, int command, long argument);
int __wrap_fcntl(int fd, int command, long argument);
int __wrap_fcntl64(int fd, int command, long argument);
int __wrap_fcntl(int fd, int command, long argument) {
    return fails(CALL_fcntl) ? -1 : __real_fcntl(fd, command, argument);
}
int __wrap_fcntl64(int fd, int command, long argument) {
    return fails(CALL_fcntl64) ? -1 : __real_fcntl64(fd, command, argument);
}

/* ---- reading and writing ---- */

/* A short transfer: one byte if the number of the call is odd, else half. */
static size_t shortened(size_t bytes) {
    return bytes < 2 ? bytes : atomic_load(&faults->seen) % 2 ? 1 : bytes / 2;
}

#define TRANSFER(name, parameters, refused, ...)                                                                       \
    ssize_t __real_##name parameters;                                                                                  \
    ssize_t __wrap_##name parameters;                                                                                  \
    ssize_t __wrap_##name parameters {                                                                                 \
        if (!(refused) && fails(CALL_##name)) {                                                                        \
            if (faults->error != 0)                                                                                    \
                return -1;                                                                                             \
            bytes = shortened(bytes);                                                                                  \
        }                                                                                                              \
        return __real_##name(__VA_ARGS__);                                                                             \
    }
TRANSFER(read, (int fd, void *to, size_t bytes), false, fd, to, bytes)
TRANSFER(pread64, (int fd, void *to, size_t bytes, off64_t offset), false, fd, to, bytes, offset)
/* Nobody could see a message that was not written. */
TRANSFER(write, (int fd, const void *from, size_t bytes), fd == STDERR_FILENO, fd, from, bytes)
TRANSFER(pwrite64, (int fd, const void *from, size_t bytes, off64_t offset), false, fd, from, bytes, offset)
WRAP(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *file), (from, size, n, file), 0)

/* ---- syncs ---- */

int __real_fstat(int fd, struct stat *st);

static bool sync_fails(call c, int fd) {
    struct stat st = {0};
    if (!atomic_load(&is_armed) || __real_fstat(fd, &st) != 0)
        return false;
    /* A folder may be synced again, when the names are put back; that does not make the command succeed. */
    if (atomic_load(&faults->sync_failed) && S_ISREG(st.st_mode) && st.st_dev == faults->sync_device &&
        st.st_ino == faults->sync_inode)
        atomic_store(&faults->sync_repeated, true);
    if (!fails(c))
        return false;
    int error = errno;
    faults->sync_device = st.st_dev;
    faults->sync_inode = st.st_ino;
    atomic_store(&faults->sync_failed, true);
    errno = error;
    return true;
}

int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd) {
    return sync_fails(CALL_fsync, fd) ? -1 : __real_fsync(fd);
}
int __wrap_fdatasync(int fd) {
    return sync_fails(CALL_fdatasync, fd) ? -1 : __real_fdatasync(fd);
}

/* ---- names ---- */

static int count_rename(int renamed) {
    if (renamed == 0 && atomic_load(&is_armed))
        (void)atomic_fetch_add(&faults->renames, 1);
    return renamed;
}

int __real_rename(const char *from, const char *to);
int __real_linkat(int folder, const char *from, int to_folder, const char *to, int flags);
int __real_renameat(int folder, const char *from, int to_folder, const char *to);
int __real_renameat2(int folder, const char *from, int to_folder, const char *to, unsigned flags);
int __wrap_rename(const char *from, const char *to);
int __wrap_linkat(int folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_renameat(int folder, const char *from, int to_folder, const char *to);
int __wrap_renameat2(int folder, const char *from, int to_folder, const char *to, unsigned flags);
int __wrap_rename(const char *from, const char *to) {
    return fails(CALL_rename) ? -1 : count_rename(__real_rename(from, to));
}
int __wrap_linkat(int folder, const char *from, int to_folder, const char *to, int flags) {
    return fails(CALL_linkat) ? -1 : count_rename(__real_linkat(folder, from, to_folder, to, flags));
}
int __wrap_renameat(int folder, const char *from, int to_folder, const char *to) {
    return fails(CALL_renameat) ? -1 : count_rename(__real_renameat(folder, from, to_folder, to));
}
int __wrap_renameat2(int folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return fails(CALL_renameat2) ? -1 : count_rename(__real_renameat2(folder, from, to_folder, to, flags));
}
WRAP(int, unlink, (const char *path), (path), -1)
WRAP(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(int, rmdir, (const char *path), (path), -1)
WRAP(int, chdir, (const char *path), (path), -1)
WRAP(char *, mkdtemp, (char *path), (path), NULL)
WRAP(int, mkostemp64, (char *path, int flags), (path, flags), -1)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(DIR *, fdopendir, (int fd), (fd), NULL)
WRAP(struct dirent64 *, readdir64, (DIR * folder), (folder), NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(ssize_t, readlinkat, (int folder, const char *path, char *text, size_t bytes), (folder, path, text, bytes), -1)
WRAP(char *, realpath, (const char *path, char *text), (path, text), NULL)
WRAP(ssize_t, getdents64, (int fd, void *entries, size_t bytes), (fd, entries, bytes), -1)

/* ---- what the system knows of a file ---- */

WRAP(int, access, (const char *path, int mode), (path, mode), -1)
WRAP(int, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), -1)
WRAP(int, stat, (const char *path, struct stat *st), (path, st), -1)
WRAP(int, stat64, (const char *path, struct stat64 *st), (path, st), -1)
WRAP(int, lstat, (const char *path, struct stat *st), (path, st), -1)
WRAP(int, lstat64, (const char *path, struct stat64 *st), (path, st), -1)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), -1)
WRAP(int, fstat64, (int fd, struct stat64 *st), (fd, st), -1)
WRAP(int, fstatat64, (int folder, const char *path, struct stat64 *st, int flags), (folder, path, st, flags), -1)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
WRAP(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), -1)
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t bytes), (fd, name, value, bytes), -1)
WRAP(int, fremovexattr, (int fd, const char *name), (fd, name), -1)
WRAP(int, fsetxattr, (int fd, const char *name, const void *value, size_t bytes, int flags),
     (fd, name, value, bytes, flags), -1)
WRAP(int, fallocate64, (int fd, int mode, off64_t offset, off64_t bytes), (fd, mode, offset, bytes), -1)
WRAP(int, ftruncate64, (int fd, off64_t bytes), (fd, bytes), -1)
WRAP(int, flock, (int fd, int operation), (fd, operation), -1)
WRAP(int, posix_fadvise64, (int fd, off64_t offset, off64_t bytes, int advice), (fd, offset, bytes, advice), EIO)
WRAP(int, isatty, (int fd), (fd), 0)
WRAP(int, ioctl, (int fd, unsigned long request, void *argument), (fd, request, argument), -1)

/* ---- the rest ---- */

WRAP(int, madvise, (void *at, size_t bytes, int advice), (at, bytes, advice), -1)
WRAP(int, getrlimit64, (__rlimit_resource_t resource, struct rlimit64 *limit), (resource, limit), -1)
WRAP(long, sysconf, (int name), (name), -1)
WRAP(int, pipe, (int *ends), (ends), -1)
WRAP(int, pipe2, (int *ends, int flags), (ends, flags), -1)
WRAP(int, dup2, (int from, int to), (from, to), -1)
WRAP(pid_t, fork, (void), (), -1)
WRAP(int, setrlimit, (__rlimit_resource_t resource, const struct rlimit *limit), (resource, limit), -1)
WRAP(int, poll, (struct pollfd * files, nfds_t n, int ms), (files, n, ms), -1)
WRAP(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left), -1)
WRAP(pid_t, waitpid, (pid_t process, int *status, int flags), (process, status, flags), -1)
WRAP(int, posix_spawnp,
     (pid_t * process, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
      char *const *words, char *const *environment),
     (process, file, actions, attributes, words, environment), EAGAIN)
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *context), void *context),
     (thread, attributes, start, context), EAGAIN)

/* libseccomp 2.5 reads through a null pointer when memory is missing, so only the calls themselves fail. They are weak,
 * because a build without the library has none of them. */
extern void *__real_seccomp_init(uint32_t action) __attribute__((weak));
extern int __real_seccomp_export_bpf(const void *filter, int fd) __attribute__((weak));
void *__wrap_seccomp_init(uint32_t action);
int __wrap_seccomp_export_bpf(const void *filter, int fd);
void *__wrap_seccomp_init(uint32_t action) {
    return fails(CALL_seccomp_init) ? NULL : __real_seccomp_init(action);
}
int __wrap_seccomp_export_bpf(const void *filter, int fd) {
    if (fails(CALL_seccomp_export_bpf))
        return -faults->error;
    bool was_armed = atomic_exchange(&is_armed, false);
    int result = __real_seccomp_export_bpf(filter, fd);
    atomic_store(&is_armed, was_armed);
    return result;
}

static bool is_boxed; /* a call that is not allowed ends the process */
int __real_prctl(int option, ...);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (fails(CALL_prctl))
        return -1;
    int result = __real_prctl(option, a, b, c, d);
    is_boxed |= option == PR_SET_SECCOMP && result == 0;
    return result;
}

/* For tests/coverage.c: calls no longer fail, and in the box of `kith verify` files cannot be opened. */
bool coverage_begin(void);
bool coverage_begin(void) {
    calls_arm(false);
    return !is_boxed;
}

/* Random bytes are the same in every run, so that the files can be compared. Those of temporary names (6 bytes) are
 * drawn apart: a save that tries another name must not change the keys and ids that are drawn after it. */
ssize_t __real_getrandom(void *to, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned flags) {
    if (fails(CALL_getrandom))
        return -1;
    if (faults == NULL || bytes == 6)
        return __real_getrandom(to, bytes, flags);
    uint64_t state = atomic_fetch_add(&faults->drawn, 1) << 8;
    uint8_t *at = to;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)splitmix_next(&state);
    return (ssize_t)bytes;
}
