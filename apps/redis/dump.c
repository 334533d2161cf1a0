/* dump.c: BF.SCANDUMP, CF.SCANDUMP and KITH.DUMP; see chunks.h. */
#include <string.h>

#include "arguments.h"
#include "chunks.h"
#include "commands.h"
#include "compat_chunks.h"
#include "memory.h"

typedef struct buffer {
    unsigned char *at;
} buffer;

static kith_status append(void *context, const void *bytes, size_t byte_count) {
    buffer *b = context;
    memcpy(b->at, bytes, byte_count);
    b->at += byte_count;
    return KITH_OK;
}

/* Replies with bytes offset … offset + count - 1 of prelude and file, or only of the file. */
static void reply_bytes(RedisModuleCtx *ctx, value *v, bool with_prelude, uint64_t offset, uint64_t count) {
    unsigned char *memory = memory_allocate((size_t)count + PRELUDE_BYTES);
    if (memory == NULL) {
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return;
    }
    buffer b = {memory};
    uint64_t left = count;
    if (with_prelude && offset == 0) {
        prelude_write(v, memory);
        b.at += PRELUDE_BYTES;
        left -= PRELUDE_BYTES;
    } else if (with_prelude) {
        offset -= PRELUDE_BYTES;
    }
    kith_status status = kith_filter_write(v->filter, offset, left, append, &b);
    if (status == KITH_OK)
        (void)server.ReplyWithStringBuffer(ctx, (const char *)memory, (size_t)count);
    else
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory"); /* there is no other cause */
    memory_release(memory, (size_t)count + PRELUDE_BYTES);
}

/* Reads a cursor of a value: sets *chunk to the number of chunks before. Returns NULL or the reply. */
static const char *read_cursor(long long cursor, const value *v, uint64_t *chunk) {
    *chunk = (uint64_t)cursor & ((1 << CURSOR_BITS) - 1);
    if (cursor == 0)
        return NULL;
    return (uint64_t)cursor >> CURSOR_BITS == v->version ? NULL : ERROR_CHANGED;
}

static long long cursor_of(const value *v, uint64_t chunk) {
    return (long long)(v->version << CURSOR_BITS | chunk);
}

/* What SCANDUMP gets. */
typedef struct scan {
    command_set set;
    long long cursor;
} scan;

static void scan_dump(RedisModuleCtx *ctx, value *v, void *context) {
    const scan *s = context;
    long long cursor = s->cursor;
    if (v->state == VALUE_REDISBLOOM) {
        compat_scan_dump(ctx, v, cursor, s->set);
        return;
    }
    uint64_t chunk, total = PRELUDE_BYTES + kith_filter_file_bytes(v->filter);
    const char *error = read_cursor(cursor, v, &chunk);
    if (error == NULL && total > CHUNK_BYTES << CURSOR_BITS)
        error = "ERR the filter is too large for a dump";
    if (error != NULL) {
        (void)server.ReplyWithError(ctx, error);
        return;
    }
    (void)server.ReplyWithArray(ctx, 2);
    uint64_t offset = chunk * CHUNK_BYTES;
    if (offset < total) {
        (void)server.ReplyWithLongLong(ctx, cursor_of(v, chunk + 1));
        reply_bytes(ctx, v, true, offset, total - offset < CHUNK_BYTES ? total - offset : CHUNK_BYTES);
        return;
    }
    (void)server.ReplyWithLongLong(ctx, 0);
    if (s->set == COMMANDS_CF)
        (void)server.ReplyWithNull(ctx);
    else
        (void)server.ReplyWithStringBuffer(ctx, "", 0);
}

static int command_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set, const char *bad_number) {
    scan s = {.set = set};
    if (argument_number(argv[2], 0, MOST_CURSOR, &s.cursor) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, bad_number);
    return keys_read(ctx, argv[1], set, 0, scan_dump, &s);
}

int command_bf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return command_scandump(ctx, argv, COMMANDS_BF, "Second argument must be numeric");
}

int command_cf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return command_scandump(ctx, argv, COMMANDS_CF, "Invalid position");
}

static void dump(RedisModuleCtx *ctx, value *v, void *context) {
    long long cursor = *(const long long *)context;
    uint64_t chunk, total = kith_filter_file_bytes(v->filter);
    const char *error = read_cursor(cursor, v, &chunk);
    uint64_t offset = chunk * CHUNK_BYTES;
    if (error == NULL && (offset >= total || total > CHUNK_BYTES << CURSOR_BITS))
        error = offset >= total ? "ERR invalid cursor" : "ERR the filter is too large for a dump";
    if (error != NULL) {
        (void)server.ReplyWithError(ctx, error);
        return;
    }
    uint64_t bytes = total - offset < CHUNK_BYTES ? total - offset : CHUNK_BYTES;
    (void)server.ReplyWithArray(ctx, 3);
    (void)server.ReplyWithLongLong(ctx, offset + bytes == total ? 0 : cursor_of(v, chunk + 1));
    (void)server.ReplyWithLongLong(ctx, (long long)total);
    reply_bytes(ctx, v, false, offset, bytes);
}

int command_kith_dump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long cursor;
    if (argument_number(argv[2], 0, MOST_CURSOR, &cursor) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, "ERR the cursor must be a number from 0 to 9007199254740991");
    return keys_read(ctx, argv[1], COMMANDS_KITH, 0, dump, &cursor);
}
