/* file/file.h: what the files of the opened file share. See include/kith/file.h for the contract.
 *
 *     open.c     opens, refreshes and closes: finds the file, and reads it
 *     lock.c     waits for the lock, and checks that nothing was replaced
 *     change.c   adds, removes, edits; batches
 *     commit.c   writes: replaces the file, or hands over to the store; starts and ends journals
 *     about.c    what a file is, and what is wrong
 *     given.c    files that the caller has opened, and opens them for him
 *
 * A file with a journal is opened by the store (store/), which borrows the folder and the lock of the handle. */
#ifndef KITHI_FILE_FILE_H
#define KITHI_FILE_FILE_H

#include <kith/file.h>

#include "file/store.h"

typedef enum kithi_wish { KITHI_WISH_NONE, KITHI_WISH_JOURNAL, KITHI_WISH_PLAIN } kithi_wish;

struct kith_file {
    kith_allocator allocator;
    const kithi_files *files; /* the file operations */
    kith_file_options options;
    kith_file_mode mode;
    int folder;                  /* negative: none, because the files are given, or it is a stream */
    int file;                    /* FILE, open for reading, as long as the name may refer to it; negative: not open */
    int lock;                    /* the lock file; negative: not locked */
    char name[KITHI_NAME_BYTES]; /* in the folder */
    char lock_name[KITHI_NAME_BYTES];
    char *stream; /* the path of a stream; otherwise NULL */
    size_t stream_bytes;

    /* At most one of these two is the content. If both are there, `whole` is to replace that of the store. */
    kithi_store *store;      /* the file has a journal, which is open */
    kith_filter *whole;      /* the content of a plain file, or what is to replace the content */
    uint8_t *map;            /* the bytes of `whole`, if it is mapped; otherwise NULL */
    const kithi_part *other; /* in kith_file_commit_bytes(): what to write instead of `whole`; otherwise NULL */
    size_t map_bytes;

    kithi_guard guard;         /* guard.is: FILE when it was read or written last */
    kithi_guard journal_guard; /* FILE-journal may be any file */
    bool had_journal;          /* REPLACE: FILE has one, which is not open */
    bool is_changed;           /* `whole` is not committed */
    kithi_wish wish;           /* what the next commit does about the journal */
    kith_status failure;       /* of a plain file: what made the handle read-only */
    kith_file_error error;
};

/* ---- open.c ---- */

/* Allocates a handle. Opens nothing. */
kith_status kithi_file_new(const kithi_files *files, kith_file_mode mode, const kith_file_options *given,
                           kith_file **file);
void kithi_file_free(kith_file *f); /* writes nothing */

/* Reads the header of FILE, which stays open. *exists says whether there is a file, *has_journal whether it is marked
 * as a snapshot. The status is that of the header; KITH_OK if there is no file. */
kith_status kithi_file_probe(kith_file *f, bool *exists, bool *has_journal);

/* Reads the content of FILE, for the mode of the handle, in place of what it has now. On failure nothing has changed.
 * */
kith_status kithi_file_load(kith_file *f);

/* Closes FILE, which has been replaced or is no longer needed. */
void kithi_file_forget(kith_file *f);

/* Frees the content. */
void kithi_file_drop(kith_file *f);

/* Opens a plain file that is open for reading. */
kith_status kithi_file_read_plain(kith_file *f, int fd, kith_filter **filter, uint8_t **map, size_t *map_bytes);

/* The options of the store. */
kithi_store_options kithi_file_store_options(const kith_file *f);

/* ---- lock.c ---- */

/* Waits for the lock. With `existing`, FILE-lock is not created: if it is not there, or may not be written, the result
 * is KITH_OK, and f->lock is negative. */
kith_status kithi_file_lock(kith_file *f, bool existing);
void kithi_file_unlock(kith_file *f);

/* Returns KITH_E_REPLACED if FILE, its journal or its lock is not the file that was opened. */
kith_status kithi_file_check(kith_file *f);

/* ---- commit.c ---- */

/* Lets the store use the guards of the handle. */
void kithi_file_guard_store(kith_file *f, kithi_store *store);

/* ---- about.c ---- */

/* Remembers what is wrong with FILE, or with the file of this name. Returns `status`. errno is that of the failure. */
kith_status kithi_file_fail(kith_file *f, kith_status status);
kith_status kithi_file_fail_with(kith_file *f, kith_status status, const char *name, const char *text);

/* ---- given.c ---- */

/* Returns whether the path leads to a pipe or a character device. */
bool kithi_is_stream(const char *path);

/* Remembers the path of a stream, which only a commit opens. */
kith_status kithi_file_open_stream(kith_file *f, const char *path);
kith_status kithi_file_commit_stream(kith_file *f);

/* ---- the public calls, with a table of file operations; tests pass one with files in memory ---- */

kith_status kithi_file_open_with(const kithi_files *files, const char *path, kith_file_mode mode,
                                 const kith_file_options *options, kith_file **file);

#endif
