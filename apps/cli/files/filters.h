/* filters.h: opens, checks and saves filters for the commands. Every failure ends the tool with one line that names the
 * file. */
#ifndef CLI_FILTERS_H
#define CLI_FILTERS_H

#include <stdnoreturn.h>

#include <kith/filter.h>
#include <kith/store.h>

#include "cli/options.h"

/* Returns the hash that --seed, --untrusted and --key-file select. */
kith_hash hash_asked(const arguments *a);

/* Ends the tool unless `path` is a regular file; standard input is not allowed. */
void filter_check_input(const char *path);

/* Returns true for a device or a pipe (/dev/null, a FIFO, /dev/fd/63). A filter is written to it directly, as to
 * stdout; nothing is renamed or locked. */
bool filter_is_stream(const char *path);

/* Ends the tool if it is clear that a file cannot be written to `path`, before any work is done that could not be
 * saved. Read-only files are not replaced. "-" and streams are allowed, but not terminals. */
void filter_check_output(const char *path);

/* With --no-mmap, ends the tool unless the file fits into the memory limit. */
void filter_check_memory(const char *path, const arguments *a);

/* The files of a filter, open: FILE and, in case that it is a store, FILE-journal. */
typedef struct filter_files {
    const char *path;
    int file, journal;        /* negative: not open */
    int error, journal_error; /* why: an errno */
    const char *refused;      /* not NULL: the file is not regular, or is "-"; a sentence */
} filter_files;

/* Opens the files, and reads nothing. */
filter_files filter_files_open(const char *path);

/* Opens the filter, without opening a file. Returns NULL, with the status and a sentence in `reason`, if that fails.
 * With --no-mmap the files are read into memory, otherwise they are mapped. */
typedef char reason_text[256];
kith_filter *filter_files_read(filter_files *f, unsigned open_flags, const arguments *a, kith_status *status,
                               reason_text reason);

/* Closes the files that the filter does not need. */
void filter_files_close(filter_files *f);

/* Opens a filter, for commands that continue if that fails. All of the above. */
kith_filter *filter_try_open(const char *path, unsigned open_flags, const arguments *a, kith_status *status,
                             reason_text reason);

/* Opens a file, or ends the tool. With KITH_OPEN_COPY or --no-mmap its size must be within the memory limit. A store is
 * opened together with its journal. */
kith_filter *filter_open(const char *path, unsigned open_flags, const arguments *a);

/* Frees a filter that filter_open() or filter_try_open() returned. NULL is allowed. */
void filter_close(kith_filter *filter);

/* Returns the store that an open filter belongs to, or NULL if it was opened from a plain file or with
 * KITH_OPEN_COPY. */
const kith_store *filter_store(const kith_filter *filter);

/* Replaces a file as a whole, or ends the tool and leaves it unchanged. A store stays a store, with this content; the
 * lock must be held (lock.h). From then on signals are delayed
 * (hold_signals). "-" is stdout. stdout and streams are written directly and must not be a terminal. */
void filter_save(kith_filter *filter, const char *path);

/* Returns whether `needed` bytes are within the memory limit. If not, `reason` is what to say after the name of the
 * file. */
bool memory_suffices(const arguments *a, uint64_t needed, reason_text reason);

/* Ends the tool unless `needed` bytes are within the memory limit. */
void memory_check(const arguments *a, uint64_t needed, const char *what_for);

/* Limits the growth of a filter to the memory limit minus `held` bytes that are used for something else. */
void filter_limit(kith_filter *filter, const arguments *a, uint64_t held);

/* Ends the tool after an add returned KITH_E_TOO_LARGE, because the filter would have grown beyond that limit. */
noreturn void fail_growth(const arguments *a, const char *name);

/* Ends the tool unless two filters can be combined by a command that needs `capability`. The error names the first
 * difference. */
void filters_check_alike(const char *verb, uint32_t capability, const char *path_a, const kith_filter *a,
                         const char *path_b, const kith_filter *b);

/* Writes the names of the capability bits into `text`, separated by `between`: "remove copies merge". */
typedef char capability_text[96];
const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text);

/* The same, separated by blanks, for "can" in text and in JSON: "static" if there are none. */
const char *text_of_abilities(uint32_t capabilities, capability_text text);

/* Ends the tool with an error if keys cannot be added to this filter: its kind is static. */
void filter_check_adds(const char *path, const kith_filter *filter);

#endif
