/* server/shards.c: the names and the description of shards; see server/shards.h. */
#define _GNU_SOURCE

#include "cli/server/shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/server/slots.h"
#include "cli/output/report.h"

static const char FIRST_LINE[] = "kith-shards ";

/* ---- names ---- */

static bool has_byte(const redis_address *address, char byte) {
    return memchr(address->key, byte, address->key_bytes) != NULL;
}

/* Returns the name of a shard, or NULL if the key cannot have any. */
static char *name_of(const redis_address *address, unsigned i, unsigned count) {
    redis_tag tag;
    char *name;
    if (has_byte(address, '{') || has_byte(address, '}') || has_byte(address, '\n') || has_byte(address, '\0'))
        return NULL;
    redis_tag_of_slot((2 * i + 1) * REDIS_SLOTS / (2 * count), tag);
    if (asprintf(&name, "%s:{%s}:%uof%u", address->key, tag, i, count) < 0)
        fail("not enough memory");
    return name;
}

void redis_shards_name(redis_shards *s, const redis_address *address, unsigned count, uint64_t recipe) {
    if (has_byte(address, '{') || has_byte(address, '}'))
        fail("%s: a key with braces cannot be split into shards: their names need their own hash tags", address->text);
    if (has_byte(address, '\n') || has_byte(address, '\0'))
        fail("%s: a key with a newline or a zero byte cannot be split into shards", address->text);
    *s = (redis_shards){.count = count, .recipe = recipe, .names = allocate(count * sizeof *s->names), .set_count = 1};
    (void)snprintf(s->sets[0], sizeof s->sets[0], "%016" PRIx64 "%016" PRIx64, redis_random_word(),
                   redis_random_word());
    for (unsigned i = 0; i < count; i++)
        s->names[i] = name_of(address, i, count);
}

void redis_shards_free(redis_shards *s) {
    for (unsigned i = 0; i < s->count; i++)
        free(s->names[i]);
    free(s->names);
    free(s->text);
    *s = (redis_shards){0};
}

/* ---- the description ---- */

/* Reads "WORD NUMBER\n" at *at. */
static bool read_line(const char **at, const char *word, uint64_t most, uint64_t *number) {
    size_t bytes = strlen(word);
    if (strncmp(*at, word, bytes) != 0 || (*at)[bytes] < '0' || (*at)[bytes] > '9')
        return false;
    char *end;
    *number = strtoull(*at + bytes, &end, 10);
    *at = end + 1;
    return *end == '\n' && *number <= most;
}

/* Reads "set NUMBER NUMBER …\n" at *at. */
static bool read_sets(const char **at, redis_shards *s) {
    const size_t digits = sizeof(redis_set) - 1;
    if (strncmp(*at, "set", 3) != 0)
        return false;
    for (*at += 3; **at == ' '; *at += digits) {
        if (s->set_count == REDIS_SETS_MAX || strspn(++*at, "0123456789abcdef") != digits)
            return false;
        memcpy(s->sets[s->set_count++], *at, digits);
    }
    return s->set_count > 0 && *(*at)++ == '\n';
}

/* `text` ends with a zero byte. */
static bool parse(redis_shards *s, const char *text) {
    uint64_t version, count, recipe;
    *s = (redis_shards){0};
    if (!read_line(&text, FIRST_LINE, 1, &version) || !read_sets(&text, s) ||
        !read_line(&text, "shards ", REDIS_SHARDS_MAX, &count) ||
        !read_line(&text, "recipe ", (UINT64_C(1) << 48) - 1, &recipe) || count == 0)
        return false;
    s->recipe = recipe;
    s->names = allocate(count * sizeof *s->names);
    while (s->count < count) {
        const char *end = strchr(text, '\n');
        if (end == NULL || end == text)
            return false;
        s->names[s->count++] = strndup(text, (size_t)(end - text));
        text = end + 1;
    }
    return *text == '\0';
}

bool redis_shards_read(redis_shards *s, redis_link *link, const redis_address *address) {
    redisReply *reply = redis_link_ask(link, "GET", address->key, address->key_bytes);
    bool is = reply->type == REDIS_REPLY_STRING && strncmp(reply->str, FIRST_LINE, sizeof FIRST_LINE - 1) == 0;
    if (is && (strlen(reply->str) != reply->len || !parse(s, reply->str)))
        fail("%s: the description of the shards is damaged, or was written by a newer kith", address->text);
    if (is) {
        s->text = strdup(reply->str);
        s->text_bytes = reply->len;
        if (s->text == NULL)
            fail("not enough memory");
    }
    freeReplyObject(reply);
    return is;
}

static char *text_of(const redis_shards *s, size_t *byte_count) {
    char *text;
    FILE *stream = open_memstream(&text, byte_count);
    if (stream == NULL)
        fail("not enough memory");
    (void)fprintf(stream, "%s1\nset", FIRST_LINE);
    for (size_t i = 0; i < s->set_count; i++)
        (void)fprintf(stream, " %s", s->sets[i]);
    (void)fprintf(stream, "\nshards %u\nrecipe %" PRIu64 "\n", s->count, s->recipe);
    for (unsigned i = 0; i < s->count; i++)
        (void)fprintf(stream, "%s\n", s->names[i]);
    if (fclose(stream) != 0)
        fail("not enough memory");
    return text;
}

static bool write_text(redis_link *link, const redis_address *address, const redis_guard *guard, const char *text,
                       size_t byte_count) {
    redis_command call = {0};
    unsigned slot = redis_slot(address->key, address->key_bytes);
    redis_command_begin(&call, "SET");
    redis_command_bytes(&call, address->key, address->key_bytes);
    redis_command_bytes(&call, text, byte_count);
    if (guard == NULL)
        redis_command_text(&call, "NX");
    redisReply *reply =
        guard != NULL ? redis_link_transaction(link, guard, &call, 1, slot) : redis_link_call(link, &call, slot);
    bool refused = reply == NULL || (guard == NULL && reply->type == REDIS_REPLY_NIL);
    if (!refused) {
        const redisReply *done =
            guard != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 ? reply->element[0] : reply;
        if (done->type != REDIS_REPLY_STATUS)
            redis_link_fail(link, &call, done);
    }
    if (reply != NULL)
        freeReplyObject(reply);
    redis_command_free(&call);
    return !refused;
}

bool redis_shards_write(const redis_shards *s, redis_link *link, const redis_address *address,
                        const redis_guard *guard) {
    size_t byte_count;
    char *text = text_of(s, &byte_count);
    bool written = write_text(link, address, guard, text, byte_count);
    free(text);
    return written;
}

void redis_shards_announce(redis_shards *old, const redis_shards *next, redis_link *link, const redis_address *address,
                           redis_guard *guard) {
    if (old->count == 0)
        return;
    if (old->set_count == REDIS_SETS_MAX)
        fail("%s: the last %d pushes broke off while they replaced the shards; remove the key %s and its shards, and "
             "push again",
             address->text, REDIS_SETS_MAX - 1, address->key);
    memmove(old->sets[1], old->sets[0], old->set_count++ * sizeof *old->sets);
    memcpy(old->sets[0], next->sets[0], sizeof *old->sets);
    size_t byte_count;
    char *text = text_of(old, &byte_count);
    if (!write_text(link, address, guard, text, byte_count))
        redis_fail_changed(link, address->key);
    free(old->text);
    guard->text = old->text = text;
    guard->text_bytes = old->text_bytes = byte_count;
}

/* ---- shards on the server ---- */

static const char *note_of(const redis_set set, unsigned i, unsigned count, redis_shard_note note) {
    (void)snprintf(note, sizeof(redis_shard_note), "%s %u/%u", set, i, count);
    return note;
}

const char *redis_shards_note(const redis_shards *s, unsigned i, redis_shard_note note) {
    return note_of(s->sets[0], i, s->count, note);
}

/* The notes that a shard may have: of the set of s, and of those of `old` (may be NULL). */
typedef struct note_list {
    redis_shard_note notes[REDIS_SETS_MAX + 1];
    char *texts[REDIS_SETS_MAX + 1];
    size_t count;
} note_list;

static void list_notes(note_list *list, const redis_shards *s, unsigned i, const redis_shards *old) {
    list->count = 0;
    for (const redis_shards *from = s; from != NULL; from = from == s ? old : NULL)
        for (size_t j = 0; j < from->set_count && list->count <= REDIS_SETS_MAX; j++) {
            (void)note_of(from->sets[j], i, s->count, list->notes[list->count]);
            list->texts[list->count] = list->notes[list->count];
            list->count++;
        }
}

/* Whether the server says of a value that it is not what is asked for, and not that it refuses the command. */
static bool is_about_value(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ERROR &&
           (strncmp(reply->str, "WRONGTYPE", 9) == 0 ||
            (strncmp(reply->str, "ERR", 3) == 0 && strncmp(reply->str, "ERR unknown command", 19) != 0));
}

void redis_shards_check(const redis_shards *s, const redis_shards *old, redis_link *link) {
    redis_command *calls = allocate(s->count * sizeof *calls);
    unsigned *slots = allocate(s->count * sizeof *slots);
    redisReply **replies = allocate(s->count * sizeof(redisReply *));
    memset(calls, 0, s->count * sizeof *calls);
    for (unsigned i = 0; i < s->count; i++) {
        redis_command_begin(&calls[i], "KITH.NOTE");
        redis_command_text(&calls[i], s->names[i]);
        redis_command_text(&calls[i], REDIS_SHARD_NOTE);
        calls[i].may_repeat = true;
        slots[i] = redis_slot(s->names[i], strlen(s->names[i]));
    }
    redis_link_call_many(link, calls, slots, s->count, replies);
    for (unsigned i = 0; i < s->count; i++) {
        note_list list;
        list_notes(&list, s, i, old);
        const redisReply *reply = replies[i];
        bool own = reply->type == REDIS_REPLY_NIL;
        for (size_t j = 0; j < list.count && reply->type == REDIS_REPLY_STRING; j++)
            own = own || strcmp(reply->str, list.texts[j]) == 0;
        if (!own && reply->type != REDIS_REPLY_STRING && !is_about_value(reply))
            redis_link_fail(link, &calls[i], reply);
        if (!own)
            fail("%s: the key %s is in the way: it is not a shard of the set that is replaced, but %s; remove it, or "
                 "choose another key or number of shards",
                 redis_link_text(link), s->names[i],
                 reply->type == REDIS_REPLY_STRING ? "one of another set (was its description renamed or copied?)"
                 : strncmp(reply->str, "WRONGTYPE", 9) == 0 ? "another kind of value"
                                                            : "another filter");
        freeReplyObject(replies[i]);
        redis_command_free(&calls[i]);
    }
    free(calls);
    free(slots);
    free(replies);
}

bool redis_shards_commit(const redis_shards *s, unsigned i, const redis_shards *old, redis_upload *upload) {
    note_list list;
    list_notes(&list, s, i, old);
    return redis_upload_commit_shard(upload, REDIS_SHARD_NOTE, list.texts, list.count);
}

static bool has_name(const redis_shards *s, const char *name) {
    for (unsigned i = 0; s != NULL && i < s->count; i++)
        if (strcmp(s->names[i], name) == 0)
            return true;
    return false;
}

/* Removes a shard of one of the first `set_count` sets of s. */
static void remove_one(const redis_shards *s, unsigned i, size_t set_count, redis_link *link) {
    note_list list;
    list_notes(&list, s, i, NULL);
    redis_command call = {0};
    redis_command_begin(&call, "KITH.UNLINK");
    redis_command_text(&call, s->names[i]);
    redis_command_text(&call, REDIS_SHARD_NOTE);
    for (size_t j = 0; j < set_count; j++)
        redis_command_text(&call, list.texts[j]);
    call.may_repeat = true; /* the second time, it is not there any more, or another filter is */
    redisReply *reply = redis_link_call(link, &call, redis_slot(s->names[i], strlen(s->names[i])));
    if (reply->type == REDIS_REPLY_ERROR)
        note("left on the server: %s: %s", s->names[i], reply->str);
    else if (reply->type != REDIS_REPLY_INTEGER)
        redis_link_fail(link, &call, reply);
    freeReplyObject(reply);
    redis_command_free(&call);
}

void redis_shards_withdraw(const redis_shards *s, unsigned i, redis_link *link) {
    remove_one(s, i, 1, link);
}

void redis_shards_remove(const redis_shards *s, const redis_shards *keep, redis_link *link,
                         const redis_address *address) {
    for (unsigned i = 0; i < s->count; i++) {
        char *own = name_of(address, i, s->count);
        if (own == NULL || strcmp(own, s->names[i]) != 0)
            note("left on the server: %s: its name is not that of a shard of %s; was the description renamed or "
                 "copied?",
                 s->names[i], address->key);
        else if (!has_name(keep, own))
            remove_one(s, i, s->set_count, link);
        free(own);
    }
}
