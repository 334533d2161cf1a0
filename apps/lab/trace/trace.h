/* trace.h: draws as text, step by step, what tables and filters do: the figures of the documents [2] and [4],
 * insertions into cuckoo tables and cuckoo filters, hash tables with chaining and open addressing, how a Bloom filter
 * fills, and how counters overflow. For `kith lab --trace` and for tests.
 *
 * The drawings show what the library did. The moves come from its traces (kith_table_set_trace, kith_filter_set_trace),
 * the candidate slots are those that its lookups read, and the bits come from kith_filter_cell. Lines are ASCII and at
 * most 79 columns wide. */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Receives the text in pieces. */
typedef void lab_say(void *context, const char *text, size_t bytes);

enum { LAB_TRACE_KEYS_MAX = 12, LAB_TRACE_KEY_BYTES_MAX = 5 };

typedef struct lab_trace_name {
    const char *name;    /* "figure-4" */
    const char *summary; /* what it draws, in a few words */
} lab_trace_name;

/* The number of examples, each of them, and whether it works with any keys of the user: most figures of the documents
 * need keys with certain slots. */
size_t lab_trace_count(void);
const lab_trace_name *lab_trace_at(size_t i);
bool lab_trace_takes_keys(size_t i);

/* Draws the examples i for which chosen[i] is true; the same seed and keys give the same text. `keys` are the user's,
 * at most LAB_TRACE_KEYS_MAX, of at most LAB_TRACE_KEY_BYTES_MAX printable characters, all different; with key_count =
 * 0 the examples use their own. If there are keys, the examples must work with them. Returns NULL, or a sentence that
 * says what went wrong: memory ran out, or the library did something else than its trace reported. The text ends there
 * in that case. */
const char *lab_trace(uint64_t seed, const bool *chosen, const char *const *keys, unsigned key_count, lab_say *say,
                      void *context);

#endif
