/* input_unpack.h: gzip, zstd, xz, bzip2 and lz4 behind one call. A format that this build has no library for is
 * recognised all the same, and refused by name. */
#ifndef CLI_INPUT_UNPACK_H
#define CLI_INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* This many first bytes are enough to recognise a format, unless the file begins with a skippable frame. */
#define UNPACK_HEAD_BYTES 10

typedef struct unpacker unpacker;

/* Does the name end as those of packed files do? */
bool unpack_knows_name(const char *path);

/* The name of the format of a file that begins with these bytes; NULL if it is not packed. */
const char *unpack_format_of(const char *head, size_t head_bytes);

/* Sets *u to an unpacker for a file that begins with these bytes, or to NULL when it is not packed; `at_end` says that
 * the file has no more of them. Returns false, with a reason, if the format is known but not in this build, and if the
 * name is that of a packed file which has no bytes, or only a part of the signature. */
bool unpack_open(const char *name, const char *head, size_t head_bytes, bool at_end, unpacker **u, char *reason,
                 size_t reason_bytes);

/* Takes from `in` (*used bytes) and gives to `out` (*made bytes), each as far as it goes. `at_end`: nothing follows
 * `in`. Call again while *made is not 0 or there is more to take. Archives may follow one another. NULL, or what is
 * wrong: damaged, followed by something else, or cut (only at the end). The sentence lives as long as u. */
const char *unpack_step(unpacker *u, const char *in, size_t in_bytes, size_t *used, bool at_end, char *out,
                        size_t out_bytes, size_t *made);

/* NULL is fine. */
void unpack_close(unpacker *u);

#endif
