/* input.h: keys out of files, pipes and compressed files, in every shape that the options name.
 *
 *     files, stdin, archives  ->  blocks  ->  lines (or NUL-ended, or fixed records)  ->  key of each  ->  batches
 *
 * Reads in large blocks, in a thread of its own when `threads` allows. A batch stays valid until the next call. Every
 * failure ends the tool with one line that names the file and, for a record, its number; the records before it have
 * been handed out by then: a line where records are lines, so that an editor finds it. A bad record (broken quote,
 * missing column, bad JSON, odd hex, cut fixed record) is counted and left out where skip_bad says so; a missing file,
 * a folder, a broken archive or a file that is no text never is.
 *
 * A UTF-8 byte order mark at the beginning of a file of lines belongs neither to the first key nor to the first line; a
 * note on stderr says so, once per file.
 *
 * The plain case costs little beside read(2): lines are not copied, and two threads split about 2 GB/s. Memory: eight
 * blocks, one with one thread, of 256 KiB with up to 640 KiB of records and digests and, for keys that must be written
 * anew, 256 KiB more: 10 MB at most. Records that are longer than a block make it grow to up to twice their size.
 *
 * Lines are records, but for columns in quotes (CSV), whose records go on, up to 4 MiB, where a quote is open at the
 * end of a line. A record whose quote is not closed by then, or at the end of the file, is bad, as is one in which more
 * of a field follows a closing quote; its number is that of its first line. skip_bad leaves out that line, counted as
 * one record, and goes on with the next. */
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

/* What the CR of a line that ends in CR LF is. Undecided, the first such line is an error, or a note on stderr, after
 * which the CR is a byte of the key; cr_stops says which. Where the CR can't get into a key (--trim, --hex, JSON) it is
 * ignored. */
typedef enum input_cr { INPUT_CR_UNDECIDED, INPUT_CR_STRIP, INPUT_CR_KEEP } input_cr;

typedef struct input_shape {
    char end;               /* '\n', or '\0' with -0 */
    input_cr cr;            /* whether a '\r' before the newline is part of the key */
    bool cr_stops;          /* undecided: the first one is an error */
    bool text;              /* take files for what their bytes are: unpack none and refuse none */
    size_t fixed_bytes;     /* 0, or binary records of this size */
    unsigned field;         /* 0: the whole line; else a column, from 1 */
    char delim;             /* of columns */
    bool quotes;            /* columns may be in quotes, as in CSV */
    const char *json_field; /* NULL, or a name at the top level of a JSON object per line: a string or a number */
    bool json_typed;        /* the number 1 and the string "1" are different keys: see input_json.h */
    bool hex;               /* the key is what the hex digits say, after trim */
    bool fold;              /* ASCII letters to lower case */
    bool trim;              /* white space at both ends goes */
    bool skip_bad;          /* count records that can't be read, and go on */
    unsigned threads;       /* 1: everything in the caller's thread */

    /* NULL, or digests come with the records, made by the thread that reads. */
    void (*digest)(const void *context, const input_record *records, size_t n, uint64_t *digests);
    const void *digest_context;

    /* NULL, or a share of the caller's work that the thread that reads does when it has the digests: called for all
     * records in order, in stretches of any length. What it leaves in `marks` comes with the records. */
    input_mark *mark;
    void *mark_context;
} input_shape;

typedef struct input input;

/* No paths, or "-": stdin. A missing file is reported when it is reached. gzip, zstd, xz, bzip2 and lz4 are recognised
 * by their first bytes, whatever their name, and read if this build has the library; fixed records, which may begin
 * with any bytes, are unpacked only from files with the name of an archive (.gz, .zst, .xz, .bz2, .lz4). Files of lines
 * that are in a known format other than text (input_magic.c) are refused. `paths` must stay. */
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
