/* values.h: reads and writes numbers the way people write them.
 *
 *     rate    0.1%  0.001  1/1000  1e-3      greater than 0 and less than 1
 *     count   10M  1e7  10_000_000           K, M, G, T are powers of 1000
 *     size    64MiB  1G  1e9  512            KiB, MiB, GiB, TiB are powers of 1024; K, KB, M, … of 1000
 *
 * The read functions set the value and return NULL, or return a phrase that says what is wrong with the text. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdint.h>

const char *read_rate(const char *text, double *rate);
const char *read_count(const char *text, uint64_t *count);
const char *read_size(const char *text, uint64_t *bytes);

/* Reads a count, or a time with its unit: 5s, 0.5s, 500ms. The other value is set to 0. */
const char *read_count_or_time(const char *text, uint64_t *count, uint64_t *milliseconds);

/* Reads a whole number, decimal or hexadecimal with 0x: a seed, a column, a number of threads. */
const char *read_number(const char *text, uint64_t *number);

/* A buffer for one number. Each of these functions writes into it and returns it. */
typedef char value_text[32];

const char *text_of_count(uint64_t count, value_text text);       /* 999, 12.4K, 10M */
const char *text_of_count_exact(uint64_t count, value_text text); /* 999, 12345, 10K, 1500K: as -n accepts it */
const char *text_of_size(uint64_t bytes, value_text text);        /* 512 B, 1.9 MB */
const char *text_of_rate(double rate, value_text text);           /* 0.1%, 0.0098% */
/* The same, with as many digits more as distinguish the text from that of another rate: 1.005%, which is not 1%. */
const char *text_of_rate_beside(double rate, double other, value_text text);
const char *text_of_integer(uint64_t number, value_text text); /* 1,234,567 */
const char *text_of_keys(uint64_t count, value_text text);     /* 1 key, 1,234 keys */

#endif
