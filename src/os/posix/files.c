/* The file operations of a store on the files of the system, and loops that repeat short and interrupted calls.
 *
 * A store has three files in one folder: FILE, FILE-journal and FILE-lock. They are opened relative to a descriptor of
 * the folder, so that the store still finds them if the program changes its working directory or somebody renames the
 * folder.
 *
 * The lock is an flock: the kernel releases it however the process ends. A lock of fcntl would also be released when
 * another part of the process closes any descriptor of the file. The lock is on a separate file because a checkpoint
 * replaces FILE. The lock file is never removed, because one process could lock the removed file while another creates
 * and locks a new one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "os/map.h"
#include "os/posix/system.h"
#include "os/posix/uninterrupted.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0 /* FreeBSD never reserves memory for a private mapping */
#endif

enum { TRANSFER_BYTES_MAX = 1 << 30 }; /* Linux shortens transfers to 2 GiB - 4 KiB, others reject more than INT_MAX */

static void close_file(void *context, int file) {
    (void)context;
    kithi_close_file(file);
}

/* Closes the file, if it is open. Sets errno and returns -1. */
static int fail(int file, int error) {
    if (file >= 0)
        (void)close(file);
    errno = error;
    return -1;
}

static int open_folder(void *context, const char *path, bool to_read, char name[KITHI_NAME_BYTES]) {
    (void)context;
    int folder;
    return kithi_find_target(path, to_read, &folder, name, KITHI_NAME_BYTES) == KITH_OK ? folder : -1;
}

static int open_file(void *context, int folder, const char *name, bool writable) {
    (void)context;
    struct stat st;
    /* O_NONBLOCK: opening a FIFO without a writer would block */
    int flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int file = kithi_openat(folder, name, flags, 0);
    if (file < 0)
        return -1;
    if (fstat(file, &st) != 0)
        return fail(file, errno);
    return S_ISREG(st.st_mode) ? file : fail(file, S_ISDIR(st.st_mode) ? EISDIR : EINVAL);
}

/* Returns 1 if the name refers to the file, 0 if not, and -1 with errno if that could not be determined. */
static int check_name(int file, int folder, const char *name) {
    struct stat own, named;
    if (fstat(file, &own) != 0)
        return -1;
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

static int is_named(void *context, int file, int folder, const char *name) {
    (void)context;
    return check_name(file, folder, name) == 1;
}

/* Gives a new lock file the owner and group of the data file, and a mode with which only the writers of the data file
 * can open it: users who can only read the data must not be able to block its writers. If there is no data file yet,
 * the umask decides who can open the lock file. Errors are ignored: some file systems have no owners or modes. */
static void settle_access(int lock, int folder, const char *data_name) {
    struct stat data;
    bool exists = fstatat(folder, data_name, &data, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && fstat(lock, &data) != 0)
        return;
    if (exists && fchown(lock, data.st_uid, data.st_gid) != 0 && fchown(lock, (uid_t)-1, data.st_gid) != 0)
        data.st_mode &= ~(mode_t)S_IWGRP; /* the lock file has another group than the data file */
    mode_t writers = data.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH);
    (void)fchmod(lock, (mode_t)(S_IRUSR | S_IWUSR | writers | writers << 1));
}

static int open_or_create(int folder, const char *name, const char *data_name, bool existing) {
    for (;;) {
        /* First without O_CREAT: with it, Linux may refuse to open another user's file in a sticky folder (/tmp). */
        int lock = kithi_openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
        if (lock >= 0 || errno != ENOENT || existing)
            return lock;
        lock = kithi_openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (lock >= 0)
            settle_access(lock, folder, data_name);
        if (lock >= 0 || errno != EEXIST)
            return lock;
    }
}

static int open_lock(void *context, int folder, const char *name, const char *data_name, bool existing) {
    (void)context;
    struct stat st;
    int lock = open_or_create(folder, name, data_name, existing);
    if (lock < 0)
        return errno == ELOOP || errno == EISDIR || errno == ENXIO ? fail(-1, EINVAL) : -1;
    if (fstat(lock, &st) != 0)
        return fail(lock, errno);
    return S_ISREG(st.st_mode) && st.st_size == 0 ? lock : fail(lock, EINVAL);
}

static int take_lock(void *context, int lock, bool wait) {
    (void)context;
    return wait ? flock(lock, LOCK_EX) : kithi_flock(lock, LOCK_EX | LOCK_NB);
}

static int may_write(void *context, int folder, const char *name) {
    (void)context;
    struct stat st;
    if (name == NULL)
        return faccessat(folder, ".", W_OK | X_OK, 0);
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (faccessat(folder, name, W_OK, 0) != 0)
        return -1;
    return (st.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0 ? 0 : fail(-1, EACCES);
}

static void pause_ms(void *context, unsigned ms) {
    (void)context;
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

static int identify(void *context, int file, const char *name, kithi_file_id *id) {
    (void)context;
    return kithi_file_id_of(file, name, id) ? 0 : -1;
}

static int file_size(void *context, int file, uint64_t *bytes) {
    (void)context;
    struct stat st;
    if (fstat(file, &st) != 0)
        return -1;
    *bytes = (uint64_t)st.st_size;
    return 0;
}

static int64_t read_file(void *context, int file, void *bytes, size_t byte_count, uint64_t offset) {
    (void)context;
    return pread(file, bytes, byte_count < TRANSFER_BYTES_MAX ? byte_count : TRANSFER_BYTES_MAX, (off_t)offset);
}

/* A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills a process that does not handle it. */
static uint64_t size_limit(void *context) {
    (void)context;
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited ? (uint64_t)limit.rlim_cur : UINT64_MAX;
}

static int64_t write_file(void *context, int file, const void *bytes, size_t byte_count, uint64_t offset) {
    (void)context;
    return pwrite(file, bytes, byte_count < TRANSFER_BYTES_MAX ? byte_count : TRANSFER_BYTES_MAX, (off_t)offset);
}

static int truncate_file(void *context, int file, uint64_t bytes) {
    (void)context;
    return ftruncate(file, (off_t)bytes);
}

static int sync_file(void *context, int file, bool only_data) {
    (void)context;
    return kithi_sync(file, only_data) ? 0 : -1;
}

static kith_status replace_file(void *context, int folder, const kithi_replacement *replacement) {
    (void)context;
    return kithi_replace_file_at(folder, replacement);
}

/* Some file systems cannot sync folders and report that. Names are then as durable as they can be. */
static int sync_folder(void *context, int folder) {
    (void)context;
    return kithi_sync(folder, false) || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -1;
}

static int remove_file(void *context, int folder, const char *name) {
    return unlinkat(folder, name, 0) == 0 ? sync_folder(context, folder) : -1;
}

/* MAP_NORESERVE: only the pages that are written need memory, so the kernel should map a file that is larger than the
 * memory, too. */
static uint8_t *map_file(void *context, int file, size_t byte_count, bool writable) {
    (void)context;
    void *bytes = mmap(NULL, byte_count, PROT_READ | (writable ? PROT_WRITE : 0), MAP_PRIVATE | MAP_NORESERVE, file, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static void unmap_file(void *context, uint8_t *bytes, size_t byte_count) {
    (void)context;
    int error = errno;
    (void)munmap(bytes, byte_count);
    errno = error;
}

static uint64_t now_ms(void *context) {
    (void)context;
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int random_bytes(void *context, void *bytes, size_t byte_count) {
    (void)context;
    return kithi_random(bytes, byte_count) ? 0 : -1;
}

const kithi_files kithi_files_system = {
    .open_folder = open_folder,
    .open = open_file,
    .open_lock = open_lock,
    .take_lock = take_lock,
    .may_write = may_write,
    .pause = pause_ms,
    .close = close_file,
    .size = file_size,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .sync = sync_file,
    .is_named = is_named,
    .identify = identify,
    .replace = replace_file,
    .remove = remove_file,
    .sync_folder = sync_folder,
    .map = map_file,
    .unmap = unmap_file,
    .size_limit = size_limit,
    .now_ms = now_ms,
    .random = random_bytes,
};
