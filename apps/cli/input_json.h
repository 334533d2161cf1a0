/* input_json.h: a field of a line of JSON. */
#ifndef CLI_INPUT_JSON_H
#define CLI_INPUT_JSON_H

#include "input.h"

/* Sets record->key to the value of the field `name` at the top level of the object that record->line is: a string,
 * decoded to UTF-8, or a number, as it is written; *is_number tells which. Of two fields of one name the last counts,
 * as in most readers. The whole line must be JSON (RFC 8259). `room` has place for line_bytes. NULL, or what is wrong.
 *
 * Typed keys (json_typed of input_shape), made of that by key_of:
 *
 *     string           its bytes                                        "1"        31
 *     string           a 0x00 byte and its bytes, if it begins with     "\u00001"  00 00 31
 *                      U+0000, so that it is not taken for a number
 *     number           a 0x00 byte and its text as it is written        1          00 31
 *
 * 1, 1.0 and 1e0 are three keys: comparing them as values would need a rule for numbers that no double holds. --trim
 * and -i come before the type is added. With --hex only strings are taken, and their keys are the decoded bytes
 * alone. */
const char *json_key(const char *name, input_record *record, bool *is_number, char *room, char *reason,
                     size_t reason_bytes);

#endif
