/* server/push.c: `kith push`: a filter file, or a dump of a RedisBloom filter, to a server. */
#include "cli/server/push.h"

#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/files/opened.h"
#include "cli/input/recipe.h"
#include "cli/server/dump.h"
#include "cli/server/type.h"
#include "cli/server/upload.h"
#include "cli/output/report.h"
#include "cli/values.h"

void redis_before_read(redis_before *before, redis_link *link, const redis_address *address, const arguments *a) {
    *before = (redis_before){0};
    redis_type type = redis_type_of(link, address->key, address->key_bytes, before->type);
    before->guard = (redis_guard){.key = address->key, .key_bytes = address->key_bytes, .type = before->type};
    if (type == REDIS_TYPE_NONE)
        return;
    bool shards = type == REDIS_TYPE_STRING && redis_shards_read(&before->shards, link, address);
    if (!shards && !redis_type_is_filter(type))
        fail(
            "%s: the key %s holds another kind of value (%s), which kith push does not replace; choose another key, or "
            "delete it first",
            address->text, address->key, before->type);
    if (!a->replace)
        redis_fail_exists(link, address->key);
    before->guard.text = before->shards.text;
    before->guard.text_bytes = before->shards.text_bytes;
}

void redis_note_recipe(const char *path, uint64_t recipe) {
    recipe_text text;
    recipe_advice advice;
    recipe &= ~kith_key_recipe(kith_key_type_of(recipe)); /* the server reads numbers and UUIDs itself */
    if (recipe != 0)
        note("%s: its keys were made with %s; the server does not do this, so the application must %s before it "
             "looks a key up",
             path, text_of_recipe(recipe, text), advice_of_recipe(recipe, advice));
}

/* A FILE is pushed as it is; what it contains was decided when it was built. */
static void check_no_build_options(const arguments *a) {
    recipe_text recipe;
    uint64_t recipe_bits = recipe_of(&a->shape);
    const struct {
        bool given;
        const char *name;
    } others[] = {
        {a->kind != NULL, "-k"},
        {a->rate != 0, "-p"},
        {a->capacity != 0, "-n"},
        {a->kind_options != NULL, "--option"},
        {a->grow, "--grow"},
        {a->final, "--final"},
        {a->can_remove, "--delete"},
        {a->shape.field != 0, "--field"},
        {a->shape.json_field != NULL, "--json-field"},
        {a->nul_ended, "-0"},
        {a->shape.text, "--text"},
        {a->shape.skip_bad, "--skip-bad"},
        {recipe_bits != 0, text_of_recipe(recipe_bits, recipe)},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            fail("%s needs --shards N: without it, kith push takes a finished filter (kith build -o FILE %s ...)",
                 others[i].name, others[i].name);
}

static void push_file(const arguments *a, const char *path, const redis_address *address) {
    redis_dump dump = {0};
    filter_file file = {.file = NULL};
    const void *bytes = NULL;
    size_t byte_count = 0;
    reason_text reason;
    if (!redis_dump_is(path)) {
        file = filter_file_read(path, a);
        filter_file_must(&file, kith_file_bytes(file.file, &bytes, &byte_count));
        redis_note_recipe(path, kith_filter_recipe(filter_of(&file)));
    } else if (!redis_dump_try_open(path, a, &dump, reason)) {
        fail("%s: %s", path, reason);
    }
    redis_link *link = redis_link_open(address, a);
    redis_before before;
    redis_before_read(&before, link, address, a);
    redis_upload upload;
    redis_upload_begin(&upload, link, address->key, address->key_bytes);
    if (file.file != NULL)
        redis_upload_block(&upload, bytes, byte_count);
    else
        redis_upload_dump(&upload, &dump);
    redis_upload_commit(&upload, a->replace ? &before.guard : NULL);
    redis_shards_remove(&before.shards, NULL, link, address);
    redis_shards_free(&before.shards);
    redis_link_close(link);
    filter_file_close(&file);
    redis_dump_free(&dump);
}

int command_push(const arguments *a) {
    const char *text = a->operands[a->operand_count - 1];
    if (!redis_is_address(text))
        fail("%s: the last argument must be the address of a key: redis://HOST:PORT/KEY", text);
    redis_address address;
    redis_address_read(text, &address);
    if (a->shards != 0) {
        redis_push_shards(a, &address);
    } else {
        check_no_build_options(a);
        if (a->operand_count < 2)
            fail("too few arguments: kith push FILE ADDRESS");
        if (a->operand_count > 2)
            fail("too many arguments: kith push FILE ADDRESS takes one file; for lists of keys, give --shards N");
        push_file(a, a->operands[0], &address);
    }
    redis_address_free(&address);
    return EXIT_FOUND;
}
