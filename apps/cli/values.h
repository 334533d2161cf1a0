/* values.h: numbers as people write them, and back.
 *
 *     rate    0.1%  0.001  1/1000  1e-3      between 0 and 1, both excluded
 *     count   10M  1e7  10_000_000           K, M, G, T are powers of a thousand
 *     size    64MiB  1G  1e9  512            KiB, MiB, GiB, TiB are powers of 1024; K, KB, M, … of a thousand
 *
 * A reader answers NULL and the value, or a phrase that says what is wrong with the text. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdint.h>

const char *read_rate(const char *text, double *rate);
const char *read_count(const char *text, uint64_t *count);
const char *read_size(const char *text, uint64_t *bytes);

/* A whole number, decimal or with 0x: seeds, columns, threads. Numbers without a unit are whole everywhere. */
const char *read_number(const char *text, uint64_t *number);

/* Room for one number as text; each of these writes into it and answers it. */
typedef char value_text[32];

const char *text_of_count(uint64_t count, value_text text);       /* 999, 12.4K, 10M */
const char *text_of_count_exact(uint64_t count, value_text text); /* 999, 12345, 10K, 1500K: as -n takes it */
const char *text_of_size(uint64_t bytes, value_text text);        /* 512 B, 1.9 MB */
const char *text_of_rate(double rate, value_text text);           /* 0.1%, 0.0098% */
const char *text_of_integer(uint64_t number, value_text text);    /* 1,234,567 */
const char *text_of_keys(uint64_t count, value_text text);        /* 1 key, 1,234 keys */

#endif
