/* opened.c: opens filter files for the commands, and saves them; see opened.h. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/files/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/server/dump.h"
#include "cli/uninterrupted.h"
#include "cli/values.h"

enum { SILENT_MS = 1000 }; /* how long to wait for a lock before the message */

/* ---- waiting for the lock ---- */

static struct wait {
    const char *path; /* for the message */
    bool began, told;
    struct sigaction before; /* of SIGALRM */
} wait;

static void on_alarm(int number) {
    (void)number; /* the handler only exists so that flock returns EINTR */
}

/* Starts an alarm every second. It repeats because the first may occur before flock starts to wait. */
static void begin_alarm(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {{1, 0}, {1, 0}};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGALRM, &action, &wait.before);
    (void)setitimer(ITIMER_REAL, &every, NULL);
}

static void begin_wait(const char *path) {
    wait = (struct wait){.path = path};
}

static void end_wait(void) {
    struct itimerval never = {{0, 0}, {0, 0}};
    if (!wait.began)
        return;
    (void)setitimer(ITIMER_REAL, &never, NULL);
    (void)sigaction(SIGALRM, &wait.before, NULL);
}

static bool on_wait(void *context, const char *lock_name, uint64_t waited_ms) {
    (void)context;
    if (!wait.began)
        begin_alarm();
    wait.began = true;
    if (waited_ms >= SILENT_MS && !wait.told) {
        note("waiting for another kith that is writing %s (%s is locked)", wait.path, lock_name);
        wait.told = true;
    }
    return true;
}

/* ---- errors ---- */

/* Returns whether the error is about another file than that of the path: its lock or journal, the target of a link. */
static bool is_about_other(const char *path, const kith_file_error *e) {
    const char *slash = strrchr(path, '/');
    return e->name[0] != '\0' && strcmp(e->name, slash != NULL ? slash + 1 : path) != 0;
}

void filter_file_explain(const char *path, const kith_file_error *e, const arguments *a, reason_text reason) {
    const char *text = e->text, *system = "", *hint = "";
    if (e->status == KITH_E_TOO_LARGE && e->needed_bytes != 0 && !memory_suffices(a, e->needed_bytes, reason))
        return;
    bool is_bare = strcmp(e->text, kith_status_text(KITH_E_IO)) == 0;
    if (is_bare && e->system_error != 0)
        text = strerror(e->system_error);
    else if (e->status == KITH_E_LOCK && e->system_error != 0)
        system = strerror(e->system_error);
    if (e->status == KITH_E_LOCK)
        hint = a->no_lock ? " (omit --no-lock)" : " (--no-lock works without a lock)";
    if (e->status == KITH_E_VERSION)
        hint = "; a newer kith may be able to read it";
    bool is_other = is_about_other(path, e);
    (void)snprintf(reason, sizeof(reason_text), "%s%s%s%s%s%s", is_other ? e->name : "", is_other ? ": " : "", text,
                   system[0] != '\0' ? ": " : "", system, hint);
}

typedef char left_text[600];

/* Writes the names of temporary files that the last commit could not remove, and returns whether there are any. */
static bool has_left(const filter_file *f, left_text text) {
    kith_file_info info = filter_file_info(f);
    bool both = info.left[0] != '\0' && info.left_journal[0] != '\0';
    (void)snprintf(text, sizeof(left_text), "%s%s%s", info.left, both ? ", " : "", info.left_journal);
    return text[0] != '\0';
}

static noreturn void fail_file(const filter_file *f) {
    kith_file_error error = KITH_FILE_ERROR_INIT;
    reason_text reason;
    if (kith_file_error_of(f->file, &error) != KITH_OK)
        fail("%s: unknown error", f->path);
    filter_file_explain(f->path, &error, f->a, reason);
    left_text left;
    if (has_left(f, left))
        fail("%s: %s (the temporary file %s could not be removed)", f->path, reason, left);
    fail("%s: %s", f->path, reason);
}

void filter_file_must(const filter_file *f, kith_status status) {
    if (status != KITH_OK)
        fail_file(f);
}

/* ---- opening ---- */

static noreturn void fail_terminal(void) {
    fail("a filter is binary and is not written to a terminal; use -o FILE or a pipe");
}

/* Returns true if `path` is a terminal; /dev/stdout may be one. */
static bool is_terminal(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISCHR(st.st_mode))
        return false;
    int fd = open_fully(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    bool found = fd >= 0 && isatty(fd);
    if (fd >= 0)
        (void)close(fd);
    return found;
}

kith_status filter_file_try(filter_file *f, const char *path, kith_file_mode mode, kith_file_lock lock,
                            const arguments *a, reason_text reason) {
    kith_file_error error = KITH_FILE_ERROR_INIT;
    kith_file_options options = KITH_FILE_OPTIONS_INIT;
    *f = (filter_file){path, a, NULL};
    if (mode != KITH_FILE_REPLACE && strcmp(path, "-") == 0) {
        (void)snprintf(reason, sizeof(reason_text), "a filter must be a file, not standard input");
        return KITH_E_IO;
    }
    options.lock = a->no_lock ? KITH_FILE_LOCK_NEVER : lock;
    options.wait_ms = KITH_FILE_WAIT;
    options.waiting = on_wait;
    options.max_bytes = a->memory;
    options.no_map = a->no_mmap;
    options.sync = KITH_SYNC_COMMIT;
    options.streams = mode == KITH_FILE_REPLACE;
    options.error = &error;
    begin_wait(path);
    kith_status status = kith_file_open(path, mode, &options, &f->file);
    end_wait();
    if (status != KITH_OK)
        filter_file_explain(path, &error, a, reason);
    if (status == KITH_E_NOT_KITH && redis_dump_is(path))
        (void)snprintf(reason, sizeof(reason_text),
                       "is a dump of a RedisBloom filter: kith push loads it into a "
                       "server, and no other command uses it");
    return status;
}

filter_file filter_file_open(const char *path, kith_file_mode mode, kith_file_lock lock, const arguments *a) {
    filter_file f = {path, a, NULL};
    reason_text reason;
    bool is_stdout = mode == KITH_FILE_REPLACE && strcmp(path, "-") == 0;
    if (is_stdout ? out_is_terminal() : mode == KITH_FILE_REPLACE && is_terminal(path))
        fail_terminal();
    if (!is_stdout && filter_file_try(&f, path, mode, lock, a, reason) != KITH_OK)
        fail("%s: %s", path, reason);
    return f;
}

filter_file filter_file_read(const char *path, const arguments *a) {
    return filter_file_open(path, KITH_FILE_READ, KITH_FILE_LOCK_DEFAULT, a);
}

const kith_filter *filter_of(const filter_file *f) {
    return kith_file_filter(f->file);
}

kith_file_info filter_file_info(const filter_file *f) {
    kith_file_info info = KITH_FILE_INFO_INIT;
    if (f->file != NULL && kith_file_info_of(f->file, &info) != KITH_OK)
        fail("%s: unknown error", f->path);
    return info;
}

void filter_file_limit(const filter_file *f, uint64_t held) {
    kith_file_set_limit(f->file, held < f->a->memory ? f->a->memory - held : 1); /* 0 would mean no limit */
}

/* ---- saving ---- */

/* Fails if a commit has succeeded, but left a temporary file. */
static void check_left(const filter_file *f) {
    left_text left;
    if (has_left(f, left))
        fail("%s: everything was written, but the system did not remove the old file, which is now %s", f->path, left);
}

/* Waits for the lock, and delays signals from then on. */
static void begin_commit(const filter_file *f) {
    begin_wait(f->path);
    filter_file_must(f, kith_file_wait(f->file));
    end_wait();
    hold_signals();
}

void filter_file_commit(const filter_file *f) {
    begin_commit(f);
    filter_file_must(f, kith_file_commit(f->file));
    check_left(f);
}

void filter_file_put(const filter_file *f, const void *bytes, size_t byte_count) {
    if (f->file == NULL) {
        out(bytes, byte_count);
        out_flush();
        return;
    }
    begin_commit(f);
    filter_file_must(f, kith_file_commit_bytes(f->file, bytes, byte_count));
    check_left(f);
}

static kith_status put_bytes(void *context, const void *bytes, size_t byte_count) {
    (void)context;
    out(bytes, byte_count);
    return KITH_OK;
}

void filter_file_save(filter_file *f, kith_filter *filter) {
    if (f->file != NULL) {
        filter_file_must(f, kith_file_replace(f->file, filter));
        filter_file_commit(f);
        return;
    }
    kith_status status = kith_filter_write(filter, 0, kith_filter_file_bytes(filter), put_bytes, NULL);
    if (status != KITH_OK)
        fail_status("stdout", status);
    out_flush();
    kith_filter_free(filter);
}

void filter_file_close(filter_file *f) {
    kith_status status = kith_file_close(f->file);
    f->file = NULL;
    if (status != KITH_OK)
        fail_status(f->path, status);
}
