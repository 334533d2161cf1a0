/* server/lookup.c: lookups in filters on servers; see server/lookup.h.
 *
 * A batch of keys becomes two commands per shard, TYPE and MEXISTS. MEXISTS returns 0 for a key that does not exist or
 * holds another type, as RedisBloom does; TYPE tells this apart from "not in the set". */
#include "cli/server/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input/recipe.h"
#include "cli/server/shards.h"
#include "cli/server/slots.h"
#include "cli/server/type.h"
#include "cli/output/report.h"

enum { RESULT_BYTES = 160 }; /* of memory for the result of one key */

typedef struct part {
    const char *key;
    size_t key_bytes;
    unsigned slot;
    redis_type type;
    size_t keys[INPUT_BATCH]; /* the records of the current batch that belong to this shard */
    size_t key_count;
} part;

struct redis_query {
    const redis_address *address;
    redis_link *link;
    redis_shards shards; /* count is 0 for a single filter */
    part *parts;
    unsigned part_count;
    /* For each part with keys, TYPE and MEXISTS. */
    redis_command *commands;
    unsigned *slots;
    redisReply **replies;
    kith_key_type type;                           /* of the keys */
    char texts[INPUT_BATCH][KITH_KEY_TEXT_BYTES]; /* numbers and UUIDs of the batch, which the server reads as text */
};

static const char *command_of(redis_type type) {
    return type == REDIS_TYPE_KITH ? "KITH.MEXISTS" : type == REDIS_TYPE_CUCKOO ? "CF.MEXISTS" : "BF.MEXISTS";
}

static noreturn void fail_type(const redis_query *q, const part *p, redis_type type, const char *name) {
    if (type == REDIS_TYPE_NONE && q->shards.count != 0)
        fail("%s: the shard %s is missing; was the set replaced or removed?", q->address->text, p->key);
    if (type == REDIS_TYPE_NONE)
        fail("%s: there is no such key", q->address->text);
    fail("%s: the key %s holds another kind of value (%s), not a filter", q->address->text, p->key, name);
}

/* Returns the recipe of a filter of kith.so, from the field "recipe" of KITH.STATS. */
static uint64_t recipe_on_server(const redis_query *q, const part *p) {
    redisReply *reply = redis_link_ask(q->link, "KITH.STATS", p->key, p->key_bytes);
    uint64_t recipe = 0;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        bool named =
            (name->type == REDIS_REPLY_STRING || name->type == REDIS_REPLY_STATUS) && strcmp(name->str, "recipe") == 0;
        if (named && value->type == REDIS_REPLY_INTEGER)
            recipe = (uint64_t)value->integer;
        else if (named && (value->type == REDIS_REPLY_STRING || value->type == REDIS_REPLY_STATUS))
            recipe = strtoull(value->str, NULL, 10);
    }
    freeReplyObject(reply);
    return recipe;
}

static void find_type(redis_query *q, part *p) {
    redis_type_name name;
    p->slot = redis_slot(p->key, p->key_bytes);
    p->type = redis_type_of(q->link, p->key, p->key_bytes, name);
    if (!redis_type_is_filter(p->type))
        fail_type(q, p, p->type, name);
}

redis_query *redis_query_open(const redis_address *address, arguments *a) {
    redis_query *q = allocate(sizeof *q);
    *q = (redis_query){.address = address, .link = redis_link_open(address, a)};
    redis_type_name name;
    redis_type type = redis_type_of(q->link, address->key, address->key_bytes, name);
    bool shards = type == REDIS_TYPE_STRING && redis_shards_read(&q->shards, q->link, address);
    q->part_count = shards ? q->shards.count : 1;
    q->parts = allocate(q->part_count * sizeof *q->parts);
    q->commands = allocate(2 * q->part_count * sizeof *q->commands);
    q->slots = allocate(2 * q->part_count * sizeof *q->slots);
    q->replies = allocate(2 * q->part_count * sizeof(redisReply *));
    memset(q->commands, 0, 2 * q->part_count * sizeof *q->commands);
    for (unsigned i = 0; i < q->part_count; i++) {
        q->parts[i] = shards ? (part){.key = q->shards.names[i], .key_bytes = strlen(q->shards.names[i])}
                             : (part){.key = address->key, .key_bytes = address->key_bytes};
        find_type(q, &q->parts[i]);
    }
    uint64_t recipe = shards                                ? q->shards.recipe
                      : q->parts[0].type == REDIS_TYPE_KITH ? recipe_on_server(q, &q->parts[0])
                                                            : 0;
    recipe_apply_bits(address->text, recipe, a);
    q->type = kith_key_type_of(recipe);
    if (a->verbose && shards)
        note("%s: a set of %u shards", address->text, q->part_count);
    return q;
}

/* Adds record `i` of the batch to a command. */
static void put_item(redis_query *q, redis_command *lookup, const input_record *records, size_t i) {
    const input_record *r = &records[i];
    if (q->type == KITH_KEYS_BYTES)
        redis_command_bytes(lookup, r->key, r->key_bytes);
    else
        redis_command_bytes(lookup, q->texts[i], kith_key_format(q->type, (const uint8_t *)r->key, q->texts[i]));
}

static void prepare(redis_query *q, const part *p, const input_record *records, size_t call) {
    redis_command *type = &q->commands[call], *lookup = &q->commands[call + 1];
    redis_command_begin(type, "TYPE");
    redis_command_bytes(type, p->key, p->key_bytes);
    redis_command_begin(lookup, command_of(p->type));
    redis_command_bytes(lookup, p->key, p->key_bytes);
    for (size_t i = 0; i < p->key_count; i++)
        put_item(q, lookup, records, p->keys[i]);
    type->may_repeat = lookup->may_repeat = true;
    lookup->reply_bytes = REDIS_REPLY_BYTES + p->key_count * RESULT_BYTES;
    q->slots[call] = q->slots[call + 1] = p->slot;
}

/* Reads the replies for one part into the bitmap. Returns how many of its keys may be in the set. */
static size_t take(const redis_query *q, const part *p, size_t call, uint64_t *results) {
    const redisReply *type = q->replies[call], *found = q->replies[call + 1];
    if (type->type != REDIS_REPLY_STATUS)
        redis_link_fail(q->link, &q->commands[call], type);
    if (redis_type_of_reply(type) != p->type)
        fail_type(q, p, redis_type_of_reply(type), type->str);
    if (found->type != REDIS_REPLY_ARRAY || found->elements != p->key_count)
        redis_link_fail(q->link, &q->commands[call + 1], found);
    size_t count = 0;
    for (size_t i = 0; i < p->key_count; i++) {
        const redisReply *one = found->element[i];
        if (one->type != REDIS_REPLY_INTEGER || one->integer < 0 || one->integer > 1)
            redis_link_fail(q->link, &q->commands[call + 1], one);
        results[p->keys[i] / 64] |= (uint64_t)one->integer << (p->keys[i] % 64);
        count += (size_t)one->integer;
    }
    return count;
}

size_t redis_query_has_many(redis_query *q, const input_record *records, const uint64_t *digests, size_t n,
                            uint64_t *results) {
    memset(results, 0, (n + 63) / 64 * sizeof *results);
    for (unsigned i = 0; i < q->part_count; i++)
        q->parts[i].key_count = 0;
    for (size_t i = 0; i < n; i++) {
        part *p = &q->parts[redis_shard_of(digests[i], q->part_count)];
        p->keys[p->key_count++] = i;
    }
    size_t commands = 0, count = 0;
    for (unsigned i = 0; i < q->part_count; i++)
        if (q->parts[i].key_count > 0) {
            prepare(q, &q->parts[i], records, commands);
            commands += 2;
        }
    redis_link_call_many(q->link, q->commands, q->slots, commands, q->replies);
    commands = 0;
    for (unsigned i = 0; i < q->part_count; i++)
        if (q->parts[i].key_count > 0) {
            count += take(q, &q->parts[i], commands, results);
            commands += 2;
        }
    for (size_t i = 0; i < commands; i++)
        freeReplyObject(q->replies[i]);
    return count;
}

void redis_query_close(redis_query *q) {
    for (size_t i = 0; i < 2 * (size_t)q->part_count; i++)
        redis_command_free(&q->commands[i]);
    free(q->commands);
    free(q->slots);
    free(q->replies);
    free(q->parts);
    redis_shards_free(&q->shards);
    redis_link_close(q->link);
    free(q);
}
