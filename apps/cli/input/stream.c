/* input/stream.c: digests of long keys; see input/stream.h. */
#include "cli/input/stream.h"

#include <string.h>

#include "cli/input/key.h"

bool key_can_stream(const input_shape *shape) {
    return shape->digest_only && shape->field == 0 && shape->json_field == NULL && !shape->hex && !shape->trim &&
           !key_is_read(shape);
}

void key_stream_begin(key_stream *k, const input_shape *shape) {
    *k = (key_stream){.shape = shape};
    kith_digest_begin(&k->state, &shape->hash);
}

void key_stream_add(key_stream *k, char *piece, size_t byte_count) {
    if (byte_count == 0)
        return;
    k->byte_count += byte_count;
    if (k->ends_in_cr)
        kith_digest_update(&k->state, "\r", 1);
    k->has_cr = k->has_cr || k->ends_in_cr || memchr(piece, '\r', byte_count - 1) != NULL;
    k->ends_in_cr = piece[byte_count - 1] == '\r';
    input_record r = {.key = piece, .key_bytes = byte_count - k->ends_in_cr};
    if (k->shape->fold)
        key_fold(&r, piece);
    kith_digest_update(&k->state, r.key, r.key_bytes);
}

uint64_t key_stream_end(key_stream *k) {
    if (k->ends_in_cr && k->shape->cr != INPUT_CR_STRIP)
        kith_digest_update(&k->state, "\r", 1);
    return kith_digest_end(&k->state);
}
