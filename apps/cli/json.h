/* json.h: one JSON object on stdout, members in the order of the calls.
 *
 *     json_open(NULL, '{'); json_text("file", path); json_close('}'); json_end();
 *
 * Text that is no UTF-8 comes out as U+FFFD where it is not; a number that JSON can't say (NaN, infinity) as null. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

/* `name` NULL: an element of an array, or the outermost value. */
void json_open(const char *name, char bracket);
void json_close(char bracket);
void json_text(const char *name, const char *text); /* NULL text: null */
void json_integer(const char *name, uint64_t value);
void json_number(const char *name, double value);
void json_bool(const char *name, bool value);
void json_end(void);

#endif
