/* input_source.h: the bytes of one input after the other, unpacked where they are packed. */
#ifndef CLI_INPUT_SOURCE_H
#define CLI_INPUT_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input_magic.h"
#include "input_unpack.h"

#define SOURCE_REASON_BYTES 160

/* What is to be made of a file. With all of them false its bytes come as they are. */
typedef struct source_rules {
    bool unpack; /* unpack it when its first bytes are those of an archive */
    bool lines;  /* it is text: a UTF-8 byte order mark at its beginning is left out */
    bool check;  /* refuse it when its first bytes, unpacked, show that it is no text */
    char end;    /* of records: those of a pipe are not held back to look at more bytes */
} source_rules;

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

    bool had_bom;                /* a byte order mark was left out */
    char head[MAGIC_HEAD_BYTES]; /* of an archive: its first bytes, unpacked and not yet handed on */
    size_t head_at, head_bytes;
    bool head_failed; /* behind these it could not be unpacked: s->reason */
} source;

void source_prepare(source *s, _Atomic uint64_t *bytes_done, int stop_fd);

/* Is the next path a pipe or a terminal, which may have nothing to read when it is opened? */
bool source_may_wait(const char *const *paths, size_t next, size_t count);

/* "-" is stdin. Returns false, with s->reason, for a file that is missing, unreadable or a folder, that is packed in a
 * way that this build can't read, and one that the rules refuse. */
bool source_open(source *s, const char *path, const source_rules *rules);

/* Up to `room` bytes, at least 1; 0 at the end, and when stop_fd became readable; -1 and s->reason on failure. */
long long source_read(source *s, char *bytes, size_t room);

void source_close(source *s);   /* the file that is open, if any */
void source_release(source *s); /* and all memory */

#endif
