/* seen.h: an exact set of keys, in the order in which they were added.
 *
 * Keys are compared byte by byte. A digest only says where to look; two keys with equal digests are still two keys.
 * Besides the bytes of its key, an entry has a word for the caller (`word_bytes` bytes, initially 0) and, if the caller
 * wants it, the line that the key was read from.
 *
 * Memory: for each distinct key its bytes, one or two bytes for its length, and 11 to 14 bytes for the index (more
 * below a million keys, because the index has at least 512 KiB). Growing does not copy the whole index at once. */
#ifndef CLI_SEEN_H
#define CLI_SEEN_H

#include <stdatomic.h>
#include <stdnoreturn.h>

#include "cli/input/input.h"

/* The memory that one or more sets may use together. Each set may be used by a different thread. */
typedef struct seen_budget {
    uint64_t limit; /* bytes */
    _Atomic uint64_t used;
} seen_budget;

typedef struct seen seen;

/* `budget` must outlive the set. word_bytes is 0 to 8. */
seen *seen_new(seen_budget *budget, size_t word_bytes, bool keep_lines);

/* Adds the keys of at most INPUT_BATCH records in order. digests[i] is any good 64-bit hash of key i. Sets is_new[i] if
 * key i was not in the set, and words[i] to the word of its entry, which is unaligned and valid until the next
 * call (`words` is NULL if word_bytes is 0). Returns false if there is not enough memory; no more keys can be added
 * then. */
bool seen_add_many(seen *s, const input_record *records, const uint64_t *digests, size_t n, bool *is_new, char **words);

/* Ends the tool after seen_add_many() returned false, with advice. Call it in the main thread. */
noreturn void seen_fail(const seen *s);

/* Iterates over the entries in the order in which they were added. *cursor must be 0 at first. Returns false at the
 * end. The line is the key unless lines are kept. */
bool seen_next(const seen *s, uint64_t *cursor, const char **line, size_t *line_bytes, const char **word);

uint64_t seen_count(const seen *s);
uint64_t seen_bytes(const seen *s); /* all memory that it uses */
void seen_free(seen *s);

#endif
