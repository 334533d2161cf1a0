/* json.h: prints a JSON object on stdout, with its members in the order of the calls.
 *
 *     json_open(NULL, '{'); json_text("file", path); json_close('}'); json_end();
 *
 * Bytes that are not UTF-8 are printed as U+FFFD, and numbers that JSON does not have (NaN, infinity) as null. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `name` is NULL for an element of an array and for the outermost value. */
void json_open(const char *name, char bracket);
void json_close(char bracket);
void json_text(const char *name, const char *text);                      /* null if text is NULL */
void json_bytes(const char *name, const void *bytes, size_t byte_count); /* text that may contain NULs */
void json_integer(const char *name, uint64_t value);
void json_number(const char *name, double value);
void json_bool(const char *name, bool value);
void json_end(void);

#endif
