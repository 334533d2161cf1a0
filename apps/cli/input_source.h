/* input_source.h: the bytes of one input after the other, unpacked where they are packed. */
#ifndef CLI_INPUT_SOURCE_H
#define CLI_INPUT_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input_unpack.h"

#define SOURCE_REASON_BYTES 160

typedef struct source {
    const char *name; /* for messages: the path, or "stdin" */
    char reason[SOURCE_REASON_BYTES];
    bool prompt; /* a pipe or a terminal: what has come is handed on before more is waited for */

    _Atomic uint64_t *bytes_done; /* of the files as they lie; another thread reads it */
    int stop_fd;                  /* readable: stop waiting for more; or -1 */

    /* Called before the source waits for a pipe or a terminal that has nothing to read; or NULL. */
    void (*before_wait)(void *context);
    void *before_wait_context;

    int fd;
    bool at_end;        /* of the file as it lies */
    unpacker *unpacker; /* NULL: plain */
    char *packed;       /* bytes read and not yet unpacked or handed on */
    size_t packed_at, packed_bytes;
} source;

void source_prepare(source *s, _Atomic uint64_t *bytes_done, int stop_fd);

/* Is the next path a pipe or a terminal, which may have nothing to read when it is opened? */
bool source_may_wait(const char *const *paths, size_t next, size_t count);

/* "-" is stdin. A file that may be packed is, when its first bytes say so. False, and s->reason: missing, unreadable, a
 * folder, packed in a way that this build can't read. */
bool source_open(source *s, const char *path, bool may_be_packed);

/* Up to `room` bytes, at least 1; 0 at the end, and when stop_fd became readable; -1 and s->reason on failure. */
long long source_read(source *s, char *bytes, size_t room);

void source_close(source *s);   /* the file that is open, if any */
void source_release(source *s); /* and all memory */

#endif
