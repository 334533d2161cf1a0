/* Opens and closes stores, and adds and removes keys.
 *
 *     add:     append a record  ->  sync the journal, if due  ->  apply to the filter in memory  ->  return
 *
 * The journal comes first, so that whatever was acknowledged can be repeated. If a step fails, journal and filter must
 * stay consistent:
 *
 *     append fails     the bytes that were written are cut off; the filter has not changed
 *     sync fails       the disk may or may not have the record. The journal is cut back to its last synced state.
 *                      Otherwise other processes would find records in the system's cache that are not on the disk. The
 *                      store becomes read-only
 *     apply fails      FULL, COPIES, ABSENT, AMBIGUOUS: the failure follows from the filter and the digest. The record
 *                      stays, and its operation fails again whenever it is repeated.
 *                      MEMORY, TOO_LARGE: the operation might succeed when it is repeated in another process, so the
 *                      record is cut off. If some of its digests were applied, a record of these is appended instead
 *
 * Inside a batch (kithi_store_begin) operations are appended and applied without a sync. They count only if a commit
 * record follows. A rollback cuts them off, and loads the filter again without them. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/structs.h"
#include "os/errno_status.h"
#include "file/store.h"
#include "handle/verbs.h"

/* The defaults of the fields of kithi_store_options that have these names. To repeat the operations of a journal of
 * CHECKPOINT_BYTES takes about 1 s; for CLOSE_BYTES it takes about 50 ms. */
#define SYNC_OPERATIONS 1000
#define SYNC_MS 1000
#define CHECKPOINT_BYTES (UINT64_C(64) << 20)
#define CLOSE_BYTES (UINT64_C(4) << 20)

/* ---- opening and closing ---- */

static kith_status read_options(const kithi_store_options *given, kithi_store_options *o) {
    static const kithi_store_options defaults = KITHI_STORE_OPTIONS_INIT;
    if (!kithi_struct_read(o, sizeof *o, given != NULL ? given : &defaults) || (unsigned)o->sync > KITH_SYNC_INTERVAL)
        return KITH_E_ARGUMENT;
    o->sync_operations = o->sync_operations != 0 ? o->sync_operations : SYNC_OPERATIONS;
    o->sync_ms = o->sync_ms != 0 ? o->sync_ms : SYNC_MS;
    o->checkpoint_bytes = o->checkpoint_bytes != 0 ? o->checkpoint_bytes : CHECKPOINT_BYTES;
    o->close_bytes = o->close_bytes != 0 ? o->close_bytes : CLOSE_BYTES;
    return KITH_OK;
}

bool kithi_join_names(char to[KITHI_NAME_BYTES], const char *name, const char *ending) {
    size_t name_bytes = strlen(name), ending_bytes = strlen(ending) + 1;
    if (name_bytes + ending_bytes > KITHI_NAME_BYTES)
        return false;
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the next line adds the end */
    memcpy(to, name, name_bytes);
    memcpy(to + name_bytes, ending, ending_bytes);
    return true;
}

kith_status kithi_store_new(const kithi_files *files, const char *path, const kithi_store_options *given,
                            kithi_store **store) {
    kithi_store_options options;
    kith_status status = read_options(given, &options);
    if (status != KITH_OK)
        return status;
    kith_allocator allocator = kithi_allocator_or_default(options.allocator);
    kithi_store *s = kithi_allocate(&allocator, sizeof *s);
    if (s == NULL)
        return KITH_E_MEMORY;
    s->allocator = allocator;
    s->options = options;
    s->options.allocator = NULL; /* the caller's struct need not outlive this call */
    s->files = files;
    s->folder = s->found = s->lock = s->now.snapshot_file = s->now.journal.file = -1;
    s->checkpoint_due_bytes = options.checkpoint_bytes;
    s->last_checkpoint_ms = files->now_ms(files->context);
    s->window = kithi_allocate(&allocator, KITHI_JOURNAL_WINDOW_BYTES);
    if (s->window == NULL)
        status = KITH_E_MEMORY;
    if (status == KITH_OK && path != NULL) {
        do
            s->folder = files->open_folder(files->context, path, false, s->snapshot_name);
        while (s->folder < 0 && errno == EINTR);
        if (s->folder < 0)
            status = kithi_status_from_errno(errno);
        else if (!kithi_join_names(s->journal_name, s->snapshot_name, "-journal"))
            status = kithi_status_with_errno(ENAMETOOLONG);
    }
    if (status != KITH_OK)
        kithi_store_free(s);
    else
        *store = s;
    return status;
}

kith_status kithi_store_new_at(const kithi_files *files, int folder, const char *name, int lock,
                               const kithi_store_options *options, kithi_store **store) {
    kithi_store *s;
    kith_status status = kithi_store_new(files, NULL, options, &s);
    if (status != KITH_OK)
        return status;
    s->is_borrowed = true;
    s->folder = folder;
    s->lock = lock;
    s->is_writer = lock >= 0;
    if (!kithi_join_names(s->snapshot_name, name, "") || !kithi_join_names(s->journal_name, name, "-journal")) {
        kithi_store_free(s);
        return kithi_status_with_errno(ENAMETOOLONG);
    }
    *store = s;
    return KITH_OK;
}

void kithi_store_free(kithi_store *s) {
    int error = errno;
    kithi_image_unmap(s, &s->now);
    if (s->is_borrowed)
        s->folder = s->lock = -1;
    int *files[] = {&s->now.snapshot_file, &s->now.journal.file, &s->found, &s->lock, &s->folder};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (*files[i] >= 0)
            s->files->close(s->files->context, *files[i]);
    kithi_given_files_close(&s->given_files);
    kith_allocator allocator = s->allocator;
    kithi_release(&allocator, s->window, KITHI_JOURNAL_WINDOW_BYTES);
    kithi_release(&allocator, s, sizeof *s);
    errno = error;
}

kith_status kithi_store_recover(kithi_store *s) {
    kithi_image image;
    kith_status status = kithi_store_load(s, &image);
    if (status != KITH_OK)
        return status;
    kithi_store_adopt(s, &image);
    s->cut_bytes = s->now.tail_bytes;
    if (s->now.tail_bytes > 0)
        status = kithi_files_truncate(s->files, s->now.journal.file, s->now.end.offset);
    /* Records that an earlier process has written may be only in the cache of the system. The next records will say
     * that these are synced, so now they must be synced. A sync alone is not enough: if an earlier sync has failed, the
     * system may treat pages as written although they are not. So the bytes are written again before the sync. */
    if (status == KITH_OK)
        status = kithi_journal_rewrite(&s->now.journal, s->now.known_synced_bytes, s->now.end.offset);
    if (status == KITH_OK && s->files->sync(s->files->context, s->now.journal.file, false) != 0)
        status = kithi_status_from_errno(errno);
    /* The names that were found must be durable before anything relies on them: see sync_restored_name() in
     * checkpoint.c. */
    if (status == KITH_OK && s->files->sync_folder(s->files->context, s->folder) != 0)
        status = kithi_status_from_errno(errno);
    s->synced = s->now.end;
    /* A checkpoint does not sync the old journal, so after a power cut the journal may end at a lower sequence number
     * than that of the snapshot. Then a new journal is started, whose numbers continue after that of the snapshot.
     * Otherwise the next records would get numbers that the snapshot contains, and would be skipped. */
    if (status == KITH_OK && s->now.end.sequence < s->now.mark.sequence)
        status = kithi_store_start_journal(s, s->now.mark.sequence);
    return status;
}

kith_status kithi_store_load_reader(kithi_store *s) {
    kithi_image image;
    kith_status status = kithi_store_load(s, &image);
    if (status != KITH_OK)
        return status;
    kithi_store_adopt(s, &image);
    s->cut_bytes = s->now.tail_bytes;
    return KITH_OK;
}

/* Opens snapshot and journal for reading. On failure the store is freed. */
static kith_status open_reader(kithi_store *s, kithi_store **store) {
    kith_status status = kithi_store_load_reader(s);
    if (status != KITH_OK)
        kithi_store_free(s);
    else
        *store = s;
    return status;
}

kith_status kithi_store_open_fd(int snapshot, int journal, const kithi_store_options *options, kithi_store **store) {
    assert(snapshot >= 0 && store != NULL);
    kithi_store *s;
    kith_status status = kithi_store_new(&kithi_files_system, NULL, options, &s);
    if (status != KITH_OK)
        return status;
    s->files = kithi_given_files_init(&s->given_files, snapshot, journal);
    (void)kithi_join_names(s->journal_name, s->snapshot_name,
                           "-journal"); /* snapshot_name is empty, as given.c requires */
    status = open_reader(s, store);
    if (status == KITH_OK)
        s->given_files.is_owned = true;
    return status;
}

kith_status kithi_store_close(kithi_store *s) {
    if (s == NULL)
        return KITH_OK;
    kith_status status = s->is_writer ? s->failure : KITH_OK; /* a reader has no operations that could be lost */
    if (s->is_writer && status == KITH_OK) {
        if (s->in_batch) { /* the filter is freed anyway, so it need not be loaded again */
            s->in_batch = false;
            status = kithi_files_truncate(s->files, s->now.journal.file, s->batch_start.offset);
            s->now.end = s->batch_start;
        }
        if (status == KITH_OK)
            status = kithi_store_sync_journal(s);
        if (status == KITH_OK && s->now.end.offset > s->options.close_bytes)
            status = kithi_store_checkpoint(s);
    }
    kithi_store_free(s);
    return status;
}

/* ---- sync ---- */

kith_status kithi_store_fail(kithi_store *s, kith_status status) {
    s->failure = status;
    return status;
}

static void mark_synced(kithi_store *s) {
    s->synced = s->now.end;
    s->unsynced_operations = 0;
}

kith_status kithi_store_sync_journal(kithi_store *s) {
    if (s->synced.offset == s->now.end.offset)
        return KITH_OK;
    if (s->files->sync(s->files->context, s->now.journal.file, true) == 0) {
        mark_synced(s);
        return KITH_OK;
    }
    int error = errno;
    kith_status status = kithi_store_fail(s, kithi_status_from_errno(error));
    /* Goes back to what is durable, in the file (for other processes) and in memory. If that fails as well, nothing
     * more can be done. */
    if (kithi_files_truncate(s->files, s->now.journal.file, s->synced.offset) == KITH_OK)
        (void)kithi_store_reload(s, &s->synced);
    s->in_batch = false;
    errno = error;
    return status;
}

kith_status kithi_store_sync(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    return s->in_batch ? KITH_E_BUSY : kithi_store_sync_journal(s);
}

static bool sync_is_due(const kithi_store *s) {
    switch (s->options.sync) {
    case KITH_SYNC_CALL:
        return true;
    case KITH_SYNC_OPERATIONS:
        return s->unsynced_operations >= s->options.sync_operations;
    default:
        return s->unsynced_operations > 0 &&
               s->files->now_ms(s->files->context) - s->unsynced_since_ms >= s->options.sync_ms;
    }
}

static void count_unsynced(kithi_store *s, size_t n) {
    if (s->unsynced_operations == 0 && s->options.sync == KITH_SYNC_INTERVAL)
        s->unsynced_since_ms = s->files->now_ms(s->files->context);
    s->unsynced_operations += n;
}

kith_status kithi_store_tick(kithi_store *s) {
    assert(s != NULL);
    if (!s->is_writer)
        return KITH_OK;
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK || s->in_batch)
        return status;
    if (s->options.sync == KITH_SYNC_INTERVAL && sync_is_due(s))
        status = kithi_store_sync_journal(s);
    return status == KITH_OK ? kithi_store_checkpoint_if_due(s) : status;
}

/* ---- operations ---- */

/* Cuts the journal back to `to`. If that fails, the store is read-only. */
static kith_status cut_journal(kithi_store *s, const kithi_position *to) {
    kith_status status = kithi_files_truncate(s->files, s->now.journal.file, to->offset);
    if (status != KITH_OK)
        return kithi_store_fail(s, status);
    s->now.end = *to;
    return KITH_OK;
}

/* Appends the operations of one call to the journal. If they need several records, and no batch is open, these records
 * and a commit record are a batch of their own. On failure what was written is cut off. */
static kith_status append(kithi_store *s, kithi_record_type type, const uint64_t *digests, size_t n) {
    kithi_position start = s->now.end, at = start;
    bool is_batch = s->in_batch || n > KITHI_RECORD_DIGESTS_MAX;
    kith_status status = KITH_OK;
    for (size_t done = 0; done < n && status == KITH_OK;) {
        size_t count = n - done < KITHI_RECORD_DIGESTS_MAX ? n - done : KITHI_RECORD_DIGESTS_MAX;
        unsigned flags = (is_batch ? KITHI_RECORD_OPEN : 0u) | (done > 0 ? KITHI_RECORD_CONTINUES : 0u);
        status = kithi_journal_append(&s->now.journal, &at, s->synced.sequence, type, flags, digests + done, count);
        done += count;
    }
    if (status == KITH_OK && is_batch && !s->in_batch)
        status = kithi_journal_append(&s->now.journal, &at, s->synced.sequence, KITHI_RECORD_COMMIT, 0, NULL, 0);
    if (status == KITH_OK) {
        s->now.end = at;
        return KITH_OK;
    }
    int error = errno;
    (void)cut_journal(s, &start);
    errno = error;
    return status;
}

/* Corrects the journal after a call has applied `done` of its n operations and then failed, for lack of memory or at
 * the limit of bytes. If its records were replayed, more of its operations might succeed. So these records, which begin
 * at `start`, are replaced by records of the `done` operations only. If that fails, the store is read-only. */
static kith_status withdraw(kithi_store *s, const kithi_position *start, kithi_record_type type,
                            const uint64_t *digests, size_t n, size_t done) {
    bool was_synced = s->synced.offset > start->offset;
    kith_status status = cut_journal(s, start);
    if (was_synced)
        s->synced = *start;
    else
        s->unsynced_operations -= n;
    if (status == KITH_OK && done > 0) {
        status = append(s, type, digests, done);
        count_unsynced(s, done);
    }
    if (status == KITH_OK && was_synced) {
        if (s->files->sync(s->files->context, s->now.journal.file, false) == 0)
            mark_synced(s);
        else
            status = kithi_status_from_errno(errno);
    }
    return status == KITH_OK ? KITH_OK : kithi_store_fail(s, status);
}

kith_status kithi_store_operate(kithi_store *s, kithi_record_type type, const uint64_t *digests, size_t n,
                                uint64_t *was_new, size_t *done) {
    assert(s != NULL && (digests != NULL || n == 0));
    *done = 0;
    kith_status status = kithi_store_writable(s);
    uint32_t needed = type == KITHI_RECORD_ADD ? KITH_CAN_ADD : KITH_CAN_REMOVE;
    if (status == KITH_OK && (s->now.filter->shape.capabilities & needed) == 0)
        status = KITH_E_UNSUPPORTED;
    if (status != KITH_OK || n == 0)
        return status;
    kithi_position start = s->now.end;
    status = append(s, type, digests, n);
    if (status != KITH_OK)
        return status;
    count_unsynced(s, n);
    if (!s->in_batch && sync_is_due(s))
        status = kithi_store_sync_journal(s);
    if (status != KITH_OK)
        return status;
    status = kithi_store_apply(s->now.filter, type, digests, n, was_new, done);
    if (kithi_depends_on_process(status)) {
        kith_status withdrawn = withdraw(s, &start, type, digests, n, *done);
        if (withdrawn != KITH_OK)
            return withdrawn;
    }
    int error = errno;
    (void)kithi_store_checkpoint_if_due(s);
    errno = error;
    return status;
}

/* ---- batches ---- */

kith_status kithi_store_begin(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK || s->in_batch)
        return status != KITH_OK ? status : KITH_E_BUSY;
    s->in_batch = true;
    s->batch_start = s->now.end;
    return KITH_OK;
}

static kith_status roll_back(kithi_store *s) {
    s->in_batch = false;
    if (s->now.end.offset == s->batch_start.offset)
        return KITH_OK;
    kith_status status = cut_journal(s, &s->batch_start);
    if (status == KITH_OK) {
        status = kithi_store_reload(s, &s->batch_start);
        if (status != KITH_OK)
            (void)kithi_store_fail(s, status);
    }
    return status;
}

kith_status kithi_store_rollback(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    return s->in_batch ? roll_back(s) : KITH_E_ARGUMENT;
}

kith_status kithi_store_commit(kithi_store *s) {
    assert(s != NULL);
    kith_status status = kithi_store_writable(s);
    if (status != KITH_OK)
        return status;
    if (!s->in_batch)
        return KITH_E_ARGUMENT;
    if (s->now.end.offset > s->batch_start.offset) {
        kithi_position at = s->now.end;
        status = kithi_journal_append(&s->now.journal, &at, s->synced.sequence, KITHI_RECORD_COMMIT, 0, NULL, 0);
        if (status != KITH_OK) {
            int error = errno;
            (void)roll_back(s);
            errno = error;
            return status;
        }
        s->now.end = at;
    }
    s->in_batch = false;
    status = kithi_store_sync_journal(s);
    if (status == KITH_OK)
        (void)kithi_store_checkpoint_if_due(s);
    return status;
}

/* ---- reading ---- */

const kith_filter *kithi_store_filter(const kithi_store *s) {
    assert(s != NULL);
    return s->now.filter;
}

bool kithi_store_durable(const kithi_store *s) {
    assert(s != NULL);
    return !s->is_writer || (s->failure == KITH_OK && s->synced.offset == s->now.end.offset);
}
