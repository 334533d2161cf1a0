/* lock.c: locks filter files with flock on a separate lock file; see lock.h.
 *
 * Why a separate file: a lock on the data file would be lost when save() replaces it. All processes that waited for the
 * old file would get its lock, and each would replace the new file. Why the lock file is never removed: one process
 * could wait for the lock of the removed file while another creates the file again, and both would get a lock.
 *
 * Why flock: the kernel releases it however the process ends. It belongs to the open file, so no other part of the
 * process can release it by closing a descriptor, as with fcntl locks. On NFS, Linux implements it with a lock on the
 * server.
 *
 * A command holds only one lock at a time, so two commands cannot deadlock. */
#define _GNU_SOURCE

#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "filters.h"
#include "report.h"
#include "stores.h"

#define ENDING "-lock"
#define LINKS_MAX 40 /* the kernel follows the same number in one path */

typedef char path_text[PATH_MAX];
typedef char lock_text[PATH_MAX + sizeof ENDING];

/* ---- which file ---- */

/* Applies the rule of the kernel (fs.protected_symlinks) and of save(): in a sticky folder that everyone can write to,
 * a link is followed only if it belongs to this user or to the owner of the folder. */
static bool link_is_trusted(const char *path, const struct stat *link) {
    path_text copy;
    struct stat in;
    (void)snprintf(copy, sizeof copy, "%s", path);
    if (stat(dirname(copy), &in) != 0)
        return false;
    bool anyone_can_create = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
    return !anyone_can_create || link->st_uid == geteuid() || link->st_uid == in.st_uid;
}

/* If `target` is a link, replaces it by the path that it points to and returns true. The link is opened first and
 * examined through its descriptor, so that the link that was checked is the one that is followed. */
static bool follow(const char *path, path_text target) {
    struct stat st;
    path_text text;
    int entry = open(target, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (entry < 0 && errno == ENOENT)
        return false;
    if (entry < 0 || fstat(entry, &st) != 0)
        fail_errno(path);
    if (!S_ISLNK(st.st_mode)) {
        (void)close(entry);
        return false;
    }
    if (!link_is_trusted(target, &st))
        fail("%s: %s: the link %s belongs to another user", path, text_of_errno(EACCES), target);
    ssize_t bytes = readlinkat(entry, "", text, sizeof text - 1);
    if (bytes < 0)
        fail_errno(path);
    (void)close(entry);
    const char *slash = strrchr(target, '/');
    size_t folder_bytes = text[0] == '/' || slash == NULL ? 0 : (size_t)(slash - target) + 1;
    if (folder_bytes + (size_t)bytes >= sizeof(path_text))
        fail("%s: %s", path, text_of_errno(ENAMETOOLONG));
    memcpy(target + folder_bytes, text, (size_t)bytes);
    target[folder_bytes + (size_t)bytes] = '\0';
    return true;
}

static void find_target(const char *path, path_text target) {
    if ((size_t)snprintf(target, sizeof(path_text), "%s", path) >= sizeof(path_text))
        fail("%s: %s", path, text_of_errno(ENAMETOOLONG));
    for (int links = 0; follow(path, target); links++)
        if (links == LINKS_MAX)
            fail("%s: %s", path, text_of_errno(ELOOP));
}

/* ---- the lock file ---- */

static noreturn void fail_foreign(const char *lock_path, const char *why) {
    fail("%s: exists, but is not a lock file of kith: %s (move it away, or use --no-lock)", lock_path, why);
}

/* Gives the lock file the owner and mode that allow exactly the users who can write the data file to open it. Users who
 * can only read it must not be able to make writers wait. Errors are ignored: some file systems have no owners or
 * modes. */
static void settle_access(int fd, const char *target) {
    struct stat data;
    bool exists = stat(target, &data) == 0;
    if (!exists && fstat(fd, &data) != 0)
        return;
    if (exists && fchown(fd, data.st_uid, data.st_gid) != 0 && fchown(fd, (uid_t)-1, data.st_gid) != 0)
        data.st_mode &= ~(mode_t)S_IWGRP; /* another group */
    mode_t writers = data.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH);
    (void)fchmod(fd, S_IRUSR | S_IWUSR | writers | writers << 1);
}

static int open_lock_file(const char *lock_path, const char *target) {
    for (;;) {
        /* First without O_CREAT, which Linux refuses for an existing file of another user in a shared folder. */
        int fd = open(lock_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            settle_access(fd, target);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
}

static int open_must(const char *path, const char *lock_path, const char *target) {
    int fd = open_lock_file(lock_path, target);
    if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
        fail_foreign(lock_path, "it is not a regular file");
    if (fd < 0)
        fail("%s: cannot open the lock file %s: %s (--no-lock works without it)", path, lock_path,
             text_of_errno(errno));
    struct stat st;
    if (fstat(fd, &st) != 0)
        fail_errno(lock_path);
    if (!S_ISREG(st.st_mode))
        fail_foreign(lock_path, "it is not a regular file");
    if (st.st_size != 0)
        fail_foreign(lock_path, "it is not empty");
    return fd;
}

/* ---- waiting ---- */

static void on_alarm(int number) {
    (void)number; /* the handler only exists so that flock returns EINTR */
}

/* Starts or stops an alarm every second. It repeats because the first may occur before flock starts to wait. */
static void set_alarm(bool on) {
    static struct sigaction before;
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {{on, 0}, {on, 0}};
    (void)sigemptyset(&action.sa_mask);
    if (on)
        (void)sigaction(SIGALRM, &action, &before);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    if (!on)
        (void)sigaction(SIGALRM, &before, NULL);
}

/* Returns 0, or the errno if the file cannot be locked. */
static int wait_for_lock(int fd, const char *path, const char *lock_path) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return errno;
    set_alarm(true);
    int error = flock(fd, LOCK_EX) == 0 ? 0 : errno;
    set_alarm(false);
    if (error == EINTR)
        note("waiting for another kith that is writing %s (%s is locked)", path, lock_path);
    while (error == EINTR)
        error = flock(fd, LOCK_EX) == 0 ? 0 : errno;
    return error;
}

/* Returns true if this is still the lock file. If a user deleted it while several processes were waiting, all of them
 * must continue with the same new file. */
static bool is_named(int fd, const char *lock_path) {
    struct stat locked, named;
    return fstat(fd, &locked) == 0 && lstat(lock_path, &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
}

static bool is_absent(const char *path) {
    struct stat st;
    return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENAMETOOLONG);
}

/* Waits for the lock on the lock file, and returns its descriptor. */
static int lock_must(const char *path, const char *lock_path, const char *target) {
    for (;;) {
        int fd = open_must(path, lock_path, target);
        int error = wait_for_lock(fd, path, lock_path);
        if (error != 0)
            fail("%s: cannot lock the lock file %s: %s (if no other kith writes %s at the same time, use --no-lock)",
                 path, lock_path, text_of_errno(error), path);
        if (is_named(fd, lock_path))
            return fd;
        (void)close(fd);
    }
}

static void find_lock(const char *path, path_text target, lock_text lock_path) {
    find_target(path, target);
    (void)snprintf(lock_path, sizeof(lock_text), "%s" ENDING, target);
}

static int take_lock(const char *path, const arguments *a, bool only_if_shared) {
    if (strcmp(path, "-") == 0 || filter_is_stream(path))
        return LOCK_NONE;
    if (a->no_lock && !store_is(path, a))
        return LOCK_NONE;
    path_text target;
    lock_text lock_path;
    if (store_hold(path, a) != NULL)
        return LOCK_OF_STORE;
    find_lock(path, target, lock_path);
    if (only_if_shared && is_absent(target) && is_absent(lock_path))
        return LOCK_NONE;
    for (;;) {
        int fd = lock_must(path, lock_path, target);
        if (!store_is(path, a))
            return fd;
        (void)close(fd); /* another kith has made it a store, which takes the lock itself */
        if (store_hold(path, a) != NULL)
            return LOCK_OF_STORE;
    }
}

int lock_acquire_damaged(const char *path, const arguments *a, bool will_replace) {
    path_text target;
    lock_text lock_path;
    find_lock(path, target, lock_path);
    if (a->no_lock || (!will_replace && access(lock_path, R_OK | W_OK) != 0))
        return LOCK_NONE;
    return lock_must(path, lock_path, target);
}

int lock_acquire(const char *path, const arguments *a) {
    return take_lock(path, a, false);
}

int lock_acquire_for_save(const char *path, const arguments *a) {
    return take_lock(path, a, true);
}

void lock_release(int lock) {
    if (lock == LOCK_OF_STORE)
        store_release();
    else if (lock >= 0)
        (void)close(lock);
}
