/* kith/store.h: a filter file that takes changes one by one and survives crashes.
 *
 * A plain filter file is replaced as a whole by kith_filter_save(). A store is a filter file, the snapshot, together
 * with a journal of the operations (adds and removals) since the snapshot was written. An add appends 48 bytes to
 * the journal, whatever the size of the filter. (A call for many keys appends 8 bytes for each digest, and 40 for every
 * 8,192 of them.) A checkpoint writes a new snapshot and starts a new journal.
 *
 *     FILE            the snapshot: the bytes of a filter, with a mark that it belongs to a store
 *     FILE-journal    the operations since the snapshot: digests, never keys
 *     FILE-lock       an empty file that the writer locks; it is never renamed or removed
 *
 *     kith_store *store;
 *     kith_status status = kith_store_create("seen.kith", filter, NULL, &store);
 *     if (status == KITH_OK)
 *         status = kith_store_add(store, "a key", 5, NULL); // OK: the key survives a power cut
 *     ...
 *     status = kith_store_close(store);
 *
 * Order. An operation is appended to the journal, synced, applied to the filter in memory and then acknowledged: the
 * call returns. A synced operation is durable. If options.sync is not KITH_SYNC_CALL, a call may return before its
 * operation is synced. The operation is then only written: it survives the end of the process, but not a power cut.
 * kith_store_durable() says whether all operations are durable.
 *
 * Recovery. kith_store_open() maps the snapshot and repeats the operations in the journal. Every operation that was
 * acknowledged as durable is there, no operation is there twice, and of a batch all operations are there or none. The
 * outcome of an operation depends only on the filter and the digest. So an operation that failed (for example with
 * KITH_E_FULL) fails again when it is repeated. (Only KITH_E_MEMORY and KITH_E_TOO_LARGE depend on more; operations
 * that failed with one of these are removed from the journal.) This is as durable as fsync is: a disk that reports data
 * as written when it is not can lose it.
 *
 * There are no hidden threads. Syncs and checkpoints that are due happen inside calls for this store. A program that
 * may be idle for longer than its interval must call kith_store_tick() from time to time.
 *
 * One writer at a time: a second one gets KITH_E_LOCKED. Any number of readers (KITH_STORE_READ), also in other
 * processes, see the state at the time of opening, and newer operations after kith_store_refresh().
 *
 * Failures. A call that fails leaves the store as it was, with these exceptions:
 *
 *   - Calls for many keys keep the operations before the one that failed.
 *   - The record of an operation that the filter refuses (for example with KITH_E_FULL) stays in the journal.
 *   - A failed kith_store_commit() rolls its batch back.
 *   - After a failed checkpoint, FILE may be the new snapshot already. No operation is lost.
 *   - kith_store_create(), kith_store_convert(), kith_store_open(), kith_store_replace(), kith_store_close_plain() and
 *     kith_store_refresh() describe what a failure may have changed. kith_store_close() always frees the store.
 *
 * The store becomes read-only if a sync of the journal fails, if a rollback or the replacement of a file can be neither
 * completed nor undone, if a new file is in place but cannot be opened, or if kith_store_close_plain() cannot remove
 * the journal. kith_store_info.failure then says why, all later changes return KITH_E_READONLY, and kith_store_close()
 * returns the failure. What was acknowledged as durable before is still on the disk. A failed sync is not repeated,
 * because the second one may succeed although the data is lost. Instead the store returns to the state of the last
 * successful sync, if it can, in the file and in memory: operations since then, which were not acknowledged as durable,
 * are gone. After KITH_E_IO, KITH_E_NO_SPACE, KITH_E_PERMISSION and KITH_E_NO_FILE, errno holds the reason.
 *
 * A damaged snapshot. Opening verifies only the headers and the notes of the snapshot, not its body, so that it takes
 * the same time for any size. Lookups in a damaged body may be wrong, as with KITH_OPEN_LAZY. A checkpoint verifies
 * every page of the old snapshot before it writes the new one. If it finds damage, it returns KITH_E_CORRUPT, and the
 * old snapshot and the journal stay as they are. kith_store_verify() checks at any time. With options.no_map, opening
 * verifies everything. kith/repair.h saves what can be saved of a damaged store.
 *
 * Threads: calls that take a const store may run on any number of threads at the same time. A call that takes a
 * non-const store must be the only one that uses it. */
#ifndef KITH_STORE_H
#define KITH_STORE_H

#include <kith/file.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_store kith_store;

typedef enum kith_store_flags {
    KITH_STORE_WRITE = 0,     /* open for reading and writing; takes the lock */
    KITH_STORE_READ = 1 << 0, /* only read: takes no lock and changes no file */
} kith_store_flags;

/* When operations are synced to the disk: see kith/file.h. KITH_SYNC_COMMIT is not for stores. In every mode,
 * kith_store_sync(), kith_store_commit() and kith_store_close() sync everything that was written before. */
typedef kith_sync kith_store_sync_mode;

/* How a store works. Initialise with KITH_STORE_OPTIONS_INIT. NULL instead of a pointer to it means the defaults. A
 * field that is 0 has its default. A program that was compiled with an older header has a smaller struct_bytes; it is
 * accepted. */
typedef struct kith_store_options {
    size_t struct_bytes;       /* sizeof(kith_store_options): set by KITH_STORE_OPTIONS_INIT */
    kith_store_sync_mode sync; /* default: KITH_SYNC_CALL */
    uint64_t sync_operations;  /* for KITH_SYNC_OPERATIONS; default: 1000 */
    uint64_t sync_ms;          /* for KITH_SYNC_INTERVAL; default: 1000 */
    uint64_t checkpoint_bytes; /* a checkpoint is due when the journal is larger; default: 64 MiB */
    uint64_t checkpoint_ms;    /* a checkpoint is also due this long after the last one (or after opening), if there
                                  were operations since; default: never */
    uint64_t close_bytes;      /* kith_store_close() makes a checkpoint if the journal is larger; default: 4 MiB */
    uint64_t max_bytes; /* the filter must not grow beyond this size: kith_filter_set_limit(); default: no limit */
    const kith_allocator *allocator; /* NULL: the C library's */
    int lock; /* 0, the default: the store opens and locks FILE-lock itself. If the caller has locked that file already,
                 with flock(LOCK_EX), this is its descriptor + 1 (because descriptor 0 is valid), and the store does not
                 lock the file once more. On success the descriptor belongs to the store, which closes it; on failure it
                 is still the caller's. Must be 0 with KITH_STORE_READ */
    bool no_map; /* read the snapshot into memory and verify it, instead of mapping it: for files that somebody else may
                    truncate, which would raise SIGBUS in a map (network file systems, folders of other users). Costs a
                    read of the whole file, and memory of its size, each time that the snapshot is opened; during a
                    checkpoint and a rollback, the old and the new one are in memory. KITH_E_TRUNCATED: the file became
                    shorter while it was read. Default: false */
} kith_store_options;

#define KITH_STORE_OPTIONS_INIT                                                                                        \
    { sizeof(kith_store_options), KITH_SYNC_CALL, 0, 0, 0, 0, 0, 0, 0, 0, false }

/* A value for checkpoint_bytes and close_bytes: never. */
#define KITH_STORE_NEVER UINT64_MAX

/* ---- opening and closing ---- */

/* Creates a store that contains the keys of `filter`, and opens it for writing. The filter itself is only read (its
 * checksums may be updated, as by kith_filter_save()), and still belongs to you.
 *
 * If there is a file at `path` that is not a store, it is replaced by the same rules as in kith_filter_save(). If there
 * is a store, it stays the same store and only gets other content: its journal is replaced by an empty one, and readers
 * see the new content after a refresh. A crash leaves either the old content or the new one.
 *
 * A store that cannot be opened, because it is damaged or has no journal, is replaced by a new one. Call kith_repair()
 * before, if you need what can be saved. A crash or a failure leaves the damaged store with its journal, or the new
 * content. The new content may then be a plain file, of which kith_store_convert() makes a store.
 *
 * Returns KITH_E_UNSUPPORTED if the filter is of a static kind, KITH_E_LOCKED if the store is open for writing,
 * KITH_E_JOURNAL if there is a file FILE-journal that is not a journal of kith, KITH_E_RANDOM, KITH_E_ARGUMENT for
 * malformed options, KITH_E_TOO_LARGE if there is a store already whose operations need more than options->max_bytes,
 * and the codes of kith_filter_save().
 *
 * A failure leaves the old file, except in place of a damaged store (see above). There is one more exception: if the
 * new files were written and only could not be opened (KITH_E_MEMORY, KITH_E_IO), the new store is complete, and
 * kith_store_open() opens it. A failure may also leave a new empty FILE-lock. */
KITH_API KITH_MUST_USE kith_status kith_store_create(const char *path, kith_filter *filter,
                                                     const kith_store_options *options, kith_store **store);

/* Turns the plain filter file at `path` into a store, and opens it for writing. The file is verified completely.
 *
 * Unlike kith_filter_open() followed by kith_store_create(), this call takes the lock before it reads the file, so that
 * no change of another program that takes the lock is lost. Returns KITH_E_JOURNAL if the file is a store already, and
 * the codes of kith_filter_open() and kith_store_create(). A failure leaves the plain file, or the complete new store.
 * It may also leave a new empty FILE-lock. */
KITH_API KITH_MUST_USE kith_status kith_store_convert(const char *path, const kith_store_options *options,
                                                      kith_store **store);

/* Opens a store and recovers it: maps the snapshot, repeats the operations in the journal and, unless it is opened for
 * reading, cuts off what an interrupted writer has left behind. Flags are kith_store_flags.
 *
 * Returns
 *   KITH_E_NOT_STORE  the file is a plain filter (kith_store_convert makes a store of it)
 *   KITH_E_LOCKED     another process or handle has the store open for writing
 *   KITH_E_JOURNAL    the journal is missing, is not a regular file, belongs to another store, or lacks the first
 *                     operations after the snapshot, so that keys would be missing. kith_filter_open() with
 *                     KITH_OPEN_SNAPSHOT reads the snapshot alone
 *   KITH_E_CORRUPT    a record of the journal that had been synced is damaged, or a header is. No file is changed
 *   KITH_E_TOO_LARGE  the operations in the journal need more than options->max_bytes
 *   KITH_E_ARGUMENT   unknown flags, or malformed options
 *   KITH_E_NO_SPACE   for a writer, which writes the end of the journal again before it syncs it
 * and the codes of kith_filter_open(). KITH_E_IO with errno EINVAL: FILE-lock is not an empty regular file.
 * A failure may leave a new empty FILE-lock. It may also come after the end of the journal was cut off: bytes that were
 * never acknowledged as durable.
 *
 * Cost: a few system calls, a read of the journal, and the time that its operations take in memory, without syncs:
 * about 1 s for a journal of 64 MiB. Memory: the system's pages (usually 4 KiB) of the mapped snapshot that these
 * operations change; with options.no_map, the whole snapshot. */
KITH_API KITH_MUST_USE kith_status kith_store_open(const char *path, unsigned flags, const kith_store_options *options,
                                                   kith_store **store);

/* Like kith_store_open() with KITH_STORE_READ, for two regular files that are open for reading: the snapshot FILE, and
 * FILE-journal. Like kith_filter_open_fd(), this is for sandboxed programs that are no longer allowed to open files.
 * options->lock must be 0.
 *
 * On success the descriptors belong to the store, which closes them. On failure they are still yours. `journal` may be
 * -1 if there is none; the result is KITH_E_JOURNAL then, if the snapshot is sound.
 *
 * Open FILE before FILE-journal. If the writer makes a checkpoint after you have opened the one and before you open the
 * other, the journal may be too new for the snapshot, and the result is KITH_E_JOURNAL. So if the result is
 * KITH_E_JOURNAL and the name FILE now refers to another file, open both again. kith_store_refresh() applies what the
 * writer has appended to this journal; it does not see what happens after the next checkpoint. */
KITH_API KITH_MUST_USE kith_status kith_store_open_fd(int snapshot, int journal, const kith_store_options *options,
                                                      kith_store **store);

/* Syncs what is not synced yet, makes a checkpoint if the journal is larger than options.close_bytes, and frees the
 * store, also if it returns a failure. A batch that was not committed is rolled back. NULL is allowed.
 *
 * A reader gets KITH_OK. A writer gets KITH_OK if the sync succeeded, and the checkpoint too if one had to be made;
 * then every operation is durable. If a sync failed, operations since the last successful one may be lost. If only the
 * checkpoint failed, its status is returned, but every operation is durable in the journal. */
KITH_API kith_status kith_store_close(kith_store *store);

/* ---- changing ----
 *
 * These calls return the codes of the calls of the same name in kith/filter.h, with the same meaning, and
 *   KITH_E_READONLY   the store was opened for reading, or has become read-only by a failure (kith_store_info.failure)
 *   KITH_E_NO_SPACE, KITH_E_IO   the journal could not be extended. If the incomplete record cannot be removed either,
 *                     the store becomes read-only. A failed sync always makes it read-only */

/* Adds a key. With KITH_SYNC_CALL, KITH_OK means that the key is durable (inside a batch of kith_store_begin(): only
 * after kith_store_commit()). See kith_store_durable(). */
KITH_API KITH_MUST_USE kith_status kith_store_add(kith_store *store, const void *key, size_t key_bytes, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_store_add_digest(kith_store *store, uint64_t digest, bool *was_new);

/* Removes one copy of a key. Remove ONLY keys that were added, as with kith_filter_remove(). */
KITH_API KITH_MUST_USE kith_status kith_store_remove(kith_store *store, const void *key, size_t key_bytes);
KITH_API KITH_MUST_USE kith_status kith_store_remove_digest(kith_store *store, uint64_t digest);

/* Adds or removes digests one after the other and stops at the first that fails, like kith_filter_add_many() and
 * kith_filter_remove_many(). The call is one batch: after a crash, all of its operations are there or none. */
KITH_API KITH_MUST_USE kith_status kith_store_add_many(kith_store *store, const uint64_t *digests, size_t n,
                                                       uint64_t *was_new, size_t *done);
KITH_API KITH_MUST_USE kith_status kith_store_remove_many(kith_store *store, const uint64_t *digests, size_t n,
                                                          size_t *done);

/* Makes one batch of all operations from kith_store_begin() to kith_store_commit(): after a crash all of them are there
 * or none. Within the batch, operations are written and applied immediately, so lookups in this handle see them;
 * other processes see them after the commit. kith_store_commit() syncs, in every mode.
 *
 * kith_store_rollback() undoes the operations since kith_store_begin(). It reads the snapshot and the journal again, so
 * it takes as long as opening the store.
 *
 * kith_store_begin() returns KITH_E_BUSY if a batch is open, and the other two return KITH_E_ARGUMENT if none is. If a
 * commit fails, the batch is rolled back. If a rollback fails (KITH_E_MEMORY, KITH_E_IO), the store becomes read-only,
 * and lookups may still see operations of the batch. Whoever opens the store later does not see them. */
KITH_API KITH_MUST_USE kith_status kith_store_begin(kith_store *store);
KITH_API KITH_MUST_USE kith_status kith_store_commit(kith_store *store);
KITH_API KITH_MUST_USE kith_status kith_store_rollback(kith_store *store);

/* ---- syncs and checkpoints ----
 *
 * These calls return KITH_E_READONLY if the store was opened for reading (kith_store_tick() then does nothing and
 * returns KITH_OK), or if it has become read-only by a failure. */

/* Syncs all operations. When it returns KITH_OK, they are durable. Returns KITH_E_BUSY inside a batch. */
KITH_API KITH_MUST_USE kith_status kith_store_sync(kith_store *store);

/* Does what is due: a sync (KITH_SYNC_INTERVAL) and a checkpoint (options.checkpoint_bytes, checkpoint_ms), and returns
 * the status of the one that fails. Inside a batch it does nothing. Calls that change the store do the same, but a
 * checkpoint that fails there does not fail the call: its status is in kith_store_info. The next attempt is made when
 * the journal has grown by another checkpoint_bytes, or after another checkpoint_ms. */
KITH_API KITH_MUST_USE kith_status kith_store_tick(kith_store *store);

/* Writes a new snapshot and starts a new journal, unless there were no operations since the last checkpoint.
 *
 * Returns KITH_E_CORRUPT if the old snapshot is damaged (if its header is, also the other codes of kith_filter_view()),
 * KITH_E_BUSY inside a batch, and the codes of kith_filter_save(). After a failure the store can be used as before,
 * with one exception: it is read-only (kith_store_info.failure) if the new journal is in place but cannot be opened, or
 * if it is not certain that the old one is still in place. Cost: reads the old snapshot, writes a new one. The
 * memory of changed pages of the mapped snapshot is free afterwards. */
KITH_API KITH_MUST_USE kith_status kith_store_checkpoint(kith_store *store);

/* Replaces the whole content of the store by the keys of `filter`, which may be of another kind, and starts a new
 * journal. A crash leaves either the old content or the new one. Returns KITH_E_BUSY inside a batch, and the codes of
 * kith_store_create(). If only opening the new files fails, the store has the new content, and this handle is
 * read-only. */
KITH_API KITH_MUST_USE kith_status kith_store_replace(kith_store *store, kith_filter *filter);

/* Writes the content as a plain filter file, removes the journal and, on success, frees the store. The codes are those
 * of kith_store_checkpoint().
 *
 * On failure the store stays open and is as it was. It becomes read-only in two cases: if the replacement of the file
 * can be neither completed nor undone, or if only the removal of the journal fails. In the second case the file is a
 * plain filter already, and a journal that is left behind does no harm: nobody reads it. */
KITH_API KITH_MUST_USE kith_status kith_store_close_plain(kith_store *store);

/* ---- reading ---- */

/* Returns the filter, for all calls that take a const filter: lookups, statistics, notes. The pointer stays the same
 * until the store is closed; calls that change the store change this filter. */
KITH_API const kith_filter *kith_store_filter(const kith_store *store);

/* Returns true if the key may be in the set: kith_filter_has() of that filter. */
KITH_API bool kith_store_has(const kith_store *store, const void *key, size_t key_bytes);

/* For a store opened with KITH_STORE_READ: applies the operations that the writer has committed since, whether they are
 * synced or not, or opens the store again if there was a checkpoint. *changed (may be NULL) is set to whether anything
 * was new, or the journal is another one because of a checkpoint. A writer is always current, and gets KITH_OK.
 *
 * Returns the codes of kith_store_open(). On failure the store is as before. There is one exception: if some of the new
 * operations were applied, and the state before them could not be loaded again, lookups may see these operations.
 * kith_store_info.failure is then set until a later kith_store_refresh(), which opens both files again, succeeds. */
KITH_API KITH_MUST_USE kith_status kith_store_refresh(kith_store *store, bool *changed);

/* Returns whether every operation that this handle has acknowledged is durable: false if some are only written, or if
 * the store became read-only by a failure. A reader acknowledges nothing: true. */
KITH_API bool kith_store_durable(const kith_store *store);

/* Verifies every page of the snapshot file (with options.no_map it was verified when it was read, and is not read
 * again) and the invariants of the filter in memory. The records of the journal were verified when they were read.
 * Returns KITH_OK, KITH_E_CORRUPT, KITH_E_MEMORY or KITH_E_IO; if the header of the file was damaged after the store
 * was opened, also the other codes of kith_filter_view(). */
KITH_API KITH_MUST_USE kith_status kith_store_verify(const kith_store *store);

typedef struct kith_store_info {
    size_t struct_bytes;        /* sizeof(kith_store_info): set by KITH_STORE_INFO_INIT */
    uint64_t sequence;          /* number of the last journal record; records are numbered from 1 on */
    uint64_t synced;            /* highest sequence number that is durable; 0 for a reader, which cannot know */
    uint64_t snapshot_sequence; /* number of the last record that the snapshot includes */
    uint64_t generation;        /* number of journals that this store has had */
    uint64_t journal_bytes;     /* size of the journal */
    uint64_t snapshot_bytes;    /* size of the snapshot */
    uint64_t cut_bytes;         /* bytes after the last complete record or batch of the journal when it was opened. They
                                   were never acknowledged as durable. A writer has cut them off */
    kith_status failure;        /* KITH_OK, or the failure that made the store read-only; see also kith_store_refresh */
    kith_status checkpoint;     /* the status of the last checkpoint that was due; KITH_OK if there was none */
    unsigned char id[16];       /* a random number that snapshot and journal have in common */
} kith_store_info;

#define KITH_STORE_INFO_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(kith_store_info), 0, 0, 0, 0, 0, 0, 0, KITH_OK, KITH_OK, {                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/* Fills in `info`. Returns KITH_OK, or KITH_E_STRUCT for a wrong struct_bytes. A program that was compiled with an
 * older header has a smaller struct_bytes; it is accepted, and only its fields are written. */
KITH_API KITH_MUST_USE kith_status kith_store_info_of(const kith_store *store, kith_store_info *info);

#ifdef __cplusplus
}
#endif
#endif
