/* report.c: messages, stdout and the ways to end. See report.h.
 *
 * Every way out but success goes through finish(): it runs what at_failure was given and leaves by _exit, so that
 * nothing else (a half-written stream, another thread's memory) can hold the tool up or change its status. The
 * handler of the signals uses the same list, which is why its functions are held to what a handler may do. */
#define _GNU_SOURCE

#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    UNDOS_MAX = 8,
    OUT_BYTES = 1 << 18, /* large enough that a system call costs nothing a line, small enough to stay in cache */
};

static struct undo {
    void (*run)(void *context);
    void *context;
} undos[UNDOS_MAX];
static volatile sig_atomic_t undo_count;

static const char *command_name;

static volatile sig_atomic_t held;
static volatile sig_atomic_t waiting_signal;

static bool failing; /* fail() is at work, and its line counts more than what is still to be written */

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

/* Ends as the signal would have, so that a shell loop around the tool stops as well. */
static void end_by_signal(int number) {
    progress_clear();
    run_undos();
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
}

static void on_signal(int number) {
    if (held) {
        waiting_signal = number;
        return;
    }
    int error = errno;
    end_by_signal(number);
    errno = error;
}

/* By default a write to a closed pipe kills a program, silently: that is what `| head` means. Who ignores the signal
 * wants to be told instead. */
static bool pipe_signal_ignored(void) {
    struct sigaction now;
    return sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* A handler, and not SIG_IGN: programs that the tool starts would inherit that. */
static void on_failed_write(int number) {
    (void)number;
}

static void take_over(int number, void (*handler)(int)) {
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return; /* nohup, or a shell's background job: whoever started the tool does not want it */
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

/* A closed standard file would be the next one that is opened. In its place comes one that fails as it did. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void report_begin(void) {
    hold_standard_files();
    take_over(SIGINT, on_signal);
    take_over(SIGTERM, on_signal);
    take_over(SIGHUP, on_signal);
    take_over(SIGPIPE, on_failed_write);
    take_over(SIGXFSZ, on_failed_write);
}

void hold_signals(void) {
    held = 1;
}

bool signal_waits(void) {
    return waiting_signal != 0;
}

void heed_signals(void) {
    held = 0;
    int number = waiting_signal;
    waiting_signal = 0;
    if (number != 0)
        end_by_signal(number);
}

/* ---- messages ---- */

void report_command(const char *name) {
    command_name = name;
}

/* One write, so that lines of several processes do not mix. */
static void say(const char *format, va_list arguments) {
    char line[4096];
    int used = command_name != NULL ? snprintf(line, sizeof line, "kith %s: ", command_name)
                                    : snprintf(line, sizeof line, "kith: ");
    size_t at = (size_t)used;
    int more = vsnprintf(line + at, sizeof line - at, format, arguments);
    if (more > 0)
        at += (size_t)more;
    if (at > sizeof line - 1)
        at = sizeof line - 1;
    /* A file name may hold a newline; an error is one line all the same. */
    for (size_t i = 0; i < at; i++)
        if (line[i] == '\n' || line[i] == '\r' || line[i] == '\033')
            line[i] = '?';
    line[at++] = '\n';
    progress_clear();
    ssize_t written = write(STDERR_FILENO, line, at);
    (void)written; /* there is nowhere to say that words can't be said */
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failing = true;
    out_flush();
    say(format, arguments);
    va_end(arguments);
    finish(EXIT_ERROR);
}

void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out_flush();
    say(format, arguments);
    va_end(arguments);
}

const char *text_of_errno(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "no such file";
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

void fail_status(const char *path, kith_status status) {
    if (status == KITH_E_IO && errno != 0)
        fail_errno(path);
    fail("%s: %s", path, status == KITH_E_NO_FILE ? text_of_errno(ENOENT) : kith_status_text(status));
}

void at_failure(void (*undo)(void *context), void *context) {
    if (undo_count == UNDOS_MAX)
        fail("too much to clear up");
    undos[undo_count] = (struct undo){undo, context};
    undo_count = undo_count + 1;
}

void at_failure_forget(void) {
    if (undo_count > 0)
        undo_count = undo_count - 1;
}

/* ---- memory ---- */

void *take(size_t byte_count) {
    return take_more(NULL, byte_count);
}

void *take_more(void *block, size_t byte_count) {
    void *more = realloc(block, byte_count != 0 ? byte_count : 1);
    if (more == NULL)
        fail("no memory for %zu bytes", byte_count);
    return more;
}

/* ---- stdout ---- */

bool out_is_terminal(void) {
    static int answer = -1;
    if (answer < 0)
        answer = isatty(STDOUT_FILENO);
    return answer == 1;
}

bool out_is_coloured(void) {
    static int answer = -1;
    if (answer < 0) {
        const char *no_color = getenv("NO_COLOR");
        const char *terminal = getenv("TERM");
        answer = out_is_terminal() && (no_color == NULL || *no_color == '\0') &&
                 (terminal == NULL || strcmp(terminal, "dumb") != 0);
    }
    return answer == 1;
}

static void write_all(const char *bytes, size_t byte_count) {
    while (byte_count > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, byte_count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            out_used = 0; /* fail() flushes: not what could not be written */
            if (errno == EPIPE && failing)
                return;
            if (errno == EPIPE && !pipe_signal_ignored()) {
                end_by_signal(SIGPIPE);
                finish(128 + SIGPIPE); /* the signal is blocked */
            }
            fail("stdout: %s", errno == EPIPE ? "closed before all was written" : strerror(errno));
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

void out_text(const char *format, ...) {
    char few[512];
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int needed = vsnprintf(few, sizeof few, format, arguments);
    va_end(arguments);
    if (needed >= 0 && (size_t)needed < sizeof few) {
        out(few, (size_t)needed);
    } else if (needed >= 0) {
        char *many = take((size_t)needed + 1);
        (void)vsnprintf(many, (size_t)needed + 1, format, again);
        out(many, (size_t)needed);
        free(many);
    }
    va_end(again);
}
