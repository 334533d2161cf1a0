/* values.h: one value of each sort, with items in it, for tests with the stand-in API. */
#ifndef KITH_TESTS_REDIS_VALUES_H
#define KITH_TESTS_REDIS_VALUES_H

#include <stdio.h>

#include "compat.h"
#include "memory.h"
#include "rdb.h"
#include "standin.h"
#include "value.h"

enum { SORT_BLOOM, SORT_GROWN_BLOOM, SORT_GROWN_CUCKOO, SORT_HALF_LOADED, SORT_RB_BLOOM, SORT_RB_CUCKOO, SORTS };

static inline size_t item_of(unsigned i, char *text) {
    return (size_t)sprintf(text, "item%u", i);
}

static inline void add_items(value *v, unsigned first, unsigned count) {
    char item[32];
    for (unsigned i = first; i < first + count; i++) {
        bool was_new;
        CHECK_OK(value_add(v, ((kith_key){item, item_of(i, item)}), ((value_limits){0, 0}), &was_new));
    }
}

static inline void check_items(const value *v, unsigned count) {
    char item[32];
    for (unsigned i = 0; i < count; i++)
        CHECK(value_has(v, ((kith_key){item, item_of(i, item)})));
}

/* Creates a value without items. Returns a status, because memory may run out. */
static inline kith_status create_value(int sort, value **v) {
    value_creation c = {.capacity = 100, .rate = 0.01, .hash = {.seed = 7}, .request = {.expansion = 2}};
    if (sort == SORT_RB_BLOOM)
        return compat_create_bloom(0.01, 100, 2, true, 0, v);
    if (sort == SORT_RB_CUCKOO)
        return compat_create_cuckoo(64, &(value_request){2, 2, 20}, 0, v);
    if (sort == SORT_BLOOM)
        c.request.expansion = 0;
    if (sort == SORT_GROWN_CUCKOO)
        c.request = (value_request){2, 2, 20};
    kith_status status = sort == SORT_GROWN_CUCKOO ? value_choose_cuckoo(&c, 0) : value_choose_bloom(&c);
    return status == KITH_OK ? value_create(&c, 0, v) : status;
}

static inline unsigned item_count(int sort) {
    return sort == SORT_BLOOM ? 90 : sort == SORT_HALF_LOADED ? 0 : 1000;
}

static inline value *make_value(int sort) {
    value *v;
    if (sort == SORT_HALF_LOADED) {
        value_part part = {.block = memory_allocate(5000), .total = 5000, .received = 1234};
        CHECK(part.block != NULL);
        for (size_t i = 0; i < part.received; i++)
            part.block[i] = (unsigned char)(i * 7);
        v = value_of_part(true, &(value_request){2, 3, 4}, part);
        CHECK(v != NULL);
        return v;
    }
    CHECK_OK(create_value(sort, &v));
    add_items(v, 0, item_count(sort));
    return v;
}

/* All bytes of a value, one after the other. */
typedef struct value_bytes {
    unsigned char bytes[1 << 17];
    size_t count;
} value_bytes;

static inline void bytes_part(void *context, const void *bytes, size_t byte_count) {
    value_bytes *b = context;
    CHECK(byte_count <= sizeof b->bytes - b->count);
    memcpy(b->bytes + b->count, bytes, byte_count);
    b->count += byte_count;
}

static inline kith_status bytes_piece(void *context, const void *bytes, size_t byte_count) {
    bytes_part(context, bytes, byte_count);
    return KITH_OK;
}

static inline value_bytes *bytes_of(value *v) {
    value_bytes *b = calloc(1, sizeof *b);
    if (v->state == VALUE_LOADING)
        bytes_part(b, v->loading.block, (size_t)v->loading.received);
    else if (v->state == VALUE_FILTER)
        CHECK_OK(kith_filter_write(v->filter, 0, kith_filter_file_bytes(v->filter), bytes_piece, b));
    else
        compat_parts(v, bytes_part, b);
    return b;
}

static inline void check_same_bytes(const value_bytes *a, const value_bytes *b) {
    CHECK_EQ_U64(a->count, b->count);
    CHECK(memcmp(a->bytes, b->bytes, a->count) == 0);
}

#endif
