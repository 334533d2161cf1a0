/* input.h: keys out of files, pipes and compressed files, in every shape that the options name.
 *
 *     files, stdin, .gz .zst .xz  ->  blocks  ->  lines (or NUL-ended, or fixed records)  ->  key of each  ->  batches
 *
 * Reads in large blocks, in a thread of its own when `threads` allows. A batch stays valid until the next call. Every
 * failure ends the tool with one line that names the file and, for a record, its number; the records before it have
 * been handed out by then. A bad record (broken quote, missing column, bad JSON, odd hex, cut fixed record) is counted
 * and left out where skip_bad says so; a missing file, a folder or a broken archive never is.
 *
 * The plain case costs little beside read(2): lines are not copied, and two threads split about 2 GB/s. Memory: three
 * blocks of 256 KiB with up to 512 KiB of records each, more only for a longer line.
 *
 * A record is a line, whatever is in it: CSV with a newline inside quotes is refused by line number (a quote is not
 * closed) unless records end in NUL. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_BATCH 1024

typedef struct input_record {
    const char *key;
    size_t key_bytes;
    const char *line; /* as it came, without its end: what query and uniq print */
    size_t line_bytes;
} input_record;

typedef void input_mark(void *context, const input_record *records, const uint64_t *digests, size_t n, bool *marks);

typedef struct input_shape {
    char end;               /* '\n', or '\0' with -0 */
    bool crlf;              /* a '\r' before the newline goes */
    size_t fixed_bytes;     /* 0, or binary records of this size */
    unsigned field;         /* 0: the whole line; else a column, from 1 */
    char delim;             /* of columns; ',' means CSV with quotes, others have none */
    const char *json_field; /* NULL, or a name at the top level of a JSON object a line: a string or a number */
    bool hex;               /* the key is what the hex digits say, after trim */
    bool fold;              /* ASCII letters to lower case */
    bool trim;              /* white space at both ends goes */
    bool skip_bad;          /* count records that can't be read, and go on */
    unsigned threads;       /* 1: everything in the caller's thread */

    /* NULL, or digests come with the records, made by the thread that reads. */
    uint64_t (*digest)(const void *context, const char *key, size_t key_bytes);
    const void *digest_context;

    /* NULL, or a share of the caller's work that the thread that reads does when it has the digests: called for all
     * records in order, in stretches of any length. What it leaves in `marks` comes with the records. */
    input_mark *mark;
    void *mark_context;
} input_shape;

typedef struct input input;

/* No paths, or "-": stdin. A missing file is reported when it is reached; gzip, zstd and xz are known by their first
 * bytes, whatever their name, and read as far as this build has their libraries. `paths` must stay. */
input *input_open(const char *const *paths, size_t path_count, const input_shape *shape);

/* The next 1 to INPUT_BATCH records; 0 at the end. Lines of a pipe are handed out before more is waited for. */
size_t input_next(input *in, const input_record **records);

/* The digests and marks of the records that were given last. */
const uint64_t *input_digests(const input *in);
const bool *input_marks(const input *in);

uint64_t input_bytes_done(const input *in);  /* of the files, compressed as they are: for progress */
uint64_t input_bytes_total(const input *in); /* 0 when unknown (a pipe among them) */
uint64_t input_skipped(const input *in);     /* records left out by skip_bad */
void input_close(input *in);                 /* at any time, even when a pipe is silent */

#endif
