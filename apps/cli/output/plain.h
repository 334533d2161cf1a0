/* plain.h: text that is safe to print. File names, notes in files and replies of servers may come from anyone. They
 * must not send commands to the terminal, or forge lines of kith's own. */
#ifndef CLI_PLAIN_H
#define CLI_PLAIN_H

#include <stddef.h>

/* Returns the number of bytes of the UTF-8 character at `text`, which ends in NUL, or 0 if it is invalid: overlong, a
 * surrogate, or above U+10FFFF. */
size_t plain_character(const char *text);

/* Replaces each byte of a control character (C0, DEL, and C1 as UTF-8), and each byte that is not valid UTF-8, by a
 * question mark. On a terminal of 8-bit characters, bytes from 0x80 to 0x9f alone are control characters. */
void plain_make(char *text);

#endif
