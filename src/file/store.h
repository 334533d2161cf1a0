/* file/store.h: a file with a journal, as the opened file (file.h) and the tests use it, and what the files that
 * implement it share. include/kith/file.h has the contract.
 *
 *     load.c         maps snapshots, reads journals and repeats their operations: load, reload, apply, refresh
 *     store.c        opens and closes stores, adds and removes keys (also in batches), syncs the journal
 *     repair.c       saves what can be saved of damaged files: kith/repair.h
 *     checkpoint.c   writes snapshots and starts journals: create, checkpoint, replace, close_plain
 *     journal.c      reads and writes the records of a journal
 *     files.c        the file operations
 *     given.c        the file operations of kithi_store_open_fd(), on two files that the caller has opened */
#ifndef KITHI_STORE_STORE_H
#define KITHI_STORE_STORE_H

#include <kith/repair.h>

#include "kinds/kind.h"
#include "file/journal.h"

/* A snapshot in memory and the journal that belongs to it. */
typedef struct kithi_image {
    int snapshot_file; /* negative: not open */
    uint8_t *map;      /* the bytes of the snapshot, from kithi_snapshot_bytes(). Operations change only this memory */
    size_t map_bytes;
    kith_filter *filter;   /* over the map */
    kithi_store_mark mark; /* of the snapshot: id of the store, number of the last record that the snapshot contains */
    kithi_journal journal; /* journal.file is negative if it is not open */
    kithi_position end;    /* after the last record that is applied to the filter. A reader applies only complete
                              batches; a writer has also applied its open batch */
    /* These two describe the journal as it was when it was loaded: */
    uint64_t tail_bytes;         /* bytes of the journal after `end` */
    uint64_t known_synced_bytes; /* the records say that the journal was synced up to this offset */
} kithi_image;

/* Two files that the caller of kithi_store_open_fd() has opened, and a table of file operations that finds them by name
 * (given.c). */
typedef struct kithi_given_files {
    kithi_files files;
    int snapshot, journal;
    bool is_owned; /* they are closed with the store */
} kithi_given_files;

/* The same fields as in kith_file_options; a field that is 0 has its default. */
typedef struct kithi_store_options {
    size_t struct_bytes;
    kith_sync sync; /* not KITH_SYNC_COMMIT */
    uint64_t sync_operations, sync_ms;
    uint64_t checkpoint_bytes, checkpoint_ms, close_bytes;
    uint64_t max_bytes;
    const kith_allocator *allocator;
    bool no_map;
} kithi_store_options;

#define KITHI_STORE_OPTIONS_INIT                                                                                       \
    { sizeof(kithi_store_options), KITH_SYNC_CALL, 0, 0, 0, 0, 0, 0, NULL, false }

typedef struct kithi_store {
    kith_allocator allocator;
    kithi_store_options options;   /* with the defaults filled in */
    const kithi_files *files;      /* the file operations */
    kithi_given_files given_files; /* only for kithi_store_open_fd() */
    bool is_writer;
    int folder; /* negative: there is none, because the files are given */
    int found;  /* the snapshot, if it was open before the store was loaded; then, and otherwise, negative */
    int lock;   /* the lock file; negative: not locked, because this is a reader */
    char snapshot_name[KITHI_NAME_BYTES]; /* in the folder; empty if the files are given */
    char journal_name[KITHI_NAME_BYTES];
    kithi_guard *snapshot_guard, *journal_guard; /* of their replacements; NULL: none */
    bool is_borrowed;      /* folder and lock are not closed with the store: see kithi_store_new_at() */
    uint8_t *window;       /* memory for now.journal.window */
    kithi_image now;       /* the current state */
    kithi_position synced; /* of a writer: the journal is synced up to here. All 0 in a reader */
    bool in_batch;
    kithi_position batch_start; /* of the open batch, if in_batch */
    /* KITH_OK, or the failure that made a writer read-only. In a reader: the failure of a refresh that has applied some
     * of the records after now.end and could not be undone. */
    kith_status failure;
    kith_status checkpoint_status; /* of the last checkpoint that was made because it was due */
    uint64_t cut_bytes;            /* now.tail_bytes when the store was opened; a writer has cut them off */
    uint64_t unsynced_operations;  /* appended since the last sync, including those that were rolled back */
    uint64_t unsynced_since_ms;    /* time of the first of them; only with KITH_SYNC_INTERVAL */
    uint64_t last_checkpoint_ms;   /* time of the last checkpoint or attempt; before the first one, of the opening */
    uint64_t checkpoint_due_bytes; /* a checkpoint is due when the journal is larger; increased when one fails */
} kithi_store;

/* ---- load.c ---- */

/* Opens snapshot and journal and applies the journal. On failure nothing is open. A reader that opens the files during
 * a checkpoint may get two files that do not belong together; this function then opens both again. */
kith_status kithi_store_load(kithi_store *s, kithi_image *image);

/* Makes `image` the state of the store and closes what was open before. s->now.filter stays at its address. */
void kithi_store_adopt(kithi_store *s, kithi_image *image);

/* Goes back to the state at `to`: maps the open snapshot file once more, applies the journal up to `to`, and makes the
 * result the state of the store. On failure nothing has changed. */
kith_status kithi_store_reload(kithi_store *s, const kithi_position *to);

/* Sets *bytes to the whole content of a file, in memory that can be written without changing the file: a private map
 * or, with options.no_map, memory of the allocator. On failure nothing is allocated. */
kith_status kithi_snapshot_bytes(const kithi_store *s, int file, uint8_t **bytes, size_t *byte_count);
void kithi_snapshot_free(const kithi_store *s, uint8_t *bytes, size_t byte_count);

/* Maps the snapshot `file`, makes a filter over it, and sets map, filter and mark of the image. On failure nothing is
 * mapped. Returns KITH_E_NOT_STORE if the file is a plain filter. */
kith_status kithi_image_map(const kithi_store *s, int file, kithi_image *image);
void kithi_image_unmap(const kithi_store *s, kithi_image *image);

/* Adds or removes digests one after the other until one fails. *done is the number of digests before that one, or n. If
 * `type` is KITHI_RECORD_ADD, `was_new` is a bitmap as in kith_filter_add_many(), or NULL. */
kith_status kithi_store_apply(kith_filter *filter, kithi_record_type type, const uint64_t *digests, size_t n,
                              uint64_t *was_new, size_t *done);

/* Repeats the operations of a record. A call of the writer stops at its first operation that fails. The operations of
 * one call may be in several records (KITHI_RECORD_CONTINUES). So this sets *stopped when an operation fails, and skips
 * the later operations of the same call, also in the next records. Pass the same variable for all records of a
 * journal. */
kith_status kithi_store_replay_record(kith_filter *filter, const kithi_record *r, bool *stopped);

/* Returns whether the outcome of an operation depended on this process (its memory, its limit of bytes) and not only on
 * the filter and the digest. Such an operation must not stay in the journal: it could have another outcome when it is
 * repeated. */
static inline bool kithi_depends_on_process(kith_status status) {
    return status == KITH_E_MEMORY || status == KITH_E_TOO_LARGE;
}

/* ---- store.c ---- */

/* Allocates a store, and opens its folder unless `path` is NULL. Does not open the files. */
kith_status kithi_store_new(const kithi_files *files, const char *path, const kithi_store_options *options,
                            kithi_store **store);
/* The same for a file in an open folder, which was found and, if `lock` is not negative, locked before. Folder and lock
 * still belong to the caller. */
kith_status kithi_store_new_at(const kithi_files *files, int folder, const char *name, int lock,
                               const kithi_store_options *options, kithi_store **store);

/* Opens the files for reading. */
kith_status kithi_store_load_reader(kithi_store *s);

/* Writes `name` with the ending to `to`. Returns false if it does not fit. */
bool kithi_join_names(char to[KITHI_NAME_BYTES], const char *name, const char *ending);

void kithi_store_free(kithi_store *s); /* closes all files; writes nothing */

/* Opens the files of a locked store, cuts off what an interrupted writer has left, and syncs the journal. */
kith_status kithi_store_recover(kithi_store *s);

/* Syncs the journal, unless it is synced already. Must not be called inside a batch. On failure the store is read-only
 * and, if possible, in the state of the last successful sync. */
kith_status kithi_store_sync_journal(kithi_store *s);

/* Sets s->failure, which makes a writer read-only. Returns `status`. */
kith_status kithi_store_fail(kithi_store *s, kith_status status);

/* Returns KITH_OK, or KITH_E_READONLY if the store may not be changed. */
static inline kith_status kithi_store_writable(const kithi_store *s) {
    return s->is_writer && s->failure == KITH_OK ? KITH_OK : KITH_E_READONLY;
}

/* ---- given.c ---- */

/* Sets up *given for two open files. Returns its table of file operations, in which the empty name is the snapshot and
 * any other name is the journal. `journal` is negative if there is none. For readers only. */
const kithi_files *kithi_given_files_init(kithi_given_files *given, int snapshot, int journal);
void kithi_given_files_close(const kithi_given_files *given); /* does nothing unless is_owned */

/* ---- checkpoint.c ---- */

/* Replaces the journal by an empty one, whose first record will have the sequence number base + 1. On failure the old
 * journal is still in use, or the store is read-only. */
kith_status kithi_store_start_journal(kithi_store *s, uint64_t base);

/* Makes a checkpoint if one is due, and sets s->checkpoint_status. */
kith_status kithi_store_checkpoint_if_due(kithi_store *s);

/* Gives a locked store that is not open the keys of the filter, which still belongs to the caller. */
kith_status kithi_store_fill(kithi_store *s, kith_filter *filter);

/* ---- what the opened file calls: kith/file.h says what the calls of these names mean ---- */

/* KITH_E_NOT_STORE: the file is a plain filter. */
kith_status kithi_store_open_fd(int snapshot, int journal, const kithi_store_options *options, kithi_store **store);
kith_status kithi_store_close(kithi_store *s);

/* Adds or removes digests: the steps at the head of store.c. `was_new` and *done: see kithi_store_apply(). */
kith_status kithi_store_operate(kithi_store *s, kithi_record_type type, const uint64_t *digests, size_t n,
                                uint64_t *was_new, size_t *done);

/* commit() and rollback() need an open batch (KITH_E_ARGUMENT). sync() must be outside of one (KITH_E_BUSY). */
kith_status kithi_store_begin(kithi_store *s);
kith_status kithi_store_commit(kithi_store *s);
kith_status kithi_store_rollback(kithi_store *s);
kith_status kithi_store_sync(kithi_store *s);
kith_status kithi_store_tick(kithi_store *s);
kith_status kithi_store_checkpoint(kithi_store *s);

/* Replaces the whole content, and starts a new journal. If only opening the new files fails, the store has the new
 * content, and this one is read-only. */
kith_status kithi_store_replace(kithi_store *s, kith_filter *filter);

/* Writes a plain file, removes the journal and, on success, frees the store. If only the removal of the journal fails,
 * the file is plain already, and the store is read-only. */
kith_status kithi_store_close_plain(kithi_store *s);

const kith_filter *kithi_store_filter(const kithi_store *s); /* the same address until the store is closed */
kith_status kithi_store_refresh(kithi_store *s, bool *changed);
bool kithi_store_durable(const kithi_store *s);
kith_status kithi_store_verify(const kithi_store *s);

/* `budget`: see kithi_salvage. The second function is for a store that is not open, whose names and window it uses. */
kith_status kithi_repair_store(kithi_store *s, uint64_t budget, const kith_allocator *allocator,
                               kith_repair_report *report, kith_filter **filter);
kith_status kithi_repair_with(const kithi_files *files, const char *path, uint64_t budget,
                              const kith_allocator *allocator, kith_repair_report *report, kith_filter **filter);

#endif
