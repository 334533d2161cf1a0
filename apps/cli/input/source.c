/* input/source.c: reads bytes from files and pipes, and decompresses them.
 *
 *     read(2) ->  packed: 128 KiB  ->  unpacker  ->  the caller's chunk       archives
 *     read(2) ------------------------------------>  the caller's chunk       plain
 *
 * The format of a file is recognised by its first bytes, not by its name. So the first read of every file goes to
 * `packed`. If these bytes do not belong to a known archive format, they are passed on as they are, and all later reads
 * go directly to the caller's chunk. For text, the first bytes after decompression are checked as well, because a gzip
 * file may contain a tar archive or begin with a byte order mark. An error while decompressing them is reported after
 * they have been passed on.
 *
 * Text has no NULs. The list of find -print0 without -0, or UTF-16 without a byte order mark, would become a few keys
 * that nobody looks up. So a file with a NUL in its first 64 KiB is refused when it is opened; of a pipe, those bytes
 * are examined that come before or with its first line. NULs that come later are searched for in what is passed on,
 * unless the caller does that (input/chunk.c, when it splits plain lines).
 *
 * A pipe may be idle for hours, but the reader thread must still end when it is asked to. So before it reads from
 * anything but a regular file, it waits for that file and for stop_fd.
 *
 * Before it waits for a pipe that has been empty for GRACE_MS, it calls before_wait, which flushes stdout. Without this
 * millisecond, a producer that is slightly slower than kith would cause one write(2) of kith for each of its writes:
 * 36,000 instead of 1,200 for 23 MB of lines from a script.
 *
 * 128 KiB: from 64 KiB on, the fixed cost of read(2) is negligible, and the buffer should stay in the cache of a core
 * together with its decompressed bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "cli/input/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/report.h"
#include "cli/uninterrupted.h"
#include "cli/wake.h"

#define PACKED_ROOM ((size_t)128 << 10)
#define GRACE_MS 1

const char SOURCE_NUL_STOPS[] = "the line has a NUL byte: use -0 if keys end with NUL, or keep the NULs with --text";

static bool set_reason(source *s, const char *reason) {
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    return false;
}

static bool set_reason_errno(source *s) {
    return set_reason(s, text_of_errno(errno));
}

void source_prepare(source *s, _Atomic uint64_t *bytes_done, int stop_fd) {
    memset(s, 0, sizeof *s);
    s->bytes_done = bytes_done;
    s->stop_fd = stop_fd;
    s->fd = -1;
}

/* Waits like wait_for_more(), and attends to what is due meanwhile. */
static void wait_attended(source *s, struct pollfd wanted[2]) {
    while (wanted[0].revents == 0) {
        if (s->before_wait != NULL)
            s->before_wait(s->before_wait_context);
        int ready = poll(wanted, 2, s->attend(s->attend_context, false));
        if (ready < 0 && errno != EINTR)
            return; /* read(2) will report the error */
        if (ready <= 0)
            wanted[0].revents = wanted[1].revents = 0;
        if (wanted[1].revents != 0)
            wake_drain();
    }
}

/* Returns false if it was asked to stop. */
static bool wait_for_more(source *s) {
    if (!s->prompt)
        return true;
    struct pollfd wanted[2] = {{s->fd, POLLIN, 0}, {s->stop_fd, POLLIN, 0}}; /* poll ignores an fd of -1 */
    if (s->attend != NULL)
        wanted[1].fd = wake_fd();
    int ready = poll(wanted, 2, GRACE_MS);
    if (s->attend != NULL) {
        if (ready <= 0)
            wanted[0].revents = 0;
        wait_attended(s, wanted);
        return true;
    }
    if (ready == 0 && s->before_wait != NULL)
        s->before_wait(s->before_wait_context);
    if (s->stop_fd < 0)
        return true;
    while (ready <= 0 && (ready = poll(wanted, 2, -1)) < 0)
        if (errno != EINTR)
            return true; /* read(2) will report the error */
    return wanted[1].revents == 0;
}

static long long read_file(source *s, char *bytes, size_t max_bytes) {
    if (s->at_end)
        return 0;
    if (!wait_for_more(s)) {
        s->at_end = true;
        return 0;
    }
    ssize_t got;
    do
        got = read(s->fd, bytes, max_bytes);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        set_reason_errno(s);
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

/* A complete line from a pipe or a terminal is not delayed to recognise the format of the file. */
static bool has_record(const source *s, const source_rules *rules, const char *bytes, size_t n) {
    return s->prompt && rules->lines && n > 0 && memchr(bytes, rules->end, n) != NULL;
}

static bool read_head(source *s, const source_rules *rules, size_t wanted) {
    while (s->packed_bytes < wanted && !s->at_end && !has_record(s, rules, s->packed, s->packed_bytes)) {
        long long got = read_file(s, s->packed + s->packed_bytes, PACKED_ROOM - s->packed_bytes);
        if (got < 0)
            return false;
        s->packed_bytes += (size_t)got;
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
        bool waits = source_may_wait(&path, 0, 1); /* open(2) of a FIFO waits for a writer */
        if (waits && s->before_wait != NULL)
            s->before_wait(s->before_wait_context);
        if (waits && s->attend != NULL)
            (void)s->attend(s->attend_context, true);
        s->fd = open_fully(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
        if (s->fd < 0)
            return set_reason_errno(s);
    }
    struct stat about;
    if (fstat(s->fd, &about) != 0)
        return set_reason_errno(s);
    if (S_ISDIR(about.st_mode))
        return set_reason(s, text_of_errno(EISDIR));
    s->prompt = !S_ISREG(about.st_mode);
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
    return true;
}

static long long pass_on(char *bytes, size_t max_bytes, const char *from, size_t *at, size_t end) {
    size_t left = end - *at, n = left < max_bytes ? left : max_bytes;
    memcpy(bytes, from + *at, n);
    *at += n;
    return (long long)n;
}

static long long read_plain(source *s, char *bytes, size_t max_bytes) {
    if (s->packed_at == s->packed_bytes)
        return read_file(s, bytes, max_bytes);
    return pass_on(bytes, max_bytes, s->packed, &s->packed_at, s->packed_bytes);
}

static long long read_on(source *s, char *bytes, size_t max_bytes) {
    if (s->unpacker == NULL)
        return read_plain(s, bytes, max_bytes);
    for (;;) {
        if (s->packed_at == s->packed_bytes && !s->at_end && !read_packed(s))
            return -1;
        size_t made = 0, used = 0;
        const char *wrong = unpack_step(s->unpacker, s->packed + s->packed_at, s->packed_bytes - s->packed_at, &used,
                                        s->at_end, bytes, max_bytes, &made);
        s->packed_at += used;
        if (wrong != NULL) {
            set_reason(s, wrong);
            return -1;
        }
        if (made != 0 || (s->at_end && s->packed_at == s->packed_bytes))
            return (long long)made;
    }
}

static void unpack_head(source *s, const source_rules *rules) {
    while (s->head_bytes < sizeof s->head && !has_record(s, rules, s->head, s->head_bytes)) {
        long long got = read_on(s, s->head + s->head_bytes, sizeof s->head - s->head_bytes);
        s->head_failed = got < 0;
        if (got <= 0)
            return;
        s->head_bytes += (size_t)got;
    }
}

/* Checks the first bytes of the text. Returns false, with s->reason, if it is not text. */
static bool begin_text(source *s, const source_rules *rules) {
    char reason[SOURCE_REASON_BYTES];
    if (s->unpacker != NULL)
        unpack_head(s, rules);
    else if (rules->nuls != SOURCE_NULS_KEPT && !read_head(s, rules, SOURCE_HEAD_BYTES))
        return false;
    const char *head = s->unpacker != NULL ? s->head : s->packed;
    size_t n = s->unpacker != NULL ? s->head_bytes : s->packed_bytes;
    if (rules->check && magic_refuses(head, n, reason, sizeof reason))
        return set_reason(s, reason);
    const char *inner = rules->check && s->unpacker != NULL ? unpack_format_of(head, n) : NULL;
    if (inner != NULL) {
        snprintf(s->reason, sizeof s->reason, "is compressed twice, inside with %s: decompress it once first", inner);
        return false;
    }
    bool has_nul =
        rules->nuls != SOURCE_NULS_KEPT && memchr(head, '\0', n < SOURCE_HEAD_BYTES ? n : SOURCE_HEAD_BYTES) != NULL;
    if (has_nul && s->head_failed)
        return false; /* the archive is damaged, which is probably why */
    if (has_nul)
        return set_reason(s, "has NUL bytes, so it is not lines of text: use -0 if keys end with NUL (find -print0), "
                             "convert UTF-16 (iconv -f UTF-16LE -t UTF-8), or keep the NULs with --text");
    s->had_bom = magic_begins_with_bom(head, n);
    if (s->had_bom)
        *(s->unpacker != NULL ? &s->head_at : &s->packed_at) += MAGIC_BOM_BYTES;
    return true;
}

bool source_open(source *s, const char *path, const source_rules *rules) {
    assert(s->fd < 0 && s->unpacker == NULL);
    s->at_end = s->had_bom = s->head_failed = s->nul_stopped = false;
    s->nuls = rules->nuls;
    s->nul = NULL;
    s->text_bytes = 0;
    s->packed_at = s->packed_bytes = s->head_at = s->head_bytes = 0;
    if (s->packed == NULL && (s->packed = malloc(PACKED_ROOM)) == NULL)
        return set_reason(s, "not enough memory");
    size_t wanted = rules->lines ? MAGIC_HEAD_BYTES : rules->unpack ? UNPACK_HEAD_BYTES : 0;
    if (!open_file(s, path) || !read_head(s, rules, wanted))
        return false;
    if (rules->unpack &&
        !unpack_open(s->name, s->packed, s->packed_bytes, s->at_end, &s->unpacker, s->reason, sizeof s->reason)) {
        if (rules->check) /* names what it is, instead of what it is not */
            (void)magic_refuses(s->packed, s->packed_bytes, s->reason, sizeof s->reason);
        return false;
    }
    if (s->unpacker != NULL && !unpack_limit(s->unpacker, rules->unpack_memory))
        return set_reason(s, "not enough memory");
    return !rules->lines || begin_text(s, rules);
}

static long long read_any(source *s, char *bytes, size_t max_bytes) {
    if (s->head_at < s->head_bytes)
        return pass_on(bytes, max_bytes, s->head, &s->head_at, s->head_bytes);
    return s->head_failed ? -1 : read_on(s, bytes, max_bytes);
}

/* Looks for a NUL in the bytes that were read. Returns what source_read() returns. */
static long long check_nuls(source *s, const char *bytes, long long got) {
    const char *nul = memchr(bytes, '\0', (size_t)got);
    if (nul == NULL)
        return got;
    if (s->nuls == SOURCE_NULS_NOTED && s->text_bytes + (uint64_t)(nul - bytes) >= SOURCE_HEAD_BYTES) {
        s->nul = nul;
        return got;
    }
    s->nul_stopped = true;
    set_reason(s, SOURCE_NUL_STOPS);
    return nul > bytes ? nul - bytes : -1;
}

long long source_read(source *s, char *bytes, size_t max_bytes) {
    s->nul = NULL;
    long long got = s->nul_stopped ? -1 : read_any(s, bytes, max_bytes);
    if (got > 0 && s->nuls > SOURCE_NULS_IN_HEAD)
        got = check_nuls(s, bytes, got);
    s->text_bytes += got > 0 ? (uint64_t)got : 0;
    return got;
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
