/* trace.h: draws as text, step by step, how keys are inserted into cuckoo tables and cuckoo filters, how a Bloom filter
 * fills, and how counters overflow. For `kith lab --trace` and for tests.
 *
 * The drawings show what the library did. The moves come from its trace (kith_table_set_trace), the candidate slots
 * are those that its lookups read, and the bits come from kith_filter_cell. Lines are ASCII and at most 79 columns
 * wide. */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Receives the text in pieces. */
typedef void lab_say(void *context, const char *text, size_t bytes);

enum { LAB_TRACE_KEYS_MAX = 12, LAB_TRACE_KEY_BYTES_MAX = 5 };

/* Draws all examples; the same seed and keys give the same text. With keys of the user's own (at most
 * LAB_TRACE_KEYS_MAX, of at most LAB_TRACE_KEY_BYTES_MAX printable characters, all different), only the examples that
 * work with any keys are drawn; the figures of the documents need keys with certain slots. Returns NULL, or a sentence
 * that says what went wrong: memory ran out, or the library did something else than its trace reported. The text ends
 * there in that case. */
const char *lab_trace(uint64_t seed, const char *const *keys, unsigned key_count, lab_say *say, void *context);

#endif
