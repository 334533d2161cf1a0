/* report.c: prints messages, writes stdout, and ends the tool; see report.h.
 *
 * Unless a command succeeds, the tool always ends through finish(). It runs the functions registered with at_failure
 * and calls _exit, so that nothing else (a half-written stream, the memory of another thread) can delay the exit or
 * change its status. The signal handler runs the same functions, so they may only do what a signal handler may do. */
#define _GNU_SOURCE

#include "cli/output/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/plain.h"
#include "cli/system.h"
#include "cli/wake.h"

enum {
    UNDOS_MAX = 8,
    OUT_BYTES =
        1 << 18, /* large enough to make the cost of a system call per line negligible, small enough for the cache */
};

static struct undo {
    void (*run)(void *context);
    void *context;
} undos[UNDOS_MAX];
static volatile sig_atomic_t undo_count;

static const char *command_name;
static bool notes_are_off;

static volatile sig_atomic_t held;
static volatile sig_atomic_t waiting_signal;
static volatile sig_atomic_t wakes; /* signals_wake() was called */

static bool failing; /* fail() is running; its message matters more than the rest of the output */

static char out_block[OUT_BYTES];
static size_t out_used;

static void run_undos(void) {
    while (undo_count > 0) {
        undo_count = undo_count - 1;
        undos[undo_count].run(undos[undo_count].context);
    }
}

static noreturn void finish(int status) {
    run_undos();
    _exit(status);
}

/* ---- signals ---- */

/* Ends the tool by the signal itself, so that a shell loop around it stops as well. */
static void end_by_signal(int number) {
    progress_clear();
    run_undos();
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
}

static void on_signal(int number) {
    if (held && !(wakes && waiting_signal != 0)) {
        waiting_signal = number;
        if (wakes)
            wake_up();
        return;
    }
    int error = errno;
    end_by_signal(number);
    errno = error;
}

/* By default a write to a closed pipe ends a program silently, which is what users expect of `| head`. If the parent
 * process ignores SIGPIPE, it expects an error message instead. */
static bool pipe_signal_ignored(void) {
    struct sigaction now;
    return sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* An empty handler instead of SIG_IGN, which programs started by the tool would inherit. */
static void on_failed_write(int number) {
    (void)number;
}

static void set_handler(int number, void (*handler)(int)) {
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return; /* the parent process ignores it: nohup, or a background job of a shell */
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

/* If stdin, stdout or stderr is closed, the next file that is opened would get its number. So it is replaced by a
 * descriptor that fails in the same way. */
static void reserve_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void report_begin(void) {
    reserve_standard_files();
    set_handler(SIGINT, on_signal);
    set_handler(SIGTERM, on_signal);
    set_handler(SIGHUP, on_signal);
    set_handler(SIGQUIT, on_signal);
    set_handler(SIGPIPE, on_failed_write);
    set_handler(SIGXFSZ, on_failed_write);
}

void hold_signals(void) {
    held = 1;
}

void signals_wake(void) {
    wakes = 1;
}

bool signal_waits(void) {
    return waiting_signal != 0;
}

void heed_signals(void) {
    held = 0;
    int number = (int)waiting_signal;
    waiting_signal = 0;
    if (number != 0)
        end_by_signal(number);
}

/* ---- messages ---- */

void report_command(const char *name) {
    command_name = name;
}

void report_no_notes(void) {
    notes_are_off = true;
}

/* Uses a single write, so that lines of several processes do not mix. */
static void print_message(const char *format, va_list arguments) {
    char line[4096];
    int used = command_name != NULL ? snprintf(line, sizeof line, "kith %s: ", command_name)
                                    : snprintf(line, sizeof line, "kith: ");
    size_t at = (size_t)used;
    int more = vsnprintf(line + at, sizeof line - at, format, arguments);
    if (more > 0)
        at += (size_t)more;
    if (at > sizeof line - 1)
        at = sizeof line - 1;
    plain_make(line); /* an error is always one line, also if a file name contains a newline */
    line[at++] = '\n';
    progress_clear();
    ssize_t written = write(STDERR_FILENO, line, at);
    (void)written; /* a failure to write to stderr cannot be reported */
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failing = true;
    out_flush();
    print_message(format, arguments);
    va_end(arguments);
    finish(EXIT_ERROR);
}

void note(const char *format, ...) {
    va_list arguments;
    if (notes_are_off)
        return;
    va_start(arguments, format);
    out_flush();
    print_message(format, arguments);
    va_end(arguments);
}

const char *text_of_errno(int error) {
    switch (error) {
    case ENOENT:
        return "no such file";
    case ENOTDIR:
        return "a part of its path is a file, not a folder";
    case EROFS:
        return "the file system is mounted read-only";
    case EACCES:
    case EPERM:
        return "permission denied";
    case EISDIR:
        return "is a folder, not a file";
    default:
        return strerror(error);
    }
}

void fail_errno(const char *path) {
    fail("%s: %s", path, text_of_errno(errno));
}

const char *text_of_failure(kith_status status, int error) {
    if (status == KITH_E_NO_FILE)
        return text_of_errno(error == ENOTDIR ? ENOTDIR : ENOENT);
    if (status == KITH_E_PERMISSION)
        return text_of_errno(error == EROFS ? EROFS : EACCES);
    return status == KITH_E_IO && error != 0 ? text_of_errno(error) : kith_status_text(status);
}

void fail_status(const char *path, kith_status status) {
    fail("%s: %s", path, text_of_failure(status, errno));
}

void at_failure(void (*undo)(void *context), void *context) {
    if (undo_count == UNDOS_MAX)
        fail("internal error: more than %d cleanup functions", UNDOS_MAX);
    undos[undo_count] = (struct undo){undo, context};
    undo_count = undo_count + 1;
}

void at_failure_forget(void) {
    if (undo_count > 0)
        undo_count = undo_count - 1;
}

/* ---- memory ---- */

void *allocate(size_t byte_count) {
    return reallocate(NULL, byte_count);
}

void *reallocate(void *block, size_t byte_count) {
    void *more = realloc(block, byte_count != 0 ? byte_count : 1);
    if (more == NULL)
        fail("not enough memory for %zu bytes", byte_count);
    return more;
}

/* ---- stdout ---- */

bool out_is_terminal(void) {
    static int result = -1;
    if (result < 0)
        result = isatty(STDOUT_FILENO);
    return result == 1;
}

bool out_is_coloured(void) {
    static int result = -1;
    if (result < 0) {
        const char *no_color = getenv("NO_COLOR");
        const char *terminal = getenv("TERM");
        result = out_is_terminal() && (no_color == NULL || *no_color == '\0') &&
                 (terminal == NULL || strcmp(terminal, "dumb") != 0);
    }
    return result == 1;
}

static void write_all(const char *bytes, size_t byte_count) {
    while (byte_count > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, byte_count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            out_used = 0; /* fail() must not try to flush it again */
            if (errno == EPIPE && failing)
                return;
            if (errno == EPIPE && !pipe_signal_ignored()) {
                end_by_signal(SIGPIPE);
                finish(128 + SIGPIPE); /* reached only if the signal is blocked */
            }
            fail("stdout: %s", errno == EPIPE ? "closed before all output was written" : strerror(errno));
        }
        bytes += written;
        byte_count -= (size_t)written;
    }
}

void out_flush(void) {
    if (out_used == 0)
        return;
    if (out_is_terminal())
        progress_clear();
    size_t byte_count = out_used;
    out_used = 0;
    write_all(out_block, byte_count);
}

void out_sync(void) {
    struct stat st;
    out_flush();
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && sync_data(STDOUT_FILENO) != 0)
        fail("stdout: %s", strerror(errno));
}

void out(const void *bytes, size_t byte_count) {
    if (byte_count > OUT_BYTES - out_used) {
        out_flush();
        if (byte_count >= OUT_BYTES) {
            write_all(bytes, byte_count);
            return;
        }
    }
    memcpy(out_block + out_used, bytes, byte_count);
    out_used += byte_count;
    if (byte_count > 0 && out_block[out_used - 1] == '\n' && out_is_terminal())
        out_flush();
}

/* Prints the text; with `is_plain`, after plain_make(). */
static void out_formatted(bool is_plain, const char *format, va_list arguments) {
    char few[512];
    char *text = few;
    va_list again;
    va_copy(again, arguments);
    int needed = vsnprintf(few, sizeof few, format, arguments);
    if (needed >= 0 && (size_t)needed >= sizeof few) {
        text = allocate((size_t)needed + 1);
        (void)vsnprintf(text, (size_t)needed + 1, format, again);
    }
    va_end(again);
    if (is_plain)
        plain_make(text);
    if (needed >= 0)
        out(text, (size_t)needed);
    if (text != few)
        free(text);
}

void out_text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out_formatted(false, format, arguments);
    va_end(arguments);
}

void out_plain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out_formatted(true, format, arguments);
    va_end(arguments);
}
