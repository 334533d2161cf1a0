/* server/pull.c: `kith pull`: a filter from a server to a file.
 *
 * A filter of kith.so comes as the chunks of a kith file, which is verified as a whole before it is saved. A filter in
 * the layout of RedisBloom comes as the chunks of its own dump, and is saved as a dump file (server/dump.h). */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/server/dump.h"
#include "cli/server/shards.h"
#include "cli/server/slots.h"
#include "cli/server/type.h"
#include "cli/output/report.h"
#include "cli/values.h"

/* Both modules send at most so much at once. */
#define CHUNK_BYTES_MAX ((size_t)16 << 20)

/* Chunks of at least so many bytes on average, except for some, are taken: otherwise a pull might not end. */
enum { CHUNK_BYTES_LEAST = 1024, SMALL_CHUNKS_MAX = 1 << 16 };

typedef struct pull {
    const arguments *a;
    const redis_address *address;
    redis_link *link;
    filter_file *to;
} pull;

/* Asks for the chunk at `cursor`. The reply is an array of `parts` elements, the last of which is the data. */
static redisReply *next_chunk(const pull *p, const char *name, uint64_t cursor, size_t parts) {
    redis_command call = {0};
    redis_command_begin(&call, name);
    redis_command_bytes(&call, p->address->key, p->address->key_bytes);
    redis_command_number(&call, cursor);
    call.may_repeat = true;
    call.reply_bytes = (p->a->memory < CHUNK_BYTES_MAX ? (size_t)p->a->memory : CHUNK_BYTES_MAX) + REDIS_REPLY_BYTES;
    redisReply *reply = redis_link_call(p->link, &call, redis_slot(p->address->key, p->address->key_bytes));
    bool good = reply->type == REDIS_REPLY_ARRAY && reply->elements == parts;
    for (size_t i = 0; good && i + 1 < parts; i++)
        good = reply->element[i]->type == REDIS_REPLY_INTEGER && reply->element[i]->integer >= 0;
    if (good) {
        int last = reply->element[parts - 1]->type;
        good = last == REDIS_REPLY_STRING || (last == REDIS_REPLY_NIL && reply->element[0]->integer == 0);
    }
    if (!good)
        redis_link_fail(p->link, &call, reply);
    redis_command_free(&call);
    return reply;
}

/* ---- filters of kith.so ---- */

static noreturn void fail_size(const pull *p) {
    fail("%s: the chunks that the server sent do not add up to the size that it named", p->address->text);
}

static void check_chunks(const pull *p, uint64_t chunks, uint64_t byte_count) {
    if (chunks > SMALL_CHUNKS_MAX + byte_count / CHUNK_BYTES_LEAST)
        fail("%s: the server sends the filter in chunks that are too small", p->address->text);
}

static void pull_filter(const pull *p) {
    char *bytes = NULL;
    uint64_t cursor = 0, total = 0, used = 0, chunks = 0;
    do {
        redisReply *reply = next_chunk(p, "KITH.DUMP", cursor, 3);
        uint64_t size = (uint64_t)reply->element[1]->integer;
        const redisReply *data = reply->element[2];
        if (bytes == NULL) {
            memory_check(p->a, size, p->address->text);
            total = size;
            bytes = allocate(total);
            progress_begin("receiving", total);
        }
        /* An empty chunk that is not the last would repeat for ever. */
        if (size != total || data->len > total - used || (data->len == 0 && reply->element[0]->integer != 0))
            fail_size(p);
        if (data->len > 0)
            memcpy(bytes + used, data->str, data->len);
        used += data->len;
        check_chunks(p, ++chunks, used);
        progress_of("receiving", used);
        cursor = (uint64_t)reply->element[0]->integer;
        freeReplyObject(reply);
    } while (cursor != 0);
    progress_end();
    if (used != total)
        fail_size(p);
    kith_filter *filter;
    kith_status status = kith_filter_view(bytes, total, KITH_OPEN_DEFAULT, NULL, &filter);
    if (status != KITH_OK)
        fail_status(p->address->text, status);
    filter_file_save(p->to, filter);
    filter_file_close(p->to); /* and the filter, whose memory this is */
    free(bytes);
}

/* ---- filters of RedisBloom ---- */

/* RedisBloom dumps a filter that changes meanwhile without noticing. Its first chunk has the numbers of items and
 * deletions, which every change changes: so it must be the same at the end. */
static void check_unchanged(const pull *p, const char *name, const redis_dump *dump) {
    size_t at = 0;
    redis_chunk first;
    redisReply *reply = next_chunk(p, name, 0, 2);
    const redisReply *data = reply->element[1];
    if (!redis_dump_next(dump, &at, &first) || data->len != first.byte_count ||
        memcmp(data->str, first.data, first.byte_count) != 0)
        fail("%s: the filter has changed while it was dumped; stop the programs that write to it, and try again",
             p->address->text);
    freeReplyObject(reply);
}

static void pull_redisbloom(const pull *p, redis_dump_type type) {
    const char *name = type == REDIS_DUMP_BLOOM ? "BF.SCANDUMP" : "CF.SCANDUMP";
    redis_dump dump;
    redis_dump_begin(&dump, type);
    uint64_t cursor = 0;
    progress_begin("receiving", 0);
    for (;;) {
        redisReply *reply = next_chunk(p, name, cursor, 2);
        const redisReply *data = reply->element[1];
        cursor = (uint64_t)reply->element[0]->integer;
        if (cursor != 0) {
            memory_check(p->a, dump.byte_count + data->len, p->address->text);
            redis_dump_add(&dump, &(redis_chunk){cursor, data->str, data->len});
            check_chunks(p, dump.chunk_count, dump.byte_count);
            progress_of("receiving", dump.byte_count);
        }
        freeReplyObject(reply);
        if (cursor == 0)
            break;
    }
    progress_end();
    if (dump.chunk_count == 0)
        fail("%s: the filter is empty, and %s does not dump empty filters; create it again on the other server",
             p->address->text, name);
    /* The checksum of the end needs room that is not in the dump yet, so the check comes first. */
    check_unchanged(p, name, &dump);
    redis_dump_save(&dump, p->to);
    filter_file_close(p->to);
    redis_dump_free(&dump);
}

static noreturn void fail_string(const pull *p) {
    redis_shards shards;
    if (redis_shards_read(&shards, p->link, p->address))
        fail("%s: this is a set of %u shards; pull each of them: %s, ...", p->address->text, shards.count,
             shards.names[0]);
    fail("%s: the key holds a string, not a filter", p->address->text);
}

int command_pull(const arguments *a) {
    redis_address address;
    redis_address_read(a->operands[0], &address);
    filter_file to = filter_file_open(a->output != NULL ? a->output : "-", KITH_FILE_REPLACE, KITH_FILE_LOCK_COMMIT, a);
    pull p = {.a = a, .address = &address, .to = &to};
    p.link = redis_link_open(&address, a);
    redis_type_name name;
    switch (redis_type_of(p.link, address.key, address.key_bytes, name)) {
    case REDIS_TYPE_KITH:
        pull_filter(&p);
        break;
    case REDIS_TYPE_BLOOM:
        pull_redisbloom(&p, REDIS_DUMP_BLOOM);
        break;
    case REDIS_TYPE_CUCKOO:
        pull_redisbloom(&p, REDIS_DUMP_CUCKOO);
        break;
    case REDIS_TYPE_NONE:
        fail("%s: there is no such key", address.text);
    case REDIS_TYPE_STRING:
        fail_string(&p);
    case REDIS_TYPE_VALKEY:
        fail("%s: the key holds a filter of valkey-bloom, which has no command to dump it", address.text);
    case REDIS_TYPE_OTHER:
        fail("%s: the key holds another kind of value (%s), not a filter", address.text, name);
    }
    redis_link_close(p.link);
    redis_address_free(&address);
    return EXIT_FOUND;
}
