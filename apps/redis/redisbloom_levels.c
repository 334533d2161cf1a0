/* redisbloom_levels.c: see redisbloom_levels.h. */
#include "redisbloom_levels.h"

#include "redisbloom_bytes.h"

void *redisbloom_levels_new(const kith_allocator *allocator, size_t filter_size, size_t level_size) {
    kith_allocator a = allocator_or_default(allocator);
    redisbloom_levels *l = allocate(&a, filter_size);
    if (l != NULL)
        *l = (redisbloom_levels){.allocator = a, .filter_size = filter_size, .level_size = level_size};
    return l;
}

void redisbloom_levels_free(void *filter) {
    redisbloom_levels *l = filter;
    if (l == NULL)
        return;
    while (l->count > 0)
        redisbloom_levels_drop_last(l);
    kith_allocator allocator = l->allocator;
    release(&allocator, l->memory, l->slots * l->level_size);
    release(&allocator, l, l->filter_size);
}

uint64_t redisbloom_levels_memory(const redisbloom_levels *l) {
    return l->filter_size + l->slots * l->level_size + l->body_bytes;
}

static bool is_within(const redisbloom_levels *l, uint64_t slots, uint64_t more, uint64_t most_bytes) {
    if (slots > SIZE_MAX / 2 / l->level_size)
        return false;
    uint64_t sum = l->filter_size + slots * l->level_size + l->body_bytes;
    return sum_add(&sum, more) && sum <= most_bytes && sum <= SIZE_MAX;
}

kith_status redisbloom_levels_reserve(redisbloom_levels *l, uint64_t slots) {
    if (slots == l->slots)
        return KITH_OK;
    unsigned char *memory = allocate(&l->allocator, slots * l->level_size);
    if (memory == NULL)
        return KITH_E_MEMORY;
    if (l->count > 0)
        memcpy(memory, l->memory, (size_t)l->count * l->level_size);
    release(&l->allocator, l->memory, l->slots * l->level_size);
    l->memory = memory;
    l->slots = slots;
    return KITH_OK;
}

kith_status redisbloom_levels_append(redisbloom_levels *l, const void *level, bool adopts, uint64_t most_bytes) {
    redisbloom_block block;
    memcpy(&block, level, sizeof block);
    uint64_t slots = l->count < l->slots ? l->slots : l->slots == 0 ? 1 : 2 * l->slots;
    if (!is_within(l, slots, block.byte_count, most_bytes))
        return KITH_E_TOO_LARGE;
    if (!adopts)
        block.bytes = allocate(&l->allocator, block.byte_count);
    kith_status status = block.bytes != NULL ? redisbloom_levels_reserve(l, slots) : KITH_E_MEMORY;
    if (status != KITH_OK) {
        if (!adopts)
            release(&l->allocator, block.bytes, block.byte_count);
        return status;
    }
    void *at = redisbloom_levels_at(l, l->count++);
    memcpy(at, level, l->level_size);
    memcpy(at, &block, sizeof block);
    l->body_bytes += block.byte_count;
    return KITH_OK;
}

kith_status redisbloom_levels_load_append(redisbloom_levels *l, const void *level, uint64_t most_bytes) {
    kith_status status = l->missing > 0 ? redisbloom_levels_append(l, level, true, most_bytes) : KITH_E_CORRUPT;
    l->missing -= status == KITH_OK;
    return status;
}

void redisbloom_levels_drop_last(redisbloom_levels *l) {
    const redisbloom_block *last = redisbloom_levels_at(l, --l->count);
    l->body_bytes -= last->byte_count;
    release(&l->allocator, last->bytes, last->byte_count);
}

void *redisbloom_levels_clone(const redisbloom_levels *l, const kith_allocator *allocator) {
    redisbloom_levels *copy = redisbloom_levels_new(allocator, l->filter_size, l->level_size);
    if (copy == NULL)
        return NULL;
    memcpy(copy + 1, l + 1, l->filter_size - sizeof *l);
    kith_status status = redisbloom_levels_reserve(copy, l->count);
    for (uint64_t i = 0; i < l->count && status == KITH_OK; i++) {
        const redisbloom_block *from = redisbloom_levels_at(l, i);
        status = redisbloom_levels_append(copy, from, false, UINT64_MAX);
        if (status == KITH_OK)
            memcpy(((redisbloom_block *)redisbloom_levels_at(copy, i))->bytes, from->bytes, (size_t)from->byte_count);
    }
    if (status != KITH_OK) {
        redisbloom_levels_free(copy);
        return NULL;
    }
    copy->loaded_bytes = l->loaded_bytes;
    copy->missing = l->missing;
    return copy;
}

void *redisbloom_levels_relocate(redisbloom_levels *l, void *(*move)(void *context, void *memory, size_t bytes),
                                 void *context) {
    void *moved = move(context, l, l->filter_size);
    if (moved != NULL)
        l = moved;
    moved = move(context, l->memory, (size_t)l->slots * l->level_size);
    if (moved != NULL)
        l->memory = moved;
    for (uint64_t i = 0; i < l->count; i++) {
        redisbloom_block *block = redisbloom_levels_at(l, i);
        moved = move(context, block->bytes, (size_t)block->byte_count);
        if (moved != NULL)
            block->bytes = moved;
    }
    return l;
}

void redisbloom_levels_parts(const redisbloom_levels *l,
                             void (*part)(void *context, const void *bytes, size_t byte_count), void *context) {
    for (uint64_t i = 0; i < l->count; i++) {
        const redisbloom_block *block = redisbloom_levels_at(l, i);
        part(context, block->bytes, (size_t)block->byte_count);
    }
}

/* The bytes of the level that has the byte at *offset; *offset becomes the offset in it. NULL if it is past the end. */
static redisbloom_block *block_at(const redisbloom_levels *l, uint64_t *offset) {
    for (uint64_t i = 0; i < l->count; i++) {
        redisbloom_block *block = redisbloom_levels_at(l, i);
        if (*offset < block->byte_count)
            return block;
        *offset -= block->byte_count;
    }
    return NULL;
}

uint64_t redisbloom_levels_chunk(const redisbloom_levels *l, uint64_t cursor, const void **chunk, size_t *chunk_bytes) {
    uint64_t offset = cursor - 1;
    const redisbloom_block *block = cursor == 0 ? NULL : block_at(l, &offset);
    if (block == NULL)
        return 0;
    uint64_t left = block->byte_count - offset;
    *chunk = block->bytes + offset;
    *chunk_bytes = (size_t)(left < REDISBLOOM_CHUNK_BYTES ? left : REDISBLOOM_CHUNK_BYTES);
    return cursor + *chunk_bytes;
}

kith_status redisbloom_levels_load_chunk(redisbloom_levels *l, uint64_t cursor, const void *chunk, size_t chunk_bytes) {
    uint64_t end = cursor - 1, offset = l->loaded_bytes;
    if (chunk_bytes == 0 || cursor == 0 || redisbloom_levels_is_complete(l))
        return KITH_E_ARGUMENT;
    if (end > l->body_bytes)
        return KITH_E_TRAILING;
    if (end < chunk_bytes || end - chunk_bytes != l->loaded_bytes)
        return KITH_E_ARGUMENT;
    const redisbloom_block *block = block_at(l, &offset);
    if (chunk_bytes > block->byte_count - offset)
        return KITH_E_TRAILING;
    memcpy(block->bytes + offset, chunk, chunk_bytes);
    l->loaded_bytes = end;
    return KITH_OK;
}
