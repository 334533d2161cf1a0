/* input/chunk.h: a chunk of bytes and the records in it. */
#ifndef CLI_INPUT_CHUNK_H
#define CLI_INPUT_CHUNK_H

#include "cli/input/input.h"
#include "cli/input/key.h"
#include "cli/input/source.h"
#include "cli/region.h"

typedef struct chunk {
    char *bytes; /* `own`, or `longer` while a record is longer than that */
    size_t allocated, filled;
    char *keys; /* as large as bytes; NULL if keys are parts of their lines */
    char *own, *own_keys;
    key_typed *typed; /* of the records; NULL if keys are not numbers or UUIDs */
    region longer, longer_keys;
    size_t reserved; /* for these two */
    input_record *records;
    uint64_t *digests; /* of the records; NULL if the shape has no digest function */
    bool *marks;       /* NULL if the shape has no mark function */
    size_t record_count;
    uint64_t skipped; /* records skipped by skip_bad */

    const char *bom_name; /* NULL, or a file that starts in this chunk with a byte order mark */
    const char *cr_name;  /* NULL, or the file with the first line that ends in CR */
    uint64_t cr_line;     /* its number; 0: the file has CRs instead of newlines */
    const char *nul_name; /* NULL, or the file with the first line that has a NUL */
    uint64_t nul_line;    /* its number */

    bool streamed; /* the first record is longer than a chunk: it has this digest */
    uint64_t streamed_digest;

    bool last;              /* this is the last chunk */
    const char *error_name; /* NULL, or the file in which reading failed after these records */
    uint64_t error_line;    /* 0: the file as a whole */
    char reason[SOURCE_REASON_BYTES];
} chunk;

/* How far a chunk has been split, as offsets into its bytes. The last three are for CSV, whose records may have several
 * lines. */
typedef struct place {
    size_t at;           /* the first byte that is not part of a complete record */
    size_t seen;         /* there is no end of a line between `line` and here */
    size_t line;         /* the beginning of the latest line of the record at `at` */
    uint64_t open_lines; /* lines of that record before `line`; each ends with an open quote */
    size_t broken_until; /* a quote that is open at the end of a line before here is not closed correctly */
} place;

/* The state of reading: the files, one after the other, and the bytes that are carried over to the next chunk. */
typedef struct splitter {
    const input_shape *shape;
    const char *const *paths;
    size_t path_count, path_next;
    source source;
    bool open;
    bool cr_noted; /* a line that ends in CR was found */
    bool nul_noted;
    uint64_t line; /* number of lines (or other records) of this file so far */
    region carry;  /* the beginning of a record, or bytes not yet split because the chunk has RECORDS_MAX records */
    size_t carry_bytes;
    place carry_place; /* in those; its `at` is 0 */

    /* Waits until a chunk may become `more` bytes larger. Returns false if reading is to be stopped. NULL: no limit. */
    bool (*reserve)(void *context, size_t more);
    void *reserve_context;
} splitter;

/* The notes for b->cr_line: for a line, and for 0; and for b->nul_line. */
extern const char CHUNK_CR_NOTE[], CHUNK_CR_ALONE[], CHUNK_NUL_NOTE[];

/* Allocates all memory of a chunk, except what records longer than a chunk need. chunk_fill() calls it, too. Returns
 * false if there is not enough. */
bool chunk_allocate(chunk *b, const input_shape *shape);

/* Returns the length of the longest record that may be kept, with its end. */
size_t chunk_record_max(const input_shape *shape);

/* Returns how many bytes a chunk has, without those for long records. */
size_t chunk_memory(const input_shape *shape);

/* Frees what a long record needed, after the records of the chunk were used. Returns the number of bytes. */
size_t chunk_shrink(chunk *b);

/* Fills the next chunk with records, until it is full, the input ends (`last`), or an error occurs. The records before
 * an error are in the chunk. */
void chunk_fill(chunk *b, splitter *s);

void chunk_release(chunk *b);

#endif
