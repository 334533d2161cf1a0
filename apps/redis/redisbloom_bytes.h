/* redisbloom_bytes.h: little-endian numbers, allocation and checked arithmetic for the files of RedisBloom's
 * layouts. */
#ifndef KITH_REDIS_REDISBLOOM_BYTES_H
#define KITH_REDIS_REDISBLOOM_BYTES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <kith/base.h>

static inline uint64_t get_bytes(const unsigned char *from, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static inline uint32_t get_u16(const unsigned char *from) {
    return (uint32_t)get_bytes(from, 2);
}

static inline uint32_t get_u32(const unsigned char *from) {
    return (uint32_t)get_bytes(from, 4);
}

static inline uint64_t get_u64(const unsigned char *from) {
    return get_bytes(from, 8);
}

static inline double get_f64(const unsigned char *from) {
    uint64_t bits = get_u64(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* These return the byte after what they wrote. */
static inline unsigned char *put_bytes(unsigned char *to, uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        to[i] = (unsigned char)(value >> 8 * i);
    return to + count;
}

static inline unsigned char *put_f64(unsigned char *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return put_bytes(to, bits, 8);
}

/* Adds to *sum and returns true, or returns false if that does not fit. */
static inline bool sum_add(uint64_t *sum, uint64_t term) {
    if (term > UINT64_MAX - *sum)
        return false;
    *sum += term;
    return true;
}

static inline void *calloc_allocate(void *context, size_t bytes, size_t alignment) {
    (void)context;
    (void)alignment;
    return calloc(1, bytes);
}

static inline void calloc_release(void *context, void *memory, size_t bytes) {
    (void)context;
    (void)bytes;
    free(memory);
}

/* The allocator to copy into an object. */
static inline kith_allocator allocator_or_default(const kith_allocator *allocator) {
    return allocator != NULL ? *allocator : (kith_allocator){calloc_allocate, calloc_release, NULL};
}

/* Zeroed memory, or NULL. */
static inline void *allocate(const kith_allocator *allocator, uint64_t bytes) {
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    return allocator->allocate(allocator->context, (size_t)bytes, _Alignof(max_align_t));
}

/* NULL is allowed. */
static inline void release(const kith_allocator *allocator, void *memory, uint64_t bytes) {
    if (memory != NULL)
        allocator->release(allocator->context, memory, (size_t)bytes);
}

#endif
