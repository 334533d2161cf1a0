/* syncs.c: when `kith uniq --state` makes its state durable; see syncs.h. */
#define _GNU_SOURCE

#include "cli/commands/syncs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/wake.h"

#define DEFAULT_SECONDS 5.0
#define PAUSE_PER_SYNC 19.0 /* by default, syncs take at most 1 part in 1 + PAUSE_PER_SYNC of the time */

static const arguments *options;
static void (*sync_all)(void *context);
static void *sync_context;
static uint64_t records, durable; /* so far */
static double first_at;           /* time of the first record that is not durable */
static double latest_took;        /* seconds of the latest sync */
static volatile sig_atomic_t asked;

static double now_seconds(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_user_signal(int number) {
    (void)number;
    asked = 1;
    wake_up();
}

void syncs_begin(const arguments *a) {
    options = a;
    records = durable = 0;
    latest_took = 0;
    int mode = a->sync_fd == 0 ? O_WRONLY : fcntl((int)a->sync_fd, F_GETFL);
    if (a->sync_fd == STDOUT_FILENO)
        fail("--sync-fd 1: is stdout, to which the lines are printed");
    if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
        fail("--sync-fd %u: is not open for writing (a shell opens it with %u>FILE)", a->sync_fd, a->sync_fd);
    wake_open();
    signals_wake();
    struct sigaction action = {.sa_handler = on_user_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGUSR1, &action, NULL);
}

void syncs_use(void (*sync)(void *context), void *context) {
    sync_all = sync;
    sync_context = context;
}

size_t syncs_take(size_t n) {
    uint64_t lines = options->sync.lines, waiting = records - durable;
    if (waiting == 0) {
        hold_signals();
        first_at = now_seconds();
    }
    if (lines != 0 && n > lines - waiting)
        n = (size_t)(lines - waiting);
    records += n;
    return n;
}

static void report_sync(void) {
    char line[32];
    size_t bytes = (size_t)snprintf(line, sizeof line, "%" PRIu64 "\n", records), done = 0;
    struct pollfd to = {(int)options->sync_fd, POLLOUT, 0};
    while (done < bytes) {
        ssize_t written = write(to.fd, line + done, bytes - done);
        if (written >= 0)
            done += (size_t)written;
        else if (errno == EAGAIN)
            (void)poll(&to, 1, -1);
        else if (errno != EINTR)
            fail("--sync-fd %u: %s", options->sync_fd, strerror(errno));
    }
}

static void sync_now(void) {
    asked = 0;
    double began = now_seconds();
    sync_all(sync_context);
    latest_took = now_seconds() - began;
    durable = records;
    if (options->sync_fd != 0)
        report_sync();
}

/* Seconds after the first record that is not durable; negative: it does not depend on time. */
static double interval(void) {
    if (options->sync.lines != 0)
        return -1;
    if (options->sync.milliseconds != 0)
        return (double)options->sync.milliseconds * 1e-3;
    double pause = PAUSE_PER_SYNC * latest_took;
    return pause > DEFAULT_SECONDS ? pause : DEFAULT_SECONDS;
}

int syncs_attend(void *context, bool now) {
    (void)context;
    uint64_t waiting = records - durable;
    double left = waiting == 0 || interval() < 0 ? INT_MAX : first_at + interval() - now_seconds();
    bool is_full = options->sync.lines != 0 && waiting >= options->sync.lines;
    if (asked || (waiting > 0 && (now || is_full || left <= 0 || signal_waits()))) {
        sync_now();
        left = INT_MAX;
    }
    if (records == durable)
        heed_signals();
    return left < INT_MAX / 1000 ? (int)(left * 1000) + 1 : left < INT_MAX ? INT_MAX : -1;
}

void syncs_end(void) {
    hold_signals();
    sync_now();
}
