/* digests.c: sorts digests in memory, writes sorted runs to temporary files when memory is full, and merges the runs.
 *
 *     memory     | digest | digest | …                  count <= room = memory_bytes / 8 |
 *
 *     full       sort, drop repeats; if that freed a quarter, continue; otherwise write a run and start again
 *     runs       | level 0 | level 0 | … FAN_IN runs of one level are merged into one of the next level
 *
 *     merging    | buffer of run a | buffer of run b | buffer of run c | … | output |    parts of the same memory
 *
 * A run is an ascending sequence of digests in an unlinked temporary file, so no file is left however the tool ends. At
 * the end all runs are merged twice, once to count the digests and once to return them. Reading the runs again costs
 * less than writing the merged run, and needs no disk space. If everything fits in memory, nothing is written to disk.
 *
 * The sort is an in-place radix sort by bytes, most significant first ("American flag sort": McIlroy, Bostic, McIlroy,
 * "Engineering Radix Sort", 1993), so all of the memory can hold digests. Digests are practically random, so after
 * three passes 2^27 of them are in groups of about 8, and groups of up to FEW are sorted by insertion. Each pass fixes
 * 8 more bits, so even equal or maliciously chosen digests need at most 8 passes.
 *
 * The memory is one mapping of the whole limit; the system provides pages when they are first touched, so it grows
 * without copying. FAN_IN limits the number of open files (FAN_IN - 1 per level; three levels hold 2^18 times the
 * memory). It also keeps the buffer of each run large enough to read in one go: 1/64 of 64 MiB is 1 MiB. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "digests.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report.h"

#define FAN_IN 64
#define LEVELS_MAX 5
#define RUNS_MAX (LEVELS_MAX * FAN_IN)
#define FEW 32
#define ROOM_MIN ((size_t)2 * RUNS_MAX) /* digests: a merge needs at least one for each run and one for the output */

typedef struct run {
    int fd;
    unsigned level;
    uint64_t count;
    /* while merging: */
    uint64_t left; /* still in the file */
    uint64_t *at, *end, *buffer;
} run;

struct digests {
    uint64_t *memory;
    size_t mapped_bytes;
    size_t room, count;
    bool keep_copies;

    run runs[RUNS_MAX];
    unsigned run_count;

    bool finished;
    uint64_t total;
    size_t next; /* in memory */
    struct merge {
        run *heap[RUNS_MAX]; /* the run with the smallest next digest on top */
        unsigned heap_count;
        bool any;
        uint64_t last;
    } merge;
};

/* ---- sorting ---- */

static void insertion_sort(uint64_t *v, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t x = v[i];
        size_t j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

/* Sorts by the bits below `shift` + 8; the higher bits are equal. */
static void radix_sort(uint64_t *v, size_t n, unsigned shift) {
    if (n <= FEW) {
        insertion_sort(v, n);
        return;
    }
    size_t counts[256] = {0}, heads[256], tails[256];
    for (size_t i = 0; i < n; i++)
        counts[v[i] >> shift & 255]++;
    size_t sum = 0;
    for (unsigned digit = 0; digit < 256; digit++) {
        heads[digit] = sum;
        sum += counts[digit];
        tails[digit] = sum;
    }
    for (unsigned digit = 0; digit < 256; digit++) {
        while (heads[digit] < tails[digit]) {
            uint64_t x = v[heads[digit]];
            for (unsigned other; (other = (unsigned)(x >> shift & 255)) != digit;) {
                uint64_t *place = &v[heads[other]++], displaced = *place;
                *place = x;
                x = displaced;
            }
            v[heads[digit]++] = x;
        }
    }
    if (shift == 0)
        return;
    for (unsigned digit = 0; digit < 256; digit++)
        if (counts[digit] > 1)
            radix_sort(v + tails[digit] - counts[digit], counts[digit], shift - 8);
}

static void sort_memory(digests *d) {
    radix_sort(d->memory, d->count, 56);
    if (d->keep_copies || d->count == 0)
        return;
    size_t kept = 1;
    for (size_t i = 1; i < d->count; i++) {
        uint64_t value = d->memory[i];
        d->memory[kept] = value;
        kept += value != d->memory[kept - 1];
    }
    d->count = kept;
}

/* ---- files ---- */

static const char *folder(void) {
    const char *given = getenv("TMPDIR");
    return given != NULL && *given != '\0' ? given : "/tmp";
}

static int temporary_file(void) {
#ifdef O_TMPFILE
    int fd = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
#endif
    size_t room = strlen(folder()) + sizeof "/kith-XXXXXX";
    char *path = allocate(room);
    snprintf(path, room, "%s/kith-XXXXXX", folder());
    int made = mkstemp(path);
    if (made < 0)
        fail("%s: cannot create a temporary file: %s (set TMPDIR to use another folder)", folder(), strerror(errno));
    (void)unlink(path);
    (void)fcntl(made, F_SETFD, FD_CLOEXEC);
    free(path);
    return made;
}

static void write_digests(run *r, const uint64_t *values, size_t n) {
    const char *bytes = (const char *)values;
    size_t left = n * sizeof *values;
    while (left > 0) {
        ssize_t written = write(r->fd, bytes, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            fail("%s: cannot write a temporary file: %s (set TMPDIR to use another folder)", folder(), strerror(errno));
        bytes += written;
        left -= (size_t)written;
    }
    r->count += n;
}

/* Refills the buffer of a run. Returns false at the end of the run. */
static bool refill(run *r, size_t buffer_digests) {
    size_t n = r->left < buffer_digests ? (size_t)r->left : buffer_digests;
    char *bytes = (char *)r->buffer;
    size_t wanted = n * sizeof(uint64_t);
    off_t at = (off_t)((r->count - r->left) * sizeof(uint64_t));
    while (wanted > 0) {
        ssize_t got = pread(r->fd, bytes, wanted, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            fail("%s: cannot read a temporary file: %s", folder(), got < 0 ? strerror(errno) : "it was truncated");
        bytes += got;
        at += got;
        wanted -= (size_t)got;
    }
    r->left -= n;
    r->at = r->buffer;
    r->end = r->buffer + n;
    return n > 0;
}

/* ---- merging ---- */

static void sift_down(run **heap, unsigned n, unsigned at) {
    run *moving = heap[at];
    for (unsigned child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && *heap[child + 1]->at < *heap[child]->at)
            child++;
        if (*moving->at <= *heap[child]->at)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

/* Starts to merge all runs from `first` on. The buffer of each has `buffer_digests` digests. */
static void merge_begin(digests *d, unsigned first, size_t buffer_digests) {
    struct merge *m = &d->merge;
    m->heap_count = 0;
    m->any = false;
    for (unsigned i = first; i < d->run_count; i++) {
        run *r = &d->runs[i];
        r->buffer = d->memory + (i - first) * buffer_digests;
        r->left = r->count;
        if (refill(r, buffer_digests))
            m->heap[m->heap_count++] = r;
    }
    for (unsigned i = m->heap_count / 2; i-- > 0;)
        sift_down(m->heap, m->heap_count, i);
}

static size_t merge_next(digests *d, size_t buffer_digests, uint64_t *values, size_t room) {
    struct merge *m = &d->merge;
    size_t n = 0;
    while (n < room && m->heap_count > 0) {
        run *top = m->heap[0];
        uint64_t value = *top->at++;
        if (top->at == top->end && !refill(top, buffer_digests))
            m->heap[0] = m->heap[--m->heap_count];
        if (m->heap_count > 0)
            sift_down(m->heap, m->heap_count, 0);
        if (m->any && value == m->last && !d->keep_copies)
            continue;
        m->any = true;
        m->last = value;
        values[n++] = value;
    }
    return n;
}

/* Merges the last FAN_IN runs into one of the next level. */
static void merge_runs(digests *d) {
    unsigned first = d->run_count - FAN_IN;
    size_t buffer_digests = d->room / (FAN_IN + 1);
    uint64_t *merged = d->memory + FAN_IN * buffer_digests;
    run result = {.fd = temporary_file(), .level = d->runs[first].level + 1};
    merge_begin(d, first, buffer_digests);
    for (size_t n; (n = merge_next(d, buffer_digests, merged, buffer_digests)) > 0;)
        write_digests(&result, merged, n);
    for (unsigned i = first; i < d->run_count; i++)
        close(d->runs[i].fd);
    d->runs[first] = result;
    d->run_count = first + 1;
}

static bool level_is_full(const digests *d) {
    unsigned level = d->runs[d->run_count - 1].level;
    return d->run_count >= FAN_IN && d->runs[d->run_count - FAN_IN].level == level && level + 1 < LEVELS_MAX;
}

static void spill(digests *d) {
    if (d->run_count == RUNS_MAX)
        fail("too many keys for this little memory; raise --memory");
    run *r = &d->runs[d->run_count];
    *r = (run){.fd = temporary_file()};
    d->run_count++;
    write_digests(r, d->memory, d->count);
    d->count = 0;
    while (level_is_full(d))
        merge_runs(d);
}

/* ---- public functions ---- */

/* A system without memory overcommit may refuse the whole limit; then less is used. */
static void map_memory(digests *d, uint64_t memory_bytes) {
    size_t bytes = memory_bytes < SIZE_MAX / 2 ? (size_t)memory_bytes : SIZE_MAX / 2;
    if (bytes < ROOM_MIN * sizeof(uint64_t))
        bytes = ROOM_MIN * sizeof(uint64_t);
    for (;; bytes /= 2) {
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED) {
            d->memory = memory;
            d->mapped_bytes = bytes;
            d->room = bytes / sizeof(uint64_t);
            break;
        }
        if (bytes / 2 < ROOM_MIN * sizeof(uint64_t))
            fail("not enough memory for %zu bytes", bytes);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(d->memory, d->mapped_bytes, MADV_HUGEPAGE);
#endif
}

digests *digests_new(uint64_t memory_bytes, bool keep_copies) {
    digests *d = allocate(sizeof *d);
    memset(d, 0, sizeof *d);
    d->keep_copies = keep_copies;
    map_memory(d, memory_bytes);
    return d;
}

void digests_add_many(digests *d, const uint64_t *values, size_t n) {
    while (n > 0) {
        if (d->count == d->room) {
            sort_memory(d);
            if (d->count > d->room / 4 * 3)
                spill(d);
        }
        size_t free_room = d->room - d->count, part = n < free_room ? n : free_room;
        memcpy(d->memory + d->count, values, part * sizeof *values);
        d->count += part;
        values += part;
        n -= part;
    }
}

static size_t final_buffer_digests(const digests *d) {
    return d->room / d->run_count;
}

static uint64_t count_merged(digests *d) {
    uint64_t values[512], total = 0;
    merge_begin(d, 0, final_buffer_digests(d));
    for (size_t n; (n = merge_next(d, final_buffer_digests(d), values, sizeof values / sizeof *values)) > 0;)
        total += n;
    return total;
}

static uint64_t count_all(const digests *d) {
    uint64_t total = 0;
    for (unsigned i = 0; i < d->run_count; i++)
        total += d->runs[i].count;
    return total;
}

uint64_t digests_finish(digests *d) {
    if (!d->finished) {
        sort_memory(d);
        if (d->run_count > 0 && d->count > 0)
            spill(d);
        d->total = d->run_count == 0 ? d->count : d->keep_copies ? count_all(d) : count_merged(d);
        d->finished = true;
    }
    d->next = 0;
    if (d->run_count > 0)
        merge_begin(d, 0, final_buffer_digests(d));
    return d->total;
}

size_t digests_next(digests *d, uint64_t *values, size_t room) {
    if (d->run_count > 0)
        return merge_next(d, final_buffer_digests(d), values, room);
    size_t left = d->count - d->next, n = left < room ? left : room;
    memcpy(values, d->memory + d->next, n * sizeof *values);
    d->next += n;
    return n;
}

void digests_free(digests *d) {
    if (d == NULL)
        return;
    for (unsigned i = 0; i < d->run_count; i++)
        close(d->runs[i].fd);
    munmap(d->memory, d->mapped_bytes);
    free(d);
}
