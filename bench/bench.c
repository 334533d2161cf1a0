/* bench.c: keys, clock, threads and error exits; see bench.h. */
#define _DEFAULT_SOURCE
#include "bench.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "splitmix.h"

/* Over a million digests a measured rate of 0.1% has a relative standard deviation of 3%. */
#define MIN_RATE_LOOKUPS 1000000

#define MAX_THREADS 64

static bool cpu_clock;

void clock_is_cpu(bool cpu) {
    cpu_clock = cpu;
}

double now(unsigned threads) {
    struct timespec t;
    clock_gettime(cpu_clock && threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void line(const char *format, va_list arguments) {
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
}

void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
    exit(1);
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(format, arguments);
    va_end(arguments);
    exit(2);
}

void *allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL)
        fail("out of memory: cannot allocate %zu bytes", bytes);
    return memory;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

uint64_t keys_bytes(size_t n, size_t max_lookups) {
    uint64_t lookups = smaller(n, max_lookups), rate_lookups = larger((size_t)lookups, MIN_RATE_LOOKUPS);
    return 8 * ((uint64_t)n + rate_lookups + lookups + lookups / 64 + 1);
}

keys keys_make(size_t n, size_t max_lookups, size_t min_operations) {
    keys k = {.n = n, .lookups = smaller(n, max_lookups)};
    k.passes = larger(1, min_operations / n);
    k.rate_lookups = larger(k.lookups, MIN_RATE_LOOKUPS);
    k.present = allocate(8 * n);
    k.absent = allocate(8 * k.rate_lookups);
    k.half = allocate(8 * k.lookups);
    k.found = allocate(8 * (k.lookups / 64 + 1));
    memset(k.found, 0, 8 * (k.lookups / 64 + 1)); /* maps the pages before any timing */
    const uint64_t step = SPLITMIX_STEP;          /* odd, so i * step is a bijection */
    for (size_t i = 0; i < n; i++)
        k.present[i] = splitmix_mix((uint64_t)i * step);
    for (size_t i = 0; i < k.rate_lookups; i++)
        k.absent[i] = splitmix_mix(((uint64_t)i | (uint64_t)1 << 62) * step);
    for (size_t i = 0; i < k.lookups; i++) {
        bool present = splitmix_mix(k.present[i]) & 1;
        k.half[i] = present ? k.present[i] : k.absent[i];
        k.half_present += present;
    }
    return k;
}

void keys_free(keys *k) {
    free(k->present);
    free(k->absent);
    free(k->half);
    free(k->found);
}

typedef struct piece {
    void (*part)(void *context, size_t from, size_t to);
    void *context;
    size_t from, to;
    pthread_t thread;
} piece;

static void *run_piece(void *argument) {
    piece *p = argument;
    p->part(p->context, p->from, p->to);
    return NULL;
}

void run_parts(unsigned threads, size_t n, void (*part)(void *context, size_t from, size_t to), void *context) {
    piece pieces[MAX_THREADS];
    if (threads > MAX_THREADS)
        fail("more than %d threads", MAX_THREADS);
    size_t from = 0;
    for (unsigned t = 0; t + 1 < threads; t++) {
        size_t to = (n / threads * (t + 1)) / 64 * 64;
        pieces[t] = (piece){.part = part, .context = context, .from = from, .to = to};
        from = to;
        if (pthread_create(&pieces[t].thread, NULL, run_piece, &pieces[t]) != 0)
            fail("cannot start a thread");
    }
    part(context, from, n);
    for (unsigned t = 0; t + 1 < threads; t++)
        pthread_join(pieces[t].thread, NULL);
}
