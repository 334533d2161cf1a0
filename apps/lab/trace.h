/* trace.h: draws as text, step by step, how keys are inserted into a cuckoo table and how a Bloom filter fills. For
 * `kith lab --trace` and for tests.
 *
 * The drawings show what the library did. The moves come from its trace (kith_table_spec.trace), the candidate slots
 * are those that its lookups read, and the bits come from kith_filter_cell. Lines are ASCII and at most 79 columns
 * wide. */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Receives the text in pieces. */
typedef void lab_say(void *context, const char *text, size_t bytes);

/* Draws all examples; the same seed gives the same text. Returns NULL, or a sentence that says what went wrong:
 * memory ran out, or the library did something else than its trace reported. The text ends there in that case. */
const char *lab_trace(uint64_t seed, lab_say *say, void *context);

#endif
