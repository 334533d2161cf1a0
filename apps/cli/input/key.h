/* input/key.h: makes the key of a record, as the shape says. */
#ifndef CLI_INPUT_KEY_H
#define CLI_INPUT_KEY_H

#include "cli/input/input.h"

/* Returns true if the key is always the whole line, so that key_of() need not be called. */
bool key_is_line(const input_shape *shape);

/* Returns true if keys may have to be rewritten; key_of() then needs a buffer. */
bool key_needs_buffer(const input_shape *shape);

/* Sets the type of the keys, after all other fields. No number or UUID ends in CR, so one before a newline belongs to
 * the end of the line. */
void key_set_type(input_shape *shape, kith_key_type type);

/* Returns true if keys are numbers or UUIDs that are read as text; key_of() then needs `typed`. */
bool key_is_read(const input_shape *shape);

/* Returns true if a record may have several lines: with quoted columns, unless records end in NUL. */
bool key_has_lines(const input_shape *shape);

/* Returns true if a CR could become part of a key unintentionally, that is, without --no-crlf. */
bool key_may_have_cr(const input_shape *shape);

/* Returns true if a NUL could become part of a key unintentionally: of text, unless --text is given. */
bool key_may_have_nul(const input_shape *shape);

/* What key_of() returns for a CSV line whose record continues on the next line, and for one with CR after a quote. */
extern const char KEY_QUOTE_OPEN[], KEY_QUOTE_AND_CR[];

/* The end of every message about quotes: how to read files in which a quote is an ordinary character. */
#define KEY_NO_QUOTES " (--no-quotes treats quotes as ordinary characters)"

/* The state at the end of a CSV line that begins with an open quote. OPEN: a quote is open, and the record continues on
 * the next line. CLOSED: the record is complete. BROKEN: a closing quote is followed by more of its field. */
typedef enum key_quotes { KEY_QUOTES_CLOSED, KEY_QUOTES_OPEN, KEY_QUOTES_BROKEN } key_quotes;
key_quotes key_quotes_of(const char *line, size_t line_bytes, char delim);

/* The bytes of a number or UUID. */
typedef uint8_t key_typed[KITH_TYPED_KEY_BYTES];

/* Sets record->key from record->line. The key points into the line, into `buffer`, which has line_bytes bytes, or is
 * `typed`. Returns NULL, or what is wrong with the record: a constant, or `reason`. */
const char *key_of(const input_shape *shape, input_record *record, char *buffer, key_typed *typed, char *reason,
                   size_t reason_bytes);

/* Converts the ASCII letters of the key to lower case, in `buffer`, which may be where the key is. */
void key_fold(input_record *record, char *buffer);

#endif
