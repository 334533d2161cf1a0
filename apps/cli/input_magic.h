/* input_magic.h: files that are no list of keys, recognised by their first bytes. */
#ifndef CLI_INPUT_MAGIC_H
#define CLI_INPUT_MAGIC_H

#include <stdbool.h>
#include <stddef.h>

/* This many first bytes are enough for every format of the table (a tar header has its signature at byte 257). */
#define MAGIC_HEAD_BYTES 512

/* True, with the sentence in `reason`, if a file that begins with these bytes is of a known format other than text.
 * With fewer than MAGIC_HEAD_BYTES bytes, only what they show is refused. */
bool magic_refuses(const char *head, size_t head_bytes, char *reason, size_t reason_bytes);

/* True if the text begins with the UTF-8 byte order mark, which has this many bytes. */
#define MAGIC_BOM_BYTES 3
bool magic_begins_with_bom(const char *head, size_t head_bytes);

#endif
