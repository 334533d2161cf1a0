/* input.c: the input pipeline: a reader thread fills chunks of records, the calling thread uses them.
 *
 *     reader thread                                    calling thread
 *     chunk_fill: read, decompress, split, make keys   input_next: returns batches of records
 *
 *                      filled - freed <= CHUNKS
 *     +- chunk 0 ----+- chunk 1 -+- … -+- chunk 7 -----+
 *     | in use by    | filled    |     | being filled  |    chunk i of the stream is in chunks[i % CHUNKS]
 *     | the caller   |           |     |               |
 *     +--------------+-----------+-----+---------------+
 *
 * Waking a thread costs more than splitting a chunk. So a reader that found all chunks full sleeps until half of them
 * are free, and a thread is woken only if it sleeps. With one thread, a chunk is filled when the caller needs it.
 *
 * The reader thread never prints anything. An error is stored in the chunk where it occurred, and the calling thread
 * reports it after all records before it have been used. Notes are reported when the first record of the chunk is used.
 * So errors occur at the same point with any number of threads, and only one thread ever ends the tool. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "cli/input/input.h"

#include <assert.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/chunk.h"
#include "cli/input/stream.h"
#include "cli/output/report.h"
#include "cli/values.h"
#include "cli/wake.h"

#define CHUNKS 8

static const char *const STDIN_ONLY[] = {"-"};

struct input {
    input_shape shape;
    splitter splitter;
    chunk chunks[CHUNKS];
    chunk *current; /* NULL: none */
    size_t at;      /* index of its next record */
    const uint64_t *digests;
    const bool *marks;
    uint64_t skipped, bytes_total;
    _Atomic uint64_t bytes_done;

    bool threaded;
    pthread_t reader;
    int stop_pipe[2]; /* closing its write end stops a reader that waits for input */
    pthread_mutex_t lock;
    pthread_cond_t has_filled, has_freed;
    bool reader_sleeps, caller_sleeps;
    bool input_idle;        /* the reader has waited for input since the caller last flushed stdout */
    uint64_t filled, freed; /* numbers of chunks since the start */
    uint64_t longer_bytes;  /* what chunks need for long records */
    bool stop;
};

static uint64_t total_of(const char *const *paths, size_t path_count) {
    uint64_t total = 0;
    for (size_t i = 0; i < path_count; i++) {
        struct stat about;
        bool is_stdin = strcmp(paths[i], "-") == 0;
        if ((is_stdin ? fstat(STDIN_FILENO, &about) : stat(paths[i], &about)) != 0)
            continue;
        if (!S_ISREG(about.st_mode))
            return 0;
        total += (uint64_t)about.st_size;
    }
    return total;
}

/* ---- reader thread ---- */

/* Returns a free chunk, or NULL if the caller has closed the input. */
static chunk *wait_for_free(input *in) {
    pthread_mutex_lock(&in->lock);
    while (in->filled - in->freed == CHUNKS && !in->stop) {
        in->reader_sleeps = true;
        pthread_cond_wait(&in->has_freed, &in->lock);
    }
    in->reader_sleeps = false;
    chunk *b = in->stop ? NULL : &in->chunks[in->filled % CHUNKS];
    pthread_mutex_unlock(&in->lock);
    return b;
}

static void wake_caller(input *in) {
    if (in->caller_sleeps && in->shape.attend != NULL)
        wake_up();
    else if (in->caller_sleeps)
        pthread_cond_signal(&in->has_filled);
}

static void signal_filled(input *in) {
    pthread_mutex_lock(&in->lock);
    in->filled++;
    wake_caller(in);
    pthread_mutex_unlock(&in->lock);
}

/* The chunk of the caller is free. */
static void signal_freed(input *in, size_t longer_bytes) {
    pthread_mutex_lock(&in->lock);
    in->longer_bytes -= longer_bytes;
    in->freed += in->threaded;
    if (in->reader_sleeps && in->filled - in->freed <= CHUNKS / 2)
        pthread_cond_signal(&in->has_freed);
    pthread_mutex_unlock(&in->lock);
}

/* Called by the reader thread. Only the calling thread may write to stdout; it does so when it has used all chunks. */
static void signal_idle(void *context) {
    input *in = context;
    pthread_mutex_lock(&in->lock);
    in->input_idle = true;
    wake_caller(in);
    pthread_mutex_unlock(&in->lock);
}

static void flush_now(void *context) {
    (void)context;
    out_flush();
}

/* Called by chunk_fill() for a record that is longer than a chunk. A record is never larger than the limit, so it has
 * enough when all chunks before are used. */
static bool reserve(void *context, size_t more) {
    input *in = context;
    uint64_t limit = in->shape.memory;
    pthread_mutex_lock(&in->lock);
    while (limit != 0 && in->longer_bytes + more > limit && in->filled != in->freed && !in->stop) {
        in->reader_sleeps = true;
        pthread_cond_wait(&in->has_freed, &in->lock);
    }
    in->reader_sleeps = false;
    in->longer_bytes += more;
    bool go_on = !in->stop;
    pthread_mutex_unlock(&in->lock);
    return go_on;
}

static void *read_all(void *context) {
    input *in = context;
    for (chunk *b; (b = wait_for_free(in)) != NULL;) {
        chunk_fill(b, &in->splitter);
        bool done = b->last || b->error_name != NULL;
        signal_filled(in);
        if (done)
            break;
    }
    return NULL;
}

/* Returns true if memory cannot be why a thread was not started. */
static bool has_room_for_stack(void) {
    static const size_t MORE = (size_t)1 << 20; /* for what a thread has besides */
    pthread_attr_t attributes;
    size_t stack_bytes;
    region probe = {NULL, 0};
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_getstacksize(&attributes, &stack_bytes) != 0)
        return false;
    (void)pthread_attr_destroy(&attributes);
    bool has_room = region_grow(&probe, stack_bytes + MORE);
    region_free(&probe);
    return has_room;
}

/* How much address space reading takes does not depend on how much is left, or on timing: otherwise, what fits under
 * one limit (ulimit -v) might not fit under a higher one. So all chunks are allocated first, glibc shall not give the
 * reader thread its own heap, for which it takes 64 MiB if it can get them, and a thread that cannot be started for
 * lack of memory is an error.
 *
 * Signals are blocked in the reader thread, so that the main thread, which has files to remove, handles them. If no
 * thread can be started for another reason, the calling thread does all the work. */
static void start_reader(input *in) {
    if (pipe(in->stop_pipe) != 0)
        return;
    for (size_t i = 0; i < CHUNKS; i++)
        if (!chunk_allocate(&in->chunks[i], &in->shape))
            fail("not enough memory");
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 1);
#endif
    in->splitter.source.stop_fd = in->stop_pipe[0];
    in->splitter.source.before_wait = signal_idle;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    in->threaded = pthread_create(&in->reader, NULL, read_all, in) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (in->threaded)
        return;
    if (!has_room_for_stack())
        fail("not enough memory for a second thread: --threads 1 needs less");
    in->splitter.source.stop_fd = -1;
    in->splitter.source.before_wait = flush_now;
    close(in->stop_pipe[0]);
    close(in->stop_pipe[1]);
}

static void stop_reader(input *in) {
    if (!in->threaded)
        return;
    pthread_mutex_lock(&in->lock);
    in->stop = true;
    pthread_cond_signal(&in->has_freed);
    pthread_mutex_unlock(&in->lock);
    close(in->stop_pipe[1]);
    pthread_join(in->reader, NULL);
    close(in->stop_pipe[0]);
    in->threaded = false;
}

/* ---- calling thread ---- */

static noreturn void fail_fixed(const input_shape *shape) {
    value_text most;
    fail("--fixed %zu: a record may have %s at most with this --memory: raise --memory%s%s", shape->fixed_bytes,
         text_of_size(chunk_record_max(shape), most), shape->advice != NULL ? ", or " : "",
         shape->advice != NULL ? shape->advice : "");
}

input *input_open(const char *const *paths, size_t path_count, const input_shape *shape) {
    input *in = allocate(sizeof *in);
    memset(in, 0, sizeof *in);
    in->shape = *shape;
    in->splitter.shape = &in->shape;
    in->splitter.paths = path_count == 0 ? STDIN_ONLY : paths;
    in->splitter.path_count = path_count == 0 ? 1 : path_count;
    in->bytes_total = total_of(in->splitter.paths, in->splitter.path_count);
    source_prepare(&in->splitter.source, &in->bytes_done, -1);
    in->splitter.source.before_wait = flush_now;
    in->splitter.source.before_wait_context = in;
    in->splitter.reserve = reserve;
    in->splitter.reserve_context = in;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->has_filled, NULL);
    pthread_cond_init(&in->has_freed, NULL);
    if (shape->fixed_bytes > chunk_record_max(shape) && !key_can_stream(&in->shape))
        fail_fixed(shape);
    if (shape->threads != 1)
        start_reader(in);
    if (!in->threaded) {
        in->splitter.source.attend = shape->attend;
        in->splitter.source.attend_context = shape->attend_context;
    }
    return in;
}

/* Waits until the reader has something to tell. Called with the lock, which is free meanwhile. A signal handler cannot
 * use a condition variable, so a caller that attends to signals waits for the pipe of wake.h instead. */
static void sleep_caller(input *in) {
    if (in->shape.attend == NULL) {
        pthread_cond_wait(&in->has_filled, &in->lock);
        return;
    }
    pthread_mutex_unlock(&in->lock);
    struct pollfd wanted = {wake_fd(), POLLIN, 0};
    (void)poll(&wanted, 1, in->shape.attend(in->shape.attend_context, false));
    wake_drain();
    pthread_mutex_lock(&in->lock);
}

static chunk *next_chunk(input *in) {
    if (!in->threaded) {
        chunk_fill(&in->chunks[0], &in->splitter);
        return &in->chunks[0];
    }
    pthread_mutex_lock(&in->lock);
    while (in->filled == in->freed) {
        if (in->input_idle) {
            in->input_idle = false;
            pthread_mutex_unlock(&in->lock);
            out_flush();
            pthread_mutex_lock(&in->lock);
            continue;
        }
        in->caller_sleeps = true;
        sleep_caller(in);
    }
    in->caller_sleeps = false;
    chunk *b = &in->chunks[in->freed % CHUNKS];
    pthread_mutex_unlock(&in->lock);
    return b;
}

static noreturn void fail_at(input *in, const chunk *b) {
    stop_reader(in);
    if (b->error_line != 0)
        fail("%s:%" PRIu64 ": %s", b->error_name, b->error_line, b->reason);
    fail("%s: %s", b->error_name, b->reason);
}

/* Prints what was found in the chunk that is not an error. */
static void note_findings(const chunk *b) {
    if (b->bom_name != NULL)
        note("%s: begins with a UTF-8 byte order mark, which is not part of the first key", b->bom_name);
    if (b->cr_name != NULL && b->cr_line != 0)
        note("%s:%" PRIu64 ": %s", b->cr_name, b->cr_line, CHUNK_CR_NOTE);
    else if (b->cr_name != NULL)
        note("%s: %s", b->cr_name, CHUNK_CR_ALONE);
    if (b->nul_name != NULL)
        note("%s:%" PRIu64 ": %s", b->nul_name, b->nul_line, CHUNK_NUL_NOTE);
}

size_t input_next(input *in, const input_record **records) {
    for (;;) {
        if (in->current == NULL) {
            in->current = next_chunk(in);
            in->skipped += in->current->skipped;
            note_findings(in->current);
            in->at = 0;
        }
        chunk *b = in->current;
        size_t left = b->record_count - in->at;
        if (left > 0) {
            size_t n = left < INPUT_BATCH ? left : INPUT_BATCH;
            *records = b->records + in->at;
            in->digests = b->digests == NULL ? NULL : b->digests + in->at;
            in->marks = b->marks == NULL ? NULL : b->marks + in->at;
            in->at += n;
            return n;
        }
        if (b->error_name != NULL)
            fail_at(in, b);
        if (b->last)
            return 0;
        in->current = NULL;
        size_t longer_bytes = chunk_shrink(b);
        if (in->threaded || longer_bytes > 0)
            signal_freed(in, longer_bytes);
    }
}

const uint64_t *input_digests(const input *in) {
    return in->digests;
}

const bool *input_marks(const input *in) {
    return in->marks;
}

uint64_t input_bytes_done(const input *in) {
    return atomic_load_explicit(&in->bytes_done, memory_order_relaxed);
}

uint64_t input_bytes_total(const input *in) {
    return in->bytes_total;
}

uint64_t input_memory(const input *in) {
    return (in->threaded ? CHUNKS : 1) * (uint64_t)chunk_memory(&in->shape) + in->shape.memory +
           in->shape.unpack_memory;
}

uint64_t input_skipped(const input *in) {
    return in->skipped;
}

void input_close(input *in) {
    stop_reader(in);
    source_release(&in->splitter.source);
    region_free(&in->splitter.carry);
    for (size_t i = 0; i < CHUNKS; i++)
        chunk_release(&in->chunks[i]);
    pthread_cond_destroy(&in->has_filled);
    pthread_cond_destroy(&in->has_freed);
    pthread_mutex_destroy(&in->lock);
    free(in);
}
