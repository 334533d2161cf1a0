/* prelude.c: the first bytes of a dump; see chunks.h. */
#include <string.h>

#include "chunks.h"

#define CHECKSUM_AT 56

static void put(unsigned char *at, uint64_t number, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned bytes) {
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

static uint64_t checksum(const unsigned char *bytes) {
    const kith_hash xxh3 = {0};
    return kith_digest(&xxh3, bytes, CHECKSUM_AT);
}

void prelude_write(const value *v, unsigned char bytes[PRELUDE_BYTES]) {
    memset(bytes, 0, PRELUDE_BYTES);
    memcpy(bytes, "KITHDUMP", 8);
    put(bytes + 8, 1, 4);
    put(bytes + 12, v->removes, 4);
    put(bytes + 16, kith_filter_file_bytes(v->filter), 8);
    put(bytes + 24, v->request.expansion, 4);
    put(bytes + 28, v->request.bucket_size, 4);
    put(bytes + 32, v->request.max_iterations, 4);
    put(bytes + 36, v->layers, 4);
    put(bytes + 40, v->deleted, 8);
    put(bytes + CHECKSUM_AT, checksum(bytes), 8);
}

bool prelude_read(const void *data, size_t bytes, prelude *p) {
    const unsigned char *at = data;
    if (bytes < PRELUDE_BYTES || memcmp(at, "KITHDUMP", 8) != 0 || get(at + 8, 4) != 1 || get(at + 12, 4) > 1 ||
        get(at + CHECKSUM_AT, 8) != checksum(at))
        return false;
    value_stored n = {get(at + 24, 4), get(at + 28, 4), get(at + 32, 4), get(at + 40, 8), get(at + 36, 4)};
    p->removes = get(at + 12, 4) == 1;
    p->total = get(at + 16, 8);
    p->request = (value_request){(uint32_t)n.expansion, (uint32_t)n.bucket_size, (uint32_t)n.max_iterations};
    p->layers = (unsigned)n.layers;
    p->deleted = n.deleted;
    return value_can_have(p->removes, &n);
}
