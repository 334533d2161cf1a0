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
#define _FILE_OFFSET_BITS 64

#include "cli/files/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/files/filters.h"
#include "cli/files/found.h"
#include "cli/output/report.h"
#include "cli/files/stores.h"

#define ENDING "-lock"

typedef char lock_text[PATH_MAX + sizeof ENDING]; /* for messages */

/* ---- the lock file ---- */

static noreturn void fail_foreign(const char *lock_path, const char *why) {
    fail("%s: exists, but is not a lock file of kith: %s (move it away, or use --no-lock)", lock_path, why);
}

/* Gives the lock file the owner and mode that allow exactly the users who can write the data file to open it. Users who
 * can only read it must not be able to make writers wait. Errors are ignored: some file systems have no owners or
 * modes. */
static void settle_access(int fd, const found_place *f) {
    struct stat data;
    bool exists = found_lstat(f, "", &data) == 0;
    if (!exists && fstat(fd, &data) != 0)
        return;
    if (exists && fchown(fd, data.st_uid, data.st_gid) != 0 && fchown(fd, (uid_t)-1, data.st_gid) != 0)
        data.st_mode &= ~(mode_t)S_IWGRP; /* another group */
    mode_t writers = data.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH);
    (void)fchmod(fd, S_IRUSR | S_IWUSR | writers | writers << 1);
}

static int open_lock_file(const found_place *f) {
    for (;;) {
        /* First without O_CREAT, which Linux refuses for an existing file of another user in a shared folder. */
        int fd = found_open(f, ENDING, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
        if (fd >= 0 || errno != ENOENT)
            return fd;
        fd = found_open(f, ENDING, O_RDWR | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            settle_access(fd, f);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
}

static int open_must(const char *path, const char *lock_path, const found_place *f) {
    int fd = open_lock_file(f);
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
    int error;
    do
        error = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    while (error == EINTR);
    if (error != EWOULDBLOCK)
        return error;
    set_alarm(true);
    error = flock(fd, LOCK_EX) == 0 ? 0 : errno;
    set_alarm(false);
    if (error == EINTR)
        note("waiting for another kith that is writing %s (%s is locked)", path, lock_path);
    while (error == EINTR)
        error = flock(fd, LOCK_EX) == 0 ? 0 : errno;
    return error;
}

/* Returns true if this is still the lock file. If a user deleted it while several processes were waiting, all of them
 * must continue with the same new file. */
static bool is_named(int fd, const char *lock_path, const found_place *f) {
    struct stat locked, named;
    if (fstat(fd, &locked) != 0)
        fail_errno(lock_path);
    if (found_lstat(f, ENDING, &named) != 0) {
        if (errno != ENOENT)
            fail_errno(lock_path);
        return false;
    }
    return locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

static bool is_absent(const found_place *f, const char *ending) {
    struct stat st;
    return found_lstat(f, ending, &st) != 0 && (errno == ENOENT || errno == ENAMETOOLONG);
}

/* Waits for the lock on the lock file, and returns its descriptor. */
static int lock_must(const char *path, const found_place *f) {
    lock_text lock_path;
    (void)snprintf(lock_path, sizeof lock_path, "%s" ENDING, found_shown(f));
    for (;;) {
        int fd = open_must(path, lock_path, f);
        int error = wait_for_lock(fd, path, lock_path);
        if (error != 0)
            fail("%s: cannot lock the lock file %s: %s (if no other kith writes %s at the same time, use --no-lock)",
                 path, lock_path, text_of_errno(error), path);
        if (is_named(fd, lock_path, f))
            return fd;
        (void)close(fd);
    }
}

static const found_place *find_must(const char *path) {
    const found_place *f = found_file(path);
    if (f == NULL)
        found_fail(path);
    return f;
}

static int take_lock(const char *path, const arguments *a, bool only_if_shared) {
    if (strcmp(path, "-") == 0 || filter_is_stream(path))
        return LOCK_NONE;
    const found_place *f = find_must(path);
    if (a->no_lock && !store_is(path, a))
        return LOCK_NONE;
    if (store_hold(path, a) != NULL)
        return LOCK_OF_STORE;
    if (only_if_shared && is_absent(f, "") && is_absent(f, ENDING))
        return LOCK_NONE;
    for (;;) {
        int fd = lock_must(path, f);
        if (!store_is(path, a))
            return fd;
        (void)close(fd); /* another kith has made it a store, which takes the lock itself */
        if (store_hold(path, a) != NULL)
            return LOCK_OF_STORE;
    }
}

/* Returns whether the lock file exists and may be opened. */
static bool may_open(const found_place *f) {
    int fd = found_open(f, ENDING, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

int lock_acquire_damaged(const char *path, const arguments *a, bool will_replace) {
    const found_place *f = find_must(path);
    if (a->no_lock || (!will_replace && !may_open(f)))
        return LOCK_NONE;
    return lock_must(path, f);
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
