/* seen.h: the exact set of keys that came so far, in order.
 *
 * Keys are compared byte by byte: a digest only says where to look, and two keys with one digest are two keys. Beside
 * its bytes an entry has a word for the caller (of `word_bytes` bytes, 0 when new) and, where the caller asks for it,
 * the line that the key came in.
 *
 * Memory: the bytes of each different key, one or two more for its length, and 11 to 14 for the index (more below a
 * million keys, where 512 KiB are the least). Growing copies nothing as a whole. */
#ifndef CLI_SEEN_H
#define CLI_SEEN_H

#include <stdatomic.h>
#include <stdnoreturn.h>

#include "input.h"

/* What one or more sets may hold together; each of them may be in a thread of its own. */
typedef struct seen_room {
    uint64_t limit; /* bytes */
    _Atomic uint64_t taken;
} seen_room;

typedef struct seen seen;

/* `room` must stay. word_bytes: 0 to 8. */
seen *seen_new(seen_room *room, size_t word_bytes, bool keep_lines);

/* The records, at most INPUT_BATCH, one after the other; digests[i] is any good 64-bit hash of key i. is_new[i]: it
 * came for the first time. words[i] (NULL when word_bytes is 0) is the entry's word, unaligned, for as long as the set.
 * False: there is no room, and from now on there never is. */
bool seen_add_many(seen *s, const input_record *records, const uint64_t *digests, size_t n, bool *is_new, char **words);

/* Ends the tool, with what to do about it; for the main thread. */
noreturn void seen_fail(const seen *s);

/* Entries in the order of their first coming; *cursor is 0 at first. False at the end. The line is the key unless
 * lines are kept. */
bool seen_next(const seen *s, uint64_t *cursor, const char **line, size_t *line_bytes, const char **word);

uint64_t seen_count(const seen *s);
uint64_t seen_bytes(const seen *s); /* all memory that it holds */
void seen_free(seen *s);

#endif
