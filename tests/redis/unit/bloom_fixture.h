/* bloom_fixture.h: makes filters of RedisBloom's Bloom layout from fixtures. */
#ifndef KITH_TESTS_REDIS_BLOOM_FIXTURE_H
#define KITH_TESTS_REDIS_BLOOM_FIXTURE_H

#include "fixture.h"
#include "redisbloom_bloom.h"

/* BF.LOADCHUNK KEY cursor hex:… */
static inline void operate_chunk(redisbloom_bloom **f, const char *cursor, const char *hex) {
    unsigned char bytes[1000];
    size_t count = 0;
    for (hex += strlen("hex:"); hex[0] != 0; hex += 2) {
        const char digits[] = {hex[0], hex[1], 0};
        bytes[count++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    if (*f == NULL)
        CHECK_OK(redisbloom_bloom_load_header(bytes, count, UINT64_MAX, NULL, f));
    else
        CHECK_OK(redisbloom_levels_load_chunk(&(*f)->list, strtoull(cursor, NULL, 10), bytes, count));
}

/* Runs a line of KEY.operations. */
static inline void operate(void *context, char **words, size_t count) {
    redisbloom_bloom **f = context;
    if (strcmp(words[0], "BF.RESERVE") == 0) {
        bool scaling = strcmp(words[4], "EXPANSION") == 0;
        CHECK_OK(redisbloom_bloom_create(strtod(words[2], NULL), strtoull(words[3], NULL, 10),
                                         scaling ? (uint32_t)strtoul(words[5], NULL, 10) : 2, scaling, UINT64_MAX, NULL,
                                         f));
        return;
    }
    if (strcmp(words[0], "BF.LOADCHUNK") == 0) {
        operate_chunk(f, words[2], words[3]);
        return;
    }
    CHECK(strcmp(words[0], "BF.MADD") == 0);
    if (*f == NULL) /* the defaults of RedisBloom */
        CHECK_OK(redisbloom_bloom_create(0.01, 100, 2, true, UINT64_MAX, NULL, f));
    for (size_t i = 2; i < count; i++) {
        bool was_new = false;
        kith_status status = redisbloom_bloom_add(*f, words[i], strlen(words[i]), UINT64_MAX, &was_new);
        if (status == KITH_E_FULL)
            return; /* BF.MADD ends with the first error */
        CHECK_OK(status);
    }
}

static inline redisbloom_bloom *by_operations(const char *key) {
    redisbloom_bloom *f = NULL;
    fixture_lines(key, "operations", operate, &f);
    return f;
}

static inline redisbloom_bloom_fields read_fields(struct fields *from) {
    redisbloom_bloom_fields fields;
    fields.items = field_u64(from);
    fields.levels = field_u64(from);
    fields.options = field_u64(from);
    fields.growth = field_u64(from);
    return fields;
}

/* level.bytes points into the fixture. */
static inline redisbloom_bloom_level read_level(struct fields *from) {
    redisbloom_bloom_level level;
    level.capacity = field_u64(from);
    level.rate = field_f64(from);
    level.hashes = field_u64(from);
    level.bits_per_entry = field_f64(from);
    level.bits = field_u64(from);
    level.log2_bits = field_u64(from);
    level.bytes = (unsigned char *)field_string(from, &level.byte_count);
    level.items = field_u64(from);
    return level;
}

/* KITH_OK, or the status of the step that failed; everything is freed then. */
static inline kith_status load_fields(const char *key, const kith_allocator *allocator, redisbloom_bloom **filter) {
    struct fields from = fixture_fields(key);
    redisbloom_bloom_fields fields = read_fields(&from);
    kith_status status = redisbloom_bloom_load_begin(&fields, UINT64_MAX, allocator, filter);
    if (status != KITH_OK) {
        free(from.content);
        return status;
    }
    for (uint64_t i = 0; i < fields.levels && status == KITH_OK; i++) {
        redisbloom_bloom_level level = read_level(&from);
        unsigned char *bytes = allocator->allocate(allocator->context, (size_t)level.byte_count, 16);
        if (bytes == NULL) {
            status = KITH_E_MEMORY;
            break;
        }
        memcpy(bytes, level.bytes, (size_t)level.byte_count);
        level.bytes = bytes;
        status = redisbloom_bloom_load_append(*filter, &level, UINT64_MAX);
        if (status != KITH_OK)
            allocator->release(allocator->context, bytes, (size_t)level.byte_count);
    }
    if (status == KITH_OK) {
        fields_end(&from);
        status = redisbloom_bloom_load_end(*filter);
    } else {
        free(from.content);
    }
    if (status != KITH_OK)
        redisbloom_levels_free(*filter);
    return status;
}

#endif
