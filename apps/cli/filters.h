/* filters.h: what commands do with filters, with every failure told to the user in one line that names the file. */
#ifndef CLI_FILTERS_H
#define CLI_FILTERS_H

#include <kith/filter.h>

#include "options.h"

/* What --seed, --untrusted and --key-file ask for. */
kith_hash hash_asked(const arguments *a);

/* Ends the tool unless a filter may be read from there: a regular file, and not standard input. */
void filter_check_input(const char *path);

/* Is the name a device or a pipe (/dev/null, a FIFO, /dev/fd/63)? A filter is written to it as to stdout: nothing is
 * renamed or locked. */
bool filter_is_stream(const char *path);

/* Ends the tool unless a file can be put under the name, as far as that can be told beforehand: so that nobody waits for
 * work that can't be saved. What the user has made read-only is not replaced; "-" and streams are fine. */
void filter_check_output(const char *path);

/* Opens a file for a command that goes on when that fails: NULL, with the status and a sentence in `reason`. */
typedef char reason_text[256];
kith_filter *filter_try_open(const char *path, unsigned open_flags, kith_status *status, reason_text reason);

/* Opens a file; with KITH_OPEN_COPY its size must be within the memory limit. */
kith_filter *filter_open(const char *path, unsigned open_flags, const arguments *a);

/* Waits until no other kith changes the file in place, and keeps others waiting until the tool ends or the answer is
 * closed; -1 where the file or the file system knows no locks. To be called before filter_open: save() puts a new
 * file under the name, and whoever waited opens that one. */
int filter_lock(const char *path);

/* The same for a file that may not be there yet: until it is, FILE.lock stands for it, which goes by filter_unlock or when
 * the tool ends. */
int filter_lock_new(const char *path);
void filter_unlock(int lock);

/* Writes a file, whole or not at all; from then on signals wait (hold_signals). "-" is stdout; it and streams are
 * written in order, and must not be a terminal. */
void filter_save(kith_filter *filter, const char *path);

/* Ends the tool unless `needed` bytes are within the memory limit. */
void memory_check(const arguments *a, uint64_t needed, const char *what_for);

/* Ends the tool unless two filters can be combined by a verb that needs `capability`: names the first difference. */
void filters_check_alike(const char *verb, uint32_t capability, const char *path_a, const kith_filter *a,
                         const char *path_b, const kith_filter *b);

/* "remove copies merge": the words of capability bits, with `between` between them; room for all of them. */
typedef char capability_text[96];
const char *text_of_capabilities(uint32_t capabilities, const char *between, capability_text text);

#endif
