/* chunks.c: dumping and loading filters in parts; see chunks.h.
 *
 * The cursor of a dump is version * 2^16 + the number of chunks so far, below 2^53, because clients in JavaScript keep
 * numbers as doubles. KITH.DUMP returns a file as the command line reads it. BF.SCANDUMP and CF.SCANDUMP return the
 * same, after a prelude:
 *
 *     0  "KITHDUMP"    8  1 (version)    12  1 if the filter supports deletion    16  bytes of the file
 *    24  expansion    28  bucket size    32  max iterations    36  layers    40  deleted items    48  0
 *    56  XXH3 of bytes 0 … 55
 *
 * Every chunk but the last has 16 MiB. All numbers are little-endian. LOADCHUNK tells such a dump from RedisBloom's by the first eight bytes. */
#include "chunks.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "compat.h"
#include "config.h"
#include "memory.h"

#define PRELUDE_BYTES 64
#define CURSOR_BITS 16
#define MOST_CURSOR ((INT64_C(1) << 53) - 1)

#define ERROR_CHANGED "ERR the filter has changed since this dump began; start again with cursor 0"
#define ERROR_BAD_DATA "ERR received bad data"

/* ---- the prelude ---- */

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

#define CHECKSUM_AT 56

static uint64_t checksum(const unsigned char *prelude) {
    const kith_hash xxh3 = {0};
    return kith_digest(&xxh3, prelude, CHECKSUM_AT);
}

static void write_prelude(const value *v, unsigned char prelude[PRELUDE_BYTES]) {
    memset(prelude, 0, PRELUDE_BYTES);
    memcpy(prelude, "KITHDUMP", 8);
    put(prelude + 8, 1, 4);
    put(prelude + 12, v->removes, 4);
    put(prelude + 16, kith_filter_file_bytes(v->filter), 8);
    put(prelude + 24, v->request.expansion, 4);
    put(prelude + 28, v->request.bucket_size, 4);
    put(prelude + 32, v->request.max_iterations, 4);
    put(prelude + 36, v->layers, 4);
    put(prelude + 40, v->deleted, 8);
    put(prelude + CHECKSUM_AT, checksum(prelude), 8);
}

static bool is_prelude(const unsigned char *data, size_t bytes) {
    return bytes >= PRELUDE_BYTES && memcmp(data, "KITHDUMP", 8) == 0 && get(data + 8, 4) == 1 &&
           get(data + 12, 4) <= 1 && get(data + CHECKSUM_AT, 8) == checksum(data);
}

/* ---- dumping ---- */

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
static void reply_bytes(RedisModuleCtx *ctx, value *v, bool prelude, uint64_t offset, uint64_t count) {
    unsigned char *memory = memory_allocate((size_t)count + PRELUDE_BYTES);
    if (memory == NULL) {
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return;
    }
    buffer b = {memory};
    uint64_t left = count;
    if (prelude && offset == 0) {
        write_prelude(v, memory);
        b.at += PRELUDE_BYTES;
        left -= PRELUDE_BYTES;
    } else if (prelude) {
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

static void scan_dump(RedisModuleCtx *ctx, value *v, long long cursor, family f) {
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
    if (f == FAMILY_CF)
        (void)server.ReplyWithNull(ctx);
    else
        (void)server.ReplyWithStringBuffer(ctx, "", 0);
}

/* A dump in RedisBloom's format has RedisBloom's cursors, 1 + offset, so that RedisBloom can load it; there is no room
 * for a version in them. Instead, the value remembers how far dumps that began with its current version have come: a
 * cursor beyond that belongs to an older dump. */
static void scan_dump_redisbloom(RedisModuleCtx *ctx, value *v, long long cursor, family f) {
    const void *chunk = NULL;
    size_t bytes = 0;
    char *header = NULL;
    if (cursor == 0 && v->dump_version != v->version) {
        v->dump_version = v->version;
        v->dump_reach = 1;
    } else if (cursor != 0 && (v->dump_version != v->version || (uint64_t)cursor > v->dump_reach)) {
        (void)server.ReplyWithError(ctx, ERROR_CHANGED);
        return;
    }
    uint64_t next = cursor == 0 ? 1 : compat_chunk(v, (uint64_t)cursor, &chunk, &bytes);
    if (cursor == 0) {
        bytes = compat_header(v, NULL);
        chunk = header = memory_allocate(bytes);
        if (header == NULL) {
            (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
            return;
        }
        (void)compat_header(v, header);
    }
    v->dump_reach = next > v->dump_reach ? next : v->dump_reach;
    (void)server.ReplyWithArray(ctx, 2);
    (void)server.ReplyWithLongLong(ctx, (long long)next);
    if (next == 0 && f == FAMILY_CF)
        (void)server.ReplyWithNull(ctx);
    else
        (void)server.ReplyWithStringBuffer(ctx, next == 0 ? "" : chunk, next == 0 ? 0 : bytes);
    memory_release(header, bytes);
}

static int command_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, family f, const char *bad_number) {
    long long cursor;
    if (argument_number(argv[2], 0, MOST_CURSOR, &cursor) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, bad_number);
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    if (key == NULL)
        return server.ReplyWithError(ctx, ERROR_NOT_FOUND);
    const char *error;
    value *v = keys_value(key, f, &error);
    if (v == NULL)
        (void)server.ReplyWithError(ctx, error);
    else if (v->state == VALUE_REDISBLOOM)
        scan_dump_redisbloom(ctx, v, cursor, f);
    else
        scan_dump(ctx, v, cursor, f);
    server.CloseKey(key);
    return SERVER_OK;
}

int command_bf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return command_scandump(ctx, argv, FAMILY_BF, "Second argument must be numeric");
}

int command_cf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return command_scandump(ctx, argv, FAMILY_CF, "Invalid position");
}

static void dump(RedisModuleCtx *ctx, value *v, long long cursor) {
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
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    if (key == NULL)
        return server.ReplyWithError(ctx, ERROR_NOT_FOUND);
    const char *error;
    value *v = keys_value(key, FAMILY_KITH, &error);
    if (v == NULL)
        (void)server.ReplyWithError(ctx, error);
    else
        dump(ctx, v, cursor);
    server.CloseKey(key);
    return SERVER_OK;
}

/* ---- loading ---- */

/* A piece of a filter that has arrived, and what is known about the whole. */
typedef struct piece {
    bool first;
    bool type_known; /* `removes` must be true of the filter */
    bool removes;
    value_request request;
    uint64_t deleted;
    unsigned layers; /* 0: not known */
    uint64_t chunks; /* number of SCANDUMP's chunk, 0 for others */
    bool whole_chunk; /* it may be followed by another one of SCANDUMP */
    uint64_t offset; /* in the file; only for those without a number of a chunk */
    uint64_t total;
    const char *data;
    size_t bytes;
} piece;

/* Begins a half-loaded value with nothing in it. Returns NULL after an error reply. */
static value *begin(RedisModuleCtx *ctx, const piece *p) {
    char text[160];
    if (p->total > (uint64_t)config.max_filter_bytes && !keys_must_obey(ctx)) {
        (void)snprintf(text, sizeof text, "ERR the filter has %llu bytes, more than kith.max-filter-bytes (%lld)",
                       (unsigned long long)p->total, config.max_filter_bytes);
        (void)server.ReplyWithError(ctx, text);
        return NULL;
    }
    value_part part = {.total = p->total};
    part.block = memory_allocate((size_t)p->total);
    value *v = part.block == NULL ? NULL : value_of_part(p->removes, &p->request, part);
    if (v == NULL) {
        memory_release(part.block, (size_t)p->total);
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return NULL;
    }
    v->deleted = p->deleted;
    v->layers = p->layers;
    return v;
}

/* Appends a piece to a half-loaded value, and sets *made to the complete value if it was the last. Returns false after
 * an error reply; v is then as it was. */
static bool extend(RedisModuleCtx *ctx, value *v, const piece *p, value **made) {
    value_part before = v->loading;
    char text[200];
    *made = NULL;
    if (p->bytes > before.total - before.received) {
        (void)server.ReplyWithError(ctx, ERROR_BAD_DATA ": more bytes than the dump has");
        return false;
    }
    if (p->chunks != 0 && !p->whole_chunk && p->bytes < before.total - before.received) {
        (void)server.ReplyWithError(ctx, ERROR_BAD_DATA ": the chunk is truncated");
        return false;
    }
    memcpy(before.block + before.received, p->data, p->bytes);
    v->loading.chunks = p->chunks;
    v->loading.received += p->bytes;
    if (v->loading.received < v->loading.total)
        return true;
    kith_status status = value_complete(v, p->type_known, made);
    if (status == KITH_OK && (*made)->layers == 0)
        value_describe(*made);
    if (status == KITH_OK)
        return true;
    v->loading = before;
    (void)snprintf(text, sizeof text, "%s: %s", ERROR_BAD_DATA, kith_status_text(status));
    (void)server.ReplyWithError(ctx, text);
    return false;
}

/* The first piece: the key must not exist, or be half loaded; then it starts over. */
static value *load_first(RedisModuleCtx *ctx, RedisModuleKey *key, const piece *p, family f) {
    const char *error = "ERR item exists";
    if (server.KeyType(key) != KEY_TYPE_EMPTY) {
        const value *old = keys_any_value(key, f, &error);
        if (old == NULL || !value_is_loading(old)) {
            (void)server.ReplyWithError(ctx, error);
            return NULL;
        }
    }
    value *v = begin(ctx, p), *made;
    if (v == NULL)
        return NULL;
    if (!extend(ctx, v, p, &made)) {
        value_free(v);
        return NULL;
    }
    if (made != NULL) {
        value_free(v);
        v = made;
    }
    keys_set(key, v);
    return v;
}

/* Another piece: it must continue where the last one ended. */
static value *load_next(RedisModuleCtx *ctx, RedisModuleKey *key, const piece *p, family f) {
    const char *error = ERROR_NOT_FOUND;
    char text[160];
    value *made, *v = server.KeyType(key) == KEY_TYPE_EMPTY ? NULL : keys_any_value(key, f, &error);
    if (v == NULL) {
        (void)server.ReplyWithError(ctx, error);
        return NULL;
    }
    bool in_order = v->state == VALUE_LOADING && (v->loading.chunks != 0) == (p->chunks != 0);
    if (!in_order) {
        (void)server.ReplyWithError(ctx, ERROR_BAD_DATA ": no such dump is being loaded into this key");
        return NULL;
    }
    if (p->chunks != 0 && p->chunks != v->loading.chunks + 1) {
        (void)snprintf(text, sizeof text, "%s: chunk %llu was expected, not chunk %llu", ERROR_BAD_DATA,
                       (unsigned long long)v->loading.chunks + 1, (unsigned long long)p->chunks);
        (void)server.ReplyWithError(ctx, text);
        return NULL;
    }
    if (p->chunks == 0 && (p->offset != v->loading.received || p->total != v->loading.total)) {
        (void)snprintf(text, sizeof text, "%s: offset %llu of %llu was expected", ERROR_BAD_DATA,
                       (unsigned long long)v->loading.received, (unsigned long long)v->loading.total);
        (void)server.ReplyWithError(ctx, text);
        return NULL;
    }
    if (!extend(ctx, v, p, &made))
        return NULL;
    if (made == NULL)
        return v;
    keys_set(key, made); /* frees v */
    return made;
}

/* Loads a piece. Returns false after an error reply; else sets *received to the bytes of the file that are there. */
static bool load(RedisModuleCtx *ctx, RedisModuleString *name, const piece *p, family f, const char *event,
                 uint64_t *received) {
    RedisModuleKey *key = server.OpenKey(ctx, name, KEY_READ | KEY_WRITE);
    value *v = p->first ? load_first(ctx, key, p, f) : load_next(ctx, key, p, f);
    if (v != NULL) {
        *received = v->state == VALUE_LOADING ? v->loading.received : kith_filter_file_bytes(v->filter);
        (void)server.ReplicateVerbatim(ctx);
        keys_changed(ctx, name, v, event);
    }
    server.CloseKey(key);
    return v != NULL;
}

/* ---- BF.LOADCHUNK and CF.LOADCHUNK ---- */

/* Reads the prelude of a dump into *p, and takes it off the data. Returns NULL or the reply. */
static const char *read_prelude(piece *p) {
    const unsigned char *data = (const unsigned char *)p->data;
    if (!is_prelude(data, p->bytes) || (get(data + 12, 4) == 1) != p->removes)
        return ERROR_BAD_DATA;
    p->total = get(data + 16, 8);
    p->request.expansion = (uint32_t)get(data + 24, 4);
    p->request.bucket_size = (uint32_t)get(data + 28, 4);
    p->request.max_iterations = (uint32_t)get(data + 32, 4);
    p->layers = (unsigned)get(data + 36, 4);
    p->deleted = get(data + 40, 8);
    p->data += PRELUDE_BYTES;
    p->bytes -= PRELUDE_BYTES;
    return p->total == 0 || p->total > INT64_MAX || p->bytes > p->total ? ERROR_BAD_DATA : NULL;
}

/* The header of a dump of RedisBloom: creates a half-loaded value. Returns NULL, or the value that the key has now. */
static value *load_redisbloom_header(RedisModuleCtx *ctx, RedisModuleKey *key, const char *data, size_t bytes,
                                     family f) {
    value *v;
    const char *error = "ERR item exists";
    const value *old = server.KeyType(key) == KEY_TYPE_EMPTY ? NULL : keys_any_value(key, f, &error);
    if (server.KeyType(key) != KEY_TYPE_EMPTY && (old == NULL || !value_is_loading(old))) {
        (void)server.ReplyWithError(ctx, error);
        return NULL;
    }
    uint64_t most = keys_must_obey(ctx) ? 0 : (uint64_t)config.max_filter_bytes;
    switch (compat_load_header(f == FAMILY_CF, data, bytes, most, &v)) {
    case KITH_OK:
        keys_set(key, v);
        return v;
    case KITH_E_TOO_LARGE:
        (void)server.ReplyWithError(ctx, "ERR the filter is larger than kith.max-filter-bytes");
        return NULL;
    case KITH_E_MEMORY:
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return NULL;
    default:
        (void)server.ReplyWithError(ctx, f == FAMILY_CF ? "Invalid header" : ERROR_BAD_DATA);
        return NULL;
    }
}

/* A chunk of a dump of RedisBloom. When it was the last, the key gets RedisBloom's type. */
static value *load_redisbloom_chunk(RedisModuleCtx *ctx, RedisModuleKey *key, value *v, long long cursor,
                                    const char *data, size_t bytes, family f) {
    value *to = f == FAMILY_CF ? compat_of_cuckoo(NULL) : compat_of_bloom(NULL);
    if (to == NULL) {
        (void)server.ReplyWithError(ctx, "ERR Insufficient memory");
        return NULL;
    }
    kith_status status = compat_load_chunk(v, (uint64_t)cursor, data, bytes);
    if (status == KITH_OK && compat_is_complete(v)) {
        compat_move(to, v);
        keys_set(key, to); /* frees v */
        return to;
    }
    value_free(to);
    if (status == KITH_OK)
        return v;
    (void)server.ReplyWithError(ctx, f == FAMILY_CF                ? "Couldn't load chunk!"
                                     : status == KITH_E_TRAILING ? "ERR invalid chunk - Too big for current filter"
                                                                 : "ERR invalid offset - no link found");
    return NULL;
}

/* Handles a dump of RedisBloom. Returns false if this is none. */
static bool load_redisbloom(RedisModuleCtx *ctx, RedisModuleString **argv, long long cursor, const char *data,
                            size_t bytes, family f, const char *event) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error;
    value *v = cursor == 1 ? NULL : keys_any_value(key, f, &error);
    bool ours = cursor != 1 && (v == NULL || v->state != VALUE_REDISBLOOM || !value_is_loading(v));
    if (!ours) {
        v = cursor == 1 ? load_redisbloom_header(ctx, key, data, bytes, f)
                        : load_redisbloom_chunk(ctx, key, v, cursor, data, bytes, f);
        if (v != NULL) {
            (void)server.ReplicateVerbatim(ctx);
            keys_changed(ctx, argv[1], v, event);
            (void)server.ReplyWithSimpleString(ctx, "OK");
        }
    }
    server.CloseKey(key);
    return !ours;
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, family f, const char *bad_number,
                      const char *event) {
    long long cursor;
    uint64_t received;
    if (argument_number(argv[2], 1, MOST_CURSOR, &cursor) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, bad_number);
    size_t bytes;
    const char *data = server.StringPtrLen(argv[3], &bytes);
    if (load_redisbloom(ctx, argv, cursor, data, bytes, f, event))
        return SERVER_OK;
    piece p = {.type_known = true, .removes = f == FAMILY_CF};
    p.chunks = (uint64_t)cursor & ((1 << CURSOR_BITS) - 1);
    p.first = p.chunks == 1;
    p.data = server.StringPtrLen(argv[3], &p.bytes);
    p.whole_chunk = p.bytes == CHUNK_BYTES;
    const char *error = p.chunks == 0 ? bad_number : p.first ? read_prelude(&p) : NULL;
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    if (load(ctx, argv[1], &p, f, event, &received))
        (void)server.ReplyWithSimpleString(ctx, "OK");
    return SERVER_OK;
}

int command_bf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_chunk(ctx, argv, FAMILY_BF, "ERR Second argument must be numeric", "bf.loadchunk");
}

int command_cf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_chunk(ctx, argv, FAMILY_CF, "Invalid position", "cf.loadchunk");
}

/* ---- KITH.LOAD ---- */

int command_kith_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long offset, total;
    uint64_t received;
    if (argument_number(argv[3], 1, MOST_CURSOR, &total) != ARGUMENT_OK ||
        argument_number(argv[2], 0, total - 1, &offset) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, "ERR offset and total must be numbers, and offset less than total");
    piece p = {.first = offset == 0, .offset = (uint64_t)offset, .total = (uint64_t)total};
    p.data = server.StringPtrLen(argv[4], &p.bytes);
    if (p.bytes == 0 || p.bytes > p.total - p.offset)
        return server.ReplyWithError(ctx, ERROR_BAD_DATA ": no bytes, or more than total");
    if (load(ctx, argv[1], &p, FAMILY_KITH, "kith.load", &received))
        (void)server.ReplyWithLongLong(ctx, (long long)received);
    return SERVER_OK;
}

/* ---- the rewrite of the AOF ---- */

typedef struct rewrite {
    RedisModuleIO *io;
    RedisModuleString *key;
    const value *v;
    uint64_t offset, received, total;
} rewrite;

static kith_status emit(void *context, const void *bytes, size_t byte_count) {
    rewrite *r = context;
    const char *at = bytes;
    do {
        size_t here = byte_count < CHUNK_BYTES ? byte_count : (size_t)CHUNK_BYTES;
        server.EmitAOF(r->io, "KITH._LOAD", "slblllllllll", r->key, (long long)r->offset, at, here,
                       (long long)r->received, (long long)r->total, (long long)r->v->removes,
                       (long long)r->v->request.expansion, (long long)r->v->request.bucket_size,
                       (long long)r->v->request.max_iterations, (long long)r->v->deleted, (long long)r->v->layers,
                       (long long)r->v->loading.chunks);
        r->offset += here;
        at += here;
        byte_count -= here;
    } while (byte_count > 0);
    return KITH_OK;
}

void chunks_rewrite(RedisModuleIO *io, RedisModuleString *key, value *v) {
    bool whole = v->state == VALUE_FILTER;
    uint64_t total = whole ? kith_filter_file_bytes(v->filter) : v->loading.total;
    uint64_t received = whole ? total : v->loading.received;
    rewrite r = {io, key, v, 0, received, total};
    kith_status status = whole ? kith_filter_write(v->filter, 0, total, emit, &r)
                               : emit(&r, v->loading.block, (size_t)received);
    if (status != KITH_OK)
        server.LogIOError(io, "warning", "cannot write a filter to the AOF: %s", kith_status_text(status));
}

int command_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long n[10], offset;
    uint64_t received;
    if (!keys_must_obey(ctx))
        return server.ReplyWithError(ctx, "ERR KITH._LOAD is for the AOF only: use KITH.LOAD");
    bool valid = argument_number(argv[2], 0, INT64_MAX, &offset) == ARGUMENT_OK;
    for (int i = 0; i < 9; i++)
        valid = valid && argument_number(argv[4 + i], 0, INT64_MAX, &n[i]) == ARGUMENT_OK;
    if (!valid || n[0] > n[1] || n[1] == 0)
        return server.ReplyWithError(ctx, "ERR malformed KITH._LOAD");
    piece p = {.first = offset == 0,
               .type_known = true,
               .removes = n[2] != 0,
               .request = {(uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5]},
               .deleted = (uint64_t)n[6],
               .layers = (unsigned)n[7],
               .offset = (uint64_t)offset,
               .total = (uint64_t)n[1]};
    p.data = server.StringPtrLen(argv[3], &p.bytes);
    /* The number of chunks is what load_next() goes by, so it is set only with the last piece. */
    bool last = (uint64_t)offset + p.bytes == (uint64_t)n[0];
    if (!load(ctx, argv[1], &p, FAMILY_KITH, "kith.load", &received))
        return SERVER_OK;
    if (last && n[8] != 0) {
        RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
        const char *error;
        value *v = keys_any_value(key, FAMILY_KITH, &error);
        if (v != NULL)
            v->loading.chunks = (uint64_t)n[8];
        server.CloseKey(key);
    }
    return server.ReplyWithSimpleString(ctx, "OK");
}
