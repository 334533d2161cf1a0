/* input/parse_json.h: extracts the key from a line of JSON. */
#ifndef CLI_INPUT_JSON_H
#define CLI_INPUT_JSON_H

#include "cli/input/input.h"

/* Sets record->key to the value of the field `name` at the top level of the JSON object in record->line: a string,
 * decoded to UTF-8, or a number, as it is written. *is_number says which. If a name occurs twice, the last value is
 * used, as in most parsers. The whole line must be valid JSON (RFC 8259). `buffer` has line_bytes bytes.
 * Returns NULL, or what is wrong.
 *
 * Typed keys (input_shape.json_typed), which key_of makes from that value:
 *
 *     string           its bytes                                        "1"        31
 *     string           a 0x00 byte and its bytes, if it begins with     "\u00001"  00 00 31
 *                      U+0000, so that it is not mistaken for a number
 *     number           a 0x00 byte and its text as it is written        1          00 31
 *
 * 1, 1.0 and 1e0 are three keys: comparing them as values would need a rule for numbers that do not fit a double.
 * --trim and -i are applied before the type is added. With --hex only strings are accepted, and their keys are just the
 * decoded bytes. */
const char *json_key(const char *name, input_record *record, bool *is_number, char *buffer, char *reason,
                     size_t reason_bytes);

#endif
