/* server/upload.c: puts a filter under a key of a server; see server/upload.h. */
#define _GNU_SOURCE

#include "cli/server/upload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/server/slots.h"
#include "cli/output/report.h"
#include "cli/system.h"

enum {
    CHUNK_BYTES = 4 << 20, /* a server accepts at least 1 MiB, by default 512 MiB; a chunk blocks it for milliseconds */
    LIFE_SECONDS = 3600,   /* of a temporary key, counted from its last chunk */
};

static redis_upload *incomplete; /* for undo */

/* Runs in the signal handler as well. The server may be in the middle of a chunk: then it drops this with the rest of
 * the chunk, and the key expires. */
static void undo(void *context) {
    (void)context;
    for (const redis_upload *u = incomplete; u != NULL; u = u->next) {
        int fd = redis_link_socket(u->link, u->slot);
        if (fd >= 0)
            (void)send(fd, u->undo, u->undo_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

uint64_t redis_random_word(void) {
    uint64_t word;
    if (!random_fully(&word, sizeof word))
        fail("cannot read random bytes from the system");
    return word;
}

static void set_undo(redis_upload *u, const redis_command *call) {
    char *text, *old = u->undo;
    int length = redisFormatCommandArgv(&text, (int)call->count, call->words, call->bytes);
    if (length < 0)
        fail("not enough memory");
    u->undo_bytes = 0; /* a signal handler may look at it */
    u->undo = text;
    u->undo_bytes = (size_t)length;
    redisFreeCommand(old);
}

void redis_upload_begin(redis_upload *u, redis_link *link, const char *key, size_t key_bytes) {
    *u = (redis_upload){.link = link, .key = key, .key_bytes = key_bytes, .slot = redis_slot(key, key_bytes)};
    u->name = redis_name_beside(key, key_bytes, redis_random_word(), &u->name_bytes);
    redis_command removal = {0};
    redis_command_begin(&removal, "DEL");
    redis_command_bytes(&removal, u->name, u->name_bytes);
    set_undo(u, &removal);
    redis_command_free(&removal);
    if (incomplete == NULL)
        at_failure(undo, NULL);
    u->next = incomplete;
    incomplete = u;
}

static void end(redis_upload *u) {
    redis_upload **at = &incomplete;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    if (incomplete == NULL)
        at_failure_forget();
    redisFreeCommand(u->undo);
    free(u->name);
    *u = (redis_upload){0};
}

static void expire(redis_upload *u, redis_command *call) {
    redis_command_begin(call, "EXPIRE");
    redis_command_bytes(call, u->name, u->name_bytes);
    redis_command_number(call, LIFE_SECONDS);
    call->may_repeat = true;
}

void redis_upload_renew(redis_upload *u) {
    redis_command call = {0};
    expire(u, &call);
    redisReply *reply = redis_link_call(u->link, &call, u->slot);
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 0)
        fail("%s: the server has removed the temporary key while it was loaded; is it out of memory, and does it evict "
             "keys?",
             u->key);
    if (reply->type != REDIS_REPLY_INTEGER)
        redis_link_fail(u->link, &call, reply);
    freeReplyObject(reply);
    redis_command_free(&call);
}

void redis_upload_block(redis_upload *u, const void *bytes, size_t byte_count) {
    redis_command call = {0};
    progress_begin("sending", byte_count);
    for (size_t offset = 0; offset < byte_count;) {
        size_t chunk_bytes = byte_count - offset < CHUNK_BYTES ? byte_count - offset : CHUNK_BYTES;
        redis_command_begin(&call, "KITH.LOAD");
        redis_command_bytes(&call, u->name, u->name_bytes);
        redis_command_number(&call, offset);
        redis_command_number(&call, byte_count);
        redis_command_bytes(&call, (const char *)bytes + offset, chunk_bytes);
        redisReply *reply = redis_link_call(u->link, &call, u->slot);
        offset += chunk_bytes;
        if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0 || (uint64_t)reply->integer != offset)
            redis_link_fail(u->link, &call, reply);
        freeReplyObject(reply);
        redis_upload_renew(u);
        progress_of("sending", offset);
    }
    progress_end();
    redis_command_free(&call);
}

void redis_upload_dump(redis_upload *u, const redis_dump *dump) {
    redis_command call = {0};
    size_t at = 0;
    redis_chunk chunk;
    progress_begin("sending", dump->byte_count);
    while (redis_dump_next(dump, &at, &chunk)) {
        redis_command_begin(&call, dump->type == REDIS_DUMP_BLOOM ? "BF.LOADCHUNK" : "CF.LOADCHUNK");
        redis_command_bytes(&call, u->name, u->name_bytes);
        redis_command_number(&call, chunk.cursor);
        redis_command_bytes(&call, chunk.data, chunk.byte_count);
        redisReply *reply = redis_link_call(u->link, &call, u->slot);
        if (reply->type != REDIS_REPLY_STATUS)
            redis_link_fail(u->link, &call, reply);
        freeReplyObject(reply);
        redis_upload_renew(u);
        progress_of("sending", at);
    }
    progress_end();
    redis_command_free(&call);
}

noreturn void redis_fail_exists(const redis_link *link, const char *key) {
    fail("%s: the key %s exists; --replace replaces it", redis_link_text(link), key);
}

noreturn void redis_fail_changed(const redis_link *link, const char *key) {
    fail("%s: the key %s was changed by another program meanwhile; nothing was replaced, so try again",
         redis_link_text(link), key);
}

/* In one transaction: the temporary key loses its expiry, `unlink` (may be NULL) runs, and the temporary key is
 * renamed. If the key is in the way, it stays, and the temporary key gets its expiry back. Returns false if `unlink`
 * has removed something. */
static bool commit(redis_upload *u, const redis_guard *guard, redis_command *unlink) {
    redis_command commands[4] = {{0}};
    size_t n = 0;
    redis_command_begin(&commands[n], "PERSIST");
    redis_command_bytes(&commands[n++], u->name, u->name_bytes);
    if (unlink != NULL)
        commands[n++] = *unlink;
    size_t rename = n;
    redis_command_begin(&commands[n], guard != NULL ? "RENAME" : "RENAMENX");
    redis_command_bytes(&commands[n], u->name, u->name_bytes);
    redis_command_bytes(&commands[n++], u->key, u->key_bytes);
    expire(u, &commands[n++]);
    redisReply *reply = redis_link_transaction(u->link, guard, commands, n, u->slot);
    if (reply == NULL)
        redis_fail_changed(u->link, u->key);
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != n)
        redis_link_fail(u->link, &commands[rename], reply);
    const redisReply *unlinked = reply->element[rename - 1], *renamed = reply->element[rename];
    if (renamed->type == REDIS_REPLY_INTEGER && renamed->integer == 0 && unlinked->type == REDIS_REPLY_ERROR)
        fail("%s: the key %s is in the way, and is not replaced: %s", redis_link_text(u->link), u->key, unlinked->str);
    if (renamed->type == REDIS_REPLY_INTEGER && renamed->integer == 0)
        redis_fail_exists(u->link, u->key);
    if (renamed->type == REDIS_REPLY_ERROR)
        redis_link_fail(u->link, &commands[rename], renamed);
    bool fresh = unlink == NULL || unlinked->type != REDIS_REPLY_INTEGER || unlinked->integer == 0;
    freeReplyObject(reply);
    for (size_t i = 0; i < n; i++)
        redis_command_free(&commands[i]);
    return fresh;
}

void redis_upload_commit(redis_upload *u, const redis_guard *guard) {
    (void)commit(u, guard, NULL);
    end(u);
}

void redis_upload_keep(redis_upload *u) {
    if (u->name != NULL)
        end(u);
}

bool redis_upload_commit_shard(redis_upload *u, const char *name, char *const *texts, size_t text_count) {
    redis_command unlink = {0};
    redis_command_begin(&unlink, "KITH.UNLINK");
    redis_command_bytes(&unlink, u->key, u->key_bytes);
    redis_command_text(&unlink, name);
    for (size_t i = 0; i < text_count; i++)
        redis_command_text(&unlink, texts[i]);
    redis_command removal = {0};
    redis_command_begin(&removal, "KITH.UNLINK");
    redis_command_bytes(&removal, u->key, u->key_bytes);
    redis_command_text(&removal, name);
    redis_command_text(&removal, texts[0]);
    bool fresh = commit(u, NULL, &unlink);
    if (fresh)
        set_undo(u, &removal);
    else
        end(u);
    redis_command_free(&removal);
    return fresh;
}
