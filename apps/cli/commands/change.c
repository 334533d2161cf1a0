/* change.c: `kith add` and `kith remove`, which change the keys of a filter file. All keys of a run are one batch,
 * which the commit at the end makes durable; if anything fails before that, the file is unchanged. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <math.h>

#include <kith/filter.h>

#include "cli/commands.h"
#include "cli/commands/building.h"
#include "cli/input/feed.h"
#include "cli/files/opened.h"
#include "cli/commands/full.h"
#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/values.h"

typedef struct change {
    arguments *a; /* with the recipe of the file */
    filter_file file;
    const kith_filter *filter;
    uint64_t keys;            /* added or removed */
    uint64_t copies_left_out; /* copies that the filter cannot store */
    uint64_t known;           /* left out by --new-only */
} change;

static change begin(arguments *a) {
    change c = {.a = a};
    a->shape.digest_only = true;
    c.file = filter_file_open(a->operands[0], KITH_FILE_CHANGE, KITH_FILE_LOCK_DEFAULT, a);
    c.filter = filter_of(&c.file);
    filter_check_adds(c.file.path, c.filter);
    recipe_apply(c.file.path, c.filter, a);
    filter_file_limit(&c.file, feed_share(a));
    kith_plan plan = KITH_PLAN_INIT;
    value_text size;
    if (a->verbose && !filter_file_info(&c.file).has_journal && kith_filter_plan_of(c.filter, &plan) == KITH_OK)
        note("%s of memory for %s", text_of_size(plan.file_bytes, size), c.file.path);
    return c;
}

static void finish(change *c, const char *done) {
    value_text count;
    if (c->copies_left_out > 0)
        note("left out %s cop%s, because the filter cannot store more copies of one key",
             text_of_integer(c->copies_left_out, count), c->copies_left_out > 1 ? "ies" : "y");
    filter_file_commit(&c->file);
    if (c->a->verbose && c->known > 0)
        note("%s already in the filter", text_of_keys(c->known, count));
    if (c->a->verbose)
        note("%s %s", text_of_keys(c->keys, count), done);
    filter_file_close(&c->file);
}

/* A Bloom filter can be full before its count reaches the capacity, because new keys that are false positives are not
 * counted. The error then gives an estimate from the set bits, since the count would not explain why it is full. */
static noreturn void fail_too_many(const change *c) {
    fail_full(c->file.path, c->filter, UINT64_MAX);
    value_text capacity, in;
    uint64_t count = kith_filter_count(c->filter), held = count - c->keys;
    bool counted = count >= kith_filter_capacity(c->filter);
    if (!counted)
        held = (uint64_t)llround(fmax((double)held, full_keys(c->filter) - (double)c->keys));
    fail("%s: its capacity is %s, it held %s%s before, and the new keys do not fit; nothing was added. Build it again "
         "with "
         "a larger -n, or with --grow.",
         c->file.path, text_of_keys(kith_filter_capacity(c->filter), capacity), counted ? "" : "about ",
         text_of_integer(held, in));
}

static void add(change *c, const uint64_t *values, size_t n) {
    uint64_t before = kith_filter_count(c->filter);
    size_t done = 0;
    while (done < n) {
        size_t added;
        kith_status status = kith_file_add_many(c->file.file, values + done, n - done, NULL, &added);
        done += added;
        if (status == KITH_E_COPIES) {
            c->copies_left_out++;
            done++;
        } else if (status != KITH_OK) {
            c->keys += kith_filter_count(c->filter) - before;
            if (status == KITH_E_FULL)
                fail_too_many(c);
            if (status == KITH_E_TOO_LARGE)
                fail_growth(c->a, c->file.path);
            filter_file_must(&c->file, status);
        }
    }
    c->keys += kith_filter_count(c->filter) - before;
}

/* Looked up one by one, because a key may occur twice in a batch. */
static void add_unknown(change *c, const uint64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (kith_filter_has_many(c->filter, &values[i], 1, NULL) == 0)
            add(c, &values[i], 1);
        else
            c->known++;
    }
}

static kith_status add_piece(void *context, const uint64_t *values, size_t n) {
    add(context, values, n);
    return KITH_OK;
}

/* The limits of a builder next to the filter. */
static kith_build_limits limits_beside(const change *c) {
    return build_limits(c->a, kith_filter_memory(c->filter));
}

/* Adds the keys of the builder, without repeats. */
static void add_distinct(change *c, kith_builder *builder) {
    kith_build_limits limits = limits_beside(c);
    uint64_t keys;
    kith_status status = kith_builder_end_input(builder, &keys);
    if (status == KITH_OK) {
        filter_file_limit(&c->file, build_held(builder, &limits));
        status = kith_builder_each(builder, add_piece, c);
    }
    build_check(status);
    kith_builder_free(builder);
}

/* Reads the keys of the inputs with what the filter, and a builder if there is one, leave of --memory. */
static feed *open_feed(const change *c, const char *doing, bool builds) {
    bool grows = (kith_filter_capabilities(c->filter) & KITH_CAN_GROW) != 0;
    uint64_t filter = grows ? c->a->memory - feed_share(c->a) : kith_filter_memory(c->filter);
    feed_limit(c->a, feed_left(c->a, filter + (builds ? limits_beside(c).memory_bytes : 0)), NULL);
    return feed_open(doing, c->a->operands + 1, c->a->operand_count - 1, c->a, c->filter, NULL);
}

/* If the filter would store an equal key as a copy, repeated keys are dropped first. */
static kith_builder *distinct_keys(const change *c) {
    kith_build_limits limits = limits_beside(c);
    kith_builder *builder;
    kith_status status = kith_builder_open_like(c->filter, KITH_BUILD_SET, &limits, &builder);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    return builder;
}

int command_add(const arguments *a) {
    if (a->multiset && a->new_only)
        fail("--multiset and --new-only contradict each other: the first stores copies, the second leaves them out");
    arguments by_recipe = *a;
    change c = begin(&by_recipe);
    bool keeps_copies = (kith_filter_capabilities(c.filter) & KITH_CAN_COPIES) != 0;
    if (a->multiset && !keeps_copies)
        fail("%s: --multiset: filters of kind %s do not store copies", c.file.path, kith_filter_kind_name(c.filter));
    kith_builder *distinct = keeps_copies && !a->multiset && !a->new_only ? distinct_keys(&c) : NULL;
    size_t done;
    feed *f = open_feed(&c, "adding", distinct != NULL);
    while (feed_next(f)) {
        if (distinct != NULL)
            (void)build_add(distinct, f->digests, f->n, &done);
        else if (a->new_only)
            add_unknown(&c, f->digests, f->n);
        else
            add(&c, f->digests, f->n);
    }
    feed_close(f);
    if (distinct != NULL)
        add_distinct(&c, distinct);
    full_note_rate(c.file.path, c.filter, filter_file_info(&c.file).has_journal);
    finish(&c, "added");
    return EXIT_FOUND;
}

int command_remove(const arguments *a) {
    arguments by_recipe = *a;
    change c = begin(&by_recipe);
    if ((kith_filter_capabilities(c.filter) & KITH_CAN_REMOVE) == 0)
        fail("%s: filters of kind %s do not support removal (kith build --delete builds one that does)", c.file.path,
             kith_filter_kind_name(c.filter));
    feed *f = open_feed(&c, "removing", false);
    while (feed_next(f)) {
        size_t done;
        kith_status status = kith_file_remove_many(c.file.file, f->digests, f->n, &done);
        key_text key;
        if (status == KITH_E_ABSENT)
            fail("%s: record %llu, '%s', is not in the filter; nothing was removed", c.file.path,
                 (unsigned long long)(f->before + done + 1), text_of_key(f, done, key));
        if (status != KITH_OK)
            fail("%s: record %llu, '%s': %s", c.file.path, (unsigned long long)(f->before + done + 1),
                 text_of_key(f, done, key), kith_status_text(status));
        c.keys += f->n;
    }
    feed_close(f);
    finish(&c, "removed");
    return EXIT_FOUND;
}
