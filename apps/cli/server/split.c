/* server/split.c: `kith push --shards N`: builds N filters from a list of keys, and puts them on a server or a cluster.
 *
 *     keys  ->  shard = XXH3-64(key) mod N  ->  digest with the secret key of the shard  ->  the builder of the shard
 *     each builder  ->  filter  ->  temporary key on the server      one filter is in memory at a time
 *     when all are loaded: the old description gets the number of the new set, the temporary keys are renamed, then
 *     the new description is written
 *
 * The shard does not depend on the hash of the filters, so it says nothing about where a key is within one. */
#include <math.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>

#include <kith/builder.h>

#include "cli/commands/building.h"
#include "cli/commands/choose.h"
#include "cli/input/feed.h"
#include "cli/files/filters.h"
#include "cli/input/recipe.h"
#include "cli/server/push.h"
#include "cli/server/upload.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define RATE_DEFAULT 0.001
#define SPREAD_DEVIATIONS 6 /* the largest of 512 binomial shares exceeds this with a probability below 10^-6 */

typedef struct shard {
    kith_hash hash;
    kith_builder *builder;
    redis_upload upload;
    bool fresh;                 /* its key did not exist before */
    kith_key keys[INPUT_BATCH]; /* of the current batch */
    size_t key_count;
} shard;

typedef struct split {
    const arguments *a;
    unsigned count;
    choice choice; /* without hash and capacity */
    shard *shards;
} split;

/* Returns the capacity of a shard for `keys` keys in all: the mean, and what chance may add to it. */
static uint64_t capacity_of(uint64_t keys, unsigned count) {
    double mean = (double)keys / count;
    double most = mean + SPREAD_DEVIATIONS * sqrt(mean);
    return count == 1 || most >= (double)keys ? keys : (uint64_t)ceil(most);
}

static kith_status plan_for(const split *s, uint64_t capacity, choice *c, kith_plan *plan) {
    *c = s->choice;
    c->spec.capacity = capacity;
    return choose_plan(c, plan);
}

/* The limits of each shard's builder. */
static kith_build_limits shard_limits(const split *s) {
    kith_build_limits limits = build_limits(s->a, 0);
    limits.memory_bytes = limits.memory_bytes / s->count + 1;
    return limits;
}

static void open_builders(split *s) {
    const arguments *a = s->a;
    kith_build_limits limits = shard_limits(s);
    for (unsigned i = 0; i < s->count; i++) {
        shard *one = &s->shards[i];
        *one = (shard){0};
        kith_status status = kith_hash_untrusted(&one->hash);
        kith_filter_spec spec = s->choice.spec;
        spec.hash = one->hash;
        if (status == KITH_OK) /* the capacity is set later, so that each builder collects */
            status = kith_builder_open(&spec, KITH_BUILD_SET | KITH_BUILD_LEAVE_OUT, &limits, &one->builder);
        if (status != KITH_OK)
            choose_fail(a, &s->choice, status);
    }
}

static void add_batch(const split *s, const feed *f) {
    uint64_t digests[INPUT_BATCH];
    for (size_t i = 0; i < f->n; i++) {
        shard *one = &s->shards[redis_shard_of(f->digests[i], s->count)];
        one->keys[one->key_count++] = (kith_key){f->records[i].key, f->records[i].key_bytes};
    }
    for (unsigned i = 0; i < s->count; i++) {
        shard *one = &s->shards[i];
        if (one->key_count == 0)
            continue;
        size_t done;
        kith_digest_many(&one->hash, one->keys, one->key_count, digests);
        kith_status status = build_add(one->builder, digests, one->key_count, &done);
        if (status != KITH_OK)
            fail("%s", kith_status_text(status));
        one->key_count = 0;
    }
}

static void read_keys(const split *s) {
    arguments limited = *s->a, *a = &limited;
    const kith_hash plain = {.id = KITH_HASH_XXH3};
    feed_limit(a, feed_left(a, a->memory / 2), NULL); /* the builders have the other half */
    feed *f = feed_open("reading", a->operands, a->operand_count - 1, a, NULL, &plain);
    while (feed_next(f))
        add_batch(s, f);
    feed_close(f);
}

static kith_filter *build_one(const split *s, unsigned i, const redis_shards *names) {
    const arguments *a = s->a;
    shard *one = &s->shards[i];
    uint64_t keys;
    kith_status status = kith_builder_end_input(one->builder, &keys);
    build_check(status);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    value_text keys_text, capacity_text, size_text;
    uint64_t capacity = a->capacity != 0 ? capacity_of(a->capacity, s->count) : keys > 0 ? keys : 1;
    if (keys > capacity && !a->grow)
        fail("shard %u of %u gets %s keys, but its capacity is %s (-n divided by the number of shards, and some "
             "reserve). Use a larger -n, or --grow.",
             i, s->count, text_of_integer(keys, keys_text), text_of_integer(capacity, capacity_text));
    choice c;
    kith_plan plan;
    status = plan_for(s, capacity, &c, &plan);
    if (status != KITH_OK)
        choose_fail(a, &c, status);
    kith_build_limits limits = shard_limits(s);
    uint64_t held = build_held(one->builder, &limits);
    memory_check(a, plan.file_bytes + held, "a shard with the digests of its keys");
    c.spec.hash = one->hash;
    c.spec.max_bytes = a->memory - held;
    redis_shard_note value;
    const kith_note mark = {REDIS_SHARD_NOTE, redis_shards_note(names, i, value)};
    c.spec.notes = &mark;
    c.spec.note_count = 1;
    kith_filter *filter = NULL;
    status = kith_builder_respec(one->builder, &c.spec);
    if (status == KITH_OK)
        status = kith_builder_finish(one->builder, &filter);
    build_check(status);
    if (status != KITH_OK)
        fail("shard %u of %u: %s", i, s->count, kith_status_text(status));
    kith_builder_free(one->builder);
    one->builder = NULL;
    if (a->verbose)
        note("shard %u of %u: %s, kind %s, %s", i, s->count, text_of_keys(keys, keys_text), plan.kind,
             text_of_size(plan.file_bytes, size_text));
    return filter;
}

static void load_shards(const split *s, redis_link *link, const redis_shards *names) {
    for (unsigned i = 0; i < s->count; i++) {
        kith_filter *filter = build_one(s, i, names);
        const void *bytes;
        size_t byte_count;
        kith_status status = kith_filter_bytes(filter, &bytes, &byte_count);
        if (status != KITH_OK)
            fail_status(names->names[i], status);
        redis_upload_begin(&s->shards[i].upload, link, names->names[i], strlen(names->names[i]));
        redis_upload_block(&s->shards[i].upload, bytes, byte_count);
        kith_filter_free(filter);
        /* The last shard may come long after the first. */
        for (unsigned j = 0; j < i; j++)
            redis_upload_renew(&s->shards[j].upload);
    }
}

static void begin(split *s, const arguments *a) {
    if (a->final && a->grow)
        fail("--final and --grow contradict each other: nothing is added to a final filter, so it need not grow");
    memory_check(a, 2 * a->shards * BUILDER_BYTES_MIN, "a builder for each shard"); /* half of --memory */
    *s = (split){.a = a, .count = a->shards, .shards = allocate(a->shards * sizeof *s->shards)};
    uint32_t needs = (a->grow ? KITH_CAN_GROW | KITH_CAN_ADD : 0u) | (a->can_remove ? KITH_CAN_REMOVE : 0u);
    choose_begin(a, needs, &s->choice);
    s->choice.spec.rate = a->rate != 0 ? a->rate : RATE_DEFAULT;
    s->choice.spec.recipe = recipe_of(&a->shape);
    choice c;
    kith_plan plan; /* finds invalid options before the input is read */
    kith_status status = plan_for(s, a->capacity != 0 ? capacity_of(a->capacity, s->count) : 1, &c, &plan);
    if (status != KITH_OK)
        choose_fail(a, &c, status);
}

/* Finds what can be refused before the keys are read. That may take long, so the connection is closed meanwhile. */
static void check_before(redis_before *before, const redis_shards *names, const redis_address *address,
                         const arguments *a) {
    redis_link *link = redis_link_open(address, a);
    redis_before_read(before, link, address, a);
    redis_shards_check(names, &before->shards, link);
    redis_link_close(link);
}

/* Another program has changed the key. Removes the shards that have not replaced others, and ends the tool. */
static noreturn void withdraw(const split *s, const redis_shards *names, redis_link *link,
                              const redis_address *address) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->shards[i].fresh)
            redis_shards_withdraw(names, i, link);
    if (!s->a->replace)
        redis_fail_exists(link, address->key);
    redis_fail_changed(link, address->key);
}

void redis_push_shards(const arguments *a, const redis_address *address) {
    split s;
    begin(&s, a);
    redis_shards names;
    redis_shards_name(&names, address, s.count, s.choice.spec.recipe);
    redis_before before;
    check_before(&before, &names, address, a);
    redis_shards_free(&before.shards);
    redis_note_recipe(address->text, names.recipe);
    open_builders(&s);
    read_keys(&s);
    redis_link *link = redis_link_open(address, a);
    load_shards(&s, link, &names);
    redis_before_read(&before, link, address, a); /* meanwhile, another push may have been faster */
    redis_shards_check(&names, &before.shards, link);
    hold_signals(); /* from here on the new set replaces the old one, which takes a moment */
    redis_shards_announce(&before.shards, &names, link, address, &before.guard);
    for (unsigned i = 0; i < s.count; i++)
        s.shards[i].fresh = redis_shards_commit(&names, i, &before.shards, &s.shards[i].upload);
    /* Without a reply nobody knows whether the description was written, so from here on the shards stay. */
    for (unsigned i = 0; i < s.count; i++)
        redis_upload_keep(&s.shards[i].upload);
    if (!redis_shards_write(&names, link, address, a->replace ? &before.guard : NULL))
        withdraw(&s, &names, link, address);
    redis_shards_remove(&before.shards, &names, link, address);
    redis_shards_free(&before.shards);
    redis_shards_free(&names);
    redis_link_close(link);
    free(s.shards);
}
