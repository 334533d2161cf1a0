/* load.c: BF.LOADCHUNK, CF.LOADCHUNK and KITH.LOAD, and KITH._LOAD of the AOF; see chunks.h. */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "chunks.h"
#include "commands.h"
#include "compat_chunks.h"
#include "config.h"
#include "memory.h"

/* A piece of a filter that has arrived, and what is known about the whole. */
typedef struct piece {
    bool first;
    bool type_known; /* `removes` must be true of the filter */
    bool removes;
    value_request request;
    uint64_t deleted;
    unsigned layers;  /* 0: not known */
    uint64_t chunks;  /* number of SCANDUMP's chunk, 0 for others */
    bool whole_chunk; /* it may be followed by another one of SCANDUMP */
    uint64_t offset;  /* in the file; only for those without a number of a chunk */
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
    if (status == KITH_OK && (*made)->layers == 0) {
        value_read_expansion(*made);
        value_count_layers(*made);
    }
    if (status == KITH_OK)
        return true;
    v->loading = before;
    (void)snprintf(text, sizeof text, "%s: %s", ERROR_BAD_DATA, kith_status_text(status));
    (void)server.ReplyWithError(ctx, text);
    return false;
}

/* The first piece: the key must not exist, or be half loaded; then it starts over. */
static value *load_first(RedisModuleCtx *ctx, RedisModuleKey *key, const piece *p, command_set set) {
    const char *error = "ERR item exists";
    if (server.KeyType(key) != KEY_TYPE_EMPTY) {
        const value *old = keys_any_value(key, set, &error);
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
static value *load_next(RedisModuleCtx *ctx, RedisModuleKey *key, const piece *p, command_set set) {
    const char *error = ERROR_NOT_FOUND;
    char text[160];
    value *made, *v = server.KeyType(key) == KEY_TYPE_EMPTY ? NULL : keys_any_value(key, set, &error);
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
static bool load(RedisModuleCtx *ctx, RedisModuleString *name, const piece *p, command_set set, const char *event,
                 uint64_t *received) {
    RedisModuleKey *key = server.OpenKey(ctx, name, KEY_READ | KEY_WRITE);
    value *v = p->first ? load_first(ctx, key, p, set) : load_next(ctx, key, p, set);
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
    prelude read;
    if (!prelude_read(p->data, p->bytes, &read) || read.removes != p->removes)
        return ERROR_BAD_DATA;
    p->total = read.total;
    p->request = read.request;
    p->layers = read.layers;
    p->deleted = read.deleted;
    p->data += PRELUDE_BYTES;
    p->bytes -= PRELUDE_BYTES;
    return p->total == 0 || p->total > INT64_MAX || p->bytes > p->total ? ERROR_BAD_DATA : NULL;
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, command_set set, const char *bad_number,
                      const char *event) {
    long long cursor;
    uint64_t received;
    if (argument_number(argv[2], 1, MOST_CURSOR, &cursor) != ARGUMENT_OK)
        return server.ReplyWithError(ctx, bad_number);
    size_t bytes;
    const char *data = server.StringPtrLen(argv[3], &bytes);
    if (compat_load_dump(ctx, argv, cursor, data, bytes, set, event))
        return SERVER_OK;
    piece p = {.type_known = true, .removes = set == COMMANDS_CF};
    p.chunks = (uint64_t)cursor & ((1 << CURSOR_BITS) - 1);
    p.first = p.chunks == 1;
    p.data = server.StringPtrLen(argv[3], &p.bytes);
    p.whole_chunk = p.bytes == CHUNK_BYTES;
    const char *error = p.chunks == 0 ? bad_number : p.first ? read_prelude(&p) : NULL;
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    if (load(ctx, argv[1], &p, set, event, &received))
        (void)server.ReplyWithSimpleString(ctx, "OK");
    return SERVER_OK;
}

int command_bf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_chunk(ctx, argv, COMMANDS_BF, "ERR Second argument must be numeric", "bf.loadchunk");
}

int command_cf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    return load_chunk(ctx, argv, COMMANDS_CF, "Invalid position", "cf.loadchunk");
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
    if (load(ctx, argv[1], &p, COMMANDS_KITH, "kith.load", &received))
        (void)server.ReplyWithLongLong(ctx, (long long)received);
    return SERVER_OK;
}

/* ---- KITH._LOAD ---- */

int command_load(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    long long n[10], offset;
    uint64_t received;
    if (!keys_must_obey(ctx))
        return server.ReplyWithError(ctx, "ERR KITH._LOAD is for the AOF only: use KITH.LOAD");
    bool valid = argument_number(argv[2], 0, INT64_MAX, &offset) == ARGUMENT_OK;
    for (int i = 0; i < 9; i++)
        valid = valid && argument_number(argv[4 + i], 0, INT64_MAX, &n[i]) == ARGUMENT_OK;
    const value_stored stored = {(uint64_t)n[3], (uint64_t)n[4], (uint64_t)n[5], (uint64_t)n[6], (uint64_t)n[7]};
    if (!valid || n[0] > n[1] || n[1] == 0 || !value_can_have(n[2] != 0, &stored) ||
        !chunks_fit((uint64_t)n[8], (uint64_t)n[0], (uint64_t)n[1]))
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
    if (!load(ctx, argv[1], &p, COMMANDS_KITH, "kith.load", &received))
        return SERVER_OK;
    if (last && n[8] != 0) {
        RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
        const char *error;
        value *v = keys_any_value(key, COMMANDS_KITH, &error);
        if (v != NULL)
            v->loading.chunks = (uint64_t)n[8];
        server.CloseKey(key);
    }
    return server.ReplyWithSimpleString(ctx, "OK");
}
