/* input/stream.h: the digest of a key that is longer than a chunk, computed while the key is read. Only keys that are
 * the whole record, with or without --crlf and -i, can be hashed this way. */
#ifndef CLI_INPUT_STREAM_H
#define CLI_INPUT_STREAM_H

#include "cli/input/input.h"

typedef struct key_stream {
    const input_shape *shape;
    kith_digest_state state;
    uint64_t byte_count; /* of the record so far */
    bool has_cr;         /* a CR that is not the last byte */
    bool ends_in_cr;     /* the last byte is a CR, which is hashed when another byte follows */
} key_stream;

/* Returns true if keys of this shape can be hashed in pieces. */
bool key_can_stream(const input_shape *shape);

void key_stream_begin(key_stream *k, const input_shape *shape);

/* Appends a piece of the record, whose letters may be changed to lower case in place. */
void key_stream_add(key_stream *k, char *piece, size_t byte_count);

/* Returns the digest of the key of the record. */
uint64_t key_stream_end(key_stream *k);

#endif
