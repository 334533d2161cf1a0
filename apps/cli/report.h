/* report.h: words to the user. Data goes to stdout, words to stderr.
 *
 *     kith query: bad.kith: not a kith file
 *
 * The tool has three ways to end: 0, 1 (asked and nothing found) and 2 (an error). An error is one line; what it
 * leaves is what was there before. SIGINT, SIGTERM and SIGHUP end the tool as they would any other (status 130 in a
 * shell for the first), after the same clearing up. So does SIGPIPE (status 141 in a shell), silently, when the reader
 * of stdout has closed the pipe; where the parent process ignores SIGPIPE, that is an error instead. All calls are for
 * the main thread: other threads hand their errors to it. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include <kith/status.h>

enum { EXIT_FOUND = 0, EXIT_NONE = 1, EXIT_ERROR = 2 };

/* Once, at the start: takes over the signals. A write to a closed pipe or past a file size limit fails from then on
 * instead of killing the tool; programs that it starts have these signals as usual. */
void report_begin(void);

/* The command at work, in front of every message; NULL: none. */
void report_command(const char *name);

/* One line, then exit 2. What was put out before is flushed first. */
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "PATH: the sentence of the status". For KITH_E_IO errno must still be that of the call. */
noreturn void fail_status(const char *path, kith_status status);

/* "PATH: what errno says". */
noreturn void fail_errno(const char *path);

/* What an errno says, in the same words everywhere: "no such file", "permission denied". */
const char *text_of_errno(int error);

/* A line that is no error: counts, notes. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Functions that run before the tool ends by an error, a closed pipe or a signal, the newest first: they remove
 * temporary files. They may make only calls that a signal handler may make (unlink, rmdir, close, kill). At most 8. */
void at_failure(void (*undo)(void *context), void *context);

/* Takes back the newest one. */
void at_failure_forget(void);

/* From here on a signal waits. Called before a save, which is the last that a command does: it is finished, and the tool
 * ends as if no signal had come, for what it was told to do is done. A signal before that leaves the old file. */
void hold_signals(void);

/* True once a signal waits: for a command that can stop where it is and say what it has. */
bool signal_waits(void);

/* For a command that runs others: ends the tool if a signal waits, and lets signals through again. */
void heed_signals(void);

/* malloc and realloc that end the tool with one line when there is no memory. */
void *take(size_t byte_count);
void *take_more(void *block, size_t byte_count);

/* stdout: checked writes, in large blocks; on a terminal after each line. A failed write is an error; into a closed
 * pipe (| head) it ends the tool by SIGPIPE. out_flush is called before exit 0 and 1, and by input.c when the input is
 * a pipe or a terminal with nothing to read, so that a reader of stdout sees the lines that have come so far. */
void out(const void *bytes, size_t byte_count);
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void out_flush(void);

bool out_is_terminal(void);

/* Colours: only on a terminal and without NO_COLOR. */
bool out_is_coloured(void);

/* A bar on stderr when it is a terminal and the work lasts over a second; silent otherwise. `total` may be 0: unknown.
 * Messages and lines of stdout take its place while it stands. */
void progress_begin(const char *what, uint64_t total_bytes);
void progress(uint64_t done_bytes, uint64_t done_keys);
/* For work that has no keys: `done` of `total`, and what is at work now. */
void progress_of(const char *at_work, uint64_t done);
void progress_end(void);

/* For report.c and the signal handler: takes the bar off the screen if it stands. */
void progress_clear(void);

#endif
