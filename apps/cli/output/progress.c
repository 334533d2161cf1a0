/* progress.c: draws the progress bar of report.h.
 *
 *     reading  [#########---------------]  38%  12.4M keys  6.2M/s  0:04 left
 *
 * The bar is one line on stderr, redrawn at most ten times per second. The clock is read once per batch, which is
 * negligible. Nothing is drawn in the first second. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/values.h"

#define FIRST_SECONDS 1.0
#define STEP_SECONDS 0.1

enum { BAR_CELLS = 24, WIDTH_MAX = 200 };

static const char *what;
static uint64_t total;
static double start;
static double last;
static bool wanted;
static volatile sig_atomic_t on_screen;

static double now(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_clear(void) {
    if (!on_screen)
        return;
    on_screen = 0;
    static const char erase[] = "\r\033[K";
    ssize_t written = write(STDERR_FILENO, erase, sizeof erase - 1);
    (void)written;
}

void progress_begin(const char *doing, uint64_t total_bytes) {
    what = doing;
    total = total_bytes;
    start = now();
    last = start;
    wanted = isatty(STDERR_FILENO) == 1;
}

static size_t screen_width(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

/* If at_work is NULL, the line shows the number of keys. */
static void draw(double seconds, uint64_t done_bytes, uint64_t done_keys, const char *at_work) {
    char line[WIDTH_MAX + 64];
    char bar[BAR_CELLS + 1] = "";
    char share[48] = "";
    char left[48] = "";
    if (total > 0) {
        double part = done_bytes < total ? (double)done_bytes / (double)total : 1;
        int full = (int)(part * BAR_CELLS);
        for (int i = 0; i < BAR_CELLS; i++)
            bar[i] = i < full ? '#' : '-';
        bar[BAR_CELLS] = '\0';
        (void)snprintf(share, sizeof share, "  [%s] %3.0f%%", bar, part * 100);
        double rest = part > 0 ? seconds / part * (1 - part) : 0;
        (void)snprintf(left, sizeof left, "  %u:%02u left", (unsigned)(rest / 60), (unsigned)rest % 60);
    }
    value_text keys, speed;
    int used;
    if (at_work != NULL)
        used = snprintf(line, sizeof line, "\r%s%s  %.40s%s", what, share, at_work, left);
    else
        used = snprintf(line, sizeof line, "\r%s%s  %s key%s  %s/s%s", what, share, text_of_count(done_keys, keys),
                        done_keys == 1 ? "" : "s", text_of_count((uint64_t)((double)done_keys / seconds), speed), left);
    size_t width = screen_width();
    size_t bytes = used > 0 ? (size_t)used : 0;
    /* The leading \r needs no column, and the last column stays free so that the line does not wrap. */
    if (bytes > width)
        bytes = width;
    static const char rest_of_line[] = "\033[K";
    for (size_t i = 0; i < sizeof rest_of_line - 1; i++)
        line[bytes++] = rest_of_line[i];
    on_screen = 1;
    ssize_t written = write(STDERR_FILENO, line, bytes);
    (void)written;
}

static void step(uint64_t done_bytes, uint64_t done_keys, const char *at_work) {
    if (!wanted)
        return;
    double time = now();
    if (time - start < FIRST_SECONDS || time - last < STEP_SECONDS)
        return;
    last = time;
    draw(time - start, done_bytes, done_keys, at_work);
}

void progress(uint64_t done_bytes, uint64_t done_keys) {
    step(done_bytes, done_keys, NULL);
}

void progress_of(const char *at_work, uint64_t done) {
    step(done, 0, at_work);
}

void progress_end(void) {
    progress_clear();
    wanted = false;
}
