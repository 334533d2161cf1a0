/* Changes the content of an opened file, in memory or in its journal.
 *
 *                      plain, or after edit() or replace()        with a journal
 *     add, remove      change `whole`                             append to the journal (file/store.c)
 *     commit           writes `whole`                             ends the batch, syncs
 *     rollback         reads the file again                       cuts the journal back
 *
 * With KITH_SYNC_COMMIT the first change after a commit opens a batch, so that both columns behave alike. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "file/file.h"
#include "handle/handle.h"
#include "handle/verbs.h"

/* Returns KITH_OK if the file may be changed. Loads the content, if it is not in memory. */
static kith_status writable(kith_file *f) {
    if (f->mode == KITH_FILE_READ || f->failure != KITH_OK)
        return kithi_file_fail(f, KITH_E_READONLY);
    if (f->whole == NULL && f->store == NULL) {
        if (f->mode == KITH_FILE_REPLACE || !f->guard.is.exists)
            return kithi_file_fail_with(f, KITH_E_NO_FILE, f->name, "has no content yet");
        return kithi_file_load(f);
    }
    return KITH_OK;
}

static bool has_open_operations(const kith_file *f) {
    return f->store != NULL && f->store->in_batch && f->store->now.end.offset != f->store->batch_start.offset;
}

/* Before operations are appended to the journal. With KITH_SYNC_CALL each call acknowledges its operations, so that the
 * journal must still be that of the file; otherwise a commit finds out. */
static kith_status begin_operation(kith_file *f) {
    kithi_store *s = f->store;
    if (s->in_batch)
        return KITH_OK;
    if (f->options.sync == KITH_SYNC_COMMIT)
        return kithi_store_begin(s);
    if (f->options.sync != KITH_SYNC_CALL)
        return KITH_OK;
    kith_status status = kithi_file_check(f);
    return status == KITH_E_REPLACED ? kithi_store_fail(s, status) : status;
}

/* ---- keys ---- */

static kith_status change_many(kith_file *f, kithi_record_type type, const uint64_t *digests, size_t n,
                               uint64_t *was_new, size_t *done) {
    *done = 0;
    kith_status status = writable(f);
    if (status != KITH_OK)
        return status;
    if (f->whole != NULL) {
        status = kithi_store_apply(f->whole, type, digests, n, was_new, done);
        f->is_changed |= *done > 0;
        return kithi_file_fail(f, status);
    }
    if (kithi_store_writable(f->store) == KITH_OK)
        status = begin_operation(f);
    if (status == KITH_OK)
        status = kithi_store_operate(f->store, type, digests, n, was_new, done);
    return kithi_file_fail(f, status);
}

kith_status kith_file_add_many(kith_file *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    assert(f != NULL && (digests != NULL || n == 0));
    size_t added;
    if (was_new != NULL && n != 0)
        memset(was_new, 0, (n / 64 + (n % 64 != 0)) * sizeof *was_new);
    kith_status status = change_many(f, KITHI_RECORD_ADD, digests, n, was_new, &added);
    if (done != NULL)
        *done = added;
    return status;
}

kith_status kith_file_remove_many(kith_file *f, const uint64_t *digests, size_t n, size_t *done) {
    assert(f != NULL && (digests != NULL || n == 0));
    size_t removed;
    kith_status status = change_many(f, KITHI_RECORD_REMOVE, digests, n, NULL, &removed);
    if (done != NULL)
        *done = removed;
    return status;
}

kith_status kith_file_add_digest(kith_file *f, uint64_t digest, bool *was_new) {
    assert(f != NULL);
    size_t done;
    uint64_t bit = 0;
    kith_status status = change_many(f, KITHI_RECORD_ADD, &digest, 1, &bit, &done);
    if (status == KITH_OK && was_new != NULL)
        *was_new = bit != 0;
    return status;
}

kith_status kith_file_remove_digest(kith_file *f, uint64_t digest) {
    assert(f != NULL);
    size_t done;
    return change_many(f, KITHI_RECORD_REMOVE, &digest, 1, NULL, &done);
}

/* The digest depends on the hash of the content, which may have to be loaded first. */
kith_status kith_file_add(kith_file *f, const void *key, size_t key_bytes, bool *was_new) {
    assert(f != NULL);
    kith_status status = writable(f);
    if (status != KITH_OK)
        return status;
    return kith_file_add_digest(f, kith_filter_digest(kith_file_filter(f), key, key_bytes), was_new);
}

kith_status kith_file_remove(kith_file *f, const void *key, size_t key_bytes) {
    assert(f != NULL);
    kith_status status = writable(f);
    if (status != KITH_OK)
        return status;
    return kith_file_remove_digest(f, kith_filter_digest(kith_file_filter(f), key, key_bytes));
}

/* ---- the whole content ---- */

static void set_whole(kith_file *f, kith_filter *filter) {
    kithi_file_drop(f);
    f->whole = filter;
    f->is_changed = true;
}

kith_status kith_file_edit(kith_file *f, kith_filter **filter) {
    assert(f != NULL && filter != NULL);
    kith_status status = writable(f);
    if (status != KITH_OK)
        return status;
    if (f->whole == NULL && kithi_store_writable(f->store) != KITH_OK)
        return kithi_file_fail(f, KITH_E_READONLY);
    if (f->whole == NULL && has_open_operations(f))
        return kithi_file_fail(f, KITH_E_BUSY);
    if (f->whole == NULL || kith_filter_readonly(f->whole)) {
        kith_filter *copy;
        status = kith_filter_clone(kith_file_filter(f), &f->allocator, &copy);
        if (status != KITH_OK)
            return kithi_file_fail(f, status);
        set_whole(f, copy);
    }
    f->is_changed = true;
    *filter = f->whole;
    return KITH_OK;
}

kith_status kith_file_replace(kith_file *f, kith_filter *from) {
    assert(f != NULL && from != NULL && from != f->whole);
    bool is_readonly = f->mode == KITH_FILE_READ || f->failure != KITH_OK ||
                       (f->store != NULL && kithi_store_writable(f->store) != KITH_OK);
    if (is_readonly)
        return kithi_file_fail(f, KITH_E_READONLY);
    if (has_open_operations(f))
        return kithi_file_fail(f, KITH_E_BUSY);
    bool has_journal =
        f->wish == KITHI_WISH_JOURNAL || (f->wish == KITHI_WISH_NONE && (f->store != NULL || f->had_journal));
    if (has_journal && !kithi_kind_adds(from->kind))
        return kithi_file_fail_with(
            f, KITH_E_UNSUPPORTED, f->name,
            "has a journal, and filters of this kind can only be built from a complete list of keys");
    set_whole(f, from);
    return KITH_OK;
}

/* ---- batches ---- */

kith_status kith_file_begin(kith_file *f) {
    assert(f != NULL);
    kith_status status = writable(f);
    if (status != KITH_OK || f->whole != NULL || f->options.sync == KITH_SYNC_COMMIT)
        return status;
    return kithi_file_fail(f, kithi_store_begin(f->store));
}

kith_status kith_file_rollback(kith_file *f) {
    assert(f != NULL);
    if (f->mode == KITH_FILE_READ)
        return kithi_file_fail(f, KITH_E_READONLY);
    if (f->store != NULL) {
        kithi_file_drop(f);
        return f->store->in_batch ? kithi_file_fail(f, kithi_store_rollback(f->store)) : KITH_OK;
    }
    if (!f->is_changed)
        return KITH_OK;
    if (!f->guard.is.exists || f->mode == KITH_FILE_REPLACE || f->stream != NULL) {
        kithi_file_drop(f);
        return KITH_OK;
    }
    kith_status status = kithi_file_check(f);
    return status == KITH_OK ? kithi_file_load(f) : status;
}
