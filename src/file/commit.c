/* Commits: replaces a plain file, ends the batch of a journal, and gives files a journal or takes it away.
 *
 * Which files a commit of the whole content writes:
 *
 *     the file is, or is to become     how
 *     plain                            one replacement
 *     with a journal, which is open    kithi_store_replace(): the same journal's successor
 *     with a journal                   kithi_store_fill(): journal first, then the snapshot that is marked. If FILE is
 *                                      damaged, it is first replaced by a plain file with the new content, because a
 *                                      repair needs the old file and the old journal together
 *     plain, and had a journal         one replacement, and then the journal is removed: beside a plain file nobody
 *                                      reads it
 *
 * Each of these leaves the old content or the new one after a crash. All replacements of FILE have the guard of the
 * handle (os/replace.h), so none of them undoes what another program has written since the file was read. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "file/file.h"
#include "os/errno_status.h"
#include "handle/handle.h"
#include "handle/salvage.h"
#include "handle/verbs.h"

/* How often a file without a lock is looked at again because others have created it meanwhile. */
enum { ATTEMPTS_MAX = 100 };

void kithi_file_guard_store(kith_file *f, kithi_store *store) {
    store->snapshot_guard = &f->guard;
    store->journal_guard = &f->journal_guard;
}

/* ---- writing ---- */

static kith_status replace_plain(void *context, const kithi_part *parts, size_t count, bool secret) {
    kith_file *f = context;
    const int *open_file = f->file >= 0 ? &f->file : NULL;
    const kithi_replacement r = {f->name, NULL, parts, count, secret, &f->guard, open_file};
    kith_status status = f->files->replace(f->files->context, f->folder, &r);
    if (status == KITH_OK)
        kithi_file_forget(f);
    return status;
}

static kith_status write_plain(kith_file *f) {
    static const kithi_store_mark NO_MARK = {.is_store = false};
    if (f->other != NULL)
        return replace_plain(f, f->other, 1, false);
    return kithi_filter_write_marked(f->whole, &NO_MARK, replace_plain, f);
}

/* Removes FILE-journal after FILE has become plain. Another file of that name is left alone. */
static kith_status remove_journal(kith_file *f) {
    char name[KITHI_NAME_BYTES];
    uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES];
    size_t got = 0;
    int fd;
    if (!kithi_join_names(name, f->name, "-journal"))
        return KITH_OK;
    kith_status status = kithi_files_open(f->files, f->folder, name, false, &fd);
    bool is_other = status == KITH_E_IO && (errno == EISDIR || errno == EINVAL || errno == ENXIO || errno == ELOOP);
    if (status == KITH_E_NO_FILE || is_other)
        return KITH_OK;
    if (status == KITH_OK) {
        status = kithi_files_read(f->files, fd, bytes, sizeof bytes, 0, &got);
        f->files->close(f->files->context, fd);
    }
    if (status == KITH_OK && !kithi_is_journal(bytes, got))
        return KITH_OK;
    if (status == KITH_OK && f->files->remove(f->files->context, f->folder, name) != 0)
        status = kithi_status_from_errno(errno);
    return status;
}

/* Writes snapshot and journal. On success the store has the content. */
static kith_status write_store(kith_file *f) {
    kithi_store_options options = kithi_file_store_options(f);
    kithi_store *s;
    if (f->lock < 0)
        return kithi_file_fail_with(f, KITH_E_LOCK, f->name, "a file with a journal needs a lock");
    kith_status status = kithi_store_new_at(f->files, f->folder, f->name, f->lock, &options, &s);
    if (status != KITH_OK)
        return status;
    kithi_file_guard_store(f, s);
    status = kithi_store_fill(s, f->whole);
    if (status == KITH_E_JOURNAL_FOREIGN)
        (void)kithi_file_fail_with(f, status, s->journal_name, "exists, but is not a journal of kith; move it away");
    if (status != KITH_OK) {
        kithi_store_free(s);
        return status;
    }
    kithi_file_forget(f);
    f->store = s;
    return KITH_OK;
}

/* ---- the whole content ---- */

/* REPLACE, if the file shall be locked now, or if nothing was there to be locked when it was opened. */
static bool locks_late(const kith_file *f) {
    return f->mode == KITH_FILE_REPLACE && f->lock < 0 && f->stream == NULL &&
           (f->options.lock == KITH_FILE_LOCK_DEFAULT || f->options.lock == KITH_FILE_LOCK_COMMIT);
}

static kith_status lock_late(kith_file *f) {
    bool exists;
    if (!locks_late(f))
        return KITH_OK;
    kith_status status = KITH_OK;
    if (f->wish != KITHI_WISH_JOURNAL) {
        if (f->files->identify(f->files->context, f->folder, f->name, &f->guard.is) != 0)
            return kithi_file_fail(f, kithi_status_from_errno(errno));
        status = kithi_file_lock(f, !f->guard.is.exists);
    } else {
        status = kithi_file_lock(f, false);
    }
    if (status == KITH_OK && f->lock >= 0) {
        if (f->files->identify(f->files->context, f->folder, f->name, &f->guard.is) != 0)
            return kithi_file_fail(f, kithi_status_from_errno(errno));
        status = kithi_file_probe(f, &exists, &f->had_journal);
        status = status == KITH_E_IO || status == KITH_E_MEMORY ? status : KITH_OK;
    }
    return status;
}

static kith_status fail_journal(kith_file *f) {
    return kithi_file_fail_with(f, KITH_E_UNSUPPORTED, f->name,
                                f->other != NULL ? "has a journal, so its content must be a filter"
                                                 : "has a journal, and filters of this kind can only be built from a "
                                                   "complete list of keys");
}

static kith_status write_once(kith_file *f) {
    bool keeps = f->wish == KITHI_WISH_NONE;
    kith_status status = lock_late(f);
    if (status == KITH_OK)
        status = kithi_file_check(f);
    if (status != KITH_OK)
        return status;
    if (f->wish == KITHI_WISH_JOURNAL || (keeps && f->had_journal)) {
        return f->other == NULL && kithi_kind_adds(f->whole->kind) ? write_store(f) : fail_journal(f);
    }
    status = write_plain(f);
    if (status == KITH_OK && !keeps) {
        status = remove_journal(f);
        f->failure = status; /* the file is complete, but the journal of the old one is still there */
    }
    return status;
}

static kith_status write_whole(kith_file *f) {
    kith_status status = KITH_OK;
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        bool was_absent = locks_late(f);
        status = write_once(f);
        if (!(was_absent && f->lock < 0 && status == KITH_E_REPLACED))
            break;
    }
    if (status != KITH_OK && f->guard.is_written)
        return kithi_file_fail_with(f, status, f->name,
                                    "everything was written, but the system cannot say which file was replaced");
    bool is_new = !f->guard.is.exists && f->mode != KITH_FILE_REPLACE;
    if (status == KITH_E_REPLACED && is_new)
        status = kithi_file_fail_with(f, KITH_E_EXISTS, f->name,
                                      "another program has created it meanwhile; it is unchanged");
    return status;
}

static kith_status commit_whole(kith_file *f) {
    kith_status status;
    if (f->store != NULL) {
        status = kithi_file_check(f);
        if (status == KITH_OK && f->store->in_batch) /* it has no operations: see kith_file_replace() */
            status = kithi_store_commit(f->store);
        if (status == KITH_OK)
            status = kithi_store_replace(f->store, f->whole);
    } else {
        status = write_whole(f);
    }
    if (status != KITH_OK)
        return f->error.status == status ? status : kithi_file_fail(f, status);
    f->is_changed = false;
    f->wish = KITHI_WISH_NONE;
    f->had_journal = false;
    if (f->store != NULL)
        kithi_file_drop(f);
    return KITH_OK;
}

/* Commits what was appended to the journal. A batch that cannot be committed is rolled back. */
static kith_status commit_operations(kith_file *f) {
    kithi_store *s = f->store;
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return kithi_file_fail(f, status);
    status = kithi_file_check(f);
    if (status != KITH_OK) {
        int error = errno;
        kith_status undone = s->in_batch ? kithi_store_rollback(s) : KITH_OK;
        if (status == KITH_E_REPLACED || undone != KITH_OK)
            (void)kithi_store_fail(s, status);
        errno = error;
        return status;
    }
    return kithi_file_fail(f, s->in_batch ? kithi_store_commit(s) : kithi_store_sync(s));
}

kith_status kith_file_commit(kith_file *f) {
    assert(f != NULL);
    if (f->mode == KITH_FILE_READ || f->failure != KITH_OK)
        return kithi_file_fail(f, KITH_E_READONLY);
    f->error.status = KITH_OK;
    if (f->whole == NULL && f->store != NULL)
        return commit_operations(f);
    if (f->whole == NULL && (f->mode == KITH_FILE_REPLACE || !f->guard.is.exists))
        return kithi_file_fail_with(f, KITH_E_NO_FILE, f->name, "has no content yet");
    if (!f->is_changed)
        return KITH_OK;
    return f->stream != NULL ? kithi_file_commit_stream(f) : commit_whole(f);
}

kith_status kith_file_wait(kith_file *f) {
    assert(f != NULL);
    f->error.status = KITH_OK;
    kith_status status = f->failure == KITH_OK ? lock_late(f) : KITH_E_READONLY;
    return f->error.status == status ? status : kithi_file_fail(f, status);
}

kith_status kith_file_commit_bytes(kith_file *f, const void *bytes, size_t byte_count) {
    assert(f != NULL && (bytes != NULL || byte_count == 0));
    const kithi_part part = {bytes, byte_count};
    if (f->mode != KITH_FILE_REPLACE || f->failure != KITH_OK)
        return kithi_file_fail(f, KITH_E_READONLY);
    f->error.status = KITH_OK;
    f->other = &part;
    kith_status status = f->stream != NULL  ? kithi_file_commit_stream(f)
                         : f->store != NULL ? fail_journal(f)
                                            : commit_whole(f);
    f->other = NULL;
    return status;
}

/* ---- the journal ---- */

static kith_status start_journal(kith_file *f) {
    f->wish = KITHI_WISH_JOURNAL;
    kith_status status = commit_whole(f);
    if (status != KITH_OK)
        f->wish = KITHI_WISH_NONE;
    return status;
}

static kith_status end_journal(kith_file *f) {
    kith_status status = kithi_file_check(f);
    if (status == KITH_OK && f->store->in_batch)
        status = kithi_store_commit(f->store);
    if (status == KITH_OK)
        status = kithi_store_close_plain(f->store);
    if (status == KITH_OK)
        f->store = NULL;
    return f->error.status == status ? status : kithi_file_fail(f, status);
}

kith_status kith_file_set_journal(kith_file *f, bool has_journal) {
    assert(f != NULL);
    bool is_readonly = f->mode == KITH_FILE_READ || f->failure != KITH_OK || f->stream != NULL ||
                       (f->store != NULL && kithi_store_writable(f->store) != KITH_OK);
    if (is_readonly)
        return kithi_file_fail(f, KITH_E_READONLY);
    f->error.status = KITH_OK;
    if (f->store != NULL && f->store->in_batch && f->store->now.end.offset != f->store->batch_start.offset)
        return kithi_file_fail(f, KITH_E_BUSY);
    if (has_journal && f->options.lock == KITH_FILE_LOCK_NEVER)
        return kithi_file_fail_with(f, KITH_E_LOCK, f->name, "a file with a journal needs a lock");
    if (has_journal && f->whole != NULL && !kithi_kind_adds(f->whole->kind))
        return kithi_file_fail_with(
            f, KITH_E_UNSUPPORTED, f->name,
            "filters of this kind can only be built from a complete list of keys, so it can have no journal");
    bool is_open = f->mode != KITH_FILE_REPLACE && f->guard.is.exists && !f->is_changed;
    if (f->store != NULL && f->is_changed && !has_journal)
        return kithi_file_fail(f, KITH_E_BUSY);
    if (f->store == NULL && f->whole == NULL && is_open) {
        kith_status status = has_journal ? kithi_file_load(f) : KITH_OK;
        if (status != KITH_OK)
            return status;
    }
    if (f->store != NULL)
        return has_journal ? KITH_OK : end_journal(f);
    if (is_open)
        return has_journal ? start_journal(f) : KITH_OK;
    f->wish = has_journal ? KITHI_WISH_JOURNAL : KITHI_WISH_PLAIN;
    return KITH_OK;
}

kith_status kith_file_repair(kith_file *f, kith_repair_report *report, kith_filter **filter) {
    assert(f != NULL && report != NULL && filter != NULL);
    kithi_store_options options = kithi_file_store_options(f);
    kithi_store *s;
    if (f->folder < 0)
        return kithi_file_fail_with(f, KITH_E_UNSUPPORTED, f->name, "is not a regular file");
    kith_status status = kithi_store_new_at(f->files, f->folder, f->name, -1, &options, &s);
    if (status != KITH_OK)
        return kithi_file_fail(f, status);
    status = kithi_repair_store(s, KITHI_SALVAGE_BUDGET, &f->allocator, report, filter);
    kithi_store_free(s);
    return kithi_file_fail(f, status);
}

kith_status kith_file_checkpoint(kith_file *f) {
    assert(f != NULL);
    if (f->mode == KITH_FILE_READ || f->failure != KITH_OK)
        return kithi_file_fail(f, KITH_E_READONLY);
    if (f->store == NULL)
        return KITH_OK;
    kithi_store *s = f->store;
    if (s->in_batch && s->now.end.offset == s->batch_start.offset) {
        kith_status status = kithi_store_commit(s); /* an empty batch */
        if (status != KITH_OK)
            return kithi_file_fail(f, status);
    }
    kith_status status = kithi_store_writable(s) == KITH_OK ? kithi_file_check(f) : KITH_OK;
    return status == KITH_OK ? kithi_file_fail(f, kithi_store_checkpoint(s)) : status;
}

kith_status kith_file_tick(kith_file *f) {
    assert(f != NULL);
    if (f->mode == KITH_FILE_READ || f->store == NULL)
        return KITH_OK;
    return kithi_file_fail(f, kithi_store_tick(f->store));
}
