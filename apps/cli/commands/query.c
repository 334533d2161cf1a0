/* query.c: `kith query`. Each batch of lines is hashed and looked up with one call per file, or on a server; its lines
 * are printed in the order of the input. Files with the same hash are a group. Keys are hashed once per group: for the
 * first one by the thread that reads them, for the others here. */
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

enum { RESULT_WORDS = (INPUT_BATCH + 63) / 64 };

typedef struct query_file {
    filter_file file;
    size_t group;
    uint64_t results[RESULT_WORDS]; /* of the batch */
    uint64_t maybe;
} query_file;

typedef struct query {
    arguments *a;
    arguments rest; /* *a with what the files that are open leave of --memory */
    query_file *files;
    size_t file_count; /* 0: on a server */
    size_t group_count;
    redis_query *server; /* NULL: in files */
    const char *const *inputs;
    size_t input_count;
    uint64_t lookups;
    uint64_t maybe; /* lookups that at least one file may contain */
} query;

static const kith_filter *filter_at(const query *q, size_t i) {
    return filter_of(&q->files[i].file);
}

/* What messages call the set. */
static const char *name_of(const query *q) {
    return q->file_count > 0 ? q->files[0].file.path : q->a->operands[0];
}

static const kith_filter *first_filter(const query *q) {
    return q->file_count > 0 ? filter_at(q, 0) : NULL;
}

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

static void put_named(const query *q, const input_record *record, size_t i) {
    const input_shape *shape = &q->a->shape;
    for (size_t f = 0; f < q->file_count; f++) {
        const char *path = q->files[f].file.path;
        if (!kith_bitmap_get(q->files[f].results, i))
            continue;
        out(path, strlen(path));
        out("\t", 1);
        out(record->line, record->line_bytes);
        if (shape->fixed_bytes == 0)
            out(&shape->end, 1);
    }
}

static void put_object(const query *q, const input_record *record, size_t i) {
    json_open(NULL, '{');
    json_bytes("line", record->line, record->line_bytes);
    json_open("files", '[');
    for (size_t f = 0; f < q->file_count; f++)
        if (kith_bitmap_get(q->files[f].results, i))
            json_text(NULL, q->files[f].file.path);
    json_close(']');
    json_close('}');
    json_end();
}

/* Digests of records for the files of a group. */
static void digest(const query *q, size_t group, const input_record *records, size_t n, uint64_t *digests) {
    size_t f = 0;
    while (q->files[f].group != group)
        f++;
    for (size_t i = 0; i < n; i++)
        digests[i] = kith_filter_digest(filter_at(q, f), records[i].key, records[i].key_bytes);
}

/* Looks up n keys in all files, and sets bit i of `results` if at least one may contain key i. `digests` are those of
 * group 0. Returns the number of bits that are set. */
static uint64_t look_up_in_files(query *q, const uint64_t *digests, const input_record *records, size_t n,
                                 uint64_t *results) {
    uint64_t others[INPUT_BATCH], maybe = 0;
    size_t words = (n + 63) / 64;
    memset(results, 0, words * sizeof *results);
    for (size_t group = 0; group < q->group_count; group++) {
        if (group > 0)
            digest(q, group, records, n, others);
        for (size_t f = 0; f < q->file_count; f++) {
            query_file *file = &q->files[f];
            if (file->group != group)
                continue;
            file->maybe += kith_filter_has_many(filter_of(&file->file), group > 0 ? others : digests, n, file->results);
            for (size_t i = 0; i < words; i++)
                results[i] |= file->results[i];
        }
    }
    for (size_t i = 0; i < words; i++)
        maybe += (uint64_t)__builtin_popcountll(results[i]);
    return maybe;
}

/* Returns true if the exit status is decided and no more lookups are needed. */
static bool look_up(query *q, const uint64_t *digests, const input_record *records, size_t n) {
    uint64_t results[RESULT_WORDS];
    if (q->server != NULL)
        q->maybe += redis_query_has_many(q->server, records, digests, n, results);
    else if (q->file_count == 1 && !q->a->which)
        q->maybe += kith_filter_has_many(filter_at(q, 0), digests, n, results);
    else
        q->maybe += look_up_in_files(q, digests, records, n, results);
    q->lookups += n;
    if (q->a->quiet)
        return chosen(q) > 0;
    if (q->a->count)
        return false;
    if (q->a->which) {
        for (size_t i = 0; (i = next_result(results, i, n, true)) < n; i++)
            (q->a->json ? put_object : put_named)(q, &records[i], i);
        return false;
    }
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
    for (size_t i = 0; i < q->input_count; i++) {
        const char *text = q->inputs[i];
        size_t bytes = strlen(text);
        input_record record = {.line = text, .line_bytes = bytes, .key = text, .key_bytes = bytes};
        size_t fixed_bytes = a->shape.fixed_bytes;
        if (fixed_bytes != 0 && bytes != fixed_bytes)
            fail("--key %s: has %zu bytes, but the keys of %s have %zu (--fixed)", text, bytes, name_of(q),
                 fixed_bytes);
        char *buffer = allocate(bytes + 1);
        key_typed typed;
        char reason[128];
        const char *wrong =
            key_is_line(&a->shape) ? NULL : key_of(&a->shape, &record, buffer, &typed, reason, sizeof reason);
        if (wrong != NULL)
            fail("--key %s: %s", text, wrong);
        uint64_t hash = q->server == NULL ? kith_filter_digest(filter_at(q, 0), record.key, record.key_bytes)
                                          : kith_digest(&SHARD_HASH, record.key, record.key_bytes);
        bool known = look_up(q, &hash, &record, 1);
        free(buffer);
        if (known)
            return;
    }
}

/* Bytes of the files that are open. Mapped ones do not count. */
static uint64_t held_by_files(const query *q) {
    uint64_t held = 0;
    for (size_t i = 0; i < q->file_count && q->a->no_mmap; i++)
        held += kith_filter_memory(filter_at(q, i));
    return held;
}

/* The commands to a server contain the keys of a batch, and exist twice while they are sent. With several hashes, the
 * keys themselves are needed. */
static void limit_memory(query *q) {
    arguments *a = q->a;
    bool prints = !a->count && !a->quiet, keeps = prints || q->server != NULL || q->group_count > 1;
    uint64_t held = held_by_files(q);
    a->shape.digest_only = !keeps;
    feed_limit(a, (a->memory > held ? a->memory - held : 0) / (q->server != NULL ? 4 : 1),
               prints && q->server == NULL && q->group_count <= 1 ? "use -c or -q, which print no lines" : NULL);
}

static void look_up_inputs(query *q) {
    arguments *a = q->a;
    limit_memory(q);
    feed *f = feed_open("looking up", q->inputs, q->input_count, a, first_filter(q), &SHARD_HASH);
    while (feed_next(f))
        if (look_up(q, f->digests, f->records, f->n))
            break;
    feed_close(f);
}

static void put_counts_of_files(const query *q) {
    json_open("files", '[');
    for (size_t i = 0; i < q->file_count; i++) {
        json_open(NULL, '{');
        json_text("file", q->files[i].file.path);
        json_integer("maybe", q->files[i].maybe);
        json_integer("no", q->lookups - q->files[i].maybe);
        json_close('}');
    }
    json_close(']');
}

static void put_count(const query *q) {
    if (!q->a->json && q->a->which) {
        for (size_t i = 0; i < q->file_count; i++)
            out_text("%s\t%llu\n", q->files[i].file.path, (unsigned long long)q->files[i].maybe);
        return;
    }
    if (!q->a->json) {
        out_text("%llu\n", (unsigned long long)chosen(q));
        return;
    }
    bool several = q->file_count > 1 || q->a->which;
    json_open(NULL, '{');
    if (!several)
        json_text("file", name_of(q));
    json_integer("lookups", q->lookups);
    json_integer("maybe", q->maybe);
    json_integer("no", q->lookups - q->maybe);
    if (several)
        put_counts_of_files(q);
    json_close('}');
    json_end();
}

/* ---- the files ---- */

static void check_made_alike(const query *q, size_t i) {
    uint64_t first = kith_filter_recipe(filter_at(q, 0)), other = kith_filter_recipe(filter_at(q, i));
    recipe_text made, made_other;
    if (first != other)
        fail("cannot query %s and %s together: their keys were made with different options, %s and %s",
             q->files[0].file.path, q->files[i].file.path, text_of_recipe(first, made),
             text_of_recipe(other, made_other));
}

static size_t group_of(query *q, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (kith_filter_same_hash(filter_at(q, j), filter_at(q, i)))
            return q->files[j].group;
    return q->group_count++;
}

/* All files together must fit into --memory. */
static filter_file open_next(query *q, const char *path) {
    uint64_t held = held_by_files(q);
    filter_file f;
    reason_text reason;
    value_text before;
    q->rest = *q->a;
    q->rest.memory = held < q->a->memory ? q->a->memory - held : 1; /* 0 would mean no limit */
    kith_status status = filter_file_try(&f, path, KITH_FILE_READ, KITH_FILE_LOCK_DEFAULT, &q->rest, reason);
    if (status == KITH_E_TOO_LARGE && held > 0)
        fail("%s: %s, after %s for the files before it", path, reason, text_of_size(held, before));
    if (status != KITH_OK)
        fail("%s: %s", path, reason);
    return f;
}

static void open_files(query *q, const char *const *paths, size_t path_count) {
    arguments *a = q->a;
    q->files = allocate(path_count * sizeof *q->files);
    for (size_t i = 0; i < path_count; i++) {
        query_file *f = &q->files[i];
        if (redis_is_address(paths[i]))
            fail("%s: -f and --which need files; give an ADDRESS alone", paths[i]);
        if (a->which && !a->json && strpbrk(paths[i], "\t\n") != NULL)
            fail("%s: a tab or newline in its name could not be told from those after it; use --json", paths[i]);
        *f = (query_file){.file = open_next(q, paths[i])};
        q->file_count++;
        kith_plan plan = KITH_PLAN_INIT;
        value_text size;
        if (a->verbose && kith_filter_plan_of(filter_at(q, i), &plan) == KITH_OK)
            note("up to %s of memory for %s", text_of_size(plan.file_bytes, size), paths[i]);
        if (i > 0)
            check_made_alike(q, i);
        f->group = group_of(q, i);
    }
    recipe_apply(paths[0], filter_at(q, 0), a);
}

static void check_options(const arguments *a) {
    if (a->mark && (a->invert || a->count || a->quiet))
        fail("--mark prints every line and cannot be combined with -v, -c or -q");
    if (a->which && (a->mark || a->invert || a->quiet))
        fail("--which prints the lines of each filter and cannot be combined with --mark, -v or -q");
    if (a->json && !a->count && !a->which)
        fail("--json needs -c or --which");
    if (a->keys_given && a->operand_count < (a->filters.count > 0 ? 1 : 2))
        fail("--key: no keys given: kith query %s --key KEY...", a->filters.count > 0 ? "-f FILE" : "FILE");
}

int command_query(const arguments *a) {
    check_options(a);
    arguments by_recipe = *a;
    size_t own = a->filters.count == 0; /* operands that are not inputs */
    query q = {.a = &by_recipe, .inputs = a->operands + own, .input_count = a->operand_count - own};
    redis_address address = {0};
    if (own && !a->which && redis_is_address(a->operands[0])) {
        redis_address_read(a->operands[0], &address);
        q.server = redis_query_open(&address, &by_recipe);
    } else if (own) {
        open_files(&q, a->operands, 1);
    } else {
        open_files(&q, a->filters.paths, a->filters.count);
    }
    if (by_recipe.shape.fixed_bytes != 0 && a->which && a->json && !a->count)
        fail("%s: its keys are binary records (--fixed), which JSON cannot contain; omit --json", name_of(&q));
    if (by_recipe.shape.fixed_bytes != 0 && !a->count && !a->quiet && !a->json && out_is_terminal())
        fail("%s: its keys are binary records (--fixed), which are not printed to a terminal; -c counts them",
             name_of(&q));
    if (a->keys_given)
        look_up_keys(&q);
    else
        look_up_inputs(&q);
    if (a->count && !a->quiet)
        put_count(&q);
    for (size_t i = 0; i < q.file_count; i++)
        filter_file_close(&q.files[i].file);
    free(q.files);
    if (q.server != NULL)
        redis_query_close(q.server);
    redis_address_free(&address);
    return chosen(&q) > 0 ? EXIT_FOUND : EXIT_NONE;
}
