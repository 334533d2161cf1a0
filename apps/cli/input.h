/* input.h: keys out of files, pipes and compressed files, in every shape that the options name.
 *
 *     files, stdin, .gz .zst .xz  ->  blocks  ->  lines (or NUL-ended, or fixed records)  ->  key of each  ->  batches
 *
 * Reads in large blocks, in a thread of its own when `threads` allows. A batch stays valid until the next call. Every
 * failure (missing file, folder, broken quote, bad JSON, odd hex, cut record, broken archive) ends the tool with one
 * line that names file and line, unless skip_bad counts it and goes on. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INPUT_BATCH 1024

typedef struct input_shape {
    char end;               /* '\n', or '\0' with -0 */
    bool crlf;              /* a '\r' before the newline goes */
    size_t fixed_bytes;     /* 0, or binary records of this size */
    unsigned field;         /* 0: the whole line; else a column, from 1 */
    char delim;             /* of columns; ',' means CSV with quotes */
    const char *json_field; /* NULL, or a name at the top level of a JSON object a line: a string or a number */
    bool hex;               /* the key is what the hex digits say */
    bool fold;              /* ASCII letters to lower case */
    bool trim;              /* white space at both ends goes */
    bool skip_bad;          /* count records that can't be read, and go on */
    unsigned threads;       /* 1: everything in the caller's thread */
} input_shape;

typedef struct input_record {
    const char *key;
    size_t key_bytes;
    const char *line; /* as it came, without its end: what query and uniq print */
    size_t line_bytes;
} input_record;

typedef struct input input;

/* No paths, or "-": stdin. A missing file is reported when it is reached; `.gz` and the like are known by their first
 * bytes, whatever their name. */
input *input_open(const char *const *paths, size_t path_count, const input_shape *shape);

/* The next 1 to INPUT_BATCH records; 0 at the end. */
size_t input_next(input *in, const input_record **records);

uint64_t input_bytes_done(const input *in);  /* of the files, compressed as they are: for progress */
uint64_t input_bytes_total(const input *in); /* 0 when unknown (a pipe among them) */
uint64_t input_skipped(const input *in);     /* records left out by skip_bad */
void input_close(input *in);

#endif
