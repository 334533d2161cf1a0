/* bench.h: what the parts of the filter benchmark share: keys, the clock, threads and error exits. */
#ifndef KITH_BENCH_H
#define KITH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digests for one number of keys. They are the values of a counter, mixed by a bijection. Absent digests come from
 * another range of the counter, so it is certain that they were not added. */
typedef struct keys {
    size_t n;            /* digests that are added */
    size_t lookups;      /* digests that are looked up in a timed loop; at most n */
    size_t passes;       /* how many times a round repeats its work, so that small filters take long enough to time */
    size_t rate_lookups; /* absent digests that the rate is measured over; at least `lookups` */
    uint64_t *present;   /* n digests */
    uint64_t *absent;    /* rate_lookups digests */
    uint64_t *half;      /* `lookups` digests, each randomly from present or absent: branches cannot be predicted */
    size_t half_present; /* how many of `half` are present */
    uint64_t *found;     /* a bitmap for the results of `lookups` lookups */
} keys;

/* Makes the digests for n keys. If n is small, rounds are repeated until they have min_operations operations. */
keys keys_make(size_t n, size_t max_lookups, size_t min_operations);
void keys_free(keys *k);

/* Returns how many bytes keys_make allocates. */
uint64_t keys_bytes(size_t n, size_t max_lookups);

/* Returns the time in nanoseconds, for work on `threads` threads. This is wall time. After clock_is_cpu(true) it is the
 * CPU time of this process if threads is 1, which does not include the time that other programs used the processor. */
double now(unsigned threads);
void clock_is_cpu(bool cpu);

/* malloc() that exits with an error if there is no memory. */
void *allocate(size_t bytes);

/* Print a line on stderr. wrong() reports a wrong result of a filter and exits with status 1. fail() reports any other
 * error and exits with status 2. */
#if defined(__GNUC__)
#define BENCH_PRINTS __attribute__((format(printf, 1, 2)))
#else
#define BENCH_PRINTS
#endif
BENCH_PRINTS void say(const char *format, ...);
_Noreturn BENCH_PRINTS void wrong(const char *format, ...);
_Noreturn BENCH_PRINTS void fail(const char *format, ...);

/* Divides 0 … n into one range per thread and calls part(context, from, to) for each, on `threads` threads including
 * the calling one. Ranges begin at multiples of 64, so that no two threads write to the same word of a bitmap. */
void run_parts(unsigned threads, size_t n, void (*part)(void *context, size_t from, size_t to), void *context);

#endif
