/* bench.h: what the parts of the filters' bench share: keys, the clock, threads, and the way out. */
#ifndef KITH_BENCH_H
#define KITH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digests of one n. All come from one counter through a mix that maps no two words to one, and the absent ones from
 * another range of it: a digest is in the filter or is not, with no chance of an accident. */
typedef struct keys {
    size_t n;          /* digests that go in */
    size_t asks;       /* digests that a timed look-up asks; at most n */
    size_t passes;     /* times that a round repeats its work: small filters would be done before the clock moves */
    size_t rate_asks;  /* digests that the rate is measured over; at least asks */
    uint64_t *in;      /* n */
    uint64_t *absent;  /* rate_asks */
    uint64_t *half;    /* asks: each of in or of absent, as a coin says, so that no branch can be foreseen */
    size_t half_in;    /* how many of half are of in */
    uint64_t *answers; /* a bitmap for asks */
} keys;

/* A round of small n is repeated until it comes to least_operations. */
keys keys_make(size_t n, size_t most_asks, size_t least_operations);
void keys_free(keys *k);

/* Bytes that keys_make takes. */
uint64_t keys_bytes(size_t n, size_t most_asks);

/* The finaliser of splitmix64: a bijection of words. */
uint64_t mix(uint64_t word);

/* Nanoseconds since some moment, for work of so many threads: by the wall, or after clock_is_cpu(true) by the processor time of
 * this program where one thread works. The latter leaves out the time that other programs held the processor. */
double now(unsigned threads);
void clock_is_cpu(bool cpu);

/* Malloc; the bench ends when there is no memory. */
void *take(size_t bytes);

/* A line on stderr. wrong() is for answers that are wrong and ends the bench with status 1, fail() is for all else and ends it
 * with status 2. */
#if defined(__GNUC__)
#define BENCH_PRINTS __attribute__((format(printf, 1, 2)))
#else
#define BENCH_PRINTS
#endif
BENCH_PRINTS void say(const char *format, ...);
_Noreturn BENCH_PRINTS void wrong(const char *format, ...);
_Noreturn BENCH_PRINTS void fail(const char *format, ...);

/* Calls part(context, from, to) over pieces of 0 … n, in so many threads; the calling one is one of them. Pieces begin at
 * multiples of 64, so that no two share a word of a bitmap. */
void run_parts(unsigned threads, size_t n, void (*part)(void *context, size_t from, size_t to), void *context);

#endif
