/* query.c: `kith query`. Each batch of lines is hashed and looked up with one call, in a file or on a server; its lines
 * are printed in the order of the input. */
#include <stdlib.h>
#include <string.h>

#include <kith/filter.h>

#include "cli/commands.h"
#include "cli/input/feed.h"
#include "cli/files/opened.h"
#include "cli/input/key.h"
#include "cli/output/json.h"
#include "cli/input/recipe.h"
#include "cli/server/address.h"
#include "cli/server/lookup.h"
#include "cli/output/report.h"
#include "cli/values.h"

/* On a server, digests only choose the shard, as in server/shards.h. */
static const kith_hash SHARD_HASH = {.id = KITH_HASH_XXH3};

typedef struct query {
    arguments *a;
    const kith_filter *filter; /* NULL: on a server */
    redis_query *server;       /* NULL: in a file */
    uint64_t lookups;
    uint64_t maybe;
} query;

static uint64_t chosen(const query *q) {
    if (q->a->mark)
        return q->lookups;
    return q->a->invert ? q->lookups - q->maybe : q->maybe;
}

static void put_marked(const query *q, const input_record *record, bool maybe) {
    const input_shape *shape = &q->a->shape;
    out(maybe ? "maybe\t" : "no\t", maybe ? 6 : 3);
    out(record->line, record->line_bytes);
    if (shape->fixed_bytes == 0)
        out(&shape->end, 1);
}

/* Returns the last record of the longest run, from record `from` on, in which each line directly follows the previous
 * one in memory, so that the run can be printed with one copy. */
static size_t run_of(const input_shape *shape, const input_record *records, size_t from, size_t last) {
    size_t i = from;
    size_t end_bytes = shape->fixed_bytes == 0;
    while (i < last) {
        const char *after = records[i].line + records[i].line_bytes;
        if (records[i + 1].line != after + end_bytes || (end_bytes != 0 && *after != shape->end))
            break;
        i++;
    }
    return i;
}

/* Prints the lines first … last in as few blocks as possible: one large copy is cheaper than many small ones. */
static void put_lines(const query *q, const input_record *records, size_t first, size_t last) {
    const input_shape *shape = &q->a->shape;
    while (first <= last) {
        size_t to = run_of(shape, records, first, last);
        const char *begin = records[first].line;
        out(begin, (size_t)(records[to].line + records[to].line_bytes - begin));
        if (shape->fixed_bytes == 0)
            out(&shape->end, 1);
        first = to + 1;
    }
}

/* Returns the next record from `i` on whose result is `wanted`, or n if there is none. */
static size_t next_result(const uint64_t *results, size_t i, size_t n, bool wanted) {
    while (i < n) {
        uint64_t word = (wanted ? results[i / 64] : ~results[i / 64]) >> (i % 64);
        if (word != 0) {
            i += (size_t)__builtin_ctzll(word);
            return i < n ? i : n;
        }
        i = (i / 64 + 1) * 64;
    }
    return n;
}

/* Returns true if the exit status is decided and no more lookups are needed. */
static bool look_up(query *q, const uint64_t *digests, const input_record *records, size_t n) {
    uint64_t results[(INPUT_BATCH + 63) / 64];
    q->maybe += q->filter != NULL ? kith_filter_has_many(q->filter, digests, n, results)
                                  : redis_query_has_many(q->server, records, digests, n, results);
    q->lookups += n;
    if (q->a->quiet)
        return chosen(q) > 0;
    if (q->a->count)
        return false;
    if (q->a->mark) {
        for (size_t i = 0; i < n; i++)
            put_marked(q, &records[i], kith_bitmap_get(results, i));
        return false;
    }
    bool wanted = !q->a->invert;
    for (size_t i = 0; (i = next_result(results, i, n, wanted)) < n;) {
        size_t end = next_result(results, i, n, !wanted);
        put_lines(q, records, i, end - 1);
        i = end;
    }
    return false;
}

/* Keys on the command line are processed like lines of a file. */
static void look_up_keys(query *q) {
    const arguments *a = q->a;
    for (size_t i = 1; i < a->operand_count; i++) {
        size_t bytes = strlen(a->operands[i]);
        input_record record = {.line = a->operands[i], .line_bytes = bytes, .key = a->operands[i], .key_bytes = bytes};
        size_t fixed_bytes = a->shape.fixed_bytes;
        if (fixed_bytes != 0 && bytes != fixed_bytes)
            fail("--key %s: has %zu bytes, but the keys of %s have %zu (--fixed)", a->operands[i], bytes,
                 a->operands[0], fixed_bytes);
        char *buffer = allocate(bytes + 1);
        char reason[128];
        const char *wrong = key_is_line(&a->shape) ? NULL : key_of(&a->shape, &record, buffer, reason, sizeof reason);
        if (wrong != NULL)
            fail("--key %s: %s", a->operands[i], wrong);
        uint64_t digest = q->filter != NULL ? kith_filter_digest(q->filter, record.key, record.key_bytes)
                                            : kith_digest(&SHARD_HASH, record.key, record.key_bytes);
        bool known = look_up(q, &digest, &record, 1);
        free(buffer);
        if (known)
            return;
    }
}

/* The commands to a server contain the keys of a batch, and exist twice while they are sent. */
static void limit_memory(query *q) {
    arguments *a = q->a;
    bool prints = !a->count && !a->quiet;
    uint64_t held = q->filter != NULL && a->no_mmap ? kith_filter_memory(q->filter) : 0;
    a->shape.digest_only = !prints && q->server == NULL;
    feed_limit(a, (a->memory > held ? a->memory - held : 0) / (q->server != NULL ? 4 : 1),
               prints && q->server == NULL ? "use -c or -q, which print no lines" : NULL);
}

static void look_up_inputs(query *q) {
    arguments *a = q->a;
    limit_memory(q);
    feed *f = feed_open("looking up", a->operands + 1, a->operand_count - 1, a, q->filter, &SHARD_HASH);
    while (feed_next(f))
        if (look_up(q, f->digests, f->records, f->n))
            break;
    feed_close(f);
}

static void put_count(const query *q) {
    if (!q->a->json) {
        out_text("%llu\n", (unsigned long long)chosen(q));
        return;
    }
    json_open(NULL, '{');
    json_text("file", q->a->operands[0]);
    json_integer("lookups", q->lookups);
    json_integer("maybe", q->maybe);
    json_integer("no", q->lookups - q->maybe);
    json_close('}');
    json_end();
}

static filter_file open_file(arguments *a) {
    filter_file f = filter_file_read(a->operands[0], a);
    kith_plan plan = KITH_PLAN_INIT;
    value_text size;
    if (a->verbose && kith_filter_plan_of(filter_of(&f), &plan) == KITH_OK)
        note("up to %s of memory for %s", text_of_size(plan.file_bytes, size), f.path);
    recipe_apply(f.path, filter_of(&f), a);
    return f;
}

int command_query(const arguments *a) {
    if (a->mark && (a->invert || a->count || a->quiet))
        fail("--mark prints every line and cannot be combined with -v, -c or -q");
    if (a->json && !a->count)
        fail("--json needs -c");
    if (a->keys_given && a->operand_count < 2)
        fail("--key: no keys given: kith query FILE --key KEY...");
    arguments by_recipe = *a;
    query q = {.a = &by_recipe};
    redis_address address = {0};
    filter_file file = {.file = NULL};
    if (redis_is_address(a->operands[0])) {
        redis_address_read(a->operands[0], &address);
        q.server = redis_query_open(&address, &by_recipe);
    } else {
        file = open_file(&by_recipe);
        q.filter = filter_of(&file);
    }
    if (by_recipe.shape.fixed_bytes != 0 && !a->count && !a->quiet && out_is_terminal())
        fail("%s: its keys are binary records (--fixed), which are not printed to a terminal; -c counts them",
             a->operands[0]);
    if (a->keys_given)
        look_up_keys(&q);
    else
        look_up_inputs(&q);
    if (a->count && !a->quiet)
        put_count(&q);
    filter_file_close(&file);
    if (q.server != NULL)
        redis_query_close(q.server);
    redis_address_free(&address);
    return chosen(&q) > 0 ? EXIT_FOUND : EXIT_NONE;
}
