/* report.h: messages to the user, output to stdout, and the end of the tool. Data goes to stdout, messages to stderr.
 *
 *     kith query: bad.kith: not a kith file
 *
 * The exit status is 0, 1 (nothing was found) or 2 (an error). An error is one line, and files are left unchanged.
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end the tool as usual (a shell reports status 130 for SIGINT), after the same
 * cleanup as an error. If the reader of stdout closes the pipe, the tool ends silently by SIGPIPE (status 141 in a
 * shell); if the parent process ignores SIGPIPE, that is an error instead. All functions must be called by the main
 * thread; other threads pass their errors to it. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include <kith/status.h>

enum { EXIT_FOUND = 0, EXIT_NONE = 1, EXIT_ERROR = 2 };

/* Installs the signal handlers; call it once at the start. After that, a write to a closed pipe or beyond a file size
 * limit fails instead of killing the tool. Programs that the tool starts still get the default handling. */
void report_begin(void);

/* Sets the name of the command, which precedes every message. NULL means none. */
void report_command(const char *name);

/* Turns note() off. */
void report_no_notes(void);

/* Prints one line, in which control characters are replaced (plain.h), and exits with status 2. stdout is flushed
 * first. */
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails with "PATH: " and the text of the status. errno must still be that of the failed call: it says more about
 * KITH_E_IO, KITH_E_NO_FILE and KITH_E_PERMISSION. */
noreturn void fail_status(const char *path, kith_status status);

/* Fails with "PATH: " and the text of errno. */
noreturn void fail_errno(const char *path);

/* Returns the text of an errno, the same everywhere: "no such file", "permission denied". */
const char *text_of_errno(int error);

/* Returns the text of a status, and of the errno that the failed call has left. */
const char *text_of_failure(kith_status status, int error);

/* Prints a line that is not an error, in the same way, and continues. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Registers a function that runs before the tool ends by an error, a closed pipe or a signal, for example to remove
 * temporary files. The newest runs first. It may only make calls that are allowed in a signal handler (unlink, rmdir,
 * close, kill). At most 8 functions can be registered. */
void at_failure(void (*undo)(void *context), void *context);

/* Unregisters the newest function. */
void at_failure_forget(void);

/* Delays signals from now on. Commands call it before they save, which is the last thing they do: the save completes
 * and the tool ends as if there had been no signal, because its work is done. An earlier signal leaves the old file. */
void hold_signals(void);

/* A signal that is delayed also ends a wait of the main thread (wake.h), and the next one is not delayed. */
void signals_wake(void);

/* Returns true if a signal is pending, for commands that can stop early and print what they have so far. */
bool signal_waits(void);

/* Ends the tool if a signal is pending, and stops delaying signals. For a command that runs other commands. */
void heed_signals(void);

/* malloc and realloc, which end the tool with an error if there is not enough memory. */
void *allocate(size_t byte_count);
void *reallocate(void *block, size_t byte_count);

/* Writes to stdout in large blocks; on a terminal after each line. A failed write is an error, except that a closed
 * pipe (| head) ends the tool by SIGPIPE. out_flush is called before exit 0 and 1, and by input.c when the input is a
 * pipe or a terminal with nothing to read, so that the reader of stdout sees all lines so far. */
void out(const void *bytes, size_t byte_count);
void out_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For lines with names, notes or other text that may come from anyone: control characters are replaced (plain.h), the
 * newline of the line too, so print that with out_text. */
void out_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));

void out_flush(void);

/* Flushes stdout and, if it is a regular file, syncs it. */
void out_sync(void);

bool out_is_terminal(void);

/* Returns true if stdout is a terminal and NO_COLOR is not set. */
bool out_is_coloured(void);

/* Shows a progress bar on stderr, if that is a terminal and the work takes more than a second. A total of 0 means
 * unknown. Messages and lines on stdout replace the bar. */
void progress_begin(const char *what, uint64_t total_bytes);
void progress(uint64_t done_bytes, uint64_t done_keys);
/* Progress of work that has no keys: `done` of the total, and the name of the current step. */
void progress_of(const char *at_work, uint64_t done);
void progress_end(void);

/* Erases the bar if it is on the screen. For report.c and the signal handler. */
void progress_clear(void);

#endif
