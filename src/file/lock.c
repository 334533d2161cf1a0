/* Waits for the lock of a file, and checks that nothing was replaced since.
 *
 * Without a limit the wait is flock itself: the kernel keeps a queue, and wakes a process that waits in it. A process
 * that only tries now and then would starve beside those. With a limit there is no other way without a signal, a thread
 * or a timer, none of which a library should start behind the back of its caller.
 *
 * The lock is on a file of its own, because a commit replaces FILE: those that waited for the old file would all get
 * its lock. The lock file is never removed by us, because one process could lock the removed file while another creates
 * and locks a new one. If a user removes it, those that wait go on with the new one, and who holds the lock of the
 * removed one does not commit any more.
 *
 * A lock protects only against programs that take it. So a commit also compares FILE with what was read: device,
 * number, size and time of the last write. The guard of the replacement (os/replace.h) compares once more when the
 * names are exchanged. */
#include <assert.h>
#include <errno.h>

#include "file/file.h"
#include "os/errno_status.h"

enum { PAUSE_MS_MAX = 16 };

static bool may_wait(const kith_file *f, uint64_t since) {
    uint64_t waited = f->files->now_ms(f->files->context) - since;
    return f->options.waiting == NULL || f->options.waiting(f->options.context, f->lock_name, waited);
}

static kith_status fail_lock(kith_file *f, const char *text) {
    int error = errno;
    (void)kithi_file_fail_with(f, KITH_E_LOCK, f->lock_name[0] != '\0' ? f->lock_name : f->name, text);
    f->error.system_error = error;
    errno = error;
    return KITH_E_LOCK;
}

static kith_status fail_flock(kith_file *f) {
    return fail_lock(f, "this file system cannot lock it; if nobody else changes the file, it can be changed without a "
                        "lock");
}

/* Waits in flock. */
static kith_status wait_in_flock(kith_file *f, int lock, uint64_t since) {
    while (f->files->take_lock(f->files->context, lock, true) != 0) {
        if (errno != EINTR)
            return fail_flock(f);
        if (!may_wait(f, since))
            return kithi_file_fail_with(f, KITH_E_CANCELLED, f->lock_name, "waiting for the lock was cancelled");
    }
    return KITH_OK;
}

static kith_status poll_lock(kith_file *f, int lock, uint64_t since) {
    for (unsigned pause = 1;; pause = pause < PAUSE_MS_MAX ? 2 * pause : pause) {
        uint64_t waited = f->files->now_ms(f->files->context) - since;
        if (waited >= f->options.wait_ms)
            return kithi_file_fail_with(f, KITH_E_LOCKED, f->lock_name,
                                        "another process is changing the file; try again when it has finished");
        uint64_t rest = f->options.wait_ms - waited;
        f->files->pause(f->files->context, rest < pause ? (unsigned)rest : pause);
        if (f->files->take_lock(f->files->context, lock, false) == 0)
            return KITH_OK;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail_flock(f);
        if (!may_wait(f, since))
            return kithi_file_fail_with(f, KITH_E_CANCELLED, f->lock_name, "waiting for the lock was cancelled");
    }
}

static kith_status take(kith_file *f, int lock) {
    uint64_t since = f->files->now_ms(f->files->context);
    int taken;
    do
        taken = f->files->take_lock(f->files->context, lock, false);
    while (taken != 0 && errno == EINTR);
    if (taken == 0)
        return KITH_OK;
    if (errno != EWOULDBLOCK)
        return fail_flock(f);
    if (f->options.wait_ms == 0)
        return kithi_file_fail_with(f, KITH_E_LOCKED, f->lock_name,
                                    "another process is changing the file; try again when it has finished");
    if (!may_wait(f, since))
        return kithi_file_fail_with(f, KITH_E_CANCELLED, f->lock_name, "waiting for the lock was cancelled");
    return f->options.wait_ms == KITH_FILE_WAIT ? wait_in_flock(f, lock, since) : poll_lock(f, lock, since);
}

/* Opens the lock file. *lock is negative if it is not there, or may not be written, and need not be. */
static kith_status open_lock(kith_file *f, bool existing, int *lock) {
    do
        *lock = f->files->open_lock(f->files->context, f->folder, f->lock_name, f->name, existing);
    while (*lock < 0 && errno == EINTR);
    if (*lock >= 0)
        return KITH_OK;
    kith_status status = kithi_status_from_errno(errno);
    bool is_optional = existing && f->options.lock == KITH_FILE_LOCK_IF_THERE;
    if ((existing && errno == ENOENT) || (is_optional && status == KITH_E_PERMISSION))
        return KITH_OK;
    if (status == KITH_E_NO_SPACE || status == KITH_E_MEMORY)
        return kithi_file_fail_with(f, status, f->lock_name, "the lock file cannot be created");
    if (errno != EINVAL)
        return fail_lock(f, "the lock file cannot be opened");
    status = fail_lock(f, "exists, but is not a lock file of kith: it is not an empty regular file; move it away");
    f->error.system_error = 0; /* no call of the system has failed */
    return status;
}

kith_status kithi_file_lock(kith_file *f, bool existing) {
    assert(f->lock < 0);
    if (f->lock_name[0] == '\0') {
        errno = ENAMETOOLONG;
        return existing ? KITH_OK : fail_lock(f, "the name is too long for a lock file beside it");
    }
    for (;;) {
        int lock;
        kith_status status = open_lock(f, existing, &lock);
        if (status != KITH_OK || lock < 0)
            return status;
        status = take(f, lock);
        int named = 1;
        if (status == KITH_OK)
            named = f->files->is_named(f->files->context, lock, f->folder, f->lock_name);
        if (named < 0)
            status = kithi_file_fail(f, kithi_status_from_errno(errno));
        if (status == KITH_OK && named == 1) {
            f->lock = lock;
            return KITH_OK;
        }
        f->files->close(f->files->context, lock);
        if (status != KITH_OK)
            return status;
    }
}

void kithi_file_unlock(kith_file *f) {
    if (f->lock >= 0)
        f->files->close(f->files->context, f->lock);
    f->lock = -1;
}

/* ---- what was replaced ---- */

static kith_status fail_replaced(kith_file *f, const char *name, const char *text) {
    return kithi_file_fail_with(f, KITH_E_REPLACED, name, text);
}

kith_status kithi_file_check(kith_file *f) {
    const kithi_files *files = f->files;
    kithi_file_id now;
    if (f->folder < 0)
        return KITH_OK;
    if (files->identify(files->context, f->folder, f->name, &now) != 0)
        return kithi_file_fail(f, kithi_status_from_errno(errno));
    if (!f->guard.is.exists && now.exists)
        return kithi_file_fail_with(f, f->mode == KITH_FILE_REPLACE ? KITH_E_REPLACED : KITH_E_EXISTS, f->name,
                                    "another program has created it meanwhile; it is unchanged");
    if (!now.exists && f->guard.is.exists)
        return fail_replaced(f, f->name,
                             "another program has removed or renamed it; nothing was written, so put it "
                             "back and try again");
    if (!kithi_same_file(&now, &f->guard.is))
        return fail_replaced(f, f->name,
                             "another program has changed or replaced it; nothing was written, so try again");
    if (f->lock >= 0 && files->is_named(files->context, f->lock, f->folder, f->lock_name) != 1)
        return fail_replaced(
            f, f->lock_name,
            "another program has removed or replaced the lock file; nothing was written, so try again");
    const kithi_store *s = f->store;
    if (s != NULL && files->is_named(files->context, s->now.journal.file, f->folder, s->journal_name) != 1)
        return fail_replaced(f, s->journal_name,
                             "another program has removed or replaced the journal; nothing was written, so try again");
    return KITH_OK;
}
