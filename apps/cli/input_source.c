/* input_source.c: files and pipes.
 *
 *     read(2) ->  packed: 128 KiB  ->  unpacker  ->  the caller's block       gz, zst, xz
 *     read(2) ------------------------------------>  the caller's block       plain
 *
 * What a file is, its first bytes say and not its name: the first read of every file goes to `packed`, and if no
 * unpacker knows its head, those bytes are handed on as they are and all later ones are read to where they are wanted.
 *
 * A pipe may stay silent for hours, and the thread that reads must still end when it is told to: before reading from
 * anything that is no regular file it waits for that file and for stop_fd.
 *
 * Before it waits for a pipe that has been empty for GRACE_MS, it calls before_wait, by which stdout is flushed.
 * Without the millisecond a producer that is a little slower than kith would cause a write(2) for each of its own:
 * 36,000 instead of 1,200 for 23 MB of lines from a script.
 *
 * 128 KiB: what read(2) costs beside its copy is lost in the noise from 64 KiB on, and the buffer should stay in a
 * core's own cache with what the unpacker makes of it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "input_source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

#define PACKED_ROOM ((size_t)128 << 10)
#define GRACE_MS 1

static bool because(source *s, const char *reason) {
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    return false;
}

static bool because_errno(source *s) {
    return because(s, text_of_errno(errno));
}

void source_prepare(source *s, _Atomic uint64_t *bytes_done, int stop_fd) {
    memset(s, 0, sizeof *s);
    s->bytes_done = bytes_done;
    s->stop_fd = stop_fd;
    s->fd = -1;
}

/* False: told to stop. */
static bool wait_for_more(source *s) {
    if (!s->prompt)
        return true;
    struct pollfd wanted[2] = {{s->fd, POLLIN, 0}, {s->stop_fd, POLLIN, 0}}; /* poll ignores an fd of -1 */
    int ready = poll(wanted, 2, GRACE_MS);
    if (ready == 0 && s->before_wait != NULL)
        s->before_wait(s->before_wait_context);
    if (s->stop_fd < 0)
        return true;
    while (ready <= 0 && (ready = poll(wanted, 2, -1)) < 0)
        if (errno != EINTR)
            return true; /* read(2) will say what is wrong */
    return wanted[1].revents == 0;
}

static long long read_file(source *s, char *bytes, size_t room) {
    if (s->at_end)
        return 0;
    if (!wait_for_more(s)) {
        s->at_end = true;
        return 0;
    }
    ssize_t got;
    do
        got = read(s->fd, bytes, room);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        because_errno(s);
        return -1;
    }
    s->at_end = got == 0;
    atomic_fetch_add_explicit(s->bytes_done, (uint64_t)got, memory_order_relaxed);
    return got;
}

static bool read_packed(source *s) {
    s->packed_at = s->packed_bytes = 0;
    long long got = read_file(s, s->packed, PACKED_ROOM);
    if (got < 0)
        return false;
    s->packed_bytes = (size_t)got;
    return true;
}

static bool read_head(source *s) {
    s->packed_at = s->packed_bytes = 0;
    while (s->packed_bytes < UNPACK_HEAD_BYTES && !s->at_end) {
        long long got = read_file(s, s->packed + s->packed_bytes, PACKED_ROOM - s->packed_bytes);
        if (got < 0)
            return false;
        s->packed_bytes += (size_t)got;
        /* A line of a terminal is not held back to see whether it is an archive. */
        if (s->prompt && memchr(s->packed, '\n', s->packed_bytes) != NULL)
            break;
    }
    return true;
}

bool source_may_wait(const char *const *paths, size_t next, size_t count) {
    struct stat about;
    if (next == count)
        return false;
    int failed = strcmp(paths[next], "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(paths[next], &about);
    return failed == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static bool open_file(source *s, const char *path) {
    if (strcmp(path, "-") == 0) {
        s->name = "stdin";
        s->fd = STDIN_FILENO;
    } else {
        s->name = path;
        s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (s->fd < 0)
            return because_errno(s);
    }
    struct stat about;
    if (fstat(s->fd, &about) != 0)
        return because_errno(s);
    if (S_ISDIR(about.st_mode))
        return because(s, text_of_errno(EISDIR));
    s->prompt = !S_ISREG(about.st_mode);
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    return true;
}

bool source_open(source *s, const char *path, bool may_be_packed) {
    assert(s->fd < 0 && s->unpacker == NULL);
    s->at_end = false;
    if (s->packed == NULL && (s->packed = malloc(PACKED_ROOM)) == NULL)
        return because(s, "no memory");
    if (!open_file(s, path) || !read_head(s))
        return false;
    return !may_be_packed || unpack_open(s->packed, s->packed_bytes, &s->unpacker, s->reason, sizeof s->reason);
}

static long long read_plain(source *s, char *bytes, size_t room) {
    size_t left = s->packed_bytes - s->packed_at;
    if (left == 0)
        return read_file(s, bytes, room);
    size_t n = left < room ? left : room;
    memcpy(bytes, s->packed + s->packed_at, n);
    s->packed_at += n;
    return (long long)n;
}

long long source_read(source *s, char *bytes, size_t room) {
    if (s->unpacker == NULL)
        return read_plain(s, bytes, room);
    for (;;) {
        if (s->packed_at == s->packed_bytes && !s->at_end && !read_packed(s))
            return -1;
        size_t made = 0, used = 0;
        const char *wrong = unpack_step(s->unpacker, s->packed + s->packed_at, s->packed_bytes - s->packed_at, &used,
                                        s->at_end, bytes, room, &made);
        s->packed_at += used;
        if (wrong != NULL) {
            because(s, wrong);
            return -1;
        }
        if (made != 0 || (s->at_end && s->packed_at == s->packed_bytes))
            return (long long)made;
    }
}

void source_close(source *s) {
    unpack_close(s->unpacker);
    s->unpacker = NULL;
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    s->fd = -1;
}

void source_release(source *s) {
    source_close(s);
    free(s->packed);
    s->packed = NULL;
}
