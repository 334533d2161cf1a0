/* os/files.h: the file operations of a store, behind a table of functions. The tests replace the table by files in
 * memory that fail, or lose everything that was not synced, at any operation.
 *
 * Files and folders are numbers like file descriptors, at least 0. Unless a comment says otherwise, a function returns
 * -1 on failure, with the reason in errno. `open_folder`, `open`, `open_lock`, `take_lock`, `read`, `write` and
 * `truncate` may fail with EINTR, and reads and writes may be short. The caller must then call again: the helpers at
 * the end of this file do that, and src/file for folders and locks. A failed sync must never be retried
 * (os/posix/replace.c says why). */
#ifndef KITHI_OS_FILES_H
#define KITHI_OS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kith/status.h>

#include "os/replace.h"

typedef struct kithi_files {
    void *context;

    /* Follows the symbolic links of `path` (os/replace.h) to a file, which need not exist. Opens its folder, and
     * copies its name in this folder to `name`. With `to_read`, the folder cannot be synced. */
    int (*open_folder)(void *context, const char *path, bool to_read, char name[KITHI_NAME_BYTES]);
    /* Opens an existing regular file; does not follow links. EISDIR: a folder. ELOOP: a link. EINVAL or ENXIO: another
     * file that is not regular. */
    int (*open)(void *context, int folder, const char *name, bool writable);
    /* open_lock() opens the lock file `name`, and creates it if it does not exist, unless `existing`. If the file
     * system has owners and modes, a new lock file can be opened only by its owner and by those other users who can
     * write the file `data_name`. EINVAL: the file is not an empty regular file, so it is not a lock file.
     * take_lock() locks it; with `wait`, until the lock is free or a signal interrupts the call (EINTR). EWOULDBLOCK:
     * somebody else holds the lock. Then is_named() must be asked whether it still is the lock file. */
    int (*open_lock)(void *context, int folder, const char *name, const char *data_name, bool existing);
    int (*take_lock)(void *context, int lock, bool wait);
    /* Returns 0 if the file `name`, which need not exist, may be written by its permissions, even if they do not matter
     * to this user. `name` is NULL: if files of the folder may be replaced. */
    int (*may_write)(void *context, int folder, const char *name);
    void (*pause)(void *context, unsigned ms); /* a signal may end it earlier */
    void (*close)(void *context, int file);    /* files, folders and locks; keeps errno */

    int (*size)(void *context, int file, uint64_t *bytes);
    int64_t (*read)(void *context, int file, void *bytes, size_t byte_count, uint64_t offset);
    int64_t (*write)(void *context, int file, const void *bytes, size_t byte_count, uint64_t offset);
    int (*truncate)(void *context, int file, uint64_t bytes);
    int (*sync)(void *context, int file, bool only_data); /* fdatasync if only_data, otherwise fsync */
    /* Returns 1 if `name` still refers to this open file. Any other result means that it does not, or that this cannot
     * be determined. */
    int (*is_named)(void *context, int file, int folder, const char *name);
    /* Describes what a name in a folder refers to, without following a link, or an open file, if `name` is NULL. */
    int (*identify)(void *context, int file, const char *name, kithi_file_id *id);

    /* Replaces or creates a file atomically and durably; see kithi_replace_file_at(). */
    kith_status (*replace)(void *context, int folder, const kithi_replacement *replacement);
    int (*remove)(void *context, int folder, const char *name); /* removes the file and syncs the folder */
    int (*sync_folder)(void *context, int folder);

    /* Maps a file of this size. `writable`: the memory may be written; the file does not change. NULL: a failure. */
    uint8_t *(*map)(void *context, int file, size_t byte_count, bool writable);
    void (*unmap)(void *context, uint8_t *bytes, size_t byte_count); /* keeps errno */

    /* The maximum size of a file, or UINT64_MAX. A write beyond it may kill the process, by SIGXFSZ. */
    uint64_t (*size_limit)(void *context);
    uint64_t (*now_ms)(void *context); /* a clock that never goes back */
    int (*random)(void *context, void *bytes, size_t byte_count);
} kithi_files;

/* The file operations of the operating system. */
extern const kithi_files kithi_files_system;

/* Writes all bytes, in spite of short writes and EINTR. Some of them may be written when it fails. */
KITH_MUST_USE kith_status kithi_files_write(const kithi_files *files, int file, const void *bytes, size_t byte_count,
                                            uint64_t offset);

/* Reads up to byte_count bytes, in spite of short reads and EINTR. *got is less only at the end of the file. */
KITH_MUST_USE kith_status kithi_files_read(const kithi_files *files, int file, void *bytes, size_t byte_count,
                                           uint64_t offset, size_t *got);

/* Like files->truncate, but retries and returns a status. */
KITH_MUST_USE kith_status kithi_files_truncate(const kithi_files *files, int file, uint64_t bytes);

/* Like files->open, but retries and returns a status: KITH_E_NO_FILE and so on. */
KITH_MUST_USE kith_status kithi_files_open(const kithi_files *files, int folder, const char *name, bool writable,
                                           int *file);

/* The same for a journal. KITH_E_JOURNAL_FOREIGN: the name is that of a folder, a link, a FIFO or a device. */
KITH_MUST_USE kith_status kithi_files_open_journal(const kithi_files *files, int folder, const char *name,
                                                   bool writable, int *file);

#endif
