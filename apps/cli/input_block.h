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

    bool last;              /* no block follows */
    const char *error_name; /* NULL, or: after these records reading failed */
    uint64_t error_line;    /* 0: the file as a whole */
    char reason[SOURCE_REASON_BYTES];
} block;

/* Where reading stands: files one after the other, and what of the newest block belongs to the next. */
typedef struct splitter {
    const input_shape *shape;
    const char *const *paths;
    size_t path_count, path_next;
    source source;
    bool open;
    uint64_t line; /* records of this file so far */
    char *carry;   /* the beginning of a record, or bytes that were not split for want of record room */
    size_t carry_bytes;
    size_t carry_seen; /* of those so many hold no end of a record */
} splitter;

/* The next block: records, or `last`, or an error; records before an error come with it. */
void block_fill(block *b, splitter *s);

void block_release(block *b);

#endif
