/* trace.h: stories of the structures, drawn step by step as text: how a key gets into a cuckoo table, and how the bits of a
 * Bloom filter fill. For `kith lab --trace` and for tests.
 *
 * What is drawn is what the library did: moves are those of its trace (kith_table_spec.trace), places those that its look-ups
 * look at, bits those that kith_filter_cell tells. Lines have 79 columns at most, in ASCII. */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Gets the text piece by piece. */
typedef void lab_say(void *context, const char *text, size_t bytes);

/* All stories, the same for the same seed. NULL, or a sentence that says what went wrong: memory, or the library did another
 * thing than its trace told. The text ends there then. */
const char *lab_trace(uint64_t seed, lab_say *say, void *context);

#endif
