/* input.h: reads keys from files, pipes and compressed files, in all the formats that the options name.
 *
 *     files, stdin, archives  ->  chunks  ->  lines (or NUL-ended, or fixed records)  ->  key of each  ->  batches
 *
 * The input is read in large chunks, by a separate thread if `threads` allows it. A batch is valid until the next call.
 * Every failure ends the tool with one line that names the file and, for a record, its number; where records are lines,
 * that is the line number, so that an editor can find it. All records before it have been returned by then. A bad
 * record (broken quote, missing column, bad JSON, odd hex, no number or UUID, incomplete fixed record) is counted and
 * skipped with skip_bad. A missing file, a folder, a damaged archive or a file that is not text is always an error.
 *
 * Text has no NULs: unless records end in NUL, are fixed, hex or JSON, or `text` is set, a file with a NUL in its first
 * 64 KiB is refused, and a later one is an error (nul_stops), or a note on stderr, once.
 *
 * A UTF-8 byte order mark at the beginning of a file of lines belongs neither to the first key nor to the first line; a
 * note on stderr says so, once per file.
 *
 * In the plain case the cost is small compared with read(2): lines are not copied, and two threads split about 2 GB/s.
 *
 * Memory: eight chunks (one chunk with one thread) of 256 KiB, each with up to 640 KiB of records and digests and, if
 * keys are rewritten, another 256 KiB: 10 MB at most, and up to 4 MB that are carried from one chunk to the next. A
 * record that is longer than a chunk makes it grow, and if keys are rewritten, they take as much again. All chunks
 * together grow by `memory` bytes at most: the reader waits until chunks before it are used, and a record that would
 * need more by itself is an error. With digest_only, keys that are the whole record are hashed as they are read, and
 * may have any length.
 *
 * Records are lines, except for quoted columns (CSV): there, a record continues on the next line while a quote is open,
 * up to 4 MiB. A record is bad if its quote is not closed by then or by the end of the file, or if a closing quote is
 * not followed by a delimiter or the end of the line; its number is that of its first line. skip_bad skips that line,
 * counts it as one record, and continues with the next line. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kith/hash.h>
#include <kith/keys.h>

#define INPUT_BATCH 1024
#define INPUT_RECORD_BYTES ((size_t)256 << 10) /* records up to this size need no more memory than short ones */

typedef struct input_record {
    const char *key;
    size_t key_bytes;
    const char *line; /* as read, without its end: what query and uniq print */
    size_t line_bytes;
} input_record;

typedef void input_mark(void *context, const input_record *records, const uint64_t *digests, size_t n, bool *marks);

/* What to do with the CR of a line that ends in CR LF. If undecided, the first such line is an error (with cr_stops),
 * or a note on stderr, after which the CR is part of the key. Where a CR cannot become part of a key (--trim, --hex,
 * JSON), it is ignored. */
typedef enum input_cr { INPUT_CR_UNDECIDED, INPUT_CR_STRIP, INPUT_CR_KEEP } input_cr;

typedef struct input_shape {
    char end;               /* '\n', or '\0' with -0 */
    input_cr cr;            /* whether a '\r' before the newline is part of the key */
    bool cr_stops;          /* if undecided, the first one is an error */
    bool nul_stops;         /* a NUL in a line of text is an error; else only in the first 64 KiB of a file */
    bool text;              /* read files as they are: decompress and refuse none */
    size_t fixed_bytes;     /* 0, or binary records of this size */
    unsigned field;         /* 0: the whole line; else a column, from 1 */
    char delim;             /* between columns */
    bool quotes;            /* columns may be in quotes, as in CSV */
    const char *json_field; /* NULL, or a name at the top level of a JSON object per line: a string or a number */
    bool json_typed;        /* the number 1 and the string "1" are different keys: see input/parse_json.h */
    kith_key_type keys;     /* other than bytes: read the key as a number or UUID, after trim; fixed records are keys */
    bool hex;               /* decode the key from hex digits, after trim */
    bool fold;              /* convert ASCII letters to lower case */
    bool trim;              /* remove white space at both ends */
    bool skip_bad;          /* count records that cannot be read, and continue */
    unsigned threads;       /* 1: everything in the calling thread */

    /* Only the digests of keys are used. `hash` is then that of `digest`. Of a record that is longer than a chunk, line
     * and key are only the beginning. */
    bool digest_only;
    kith_hash hash;

    uint64_t memory;        /* for records that are longer than a chunk; 0: no limit */
    const char *advice;     /* what else than --memory helps if a record does not fit; NULL: nothing */
    uint64_t unpack_memory; /* for a decompressor; 0: as much as it accepts by default */
    /* Called by the calling thread before it waits for input; does what is due, and returns for how many milliseconds
     * the wait may last, or -1. The wait also ends by wake_up() (wake.h), which must be open, and then it is called
     * again. `now`: the wait cannot be ended, so everything is due. NULL: not called. */
    int (*attend)(void *context, bool now);
    void *attend_context;

    /* Called by the reader thread to compute the digests of the records; NULL: no digests. */
    void (*digest)(const void *context, const input_record *records, size_t n, uint64_t *digests);
    const void *digest_context;

    /* Called by the reader thread after the digests are computed, to do a part of the caller's work; NULL: not called.
     * It gets all records in order, in ranges of any length. What it stores in `marks` is returned with the records. */
    input_mark *mark;
    void *mark_context;
} input_shape;

typedef struct input input;

/* Opens the inputs. No paths, or "-", means stdin. A missing file is reported when it is reached. gzip, zstd, xz, bzip2
 * and lz4 are recognised by their first bytes, whatever their name, and read if this build has the library. Fixed
 * records may begin with any bytes, so they are decompressed only if the file has the name of an archive (.gz, .zst,
 * .xz, .bz2, .lz4). Files of lines in a known format other than text (input/magic.c) are refused. `paths` must outlive
 * the input. */
input *input_open(const char *const *paths, size_t path_count, const input_shape *shape);

/* Returns the next 1 to INPUT_BATCH records, or 0 at the end. Lines of a pipe are returned before it waits for more. */
size_t input_next(input *in, const input_record **records);

/* The digests and marks of the latest batch. */
const uint64_t *input_digests(const input *in);
const bool *input_marks(const input *in);

uint64_t input_bytes_done(const input *in);  /* bytes read of the files, before decompression: for progress */
uint64_t input_bytes_total(const input *in); /* 0 if unknown (if one of them is a pipe) */
uint64_t input_skipped(const input *in);     /* records skipped by skip_bad */
uint64_t input_memory(const input *in);      /* the most that reading may use, with these limits */
void input_close(input *in);                 /* may be called at any time, even while waiting for a pipe */

#endif
