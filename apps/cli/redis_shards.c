/* redis_shards.c: the names and the description of shards; see redis_shards.h. */
#define _GNU_SOURCE

#include "redis_shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_slots.h"
#include "redis_upload.h"
#include "report.h"

static const char FIRST_LINE[] = "kith-shards ";

void redis_shards_name(redis_shards *s, const redis_address *address, unsigned count, uint64_t recipe) {
    if (memchr(address->key, '{', address->key_bytes) != NULL || memchr(address->key, '}', address->key_bytes) != NULL)
        fail("%s: a key with braces cannot be split into shards: their names need their own hash tags", address->text);
    if (memchr(address->key, '\n', address->key_bytes) != NULL ||
        memchr(address->key, '\0', address->key_bytes) != NULL)
        fail("%s: a key with a newline or a zero byte cannot be split into shards", address->text);
    *s = (redis_shards){.count = count, .recipe = recipe, .names = allocate(count * sizeof *s->names)};
    for (unsigned i = 0; i < count; i++) {
        redis_tag tag;
        redis_tag_of_slot((2 * i + 1) * REDIS_SLOTS / (2 * count), tag);
        if (asprintf(&s->names[i], "%s:{%s}:%uof%u", address->key, tag, i, count) < 0)
            fail("not enough memory");
    }
}

void redis_shards_free(redis_shards *s) {
    for (unsigned i = 0; i < s->count; i++)
        free(s->names[i]);
    free(s->names);
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

/* `text` ends with a zero byte. */
static bool parse(redis_shards *s, const char *text) {
    uint64_t version, count, recipe;
    if (!read_line(&text, FIRST_LINE, 1, &version) || !read_line(&text, "shards ", REDIS_SHARDS_MAX, &count) ||
        !read_line(&text, "recipe ", (UINT64_C(1) << 48) - 1, &recipe) || count == 0)
        return false;
    *s = (redis_shards){.recipe = recipe, .names = allocate(count * sizeof *s->names)};
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
    freeReplyObject(reply);
    return is;
}

void redis_shards_write(const redis_shards *s, redis_link *link, const redis_address *address, bool replace) {
    char *text;
    size_t byte_count;
    FILE *stream = open_memstream(&text, &byte_count);
    if (stream == NULL)
        fail("not enough memory");
    (void)fprintf(stream, "%s1\nshards %u\nrecipe %" PRIu64 "\n", FIRST_LINE, s->count, s->recipe);
    for (unsigned i = 0; i < s->count; i++)
        (void)fprintf(stream, "%s\n", s->names[i]);
    if (fclose(stream) != 0)
        fail("not enough memory");
    redis_command call = {0};
    redis_command_begin(&call, "SET");
    redis_command_bytes(&call, address->key, address->key_bytes);
    redis_command_bytes(&call, text, byte_count);
    if (!replace)
        redis_command_text(&call, "NX");
    redisReply *reply = redis_link_call(link, &call, redis_slot(address->key, address->key_bytes));
    if (reply->type == REDIS_REPLY_NIL)
        redis_fail_exists(link, address->key);
    if (reply->type != REDIS_REPLY_STATUS)
        redis_link_fail(link, &call, reply);
    freeReplyObject(reply);
    redis_command_free(&call);
    free(text);
}

static bool has_name(const redis_shards *s, const char *name) {
    for (unsigned i = 0; s != NULL && i < s->count; i++)
        if (strcmp(s->names[i], name) == 0)
            return true;
    return false;
}

void redis_shards_remove(const redis_shards *s, const redis_shards *keep, redis_link *link) {
    for (unsigned i = 0; i < s->count; i++)
        if (!has_name(keep, s->names[i]))
            freeReplyObject(redis_link_ask(link, "UNLINK", s->names[i], strlen(s->names[i])));
}
