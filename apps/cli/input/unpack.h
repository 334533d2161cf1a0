/* input/unpack.h: decompresses gzip, zstd, xz, bzip2 and lz4 through one interface. A format that this build has no
 * library for is still recognised, and refused with an error that names it. */
#ifndef CLI_INPUT_UNPACK_H
#define CLI_INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This many first bytes are enough to recognise a format, unless the file begins with a skippable frame. */
#define UNPACK_HEAD_BYTES 10

/* Archives that need the minimum are read whatever the limit is: those of gzip, bzip2 and lz4, and those of xz without
 * options and zstd up to -19. Archives that need more than the maximum (zstd --long=28, for example) are always
 * refused. */
#define UNPACK_MEMORY_MIN ((uint64_t)10 << 20)
#define UNPACK_MEMORY_MAX ((uint64_t)128 << 20)

typedef struct unpacker unpacker;

/* Returns true if the name ends like that of a compressed file. */
bool unpack_knows_name(const char *path);

/* Returns the name of the format of a file that begins with these bytes; NULL if it is not compressed. */
const char *unpack_format_of(const char *head, size_t head_bytes);

/* Sets *u to an unpacker for a file that begins with these bytes, or to NULL if it is not compressed. `at_end` says
 * that the file has no more bytes. Returns false, with a reason, if this build does not support the format, if the file
 * has the name of a compressed file but not the first bytes of this format, or if a gzip header is damaged. */
bool unpack_open(const char *name, const char *head, size_t head_bytes, bool at_end, unpacker **u, char *reason,
                 size_t reason_bytes);

/* Sets a limit before the first step: unpack_step() refuses an archive that needs a window of more than `memory` bytes,
 * or UNPACK_MEMORY_MIN if that is more. At first, and with 0, the limit is UNPACK_MEMORY_MAX. Returns false if there is
 * not enough memory. */
bool unpack_limit(unpacker *u, uint64_t memory);

/* Decompresses from `in` to `out` as far as possible, and sets *used and *made to the bytes read and written. `at_end`
 * says that nothing follows `in`. Call it again while *made is not 0 or there is more input. Archives may be
 * concatenated. Returns NULL, or what is wrong: damaged, followed by other data, or truncated (only at the end). The
 * text lives as long as u. */
const char *unpack_step(unpacker *u, const char *in, size_t in_bytes, size_t *used, bool at_end, char *out,
                        size_t out_bytes, size_t *made);

/* NULL is fine. */
void unpack_close(unpacker *u);

#endif
