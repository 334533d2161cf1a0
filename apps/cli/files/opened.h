/* opened.h: opens filter files for the commands, and saves them, with kith/file.h. A failure ends the tool with one
 * line that names the file. */
#ifndef CLI_OPENED_H
#define CLI_OPENED_H

#include <stdnoreturn.h>

#include <kith/file.h>

#include "cli/files/filters.h"
#include "cli/options.h"

typedef struct filter_file {
    const char *path;
    const arguments *a;
    kith_file *file; /* NULL: stdout */
} filter_file;

/* Opens a file in a mode of kith/file.h, with the limits of the options. If another kith holds the lock, waits; after
 * one second it prints a message on stderr. Signals end the tool as usual. With KITH_FILE_REPLACE, "-" is stdout, and
 * devices and pipes are allowed, but no terminals. With KITH_FILE_CHANGE all changes are one batch, which
 * filter_file_commit() ends. With --no-lock nothing is locked, whatever `lock` says. */
filter_file filter_file_open(const char *path, kith_file_mode mode, kith_file_lock lock, const arguments *a);

/* The same, for commands that continue if that fails. Then f->file is NULL, and `reason` is what to say after the name
 * of the file. */
kith_status filter_file_try(filter_file *f, const char *path, kith_file_mode mode, kith_file_lock lock,
                            const arguments *a, reason_text reason);

/* Opens a file to read it: filter_file_open() with KITH_FILE_READ. */
filter_file filter_file_read(const char *path, const arguments *a);

/* What an error says after the name of the file. */
void filter_file_explain(const char *path, const kith_file_error *e, const arguments *a, reason_text reason);

/* Returns the filter: kith_file_filter(). */
const kith_filter *filter_of(const filter_file *f);

kith_file_info filter_file_info(const filter_file *f);

/* Ends the tool unless the status is KITH_OK. It is that of the last call for this file. */
void filter_file_must(const filter_file *f, kith_status status);

/* Limits the growth of the filter to the memory limit minus `held` bytes that are used for something else. */
void filter_file_limit(const filter_file *f, uint64_t held);

/* Makes what was changed durable. From then on signals are delayed (hold_signals). */
void filter_file_commit(const filter_file *f);

/* Makes the filter the content of the file, and commits it. It belongs to the file, and is freed with it. */
void filter_file_save(filter_file *f, kith_filter *filter);

/* Makes these bytes, which are no filter, the content of the file: kith_file_commit_bytes(). */
void filter_file_put(const filter_file *f, const void *bytes, size_t byte_count);

/* Closes the file. The tool ends if what is in its journal is not durable. f->file may be NULL. */
void filter_file_close(filter_file *f);

#endif
