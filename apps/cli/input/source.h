/* input/source.h: reads the bytes of one input after the other, and decompresses archives. */
#ifndef CLI_INPUT_SOURCE_H
#define CLI_INPUT_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/input/magic.h"
#include "cli/input/unpack.h"

#define SOURCE_REASON_BYTES 240
#define SOURCE_HEAD_BYTES ((size_t)64 << 10) /* a NUL in the first bytes of a text is an error in any case */

/* What a NUL in a text means: nothing; an error if it is in the first bytes, when the file is opened (the caller looks
 * for others); also an error if it comes later; or else a note (source.nul). */
typedef enum source_nuls { SOURCE_NULS_KEPT, SOURCE_NULS_IN_HEAD, SOURCE_NULS_STOP, SOURCE_NULS_NOTED } source_nuls;

extern const char SOURCE_NUL_STOPS[]; /* the reason for such an error */

/* How to read a file. If all are false, its bytes are passed on unchanged. */
typedef struct source_rules {
    bool unpack;            /* decompress it if its first bytes are those of an archive */
    bool lines;             /* it is text: skip a UTF-8 byte order mark at its beginning */
    bool check;             /* refuse it if its first bytes, after decompression, are not text */
    uint64_t unpack_memory; /* see input.h */
    source_nuls nuls;
    char end; /* the end of a record; complete records of a pipe are not delayed to recognise the format */
} source_rules;

typedef struct source {
    const char *name; /* for messages: the path, or "stdin" */
    char reason[SOURCE_REASON_BYTES];
    bool prompt; /* a pipe or a terminal: what was read is passed on before waiting for more */

    _Atomic uint64_t *bytes_done; /* bytes read of the files, before decompression; another thread reads it */
    int stop_fd;                  /* stop waiting when it becomes readable; -1: none */

    /* Called before it waits for a pipe or a terminal that has nothing to read; may be NULL. */
    void (*before_wait)(void *context);
    void *before_wait_context;

    int (*attend)(void *context, bool now); /* input_shape.attend, if there is no reader thread; else NULL */
    void *attend_context;

    int fd;
    bool at_end;        /* of the file, before decompression */
    unpacker *unpacker; /* NULL: plain */
    char *packed;       /* bytes read and not yet decompressed or passed on */
    size_t packed_at, packed_bytes;

    source_nuls nuls;
    uint64_t text_bytes; /* passed on so far */
    const char *nul;     /* the first NUL in the bytes that were passed on last, if it is to be noted */
    bool nul_stopped;    /* reading has failed because a NUL follows the bytes that were passed on */

    bool had_bom;                 /* a byte order mark was skipped */
    char head[SOURCE_HEAD_BYTES]; /* the first decompressed bytes of an archive, not yet passed on */
    size_t head_at, head_bytes;
    bool head_failed; /* decompression failed after these bytes: s->reason */
} source;

void source_prepare(source *s, _Atomic uint64_t *bytes_done, int stop_fd);

/* Returns true if the next path is a pipe or a terminal, which may have nothing to read when it is opened. */
bool source_may_wait(const char *const *paths, size_t next, size_t count);

/* Opens a file; "-" is stdin. Returns false, with s->reason, if the file is missing, unreadable or a folder, if this
 * build cannot decompress it, or if the rules refuse it. */
bool source_open(source *s, const char *path, const source_rules *rules);

/* Reads 1 to `max_bytes` bytes. Returns 0 at the end and when stop_fd becomes readable, and -1 with s->reason on
 * failure. Bytes before a NUL that stops reading are passed on first. */
long long source_read(source *s, char *bytes, size_t max_bytes);

void source_close(source *s);   /* closes the open file, if any */
void source_release(source *s); /* also frees all memory */

#endif
