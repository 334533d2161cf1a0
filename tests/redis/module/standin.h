/* standin.h: a stand-in for the server's module API, for what real servers do rarely or not at all: memory that runs
 * out, memory that moves, RDB data that ends early. Needs nothing of a server; call standin_begin() first in each test,
 * and standin_end() last. */
#ifndef KITH_TESTS_REDIS_STANDIN_H
#define KITH_TESTS_REDIS_STANDIN_H

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "check.h"

/* ---- memory ----
 *
 * Addresses are aligned to 16 bytes and, in turn, not to 32 or 64, so that code that relies on more is found out. */

#define STANDIN_BLOCKS 4096
#define STANDIN_MOST_BYTES ((size_t)1 << 30) /* more than this is out of memory */

typedef struct standin_block {
    char *address;
    void *raw;
    size_t bytes;
} standin_block;

static standin_block standin_blocks[STANDIN_BLOCKS];
static uint64_t standin_calls;   /* of TryAlloc and TryCalloc */
static uint64_t standin_fail_at; /* the number of the call that fails; 0: none */
static uint64_t standin_moves;   /* how many blocks DefragAlloc has moved */
static bool standin_may_move;

static inline standin_block *standin_find(const void *address) {
    for (size_t i = 0; i < STANDIN_BLOCKS; i++)
        if (standin_blocks[i].address == address)
            return &standin_blocks[i];
    abort();
}

static inline void *standin_allocate(size_t bytes) {
    static unsigned turn;
    standin_block *b = standin_find(NULL);
    b->raw = malloc(bytes + 128);
    if (b->raw == NULL)
        return NULL;
    uintptr_t aligned = ((uintptr_t)b->raw + 63) / 64 * 64 + 16 * (turn++ % 4);
    b->address = (char *)b->raw + (aligned - (uintptr_t)b->raw);
    b->bytes = bytes;
    memset(b->address, 0xa5, bytes);
    return b->address;
}

static inline void *standin_try_alloc(size_t bytes) {
    bool fails = ++standin_calls == standin_fail_at || bytes > STANDIN_MOST_BYTES;
    return fails ? NULL : standin_allocate(bytes);
}

static inline void *standin_try_calloc(size_t count, size_t bytes) {
    void *memory = standin_try_alloc(count * bytes);
    return memory == NULL ? NULL : memset(memory, 0, count * bytes);
}

static inline void standin_free(void *memory) {
    if (memory == NULL)
        return;
    standin_block *b = standin_find(memory);
    free(b->raw);
    *b = (standin_block){0};
}

static inline size_t standin_size(void *memory) {
    return standin_find(memory)->bytes;
}

static inline void *standin_defrag(RedisModuleDefragCtx *ctx, void *memory) {
    (void)ctx;
    if (!standin_may_move)
        return NULL;
    size_t bytes = standin_size(memory);
    void *moved = standin_allocate(bytes);
    memcpy(moved, memory, bytes);
    standin_free(memory);
    standin_moves++;
    return moved;
}

static inline size_t standin_live(void) {
    size_t live = 0;
    for (size_t i = 0; i < STANDIN_BLOCKS; i++)
        live += standin_blocks[i].address != NULL;
    return live;
}

/* ---- RDB: a list of numbers and strings in memory ---- */

struct RedisModuleIO {
    struct {
        uint64_t number;
        char *bytes;
        size_t byte_count;
    } item[256];
    size_t count, at;
    bool error;
};

static inline void standin_save_unsigned(RedisModuleIO *io, uint64_t number) {
    io->item[io->count++].number = number;
}

static inline void standin_save_double(RedisModuleIO *io, double number) {
    memcpy(&io->item[io->count++].number, &number, sizeof number);
}

static inline void standin_save_bytes(RedisModuleIO *io, const char *bytes, size_t byte_count) {
    char *copy = malloc(byte_count + 1);
    memcpy(copy, bytes, byte_count);
    io->item[io->count].bytes = copy;
    io->item[io->count++].byte_count = byte_count;
}

static inline bool standin_ended(RedisModuleIO *io) {
    io->error = io->error || io->at >= io->count;
    return io->error;
}

static inline uint64_t standin_load_unsigned(RedisModuleIO *io) {
    return standin_ended(io) ? 0 : io->item[io->at++].number;
}

static inline double standin_load_double(RedisModuleIO *io) {
    double number = 0;
    if (!standin_ended(io))
        memcpy(&number, &io->item[io->at++].number, sizeof number);
    return number;
}

static inline char *standin_load_bytes(RedisModuleIO *io, size_t *byte_count) {
    if (standin_ended(io))
        return NULL;
    char *memory = standin_allocate(io->item[io->at].byte_count);
    memcpy(memory, io->item[io->at].bytes, io->item[io->at].byte_count);
    *byte_count = io->item[io->at++].byte_count;
    return memory;
}

static inline int standin_is_error(RedisModuleIO *io) {
    return io->error;
}

static inline void standin_log_error(RedisModuleIO *io, const char *level, const char *format, ...) {
    (void)io;
    (void)level;
    (void)format;
}

static inline RedisModuleCtx *standin_context(RedisModuleIO *io) {
    (void)io;
    return NULL;
}

static inline int standin_flags(RedisModuleCtx *ctx) {
    (void)ctx;
    return 0;
}

static inline void standin_rewind(RedisModuleIO *io) {
    io->at = 0;
    io->error = false;
}

static inline void standin_io_free(RedisModuleIO *io) {
    for (size_t i = 0; i < io->count; i++)
        free(io->item[i].bytes);
    memset(io, 0, sizeof *io);
}

/* ---- a test ---- */

static inline void standin_begin(bool has_calloc) {
    server = (struct server_api){
        .TryAlloc = standin_try_alloc,
        .TryCalloc = has_calloc ? standin_try_calloc : NULL,
        .Free = standin_free,
        .MallocSize = standin_size,
        .DefragAlloc = standin_defrag,
        .SaveUnsigned = standin_save_unsigned,
        .SaveDouble = standin_save_double,
        .SaveStringBuffer = standin_save_bytes,
        .LoadUnsigned = standin_load_unsigned,
        .LoadDouble = standin_load_double,
        .LoadStringBuffer = standin_load_bytes,
        .IsIOError = standin_is_error,
        .LogIOError = standin_log_error,
        .GetContextFromIO = standin_context,
        .GetContextFlags = standin_flags,
    };
    standin_calls = standin_fail_at = standin_moves = 0;
    standin_may_move = true;
}

static inline void standin_end(void) {
    CHECK_EQ_U64(standin_live(), 0);
}

#endif
