/* kith/file.h: a filter in a file: found, locked, changed and committed.
 *
 *     kith_file *file;
 *     kith_file_options options = KITH_FILE_OPTIONS_INIT;
 *     options.wait_ms = KITH_FILE_WAIT; // until nobody else changes the file
 *     kith_status status = kith_file_open("seen.kith", KITH_FILE_CHANGE, &options, &file);
 *     if (status == KITH_OK) {
 *         status = kith_file_add(file, "a key", 5, NULL);
 *         if (status == KITH_OK)
 *             status = kith_file_commit(file); // OK: the key survives a power cut
 *         (void)kith_file_close(file);         // drops what was not committed
 *     }
 *
 * A file is plain, or it has a journal. The same calls work for both.
 *
 *     plain            FILE has the bytes of a filter. A change of one key changes a copy in memory, and each commit
 *                      replaces the whole file atomically, as kith_filter_save() does
 *     with a journal   FILE is a snapshot, and FILE-journal has the operations (adds and removals) since then: digests,
 *                      never keys. An add appends 48 bytes to the journal, whatever the size of the filter. A
 *                      checkpoint writes a new snapshot and starts a new journal
 *     FILE-lock        an empty file that whoever changes FILE locks. It is never renamed, written or removed
 *
 * Finding. Symbolic links are followed once, when the file is opened, by the rules of kith_filter_save(). From then on
 * the handle uses the folder and the name that it has found. A link that is switched later changes nothing.
 *
 * Losing nothing. Before anything is written, and again when the new file gets its name, the handle checks that FILE is
 * still the file that was opened, and that its lock is still the lock file. If another program has replaced, changed,
 * truncated or removed one of them, or put a link, a folder or a pipe in its place, the call returns KITH_E_REPLACED
 * and nothing is written. Temporary files of writers that were killed are removed by the next commit.
 *
 * A failed call changes neither the file nor the handle, except where the call says otherwise. kith_file_error_of()
 * says what was wrong. Where a failed sync or rename cannot be undone, the handle becomes read-only: all further
 * changes return KITH_E_READONLY, and kith_file_info.failure says why. What was durable before is still on the disk.
 *
 * With a journal, the order is: append to the journal, sync it if that is due, apply to the filter in memory, return.
 * An operation that was synced is there whenever the file is opened later; no operation is there twice; of a batch all
 * operations are there or none. The record of an operation that the filter refuses (KITH_E_FULL) stays in the journal,
 * and is refused again when it is repeated. A failed sync is never repeated, because the second one may succeed
 * although the data is lost: operations since the last successful sync are undone, and the handle becomes read-only.
 * Opening verifies the headers of FILE and the journal, but not the body of FILE, so that it takes the same time for
 * any size; a checkpoint verifies every page before it writes the next snapshot. kith/repair.h saves what can be saved
 * of a damaged file.
 *
 * The lock is an flock: it is released when the handle is closed or the process ends, however it ends. A child process
 * that fork() makes while a file is open shares the lock until it ends or calls exec.
 *
 * The library starts no threads, installs no signal handlers and sets no timers. Syncs and checkpoints that are due
 * happen inside calls: a program that may be idle for longer than its interval calls kith_file_tick() from time to
 * time.
 *
 * Threads: calls that take a const file may run on any number of threads at the same time. A call that takes a
 * non-const file must be the only one that uses it. One file may be opened by any number of readers, in any processes,
 * beside one writer. */
#ifndef KITH_FILE_H
#define KITH_FILE_H

#include <kith/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kith_file kith_file;

/* ---- opening and closing ---- */

typedef enum kith_file_mode {
    KITH_FILE_READ = 0,             /* lookups only: takes no lock and changes no file */
    KITH_FILE_CHANGE = 1,           /* the file must exist; keys are added and removed */
    KITH_FILE_CREATE = 2,           /* the file must not exist; kith_file_replace() gives it its content */
    KITH_FILE_CHANGE_OR_CREATE = 3, /* the first, or the second if the file does not exist */
    KITH_FILE_REPLACE = 4,          /* whatever FILE holds, if it exists at all, it is not read (it may be damaged);
                                       kith_file_replace() gives it its content */
} kith_file_mode;

/* Which mode takes the lock. */
typedef enum kith_file_lock {
    KITH_FILE_LOCK_DEFAULT = 0,  /* CHANGE and CREATE: when the file is opened. REPLACE: the same, but if neither FILE
                                    nor FILE-lock exists, nobody can be changing it, so nothing is locked, and no lock
                                    file is left beside a new file. A commit looks again */
    KITH_FILE_LOCK_IF_THERE = 1, /* only if FILE-lock exists and may be written: for examining a file on a disk that is
                                    mounted read-only, with kith_file_repair() */
    KITH_FILE_LOCK_NEVER = 2,    /* for file systems without locks: the caller makes sure that nobody else changes the
                                    file. Not for files with a journal (KITH_E_LOCK) */
    KITH_FILE_LOCK_COMMIT = 3, /* REPLACE: not before the commit, so that nobody waits while the new content is made */
} kith_file_lock;

/* When operations are synced to a journal. */
typedef enum kith_sync {
    KITH_SYNC_CALL = 0,       /* before each call returns: success means durable */
    KITH_SYNC_OPERATIONS = 1, /* when sync_operations operations are not synced yet: one sync for all of them */
    KITH_SYNC_INTERVAL = 2,   /* sync_ms milliseconds after the first operation that is not synced */
    KITH_SYNC_COMMIT = 3,     /* by kith_file_commit(): the operations since the last one are one batch, of which all
                                 are there after a crash, or none. A plain file always works like this */
} kith_sync;

/* What is wrong, where a status is not enough. */
typedef struct kith_file_error {
    size_t struct_bytes;   /* sizeof(kith_file_error): set by KITH_FILE_ERROR_INIT */
    kith_status status;    /* of the last call that failed; KITH_OK: none did */
    int system_error;      /* the errno of the system call that failed, or 0 */
    uint64_t needed_bytes; /* KITH_E_TOO_LARGE: the memory that is needed, or 0 if that is not known */
    const char *text;      /* what is wrong, and what to do: a constant sentence, to be read after "NAME: " */
    char name[256];        /* in FILE's folder: FILE itself, its journal or its lock */
} kith_file_error;

#define KITH_FILE_ERROR_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(kith_file_error), KITH_OK, 0, 0, "", {                                                                  \
            0                                                                                                          \
        }                                                                                                              \
    }

/* A value of wait_ms: without a limit. */
#define KITH_FILE_WAIT UINT64_MAX

/* A value of checkpoint_bytes and close_bytes: never. */
#define KITH_FILE_NEVER UINT64_MAX

/* Initialise with KITH_FILE_OPTIONS_INIT. NULL instead of a pointer to it means the defaults. A field that is 0 has its
 * default. A program that was compiled with an older header has a smaller struct_bytes; it is accepted. */
typedef struct kith_file_options {
    size_t struct_bytes; /* sizeof(kith_file_options): set by KITH_FILE_OPTIONS_INIT */

    /* The lock. With KITH_FILE_WAIT, the call waits in flock itself, so that the kernel wakes the waiting processes.
     * With a limit, it tries again every few milliseconds: processes that wait without a limit come first. */
    kith_file_lock lock;
    uint64_t wait_ms; /* how long to wait until another process releases the lock; default: KITH_E_LOCKED at once */
    /* May be NULL. Called once before the call begins to wait (waited_ms is 0), and whenever a signal handler that was
     * installed without SA_RESTART has interrupted it; with a limit, also after each attempt. If it returns false, the
     * result is KITH_E_CANCELLED. A program that wants to show a message after a second sets its timer in the first
     * call. `lock_name` is the name of the lock file in FILE's folder. */
    bool (*waiting)(void *context, const char *lock_name, uint64_t waited_ms);
    void *context; /* passed to `waiting` */

    /* Memory. */
    uint64_t max_bytes; /* a file that would need more memory is not read, and the filter does not grow beyond this
                           (kith_filter_set_limit): KITH_E_TOO_LARGE. A mapped file needs none. Default: no limit */
    bool no_map;        /* read the file into memory instead of mapping it: for files that somebody else may truncate,
                           which raises SIGBUS in a map (network file systems, folders of other users) */
    bool lazy;          /* READ: verify only headers and notes, as with KITH_OPEN_LAZY */
    const kith_allocator *allocator; /* NULL: the C library's */

    /* The journal. */
    kith_sync sync;            /* default: KITH_SYNC_CALL */
    uint64_t sync_operations;  /* for KITH_SYNC_OPERATIONS; default: 1000 */
    uint64_t sync_ms;          /* for KITH_SYNC_INTERVAL; default: 1000 */
    uint64_t checkpoint_bytes; /* a checkpoint is due when the journal is larger; default: 64 MiB */
    uint64_t checkpoint_ms;    /* a checkpoint is also due this long after the last one, if there were operations since;
                                  default: never */
    uint64_t close_bytes;      /* kith_file_close() makes a checkpoint if the journal is larger; default: 4 MiB */

    bool streams;           /* REPLACE: `path` may be a pipe or a character device. Nothing is locked or renamed:
                               kith_file_commit() opens it and writes the bytes */
    kith_file_error *error; /* NULL, or where kith_file_open() says what is wrong if it fails (but not for
                               KITH_E_ARGUMENT and KITH_E_STRUCT) */
} kith_file_options;

#define KITH_FILE_OPTIONS_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(kith_file_options), KITH_FILE_LOCK_DEFAULT, 0, NULL, NULL, 0, false, false, NULL, KITH_SYNC_CALL, 0, 0, \
            0, 0, 0, false, NULL                                                                                       \
    }

/* Opens a file. On failure *file is NULL.
 *
 * CHANGE and CREATE wait for the lock, and read the file after they have got it. A file that is not a filter is refused
 * before that, so that no lock file is created beside it. So is one that cannot be replaced later, before any work is
 * done that could not be saved: a file without write permission (unlike kith_filter_save(), even for root), or in a
 * folder that cannot be written. (Not with KITH_FILE_LOCK_IF_THERE.)
 *
 * Returns
 *   KITH_E_NO_FILE     (READ, CHANGE) there is no such file; (all) there is no such folder
 *   KITH_E_EXISTS      (CREATE) there is a file
 *   KITH_E_LOCKED      another process or handle changes the file, and has not released the lock within wait_ms
 *   KITH_E_CANCELLED   waiting() returned false
 *   KITH_E_LOCK        FILE-lock is not an empty regular file, cannot be created or opened, or the file system has no
 *                      locks; or KITH_FILE_LOCK_NEVER was given for a file with a journal
 *   KITH_E_JOURNAL_MISSING   there is no journal
 *   KITH_E_JOURNAL_FOREIGN   FILE-journal belongs to another file or is no journal, or it lacks the first operations
 *                      after the snapshot, so that keys would be missing
 *   KITH_E_CORRUPT     FILE is damaged, or a record of the journal that had been synced. No file is changed
 *   KITH_E_TOO_LARGE   more than max_bytes of memory are needed
 *   KITH_E_ARGUMENT    unknown mode, lock or sync; KITH_E_STRUCT: malformed options
 * and the codes of kith_filter_open(). A failure may leave a new empty FILE-lock. If the file has a journal, a failure
 * may also come after bytes at its end that were never acknowledged were cut off.
 *
 * Cost: READ maps the file and verifies it (one read). CHANGE reads a plain file into memory. With a journal: a few
 * system calls, and the time that the operations in the journal take, about 1 s for 64 MiB; READ also verifies the
 * snapshot, unless options.lazy. */
KITH_API KITH_MUST_USE kith_status kith_file_open(const char *path, kith_file_mode mode,
                                                  const kith_file_options *options, kith_file **file);

/* Frees the file and releases the lock, also if it fails. What was not committed is dropped; operations in a journal
 * that are outside of a batch are synced, and a checkpoint is made if the journal is larger than options.close_bytes.
 * NULL is allowed.
 *
 * Returns KITH_OK, or with a journal the failure of the sync (operations since the last successful one may be lost) or
 * of the checkpoint (every operation is durable in the journal). */
KITH_API kith_status kith_file_close(kith_file *file);

/* ---- reading ---- */

/* Returns the filter, for all calls that take a const filter: lookups, statistics, notes. It contains what was changed
 * and not committed yet. NULL if there is no content: in the modes CREATE and REPLACE before kith_file_replace(), and
 * after kith_file_set_journal(file, false) until kith_file_refresh() or a change. The pointer is valid until the next
 * call for this file that is not one of kith_file_add() … kith_file_remove_many(). */
KITH_API const kith_filter *kith_file_filter(const kith_file *file);

/* Returns true if the key may be in the set: kith_filter_has() of that filter. The file must have content. */
KITH_API bool kith_file_has(const kith_file *file, const void *key, size_t key_bytes);

/* READ: continues with what the file holds now: applies what a writer has added to the journal, or opens the file again
 * if it was replaced. *changed (may be NULL) is set to whether anything was new. Other modes are always current.
 *
 * Returns the codes of kith_file_open(), and KITH_E_REPLACED if the name refers to something that is not a file. On
 * failure the handle is as before. There is one exception: if some new operations of a journal were applied and can
 * not be undone, lookups may see them, and kith_file_info.failure is set until a later refresh succeeds. */
KITH_API KITH_MUST_USE kith_status kith_file_refresh(kith_file *file, bool *changed);

/* Sets *bytes and *byte_count to the content as one block: kith_filter_bytes(). KITH_E_NO_FILE if there is none. */
KITH_API KITH_MUST_USE kith_status kith_file_bytes(kith_file *file, const void **bytes, size_t *byte_count);

/* Replaces options.max_bytes. 0: no limit. */
KITH_API void kith_file_set_limit(kith_file *file, uint64_t max_bytes);

/* Verifies everything: each page of FILE and the invariants of the filter in memory. KITH_OK, KITH_E_CORRUPT,
 * KITH_E_MEMORY, KITH_E_IO, or KITH_E_NO_FILE if there is no content. */
KITH_API KITH_MUST_USE kith_status kith_file_verify(const kith_file *file);

/* ---- changing ----
 *
 * These calls return the codes of the calls of the same name in kith/filter.h, with the same meaning, and
 *   KITH_E_READONLY   the mode is READ, or a failure has made the handle read-only
 *   KITH_E_NO_FILE    there is no content yet
 *   KITH_E_REPLACED   (with a journal and KITH_SYNC_CALL) see the head of this file; the handle becomes read-only
 *   KITH_E_NO_SPACE, KITH_E_IO   (with a journal) it could not be extended
 *
 * On a plain file, nothing is written before kith_file_commit(). With a journal, KITH_OK means that the operation is
 * durable, if options.sync is KITH_SYNC_CALL and no batch is open; otherwise see kith_file_durable(). */

KITH_API KITH_MUST_USE kith_status kith_file_add(kith_file *file, const void *key, size_t key_bytes, bool *was_new);
KITH_API KITH_MUST_USE kith_status kith_file_add_digest(kith_file *file, uint64_t digest, bool *was_new);

/* Removes one copy of a key. Remove ONLY keys that were added, as with kith_filter_remove(). */
KITH_API KITH_MUST_USE kith_status kith_file_remove(kith_file *file, const void *key, size_t key_bytes);
KITH_API KITH_MUST_USE kith_status kith_file_remove_digest(kith_file *file, uint64_t digest);

/* Add or remove digests one after the other and stop at the first that fails, like kith_filter_add_many() and
 * kith_filter_remove_many(). With a journal, the call is one batch: after a crash all of its operations are there, or
 * none. */
KITH_API KITH_MUST_USE kith_status kith_file_add_many(kith_file *file, const uint64_t *digests, size_t n,
                                                      uint64_t *was_new, size_t *done);
KITH_API KITH_MUST_USE kith_status kith_file_remove_many(kith_file *file, const uint64_t *digests, size_t n,
                                                         size_t *done);

/* Sets *filter to the content as a filter that can be changed by any call of kith/filter.h: notes, merge, clear. The
 * next commit writes all of it. It belongs to the file; kith_file_filter() says how long the pointer is valid. On a
 * plain file it is the copy in memory. With a journal it is a new copy of the content: the commit replaces the
 * snapshot, and readers see it after a refresh. KITH_E_BUSY: operations in the journal are not committed. */
KITH_API KITH_MUST_USE kith_status kith_file_edit(kith_file *file, kith_filter **filter);

/* Makes `from`, which may be of any kind, the content; the next commit writes it. On success `from` belongs to the
 * file. On failure it is still yours.
 *
 * A file with a journal stays one, whose journal starts anew. KITH_E_UNSUPPORTED: `from` is of a static kind, and the
 * file has a journal or shall have one (kith_file_set_journal). KITH_E_BUSY: as kith_file_edit(). */
KITH_API KITH_MUST_USE kith_status kith_file_replace(kith_file *file, kith_filter *from);

/* Makes everything durable that was changed since the last commit; does nothing if nothing was. On a plain file, and
 * after kith_file_edit() and kith_file_replace(), the file is replaced atomically: after a crash there is the old file
 * or the new one. The file keeps its owner and mode, as with kith_filter_save(). With a journal, ends the batch and
 * syncs. The handle remains open, and further changes and commits may follow.
 *
 * Returns
 *   KITH_E_REPLACED   see the head of this file; nothing is written
 *   KITH_E_EXISTS     (CREATE) another program has created the file meanwhile; it is unchanged
 *   KITH_E_NO_FILE    (CREATE, REPLACE) there is no content
 *   KITH_E_READONLY
 * and the codes of kith_filter_save(); (REPLACE) if it must take the lock now, those of kith_file_open().
 *
 * On failure the file is as before; kith_filter_save() names the one exception. On a plain file, and after edit() and
 * replace(), the changes are still in memory and the call may be repeated. With a journal, the batch is rolled back. */
KITH_API KITH_MUST_USE kith_status kith_file_commit(kith_file *file);

/* REPLACE: takes the lock now, if the handle has none, as kith_file_commit() does first: for a program that does not
 * want to be interrupted from then on. Returns the codes of kith_file_open(). */
KITH_API KITH_MUST_USE kith_status kith_file_wait(kith_file *file);

/* REPLACE: makes `bytes`, which are no filter, the content of the file, as kith_file_commit() does with a filter: for
 * programs that keep another format beside their filters. KITH_E_UNSUPPORTED if the file has a journal. */
KITH_API KITH_MUST_USE kith_status kith_file_commit_bytes(kith_file *file, const void *bytes, size_t byte_count);

/* With a journal: makes one batch of all operations until kith_file_commit(), whatever options.sync is. After a crash
 * all of them are there, or none. KITH_E_BUSY: a batch is open. On a plain file, and with KITH_SYNC_COMMIT, the call
 * does nothing: changes are always one batch there. */
KITH_API KITH_MUST_USE kith_status kith_file_begin(kith_file *file);

/* Drops what was changed since the last commit: on a plain file, by reading the file again (KITH_E_REPLACED: it is not
 * that file any more); with a journal, the operations since kith_file_begin(), or those of KITH_SYNC_COMMIT. Other
 * operations are durable and stay. If this fails with a journal, the handle becomes read-only. */
KITH_API KITH_MUST_USE kith_status kith_file_rollback(kith_file *file);

/* Returns whether everything that was changed is durable. */
KITH_API bool kith_file_durable(const kith_file *file);

/* ---- the journal ---- */

/* Gives the file a journal, or makes it plain.
 *
 * If there are changes that replace() or edit() or a plain file have not committed yet, or the file does not exist yet,
 * the next commit does it: a new file is plain unless this was called. Otherwise it is done before the call returns; a
 * file that becomes plain is verified and written again, and its content is no longer in memory (kith_file_filter()).
 * Does nothing if the file is already so. In the mode REPLACE, kith_file_set_journal(file, false) also removes the
 * journal of a damaged file.
 *
 * Returns KITH_E_UNSUPPORTED for a static kind, KITH_E_BUSY if operations in the journal are not committed,
 * KITH_E_JOURNAL_FOREIGN if FILE-journal is not a journal of kith, KITH_E_LOCK with KITH_FILE_LOCK_NEVER,
 * KITH_E_RANDOM, and the codes of kith_file_commit(). On failure the file is as before or, if only opening the new
 * files fails, complete; if only the removal of the journal fails, the file is plain already, and nobody reads that
 * journal. */
KITH_API KITH_MUST_USE kith_status kith_file_set_journal(kith_file *file, bool has_journal);

/* Writes a new snapshot and starts a new journal, unless there were no operations since the last checkpoint. On a plain
 * file it does nothing. Returns KITH_E_CORRUPT if the old snapshot is damaged, KITH_E_BUSY if operations are not
 * committed, and the codes of kith_file_commit(). No operation is lost by a failure. */
KITH_API KITH_MUST_USE kith_status kith_file_checkpoint(kith_file *file);

/* Does what is due: a sync (KITH_SYNC_INTERVAL), a checkpoint (checkpoint_bytes, checkpoint_ms). Calls that change the
 * file do the same, but a checkpoint that fails there does not fail the call: kith_file_info.checkpoint has its status.
 * On a plain file, in a batch and in the mode READ it does nothing. */
KITH_API KITH_MUST_USE kith_status kith_file_tick(kith_file *file);

/* ---- what a file is, and what is wrong ---- */

typedef struct kith_file_info {
    size_t struct_bytes;    /* sizeof(kith_file_info): set by KITH_FILE_INFO_INIT */
    bool exists;            /* there was a file when it was opened, or a commit has written it */
    bool has_journal;       /* the file has one */
    bool is_locked;         /* this handle holds the lock */
    bool is_stream;         /* options.streams: nothing is locked or renamed */
    uint64_t file_bytes;    /* size of FILE; 0 if it does not exist */
    kith_status failure;    /* KITH_OK, or the failure that made the handle read-only */
    char left[256];         /* a temporary file in the folder that the last commit could not remove (the old file,
                            if the commit has succeeded); empty: there is none */
    char left_journal[256]; /* likewise, of the journal */
    /* The rest is 0 without a journal: */
    uint64_t journal_bytes;     /* size of the journal */
    uint64_t sequence;          /* number of the last journal record; records are numbered from 1 on */
    uint64_t synced;            /* highest sequence number that is durable; 0 for a reader, which cannot know */
    uint64_t snapshot_sequence; /* number of the last record that the snapshot includes */
    uint64_t generation;        /* number of journals that this file has had */
    uint64_t cut_bytes;         /* bytes after the last complete batch when the file was opened, which were never
                                   acknowledged as durable. A writer has cut them off */
    kith_status checkpoint;     /* the status of the last checkpoint that was due; KITH_OK if there was none */
    unsigned char id[16];       /* a random number that snapshot and journal have in common */
} kith_file_info;

#define KITH_FILE_INFO_INIT                                                                                            \
    {                                                                                                                  \
        sizeof(kith_file_info), false, false, false, false, 0, KITH_OK, {0}, {0}, 0, 0, 0, 0, 0, 0, KITH_OK, {         \
            0                                                                                                          \
        }                                                                                                              \
    }

/* Fills in `info`. KITH_OK, or KITH_E_STRUCT for a wrong struct_bytes. A smaller struct of an older header is
 * accepted, and only its fields are written. */
KITH_API KITH_MUST_USE kith_status kith_file_info_of(const kith_file *file, kith_file_info *info);

/* Says what was wrong in the last call for this file that failed. For kith_file_open() there is options.error. Returns
 * as kith_file_info_of(). */
KITH_API KITH_MUST_USE kith_status kith_file_error_of(const kith_file *file, kith_file_error *error);

/* ---- in a sandbox ---- */

/* Opens FILE and FILE-journal for reading, so that they belong together, and reads nothing: for a program that gives up
 * its right to open files (seccomp, Capsicum, pledge) before it reads this one. *journal is negative if there is none:
 * -errno of the failed open. Returns KITH_E_NO_FILE, KITH_E_PERMISSION or KITH_E_IO (EISDIR, EINVAL: not a regular
 * file). */
KITH_API KITH_MUST_USE kith_status kith_file_descriptors(const char *path, int *file, int *journal);

/* Like kith_file_open() with KITH_FILE_READ, for two regular files that are open for reading. `journal` is negative if
 * there is none, or -errno as above. On success the descriptors belong to the file, which closes them; on failure they
 * are still yours. If the file has a journal and the result is KITH_E_JOURNAL_FOREIGN, a checkpoint may have come
 * between the opening of the two: kith_file_descriptors() tries again in that case, and you may do the same.
 * kith_file_refresh() sees what is appended to this journal, but not what happens after the next checkpoint. */
KITH_API KITH_MUST_USE kith_status kith_file_open_fd(int file, int journal, const kith_file_options *options,
                                                     kith_file **opened);

#ifdef __cplusplus
}
#endif
#endif
