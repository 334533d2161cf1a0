/* input/magic.h: recognises files that are not lists of keys by their first bytes. */
#ifndef CLI_INPUT_MAGIC_H
#define CLI_INPUT_MAGIC_H

#include <stdbool.h>
#include <stddef.h>

/* This many first bytes are enough for every format of the table (a tar header has its signature at byte 257). */
#define MAGIC_HEAD_BYTES 512

/* Returns true, with a message in `reason`, if a file that begins with these bytes is in a known format other than
 * text. With fewer than MAGIC_HEAD_BYTES bytes, some formats may not be recognised. */
bool magic_refuses(const char *head, size_t head_bytes, char *reason, size_t reason_bytes);

/* Returns true if the text begins with the UTF-8 byte order mark, which has MAGIC_BOM_BYTES bytes. */
#define MAGIC_BOM_BYTES 3
bool magic_begins_with_bom(const char *head, size_t head_bytes);

#endif
