/* input_key.h: the key of a record, as the shape says. */
#ifndef CLI_INPUT_KEY_H
#define CLI_INPUT_KEY_H

#include "input.h"

/* True when key and line are one and the same, so that key_of need not be asked. */
bool key_is_line(const input_shape *shape);

/* True when keys may have to be written anew: key_of then needs room. */
bool key_needs_room(const input_shape *shape);

/* True when a record may have several lines: columns in quotes, unless records end in NUL. */
bool key_has_lines(const input_shape *shape);

/* True when a CR may get into a key without --no-crlf, which says that it should. */
bool key_may_have_cr(const input_shape *shape);

/* What key_of says of a line of CSV whose record goes on in the next one, and of one with CR at its end. */
extern const char KEY_QUOTE_OPEN[], KEY_QUOTE_AND_CR[];

/* Ends every sentence on quotes: how to read files in which a quote is a byte like any other. */
#define KEY_NO_QUOTES " (--no-quotes reads quotes as plain bytes)"

/* What is at the end of a line of CSV at whose beginning a quote is open: one is open still, and the record goes on in
 * the next line; or it does not, for it is whole, or broken, with more of a field behind its closing quote. */
typedef enum key_quotes { KEY_QUOTES_CLOSED, KEY_QUOTES_OPEN, KEY_QUOTES_BROKEN } key_quotes;
key_quotes key_quotes_of(const char *line, size_t line_bytes, char delim);

/* Sets record->key from record->line. The key points into the line, or into `room`, which must have place for
 * line_bytes. NULL, or what is wrong with the record: constant, or in `reason`. */
const char *key_of(const input_shape *shape, input_record *record, char *room, char *reason, size_t reason_bytes);

#endif
