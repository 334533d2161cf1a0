/* Writes the snapshots of a store and starts its journals.
 *
 * A checkpoint, with the files after each step. The numbers are sequence numbers of records; "snapshot 10" contains the
 * operations of all records up to number 10:
 *
 *                                            FILE            FILE-journal
 *                                            snapshot 10     base 10, records 11 … 15
 *     verify every page of the snapshot
 *     replace FILE                           snapshot 15     base 10, records 11 … 15
 *     map the new file
 *     replace FILE-journal                   snapshot 15     base 15, no records
 *
 * Each replacement is atomic, and durable when it returns (os/replace.h). Between the two replacements, all records
 * of the journal are in the snapshot; whoever opens the store skips them. So a crash at any point leaves a store with
 * all operations, and none of them is applied twice.
 *
 * Why verify: when the snapshot was mapped, only its headers and notes were verified. Without this step, damage in the
 * old file would get valid checksums in the new one. The pages are read from the file, not from the private map, in
 * which the operations have changed some of them. With options.no_map, all bytes were verified when they were read.
 *
 * A new store writes its journal first and its snapshot after that: a file that is marked as a store always has a
 * journal. A journal next to a plain file is ignored. create_files() says how a damaged store is replaced. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "os/errno_status.h"
#include "handle/handle.h"
#include "file/store.h"
#include "handle/verbs.h"

/* ---- files ---- */

static const kithi_store_mark NO_MARK = {.is_store = false}; /* for a plain file */

/* The callback for kithi_filter_write_marked(). */
static kith_status write_snapshot(void *context, const kithi_part *parts, size_t count, bool secret) {
    kithi_store *s = context;
    const kithi_replacement r = {s->snapshot_name, NULL, parts, count, secret, s->snapshot_guard, NULL};
    return s->files->replace(s->files->context, s->folder, &r);
}

/* Replaces FILE by the bytes of a filter, with this mark in the header. */
static kith_status replace_snapshot(kithi_store *s, kith_filter *filter, const kithi_store_mark *mark) {
    return kithi_filter_write_marked(filter, mark, write_snapshot, s);
}

/* Called after the replacement of a file has failed with `status` and was undone: the name refers to the old file
 * again. But if the sync of the folder has failed, the name may still refer to the new file on the disk. After a power
 * cut the store would then have an empty journal instead of the one in use, or a snapshot with other content. So
 * this syncs the folder before the store goes on; if that fails, the store is read-only. Returns `status`. */
static kith_status sync_restored_name(kithi_store *s, kith_status status) {
    int error = errno;
    if (s->files->sync_folder(s->files->context, s->folder) != 0)
        (void)kithi_store_fail(s, status);
    errno = error;
    return status;
}

static kith_status replace_journal(kithi_store *s, const kithi_journal_head *head, const kith_filter *filter) {
    uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES];
    kithi_part part = {bytes, sizeof bytes};
    kithi_journal_head_write(bytes, head);
    /* The snapshot has mode 0600 if it contains a secret hash key. Users who cannot read the snapshot must not read the
     * digests either, so the journal has the same mode. */
    bool secret = filter->head.hash.id == KITH_HASH_SIPHASH;
    const kithi_replacement r = {s->journal_name, s->snapshot_name, &part, 1, secret, s->journal_guard, NULL};
    return s->files->replace(s->files->context, s->folder, &r);
}

kith_status kithi_store_start_journal(kithi_store *s, uint64_t base) {
    kithi_journal_head head = s->now.journal.head;
    head.generation++;
    head.base = base;
    kith_status status = replace_journal(s, &head, s->now.filter);
    if (status != KITH_OK) {
        int error = errno;
        /* Some file systems cannot undo a replacement if the sync of the folder has failed. */
        bool old_is_in_place =
            s->files->is_named(s->files->context, s->now.journal.file, s->folder, s->journal_name) == 1;
        errno = error;
        return old_is_in_place ? sync_restored_name(s, status) : kithi_store_fail(s, status);
    }
    kithi_journal started = s->now.journal;
    status = kithi_files_open(s->files, s->folder, s->journal_name, true, &started.file);
    if (status != KITH_OK)
        return kithi_store_fail(s, status);
    status = kithi_journal_open(&started);
    if (status != KITH_OK) {
        s->files->close(s->files->context, started.file);
        return kithi_store_fail(s, status);
    }
    s->files->close(s->files->context, s->now.journal.file);
    s->now.journal = started;
    s->now.end = s->synced = started.start;
    s->unsynced_operations = 0;
    return KITH_OK;
}

/* Maps the snapshot that was just written, in place of the old one. On failure nothing has changed. */
static kith_status map_new_snapshot(kithi_store *s) {
    kithi_image image = s->now;
    kith_status status = kithi_files_open(s->files, s->folder, s->snapshot_name, false, &image.snapshot_file);
    if (status != KITH_OK)
        return status;
    status = kithi_image_map(s, image.snapshot_file, &image);
    if (status != KITH_OK) {
        s->files->close(s->files->context, image.snapshot_file);
        return status;
    }
    kithi_store_adopt(s, &image);
    return KITH_OK;
}

/* ---- checkpoints ---- */

static kith_status verify_snapshot(const kithi_store *s) {
    if (s->options.no_map) /* all bytes were verified when they were read into memory */
        return KITH_OK;
    uint8_t *map = s->files->map(s->files->context, s->now.snapshot_file, s->now.map_bytes, false);
    if (map == NULL)
        return kithi_status_from_errno(errno);
    kith_filter *view;
    kith_status status = kith_filter_view(map, s->now.map_bytes, KITH_OPEN_SNAPSHOT, &s->allocator, &view);
    if (status == KITH_OK)
        kith_filter_free(view);
    s->files->unmap(s->files->context, map, s->now.map_bytes);
    return status;
}

kith_status kithi_store_verify(const kithi_store *s) {
    assert(s != NULL);
    kith_status status = verify_snapshot(s);
    if (status == KITH_OK && kithi_filter_check(s->now.filter) != NULL)
        status = KITH_E_CORRUPT;
    return status;
}

static kith_status checkpoint(kithi_store *s) {
    kithi_store_mark mark = s->now.mark;
    mark.sequence = s->now.end.sequence;
    kith_status status = verify_snapshot(s);
    if (status == KITH_OK)
        status = replace_snapshot(s, s->now.filter, &mark);
    if (status == KITH_OK)
        status = map_new_snapshot(s);
    return status == KITH_OK ? kithi_store_start_journal(s, mark.sequence) : status;
}

kith_status kithi_store_checkpoint(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    if (s->in_batch)
        return KITH_E_BUSY;
    if (s->now.end.offset > s->now.journal.start.offset)
        status = checkpoint(s);
    s->last_checkpoint_ms = s->files->now_ms(s->files->context);
    s->checkpoint_due_bytes = s->options.checkpoint_bytes;
    /* After a failure the next attempt is due when the journal has grown by checkpoint_bytes more. */
    if (status != KITH_OK && s->now.end.offset <= KITH_FILE_NEVER - s->options.checkpoint_bytes)
        s->checkpoint_due_bytes += s->now.end.offset;
    return status;
}

kith_status kithi_store_checkpoint_if_due(kithi_store *s) {
    if (s->in_batch || s->failure != KITH_OK || s->now.end.offset == s->now.journal.start.offset)
        return KITH_OK;
    bool is_due = s->now.end.offset > s->checkpoint_due_bytes ||
                  (s->options.checkpoint_ms != 0 &&
                   s->files->now_ms(s->files->context) - s->last_checkpoint_ms >= s->options.checkpoint_ms);
    if (!is_due)
        return KITH_OK;
    s->checkpoint_status = kithi_store_checkpoint(s);
    return s->checkpoint_status;
}

/* ---- other content ---- */

/* Called after the replacement of FILE by other content or by a plain file has failed with `status`, or was not begun
 * because the snapshot is damaged. The journal does not belong to the new file, so if the replacement could not be
 * undone, the store becomes read-only. Otherwise the store goes on, after sync_restored_name(). Returns `status`. */
static kith_status handle_failed_replacement(kithi_store *s, kith_status status) {
    int error = errno;
    bool old_is_in_place =
        s->files->is_named(s->files->context, s->now.snapshot_file, s->folder, s->snapshot_name) == 1;
    errno = error;
    return old_is_in_place ? sync_restored_name(s, status) : kithi_store_fail(s, status);
}

kith_status kithi_store_replace(kithi_store *s, kith_filter *filter) {
    assert(s != NULL && filter != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    if (s->in_batch)
        return KITH_E_BUSY;
    if (!kithi_kind_adds(filter->kind))
        return KITH_E_UNSUPPORTED;
    /* One more than the number of the last record: whoever opens the store skips all records of the old journal. */
    kithi_store_mark mark = s->now.mark;
    mark.sequence = s->now.end.sequence + 1;
    status = replace_snapshot(s, filter, &mark);
    if (status != KITH_OK)
        return handle_failed_replacement(s, status);
    status = map_new_snapshot(s);
    if (status != KITH_OK)
        return kithi_store_fail(s, status);
    status = kithi_store_start_journal(s, mark.sequence);
    /* Without a new journal the store cannot go on: the next record in the old one would get the sequence number of the
     * snapshot, and whoever opens the store would skip it. */
    return status == KITH_OK ? KITH_OK : kithi_store_fail(s, status);
}

kith_status kithi_store_close_plain(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    if (s->in_batch)
        return KITH_E_BUSY;
    status = verify_snapshot(s);
    if (status == KITH_OK)
        status = replace_snapshot(s, s->now.filter, &NO_MARK);
    if (status != KITH_OK)
        return handle_failed_replacement(s, status);
    if (s->files->remove(s->files->context, s->folder, s->journal_name) != 0)
        return kithi_store_fail(s, kithi_status_from_errno(errno)); /* the file is not a store any more */
    kithi_store_free(s);
    return KITH_OK;
}

/* ---- creating ---- */

/* Sets *exists to whether there is a file with the name of the journal. Returns KITH_E_JOURNAL_FOREIGN if that file is
 * neither a journal nor empty. */
static kith_status check_journal_name(const kithi_store *s, bool *exists) {
    int file;
    uint8_t bytes[KITHI_JOURNAL_HEADER_BYTES];
    size_t got;
    kith_status status = kithi_files_open_journal(s->files, s->folder, s->journal_name, false, &file);
    *exists = status == KITH_OK;
    if (status == KITH_E_NO_FILE)
        return KITH_OK;
    if (status != KITH_OK)
        return status;
    status = kithi_files_read(s->files, file, bytes, sizeof bytes, 0, &got);
    if (status == KITH_OK && got > 0 && !kithi_is_journal(bytes, got))
        status = KITH_E_JOURNAL_FOREIGN;
    s->files->close(s->files->context, file);
    return status;
}

/* Returns whether opening a store has failed with `status` because there is no store, or because its files are damaged
 * or of an unknown version or kind. A new store may then take its place. */
static bool is_no_store(kith_status status) {
    switch (status) {
    case KITH_E_NO_FILE:
    case KITH_E_NOT_STORE:
    case KITH_E_EMPTY:
    case KITH_E_NOT_KITH:
    case KITH_E_VERSION:
    case KITH_E_KIND:
    case KITH_E_TRUNCATED:
    case KITH_E_TRAILING:
    case KITH_E_CORRUPT:
    case KITH_E_JOURNAL_MISSING:
    case KITH_E_JOURNAL_FOREIGN:
        return true;
    default:
        return false;
    }
}

/* Returns whether FILE is a snapshot of the store with the id in this mark. If FILE cannot be read, this is not known,
 * and the result is true. */
static bool may_be_snapshot(const kithi_store *s, const kithi_store_mark *mark) {
    kithi_image image = {.snapshot_file = -1};
    kith_status status = kithi_files_open(s->files, s->folder, s->snapshot_name, false, &image.snapshot_file);
    if (status != KITH_OK)
        return !is_no_store(status);
    status = kithi_image_map(s, image.snapshot_file, &image);
    bool is_it = status == KITH_OK ? memcmp(image.mark.id, mark->id, sizeof mark->id) == 0 : !is_no_store(status);
    kithi_image_unmap(s, &image);
    s->files->close(s->files->context, image.snapshot_file);
    return is_it;
}

/* Writes the journal and the snapshot of a new store.
 *
 * `old_store` is true if FILE may be a store that cannot be opened. Its journal is then kept until FILE is replaced,
 * because a repair needs both. So FILE is first replaced by a plain file with the new content: a journal next to a
 * plain file is ignored, and can be replaced at any time. */
static kith_status create_files(kithi_store *s, kith_filter *filter, bool old_store) {
    kithi_store_mark mark = {.is_store = true};
    bool journal_exists;
    kith_status status = check_journal_name(s, &journal_exists);
    if (status != KITH_OK)
        return status;
    if (s->files->random(s->files->context, mark.id, sizeof mark.id) != 0)
        return KITH_E_RANDOM;
    mark.id[0] |= 1; /* an id is never all zeros */
    kithi_journal_head head = {.generation = 1};
    memcpy(head.id, mark.id, sizeof head.id);
    if (journal_exists && old_store)
        status = replace_snapshot(s, filter, &NO_MARK);
    if (status == KITH_OK)
        status = replace_journal(s, &head, filter);
    if (status != KITH_OK)
        return status;
    status = replace_snapshot(s, filter, &mark);
    if (status != KITH_OK && !journal_exists) {
        int error = errno;
        /* If the replacement has failed at the sync of the folder and could not be undone, FILE needs this journal. */
        if (!may_be_snapshot(s, &mark))
            (void)s->files->remove(s->files->context, s->folder, s->journal_name);
        errno = error;
    }
    return status;
}

kith_status kithi_store_fill(kithi_store *s, kith_filter *filter) {
    kith_status status = kithi_store_recover(s);
    if (status == KITH_OK)
        return kithi_store_replace(s, filter);
    if (is_no_store(status)) {
        status = create_files(s, filter, status != KITH_E_NO_FILE && status != KITH_E_NOT_STORE);
        if (status == KITH_OK)
            status = kithi_store_recover(s);
    }
    return status;
}
