/* build.c: `kith build`, which builds a filter file from keys with a builder of the library (kith/builder.h).
 *
 *     without -n    keys -> digests in the builder -> their number -> kind and capacity -> filter -> file
 *     with -n       keys -> digests in the builder, which adds them to the filter at once if the kind ignores
 *                   repeats */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kith/builder.h>

#include "cli/commands/building.h"
#include "cli/commands/choose.h"
#include "cli/commands.h"
#include "cli/input/feed.h"
#include "cli/files/opened.h"
#include "cli/commands/full.h"
#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/values.h"

#define RATE_DEFAULT 0.001
#define COPIES_CAPACITY_MAX                                                                                            \
    4 /* times the number of keys of a multiset; beyond that, another kind is the better choice */

typedef struct building {
    arguments *a; /* with the recipe of --like */
    recipe_notes notes;
    filter_file like_file;
    const kith_filter *like; /* NULL: none */
    choice choice;
    kith_build_limits limits; /* of the builder */
    kith_builder *builder;
    kith_filter *filter; /* the result */
    uint64_t records;    /* taken by the builder */
    uint64_t keys;       /* distinct ones among them; 0: not counted */
    filter_file out;
} building;

static void check_like(const arguments *a) {
    const struct {
        bool given;
        const char *name;
    } others[] = {
        {a->kind != NULL, "-k"},     {a->rate != 0, "-p"},          {a->capacity != 0, "-n"},
        {a->bytes != 0, "--bytes"},  {a->grow, "--grow"},           {a->kind_options != NULL, "--option"},
        {a->seed_given, "--seed"},   {a->untrusted, "--untrusted"}, {a->key_file != NULL, "--key-file"},
        {a->can_remove, "--delete"}, {a->final, "--final"},         {a->smallest, "--smallest"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            fail("%s and --like contradict each other: --like uses the kind, capacity, rate and hash of %s",
                 others[i].name, a->like);
}

/* Opens the output. An input must not be overwritten by its own filter. build does not read the file that it replaces,
 * so it locks the file only when it commits, and other commands need not wait while it reads keys: except that of
 * --like, which may be the output, too. */
static filter_file open_output(const arguments *a) {
    struct stat target, source;
    if (a->output == NULL)
        fail("-o FILE is missing: the file to write the filter to");
    filter_file out = filter_file_open(a->output, KITH_FILE_REPLACE,
                                       a->like != NULL ? KITH_FILE_LOCK_DEFAULT : KITH_FILE_LOCK_COMMIT, a);
    if (a->as_store && (out.file == NULL || filter_file_info(&out).is_stream))
        fail("%s: --store: a store must be a file", a->output);
    if (stat(a->output, &target) != 0)
        return out;
    for (size_t i = 0; i < a->operand_count; i++)
        if (stat(a->operands[i], &source) == 0 && source.st_dev == target.st_dev && source.st_ino == target.st_ino &&
            S_ISREG(source.st_mode))
            fail("%s: is also an input; give another -o FILE", a->output);
    return out;
}

static void begin(building *b, arguments *a) {
    *b = (building){.a = a, .out = open_output(a)};
    recipe_notes_of(a, &b->notes);
    if (a->like != NULL) {
        check_like(a);
        b->like_file = filter_file_read(a->like, a);
        b->like = filter_of(&b->like_file);
        recipe_apply(a->like, b->like, a);
        filter_check_adds(a->like, b->like);
        if (a->multiset && (kith_filter_capabilities(b->like) & KITH_CAN_COPIES) == 0)
            fail("--multiset: filters of kind %s do not store copies", kith_filter_kind_name(b->like));
        return;
    }
    if (a->final && a->as_store)
        fail("--final and --store contradict each other: nothing is added to a final filter");
    if (a->final && a->grow)
        fail("--final and --grow contradict each other: nothing is added to a final filter, so it need not grow");
    uint32_t needs = (a->grow ? KITH_CAN_GROW | KITH_CAN_ADD : 0u) | (a->as_store ? KITH_CAN_ADD : 0u) |
                     (a->multiset ? KITH_CAN_COPIES : 0u) | (a->can_remove ? KITH_CAN_REMOVE : 0u);
    choose_begin(a, needs, &b->choice);
    kith_filter_spec *spec = &b->choice.spec;
    spec->hash = hash_asked(a);
    spec->recipe = recipe_of(&a->shape);
    spec->notes = b->notes.notes;
    spec->note_count = b->notes.count;
    if (a->rate == 0 && a->bytes != 0) {
        spec->bytes = a->bytes;
    } else {
        spec->rate = a->rate != 0 ? a->rate : RATE_DEFAULT;
        spec->max_bytes = a->bytes;
    }
}

/* Plans a filter for -n keys, or for one key if -n is not given, to find invalid options before the input is read. */
static void plan_first(const building *b) {
    choice c = b->choice;
    c.spec.capacity = b->a->capacity;
    if (b->a->capacity == 0 && (c.spec.bytes == 0 || c.spec.rate == 0))
        c.spec.capacity = 1;
    kith_plan plan;
    kith_status status = choose_plan(&c, &plan);
    if (status != KITH_OK)
        choose_fail(b->a, &c, status);
}

/* Copies that the filter cannot store are left out, and reported at the end. */
static unsigned build_flags(const arguments *a) {
    return KITH_BUILD_LEAVE_OUT | (a->multiset ? KITH_BUILD_MULTISET : KITH_BUILD_SET);
}

static noreturn void fail_memory_like(const arguments *a) {
    value_text limit;
    fail("%s: an empty filter like this one does not fit into memory: the limit is %s; raise --memory", a->like,
         text_of_size(a->memory, limit));
}

/* Chooses a filter for `capacity` keys. */
static kith_plan plan_for(building *b, uint64_t capacity) {
    const arguments *a = b->a;
    kith_filter_spec *spec = &b->choice.spec;
    spec->capacity = capacity;
    spec->max_bytes = a->rate == 0 && a->bytes != 0 ? 0 : a->bytes;
    kith_plan plan;
    kith_status status = choose_plan(&b->choice, &plan);
    if (status != KITH_OK)
        choose_fail(a, &b->choice, status);
    return plan;
}

/* Checks that a filter fits in memory next to `held_bytes` of its builder, which are 0 if the builder streams. */
static void check_memory(const building *b, const kith_plan *plan, uint64_t held_bytes) {
    memory_check(b->a, plan->file_bytes + held_bytes,
                 held_bytes > 0 ? "the filter with the digests of its keys" : "the filter");
}

/* Checks the filter of the choice as check_memory() does, and sets its limit for growth. */
static void limit_filter(building *b, const kith_plan *plan, uint64_t held_bytes) {
    value_text size, rate;
    check_memory(b, plan, held_bytes);
    uint64_t share = b->a->grow && held_bytes == 0 ? feed_share(b->a) : 0; /* it grows while keys are read */
    uint64_t most = b->a->memory - held_bytes;
    b->choice.spec.max_bytes = most > plan->file_bytes + share ? most - share : plan->file_bytes;
    if (b->a->verbose)
        note("kind %s, %.2f bits per key, %s of memory and of disk space, rate %s", plan->kind, plan->bits_per_key,
             text_of_size(plan->file_bytes, size), text_of_rate(plan->rate, rate));
}

/* Returns how much memory must be left next to a filter whose capacity is known before the keys are read: 0 if the
 * builder streams (see kith_builder_open()). */
static uint64_t held_at_least(const building *b, const kith_plan *plan) {
    bool streams = (plan->capabilities & (KITH_CAN_ADD | KITH_CAN_COPIES)) == KITH_CAN_ADD;
    return streams ? 0 : build_least(b->a);
}

/* Opens a builder for filters like --like. A filter that grows starts with its first layer, whatever the size of the
 * file. */
static void open_like(building *b) {
    const arguments *a = b->a;
    kith_plan plan = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan_of(b->like, &plan);
    if (status == KITH_OK) {
        bool grows = (plan.capabilities & KITH_CAN_GROW) != 0;
        if (!grows)
            check_memory(b, &plan, held_at_least(b, &plan));
        b->limits = build_limits(a, grows ? 0 : plan.file_bytes);
        filter_file_limit(&b->like_file, grows ? feed_share(a) : 0);
        status = kith_builder_open_like(b->like, build_flags(a), &b->limits, &b->builder);
    }
    if (status == KITH_E_TOO_LARGE)
        fail_memory_like(a);
    if (status != KITH_OK)
        fail_status(a->like, status);
}

/* Opens a builder. If the capacity is given, a filter that does not fit in memory is an error before any key is read,
 * and the builder gets the memory that the filter leaves. */
static void open_new(building *b) {
    const arguments *a = b->a;
    plan_first(b);
    b->limits = build_limits(a, 0);
    if (a->capacity != 0) {
        kith_plan plan = plan_for(b, a->capacity);
        limit_filter(b, &plan, held_at_least(b, &plan));
        b->limits = build_limits(a, plan.file_bytes);
    }
    kith_status status = kith_builder_open(&b->choice.spec, build_flags(a), &b->limits, &b->builder);
    if (status != KITH_OK)
        choose_fail(a, &b->choice, status);
}

static void open_builder(building *b) {
    const arguments *a = b->a;
    value_text size;
    if (b->like != NULL)
        open_like(b);
    else
        open_new(b);
    const uint64_t *left;
    size_t left_count;
    if (a->verbose && kith_builder_partial(b->builder, &left, &left_count) == NULL)
        note("up to %s of memory for digests of keys, then temporary files",
             text_of_size(b->limits.memory_bytes, size));
}

/* `keys` is the number of distinct keys in the input, exact or an estimate. If an estimate is only slightly above the
 * capacity, it is not printed, because after rounding it could be below the capacity. */
static noreturn void fail_too_many(const building *b, uint64_t capacity, double keys, bool exact, bool can_grow) {
    static const double ESTIMATE_LEAST = 1.02; /* times the capacity */
    const char *or_grow = can_grow ? ", or --grow" : "";
    value_text came, room, given;
    text_of_integer(capacity, room);
    if (exact)
        text_of_integer((uint64_t)keys, came);
    else
        text_of_count((uint64_t)llround(keys), came);
    bool print_count = exact || keys > ESTIMATE_LEAST * (double)capacity;
    const char *about = exact ? "" : "about ";
    if (b->like != NULL && print_count)
        fail("%s%s distinct keys, but the capacity of %s is %s. Build both filters with a larger -n.", about, came,
             b->a->like, room);
    if (b->like != NULL)
        fail("more than %s distinct key%s, the capacity of %s. Build both filters with a larger -n.", room,
             capacity == 1 ? "" : "s", b->a->like);
    text_of_count_exact(capacity, given);
    if (print_count)
        fail("%s%s distinct keys, but the capacity is %s (-n %s). Use a larger -n%s.", about, came, room, given,
             or_grow);
    fail("more than %s distinct key%s (-n %s). Use a larger -n%s.", room, capacity == 1 ? "" : "s", given, or_grow);
}

/* Adds the digests that are not in the filter to `rest`. */
static void count_absent(const kith_filter *filter, const uint64_t *digests, size_t n, kith_builder *rest) {
    size_t done;
    for (size_t i = 0; i < n; i++)
        if (!kith_filter_has_digest(filter, digests[i]))
            (void)build_add(rest, &digests[i], 1, &done);
}

/* Returns a builder that only counts keys, next to a filter in memory. */
static kith_builder *open_counter(const arguments *a, const kith_filter *filter) {
    kith_build_limits limits = build_limits(a, kith_filter_memory(filter));
    kith_filter_spec any = KITH_FILTER_SPEC_INIT;
    any.rate = RATE_DEFAULT;
    kith_builder *counter;
    kith_status status = kith_builder_open(&any, KITH_BUILD_SET, &limits, &counter);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    return counter;
}

/* The filter is full and keys are left: those that the builder has taken but not added, and what is left of the feed
 * from digest `from` on (NULL: nothing). Counts the distinct ones, so that the error can name the capacity that is
 * needed. Keys that are false positives are missing in `rest`; dividing by 1 - rate_now corrects for them. */
static noreturn void count_and_fail(const building *b, feed *f, size_t from) {
    const uint64_t *left;
    size_t left_count;
    const kith_filter *filter = kith_builder_partial(b->builder, &left, &left_count);
    fail_full("the filter", filter, b->records - left_count + 1);
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_status status = kith_filter_stats_of(filter, &stats);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    kith_builder *rest = open_counter(b->a, filter);
    count_absent(filter, left, left_count, rest);
    if (f != NULL) {
        count_absent(filter, f->digests + from, f->n - from, rest);
        while (feed_next(f))
            count_absent(filter, f->digests, f->n, rest);
        feed_close(f);
    }
    uint64_t keys = 0;
    build_check(kith_builder_end_input(rest, &keys));
    fail_too_many(b, kith_filter_capacity(filter), full_keys(filter) + (double)keys / (1 - stats.rate_now), false,
                  true);
}

/* The status of a filter that could not take all keys, other than KITH_E_FULL. */
static void check_filter(const building *b, kith_status status) {
    if (status == KITH_E_TOO_LARGE)
        fail_growth(b->a, b->a->output);
    if (status != KITH_OK && status != KITH_E_FULL)
        fail("%s", kith_status_text(status));
}

/* Returns the memory that builder and filter use at most while keys are read. */
static uint64_t held_while_reading(const building *b) {
    const uint64_t *left;
    size_t left_count;
    const kith_filter *filter = kith_builder_partial(b->builder, &left, &left_count);
    if (filter == NULL)
        return b->limits.memory_bytes;
    bool grows = (kith_filter_capabilities(filter) & KITH_CAN_GROW) != 0;
    return grows ? b->a->memory - feed_share(b->a) : kith_filter_memory(filter);
}

static void read_keys(building *b) {
    arguments *a = b->a;
    feed_limit(a, feed_left(a, held_while_reading(b)), NULL);
    feed *f = feed_open("reading", a->operands, a->operand_count, a, b->like, &b->choice.spec.hash);
    while (feed_next(f)) {
        size_t done;
        kith_status status = build_add(b->builder, f->digests, f->n, &done);
        b->records += done;
        check_filter(b, status);
        if (status == KITH_E_FULL)
            count_and_fail(b, f, done);
    }
    feed_close(f);
}

/* The capacity of a plan is for distinct keys. Copies of one key share its few slots, so a multiset may need a larger
 * filter than its number of keys suggests. If the user did not fix the size, larger filters are tried. */
static bool may_be_larger(const arguments *a) {
    return a->multiset && a->capacity == 0 && a->like == NULL;
}

static noreturn void fail_unfit(const building *b, uint64_t keys) {
    value_text done, all;
    const uint64_t *left;
    size_t left_count;
    const kith_filter *filter = kith_builder_partial(b->builder, &left, &left_count);
    if (b->a->multiset && filter != NULL)
        fail("only %s of %s keys fit, because copies of the same key share few slots. Use a larger -n, or -k counting.",
             text_of_integer(kith_filter_count(filter), done), text_of_integer(keys, all));
    if (filter == NULL) /* of a static kind, which takes all keys or none */
        fail_static("the filter");
    fail_full("the filter", filter, keys);
    fail("%s", kith_status_text(KITH_E_FULL));
}

/* Makes the filter from the keys that the builder has collected. */
static void make_filter(building *b) {
    const arguments *a = b->a;
    uint64_t keys;
    kith_status status = kith_builder_end_input(b->builder, &keys);
    build_check(status);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    b->keys = keys;
    if (keys == 0 && a->capacity == 0 && b->like == NULL)
        fail("the input has no keys; to build an empty filter, give -n");
    uint64_t capacity = a->capacity != 0 ? a->capacity : keys;
    for (;;) {
        uint32_t capabilities = b->like != NULL ? kith_filter_capabilities(b->like) : 0;
        uint64_t room = b->like != NULL ? kith_filter_capacity(b->like) : 0;
        uint64_t held = build_held(b->builder, &b->limits);
        if (b->like == NULL) {
            kith_plan plan = plan_for(b, capacity);
            limit_filter(b, &plan, held);
            capabilities = plan.capabilities;
            room = plan.capacity;
            status = kith_builder_respec(b->builder, &b->choice.spec);
        } else {
            filter_file_limit(&b->like_file, held);
        }
        if (keys > room && (capabilities & KITH_CAN_GROW) == 0)
            fail_too_many(b, room, (double)keys, true, (capabilities & KITH_CAN_ADD) != 0);
        if (status == KITH_OK)
            status = kith_builder_finish(b->builder, &b->filter);
        build_check(status);
        if (status == KITH_OK)
            return;
        bool is_static = (capabilities & KITH_CAN_ADD) == 0;
        if (is_static && status == KITH_E_TOO_LARGE) /* other attempts would exceed the limit */
            status = KITH_E_FULL;
        check_filter(b, status);
        capacity += capacity / 4 + 1;
        if (!may_be_larger(a) || capacity / COPIES_CAPACITY_MAX > keys)
            fail_unfit(b, keys);
    }
}

/* The filter is already filled; only digests that the builder has gathered are missing. */
static void end_stream(building *b) {
    kith_status status = kith_builder_finish(b->builder, &b->filter);
    build_check(status);
    check_filter(b, status);
    if (status == KITH_E_FULL)
        count_and_fail(b, NULL, 0);
}

/* An option that rounds the number of cells to a power of two may nearly double the file, which its name does not say.
 * The cost of other options is what the user asked for; kith plan shows it. */
static void note_rounding(const building *b, const kith_plan *plan) {
    option_cost costs[16];
    cost_text text;
    size_t count = choose_costs(&b->choice, plan, costs, sizeof costs / sizeof *costs);
    for (size_t i = 0; i < count; i++)
        if (costs[i].rounds)
            note("--option %s", text_of_cost(&b->choice, &costs[i], text));
}

static void finish(building *b) {
    const arguments *a = b->a;
    value_text count, size;
    uint64_t left_out = kith_builder_left_out(b->builder);
    if (left_out > 0)
        note("left out %s cop%s, because the filter cannot store more copies of one key",
             text_of_integer(left_out, count), left_out > 1 ? "ies" : "y");
    kith_builder_free(b->builder);
    kith_status noted = b->like != NULL && b->notes.count > 0
                            ? kith_filter_set_notes(b->filter, b->notes.notes, b->notes.count)
                            : KITH_OK;
    if (noted != KITH_OK)
        fail_status(a->output, noted);
    full_note_rate(a->output, b->filter, false);
    kith_plan plan = KITH_PLAN_INIT;
    bool planned = kith_filter_plan_of(b->filter, &plan) == KITH_OK;
    value_text most;
    if (planned && a->bytes != 0 && plan.file_bytes > a->bytes)
        fail("%s: the filter grew to %s, more than --bytes %s. Use a larger --bytes, or fewer keys.", a->output,
             text_of_size(plan.file_bytes, size), text_of_size(a->bytes, most));
    uint64_t keys = b->keys != 0 ? b->keys - left_out : kith_filter_count(b->filter);
    if (a->as_store)
        filter_file_must(&b->out, kith_file_set_journal(b->out.file, true));
    filter_file_save(&b->out, b->filter);
    if (a->verbose && planned)
        note("%s in %s", text_of_keys(keys, count), text_of_size(plan.file_bytes, size));
    if (planned && b->like == NULL)
        note_rounding(b, &plan);
    filter_file_close(&b->out);
    filter_file_close(&b->like_file);
}

int command_build(const arguments *a) {
    building b;
    arguments by_recipe = *a;
    by_recipe.shape.digest_only = true;
    begin(&b, &by_recipe);
    open_builder(&b);
    const uint64_t *left;
    size_t left_count;
    bool streams = kith_builder_partial(b.builder, &left, &left_count) != NULL;
    read_keys(&b);
    if (streams)
        end_stream(&b);
    else
        make_filter(&b);
    finish(&b);
    return EXIT_FOUND;
}
