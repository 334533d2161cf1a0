/* input_unpack.h: gzip, zstd and xz behind one call. What is left out of a build is known by name all the same. */
#ifndef CLI_INPUT_UNPACK_H
#define CLI_INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* So many first bytes tell what a file is. */
#define UNPACK_HEAD_BYTES 6

typedef struct unpacker unpacker;

/* Does the name end as those of packed files do? */
bool unpack_knows_name(const char *path);

/* *u for a file that begins so: NULL when it is not packed. False, and a reason: known, but not in this build. */
bool unpack_open(const char *head, size_t head_bytes, unpacker **u, char *reason, size_t reason_bytes);

/* Takes from `in` (*used bytes) and gives to `out` (*made bytes), each as far as it goes. `at_end`: nothing follows
 * `in`. Call again while *made is not 0 or there is more to take. Archives may follow one another. NULL, or what is
 * wrong: damaged, followed by something else, or cut (only at the end). The sentence lives as long as u. */
const char *unpack_step(unpacker *u, const char *in, size_t in_bytes, size_t *used, bool at_end, char *out,
                        size_t out_bytes, size_t *made);

/* NULL is fine. */
void unpack_close(unpacker *u);

#endif
