/* report.h: words to the user. Data goes to stdout, words to stderr.
 *
 *     kith query: bad.kith: not a kith file
 *
 * The tool has three ways to end: 0, 1 (asked and nothing found) and 2 (an error). An error is one line; what it leaves is
 * what was there before. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include <kith/status.h>

enum { EXIT_FOUND = 0, EXIT_NONE = 1, EXIT_ERROR = 2 };

/* The command at work, in front of every message. */
void report_command(const char *name);

/* One line, then exit 2. Functions given to at_failure run first, the newest one first: they remove temporary files. */
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "PATH: the sentence of the status". */
noreturn void fail_status(const char *path, kith_status status);

/* A line that is no error: counts, notes. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

void at_failure(void (*undo)(void *context), void *context);

/* malloc and realloc that end the tool with one line when there is no memory. */
void *take(size_t byte_count);
void *take_more(void *block, size_t byte_count);

/* stdout: checked writes. A closed pipe (| head) ends the tool quietly with the status of a found line; any other failed
 * write is an error. out_flush is called before exit 0 and 1. */
void out(const void *bytes, size_t byte_count);
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void out_flush(void);

/* Colours: only on a terminal and without NO_COLOR. */
bool out_is_coloured(void);

/* A bar on stderr when it is a terminal and the work lasts over a second; silent otherwise. `total` may be 0: unknown. */
void progress_begin(const char *what, uint64_t total_bytes);
void progress(uint64_t done_bytes, uint64_t done_keys);
void progress_end(void);

#endif
