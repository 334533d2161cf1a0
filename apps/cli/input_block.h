/* input_block.h: a block of bytes and the records that lie in it. */
#ifndef CLI_INPUT_BLOCK_H
#define CLI_INPUT_BLOCK_H

#include "input.h"
#include "input_source.h"

typedef struct block {
    char *bytes;
    size_t room, filled;
    char *keys; /* as large as bytes; NULL as long as keys are stretches of their lines */
    input_record *records;
    uint64_t *digests; /* of the records; NULL when the shape asks for none */
    bool *marks;       /* likewise */
    size_t record_count;
    uint64_t skipped; /* records left out by skip_bad */

    const char *bom_name; /* NULL, or a file that is begun in this block and had a byte order mark */
    const char *cr_name;  /* NULL, or the file with the first line that ends in CR */
    uint64_t cr_line;     /* that line; 0: the file has CR instead of newlines */

    bool last;              /* no block follows */
    const char *error_name; /* NULL, or: after these records reading failed */
    uint64_t error_line;    /* 0: the file as a whole */
    char reason[SOURCE_REASON_BYTES];
} block;

/* How far a block is split, as offsets into its bytes. The last three are for CSV, whose records may have several
 * lines. */
typedef struct place {
    size_t at;           /* the first byte that belongs to no record yet */
    size_t seen;         /* between line and here there is no end of a line */
    size_t line;         /* the beginning of the newest line of the record at `at` */
    uint64_t open_lines; /* of that record before `line`: a quote is open at the end of each */
    size_t broken_until; /* a quote that is open at the end of a line before here is never closed as it should */
} place;

/* Where reading stands: files one after the other, and what of the newest block belongs to the next. */
typedef struct splitter {
    const input_shape *shape;
    const char *const *paths;
    size_t path_count, path_next;
    source source;
    bool open;
    bool cr_noted; /* a line that ends in CR was found */
    uint64_t line; /* lines of this file so far, or records that end otherwise */
    char *carry;   /* the beginning of a record, or bytes that were not split for want of record room */
    size_t carry_bytes;
    place carry_place; /* in those; its `at` is 0 */
} splitter;

/* What the caller says of b->cr_line, and of 0 there. */
extern const char BLOCK_CR_NOTE[], BLOCK_CR_ALONE[];

/* The next block: records, or `last`, or an error; records before an error come with it. */
void block_fill(block *b, splitter *s);

void block_release(block *b);

#endif
