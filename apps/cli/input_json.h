/* input_json.h: a field of a line of JSON. */
#ifndef CLI_INPUT_JSON_H
#define CLI_INPUT_JSON_H

#include "input.h"

/* Sets record->key to the value of the field `name` at the top level of the object that record->line is: a string,
 * decoded to UTF-8, or a number, as it is written. Of two fields of one name the last counts, as in most readers. The
 * whole line must be JSON (RFC 8259). `room` has place for line_bytes. NULL, or what is wrong. */
const char *json_key(const char *name, input_record *record, char *room, char *reason, size_t reason_bytes);

#endif
