/* input_key.h: the key of a record, as the shape says. */
#ifndef CLI_INPUT_KEY_H
#define CLI_INPUT_KEY_H

#include "input.h"

/* True when key and line are one and the same, so that key_of need not be asked. */
bool key_is_line(const input_shape *shape);

/* True when keys may have to be written anew: key_of then needs room. */
bool key_needs_room(const input_shape *shape);

/* Sets record->key from record->line. The key points into the line, or into `room`, which must have place for
 * line_bytes. NULL, or what is wrong with the record: constant, or in `reason`. */
const char *key_of(const input_shape *shape, input_record *record, char *room, char *reason, size_t reason_bytes);

#endif
