/* Opens the snapshot and the journal of a store, and applies the journal to the snapshot in memory.
 *
 *     FILE             mapped privately ---> filter
 *     FILE-journal     | header | 1 | 2 | 3 | 4 | 5 | half a record
 *                                       ^snapshot   ^end: up to here the records are complete and are applied
 *
 * The snapshot contains all operations up to its sequence number, here 2; records up to that number are skipped. So it
 * does not matter whether a checkpoint that was interrupted has already started the new journal.
 *
 * A checkpoint replaces the snapshot first and the journal after that. A reader that opens both while this happens can
 * get the old snapshot and the new journal. The base of that journal (the sequence number before its first record) is
 * then higher than the sequence number of the snapshot, and the reader opens both again. The new snapshot was in place
 * before the new journal was. So the snapshot that the reader finds the second time must contain all operations up to
 * that base. If it does not, somebody has put an old copy of the file there, and the journal does not belong to it
 * (KITH_E_JOURNAL_FOREIGN).
 *
 * The journal is read twice, because operations of an incomplete batch must not be applied. The first pass finds the
 * end of the last complete batch, the second applies the records up to there. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/bits.h"
#include "os/errno_status.h"
#include "handle/handle.h"
#include "file/store.h"

/* How often a reader tries to load the files if the writer changes them meanwhile. An attempt fails in this way only if
 * the writer has made a checkpoint or cut off a record since the attempt began. */
#define ATTEMPTS_MAX 1000

/* ---- applying records ---- */

kith_status kithi_store_apply(kith_filter *filter, kithi_record_type type, const uint64_t *digests, size_t n,
                              uint64_t *was_new, size_t *done) {
    if (n == 1 && type == KITHI_RECORD_ADD) { /* faster than kith_filter_add_many() */
        bool is_new = false;
        kith_status status = kith_filter_add_digest(filter, *digests, &is_new);
        *done = status == KITH_OK;
        if (status == KITH_OK && was_new != NULL)
            *was_new = is_new;
        return status;
    }
    return type == KITHI_RECORD_ADD ? kith_filter_add_many(filter, digests, n, was_new, done)
                                    : kith_filter_remove_many(filter, digests, n, done);
}

kith_status kithi_store_replay_record(kith_filter *filter, const kithi_record *r, bool *stopped) {
    if ((r->flags & KITHI_RECORD_CONTINUES) == 0)
        *stopped = false;
    for (size_t at = 0; at < r->count && !*stopped;) {
        uint64_t digests[256];
        size_t n = 0, done;
        for (; n < sizeof digests / sizeof *digests && at < r->count; at++)
            digests[n++] = kithi_load64(r->digests + 8 * at);
        kith_status status = kithi_store_apply(filter, r->type, digests, n, NULL, &done);
        if (status == KITH_E_UNSUPPORTED)
            return KITH_E_CORRUPT; /* a writer does not append such a record: see operate() in store.c */
        if (kithi_depends_on_process(status))
            return status;
        *stopped = status != KITH_OK;
    }
    return KITH_OK;
}

/* Applies the records from *at up to `to`, except those that the snapshot contains. An earlier pass has found all of
 * them. If one is no longer there, returns KITH_E_CANCELLED, and a reader must begin again. Sets
 * image->known_synced_bytes to the end of record number `synced_sequence`, unless *at is beyond it. Callers that do not
 * need this pass 0. */
static kith_status replay(kithi_image *image, kithi_position *at, const kithi_position *to, uint64_t synced_sequence) {
    bool stopped = false;
    while (at->offset < to->offset) {
        kithi_record r;
        if (at->sequence <= synced_sequence)
            image->known_synced_bytes = at->offset;
        bool found;
        kith_status status = kithi_journal_next(&image->journal, at, &r, &found);
        if (status == KITH_OK && !found)
            return KITH_E_CANCELLED;
        if (status == KITH_OK && r.sequence > image->mark.sequence)
            status = kithi_store_replay_record(image->filter, &r, &stopped);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

/* ---- files ---- */

static void close_file(const kithi_store *s, int *file) {
    if (*file >= 0)
        s->files->close(s->files->context, *file);
    *file = -1;
}

/* Allocates memory and reads the file into it. */
static kith_status read_bytes(const kithi_store *s, int file, uint8_t **bytes, size_t byte_count) {
    size_t got;
    *bytes = kithi_allocate(&s->allocator, byte_count);
    if (*bytes == NULL)
        return KITH_E_MEMORY;
    kith_status status = kithi_files_read(s->files, file, *bytes, byte_count, 0, &got);
    if (status == KITH_OK && got < byte_count)
        status = KITH_E_TRUNCATED; /* it became shorter after its size was read */
    if (status != KITH_OK)
        kithi_release(&s->allocator, *bytes, byte_count);
    return status;
}

kith_status kithi_snapshot_bytes(const kithi_store *s, int file, uint8_t **bytes, size_t *byte_count) {
    uint64_t file_bytes;
    if (s->files->size(s->files->context, file, &file_bytes) != 0)
        return kithi_status_from_errno(errno);
    if (file_bytes == 0)
        return KITH_E_EMPTY;
    if (file_bytes > PTRDIFF_MAX)
        return KITH_E_ADDRESS;
    *byte_count = (size_t)file_bytes;
    if (s->options.no_map)
        return read_bytes(s, file, bytes, *byte_count);
    *bytes = s->files->map(s->files->context, file, *byte_count, true);
    return *bytes == NULL ? kithi_status_from_errno(errno) : KITH_OK;
}

void kithi_snapshot_free(const kithi_store *s, uint8_t *bytes, size_t byte_count) {
    if (s->options.no_map)
        kithi_release(&s->allocator, bytes, byte_count);
    else
        s->files->unmap(s->files->context, bytes, byte_count);
}

/* Opens the filter in the bytes of a snapshot. With options.no_map it also verifies the body; a mapped body is not
 * read. */
static kith_status open_filter(const kithi_store *s, kithi_image *image) {
    kith_filter *verified;
    kith_status status =
        kithi_filter_open_snapshot(image->map, image->map_bytes, &s->allocator, &image->filter, &image->mark);
    if (status != KITH_OK || !s->options.no_map)
        return status;
    status = kith_filter_view(image->map, image->map_bytes, KITH_OPEN_SNAPSHOT, &s->allocator, &verified);
    if (status == KITH_OK)
        kith_filter_free(verified);
    else
        kith_filter_free(image->filter);
    return status;
}

kith_status kithi_image_map(const kithi_store *s, int file, kithi_image *image) {
    image->map = NULL;
    kith_status status = kithi_snapshot_bytes(s, file, &image->map, &image->map_bytes);
    if (status != KITH_OK) {
        image->map = NULL;
        return status;
    }
    status = open_filter(s, image);
    if (status != KITH_OK) {
        kithi_snapshot_free(s, image->map, image->map_bytes);
        image->map = NULL;
        return status;
    }
    kith_filter_set_limit(image->filter, s->options.max_bytes);
    return KITH_OK;
}

void kithi_image_unmap(const kithi_store *s, kithi_image *image) {
    int error = errno;
    if (image->map == NULL)
        return;
    kith_filter_free(image->filter);
    kithi_snapshot_free(s, image->map, image->map_bytes);
    image->map = NULL;
    image->filter = NULL;
    errno = error;
}

static void close_image(const kithi_store *s, kithi_image *image) {
    kithi_image_unmap(s, image);
    close_file(s, &image->snapshot_file);
    close_file(s, &image->journal.file);
}

static kith_status open_snapshot(kithi_store *s, kithi_image *image) {
    kith_status status = KITH_OK;
    image->snapshot_file = s->found;
    s->found = -1;
    if (image->snapshot_file < 0)
        status = kithi_files_open(s->files, s->folder, s->snapshot_name, false, &image->snapshot_file);
    if (status == KITH_OK)
        status = kithi_image_map(s, image->snapshot_file, image);
    return status;
}

static kith_status open_journal(const kithi_store *s, kithi_image *image) {
    kithi_journal *j = &image->journal;
    kith_status status = kithi_files_open_journal(s->files, s->folder, s->journal_name, s->is_writer, &j->file);
    if (status == KITH_E_NO_FILE)
        return KITH_E_JOURNAL_MISSING;
    if (status == KITH_OK)
        status = kithi_journal_open(j);
    if (status == KITH_OK && memcmp(j->head.id, image->mark.id, sizeof j->head.id) != 0)
        status = KITH_E_JOURNAL_FOREIGN;
    return status;
}

/* Opens a snapshot and a journal that belong together: see the head of this file. */
static kith_status open_pair(kithi_store *s, kithi_image *image) {
    uint64_t seen_base = 0; /* of the journal that the attempt before has found */
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        *image = (kithi_image){.snapshot_file = -1, .journal = {.files = s->files, .file = -1, .window = s->window}};
        kith_status status = open_snapshot(s, image);
        if (status == KITH_OK && image->mark.sequence < seen_base)
            status = KITH_E_JOURNAL_FOREIGN;
        if (status == KITH_OK)
            status = open_journal(s, image);
        if (status == KITH_OK && image->journal.head.base <= image->mark.sequence)
            return KITH_OK;
        close_image(s, image);
        if (status != KITH_OK)
            return status;
        seen_base = image->journal.head.base;
    }
    return KITH_E_JOURNAL_FOREIGN;
}

static kith_status load_once(kithi_store *s, kithi_image *image) {
    kith_status status = open_pair(s, image);
    if (status != KITH_OK)
        return status;
    uint64_t journal_bytes = 0, synced_sequence = 0;
    kithi_position at = image->journal.start;
    image->end = at;
    image->known_synced_bytes = at.offset;
    status = kithi_journal_scan(&image->journal, &image->end, &synced_sequence);
    if (status == KITH_OK)
        status = replay(image, &at, &image->end, synced_sequence);
    if (status == KITH_OK && s->files->size(s->files->context, image->journal.file, &journal_bytes) != 0)
        status = kithi_status_from_errno(errno);
    if (status != KITH_OK)
        close_image(s, image);
    image->tail_bytes = journal_bytes > image->end.offset ? journal_bytes - image->end.offset : 0;
    return status;
}

kith_status kithi_store_load(kithi_store *s, kithi_image *image) {
    kith_status status = KITH_E_CANCELLED;
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX && status == KITH_E_CANCELLED; attempt++)
        status = load_once(s, image);
    return status == KITH_E_CANCELLED ? kithi_status_with_errno(EAGAIN) : status;
}

/* Puts the filter of `image` at the address of the filter of the store, takes over its map, and unmaps the old one. */
static void take_map(kithi_store *s, kithi_image *image) {
    kithi_image *now = &s->now;
    uint8_t *old_map = now->map;
    size_t old_bytes = now->map_bytes;
    if (now->filter != NULL)
        kithi_filter_replace_contents(now->filter, image->filter);
    else
        now->filter = image->filter;
    now->map = image->map;
    now->map_bytes = image->map_bytes;
    now->mark = image->mark;
    if (old_map != NULL)
        kithi_snapshot_free(s, old_map, old_bytes);
    image->filter = NULL;
    image->map = NULL;
}

void kithi_store_adopt(kithi_store *s, kithi_image *image) {
    take_map(s, image);
    if (image->snapshot_file != s->now.snapshot_file)
        close_file(s, &s->now.snapshot_file);
    if (image->journal.file != s->now.journal.file)
        close_file(s, &s->now.journal.file);
    s->now.snapshot_file = image->snapshot_file;
    s->now.journal = image->journal;
    s->now.end = image->end;
    s->now.tail_bytes = image->tail_bytes;
    s->now.known_synced_bytes = image->known_synced_bytes;
}

kith_status kithi_store_reload(kithi_store *s, const kithi_position *to) {
    kithi_image image = s->now;
    kithi_position at = s->now.journal.start;
    kith_status status = kithi_image_map(s, s->now.snapshot_file, &image);
    if (status != KITH_OK)
        return status;
    kithi_journal_forget(&image.journal);
    status = replay(&image, &at, to, 0);
    if (status != KITH_OK) {
        kithi_image_unmap(s, &image);
        return status == KITH_E_CANCELLED ? kithi_status_with_errno(EIO) : status;
    }
    image.end = *to;
    kithi_store_adopt(s, &image);
    return KITH_OK;
}

/* ---- following the writer ---- */

/* Applies what the writer has appended to the journal that is open. */
static kith_status follow(kithi_store *s) {
    kithi_position at = s->now.end, to = at;
    uint64_t synced_sequence;
    kithi_journal_forget(&s->now.journal);
    kith_status status = kithi_journal_scan(&s->now.journal, &to, &synced_sequence);
    if (status == KITH_OK && to.offset > at.offset) {
        status = replay(&s->now, &at, &to, 0);
        if (status == KITH_OK)
            s->now.end = to;
        else if (kithi_store_reload(s, &s->now.end) != KITH_OK)
            (void)kithi_store_fail(s, status); /* some of the operations are applied and cannot be undone */
    }
    return status;
}

kith_status kithi_store_refresh(kithi_store *s, bool *changed) {
    assert(s != NULL);
    kithi_position before = s->now.end;
    kith_status status = KITH_OK;
    if (!s->is_writer) {
        /* s->failure is set if an earlier refresh could be neither completed nor undone. Some operations after now.end
         * are then applied already and must not be applied again, so both files are loaded anew. */
        const kithi_files *files = s->files;
        bool can_follow = s->failure == KITH_OK &&
                          files->is_named(files->context, s->now.snapshot_file, s->folder, s->snapshot_name) == 1 &&
                          files->is_named(files->context, s->now.journal.file, s->folder, s->journal_name) == 1;
        if (can_follow)
            status = kithi_journal_still_has(&s->now.journal, &before, &can_follow);
        if (status == KITH_OK && can_follow)
            status = follow(s);
        if ((status == KITH_OK && !can_follow) || status == KITH_E_CANCELLED) {
            kithi_image image;
            status = kithi_store_load(s, &image);
            if (status == KITH_OK) {
                kithi_store_adopt(s, &image);
                s->failure = KITH_OK;
            }
        }
    }
    /* Compares the checksums of the last records, too. A checksum depends on all records before and on the header of
     * the journal, so it differs if the writer has cut off records and appended others. */
    if (status == KITH_OK && changed != NULL)
        *changed = before.sequence != s->now.end.sequence || before.previous_checksum != s->now.end.previous_checksum;
    return status;
}
