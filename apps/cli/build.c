/* build.c: `kith build`, which builds a filter file from keys in one of two ways.
 *
 *     without -n    keys -> digests, sorted and without repeats -> filter with exactly that capacity -> file
 *     with -n       keys -> digests -> filter with the capacity -n -> file
 *
 * The second way needs no memory besides the filter, but it works only for kinds that ignore a key that was already
 * added. Kinds that would store a second copy use the first way even with -n; this also gives the exact number of
 * distinct keys in advance. Sorted digests are added to a filter from its beginning to its end, which is the most
 * cache-friendly order. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kith/filter.h>

#include "choose.h"
#include "commands.h"
#include "digests.h"
#include "feed.h"
#include "filters.h"
#include "full.h"
#include "lock.h"
#include "recipe.h"
#include "report.h"
#include "values.h"

#define RATE_DEFAULT 0.001
#define COPIES_CAPACITY_MAX                                                                                            \
    4 /* times the number of keys of a multiset; beyond that, another kind is the better choice */

typedef struct building {
    const arguments *a; /* with the recipe of --like */
    recipe_notes notes;
    kith_filter *like; /* NULL: none */
    choice choice;
    kith_filter *filter;
    int lock; /* on the output; -1: not locked yet */
    uint64_t copies_left_out;
} building;

/* Digests may use half of the memory limit; the other half is for the filter. A filter needs about 2 bytes per key and
 * a digest 8, so if the filter needs more than its half, the digests are already on disk. */
static uint64_t digests_share(const arguments *a) {
    return a->memory / 2;
}

static void check_like(const arguments *a) {
    const struct {
        bool given;
        const char *name;
    } others[] = {
        {a->kind != NULL, "-k"},     {a->rate != 0, "-p"},          {a->capacity != 0, "-n"},
        {a->bytes != 0, "--bytes"},  {a->grow, "--grow"},           {a->kind_options != NULL, "--option"},
        {a->seed_given, "--seed"},   {a->untrusted, "--untrusted"}, {a->key_file != NULL, "--key-file"},
        {a->can_remove, "--delete"}, {a->final, "--final"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            fail("%s and --like contradict each other: --like uses the kind, capacity, rate and hash of %s",
                 others[i].name, a->like);
}

/* Checks the output. An input must not be overwritten by its own filter. */
static void check_output(const arguments *a) {
    struct stat target, source;
    if (a->output == NULL)
        fail("-o FILE is missing: the file to write the filter to");
    filter_check_output(a->output);
    if (stat(a->output, &target) != 0)
        return;
    for (size_t i = 0; i < a->operand_count; i++)
        if (stat(a->operands[i], &source) == 0 && source.st_dev == target.st_dev && source.st_ino == target.st_ino &&
            S_ISREG(source.st_mode))
            fail("%s: is also an input; give another -o FILE", a->output);
}

static void begin(building *b, arguments *a) {
    *b = (building){.a = a, .lock = -1};
    check_output(a);
    recipe_notes_of(a, &b->notes);
    if (a->like != NULL) {
        check_like(a);
        filter_check_input(a->like);
        if (access(a->output, F_OK) == 0)
            b->lock = lock_acquire(a->output, a); /* the --like file may be the output, too */
        b->like = filter_open(a->like, KITH_OPEN_DEFAULT, a);
        recipe_apply(a->like, b->like, a);
        filter_check_adds(a->like, b->like);
        if (a->multiset && (kith_filter_capabilities(b->like) & KITH_CAN_COPIES) == 0)
            fail("--multiset: filters of kind %s do not store copies", kith_filter_kind_name(b->like));
        return;
    }
    if (a->final && a->grow)
        fail("--final and --grow contradict each other: nothing is added to a final filter, so it need not grow");
    uint32_t needs = (a->grow ? KITH_CAN_GROW | KITH_CAN_ADD : 0u) | (a->multiset ? KITH_CAN_COPIES : 0u) |
                     (a->can_remove ? KITH_CAN_REMOVE : 0u);
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
static kith_plan plan_first(building *b) {
    choice c = b->choice;
    if (c.spec.options != NULL)
        c.spec.options = c.options;
    c.spec.capacity = b->a->capacity;
    if (b->a->capacity == 0 && (c.spec.bytes == 0 || c.spec.rate == 0))
        c.spec.capacity = 1;
    kith_plan plan;
    kith_status status = choose_plan(&c, &plan);
    if (status != KITH_OK)
        choose_fail(b->a, &c, status);
    return plan;
}

static noreturn void fail_memory_like(const arguments *a) {
    value_text limit;
    fail("%s: an empty filter like this one does not fit into memory: the limit is %s; raise --memory", a->like,
         text_of_size(a->memory, limit));
}

/* Leaves b->filter NULL if the kind can only be built from all keys. */
static void create(building *b, uint64_t capacity, uint64_t held_bytes) {
    const arguments *a = b->a;
    kith_status status;
    if (b->like != NULL) {
        kith_plan plan = KITH_PLAN_INIT;
        status = kith_filter_plan_of(b->like, &plan);
        if (status == KITH_OK) {
            /* A filter that grows starts with its first layer, whatever the size of the file. */
            if ((plan.capabilities & KITH_CAN_GROW) == 0)
                memory_check(a, plan.file_bytes + held_bytes, "the filter");
            filter_limit(b->like, a, held_bytes);
            status = kith_filter_create_like(b->like, NULL, &b->filter);
        }
        if (status == KITH_E_TOO_LARGE)
            fail_memory_like(a);
        if (status == KITH_OK && b->notes.count > 0)
            status = kith_filter_set_notes(b->filter, b->notes.notes, b->notes.count);
        if (status != KITH_OK)
            fail_status(a->like, status);
        return;
    }
    b->choice.spec.capacity = capacity;
    kith_plan plan;
    status = choose_plan(&b->choice, &plan);
    if (status != KITH_OK)
        choose_fail(a, &b->choice, status);
    /* If digests are on disk, they use half of any limit. The filter then needs a limit of twice its size. */
    bool halves = held_bytes == digests_share(a) && plan.file_bytes > held_bytes;
    memory_check(a, halves ? 2 * plan.file_bytes : plan.file_bytes + held_bytes,
                 held_bytes > 0 ? "the filter with the digests of its keys" : "the filter");
    value_text size, rate;
    if (a->verbose)
        note("kind %s, %.2f bits per key, %s of memory and of disk space, rate %s", plan.kind, plan.bits_per_key,
             text_of_size(plan.file_bytes, size), text_of_rate(plan.rate, rate));
    if ((plan.capabilities & KITH_CAN_ADD) == 0)
        return;
    status = kith_filter_create(&b->choice.spec, &b->filter);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    filter_limit(b->filter, a, held_bytes);
}

/* Adds the digests, except copies that the filter cannot store. Returns false if the filter is full; *done digests are
 * then added. */
static bool add(building *b, const uint64_t *values, size_t n, size_t *done) {
    *done = 0;
    while (*done < n) {
        size_t added;
        kith_status status = kith_filter_add_many(b->filter, values + *done, n - *done, NULL, &added);
        *done += added;
        if (status == KITH_E_COPIES) {
            b->copies_left_out++;
            *done += 1;
        } else if (status == KITH_E_FULL) {
            return false;
        } else if (status == KITH_E_TOO_LARGE) {
            fail_growth(b->a, b->a->output);
        } else if (status != KITH_OK) {
            fail("%s", kith_status_text(status));
        }
    }
    return true;
}

/* `keys` is the number of distinct keys in the input, exact or an estimate. If an estimate is only slightly above the
 * capacity, it is not printed, because after rounding it could be below the capacity. */
static noreturn void fail_too_many(const building *b, double keys, bool exact) {
    static const double ESTIMATE_LEAST = 1.02; /* times the capacity */
    value_text came, room, given;
    uint64_t capacity = kith_filter_capacity(b->filter);
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
        fail("%s%s distinct keys, but the capacity is %s (-n %s). Use a larger -n, or --grow.", about, came, room,
             given);
    fail("more than %s distinct key%s (-n %s). Use a larger -n, or --grow.", room, capacity == 1 ? "" : "s", given);
}

/* The filter is full and keys are left. Counts the remaining distinct keys, so that the error can name the capacity
 * that is needed. Keys that are false positives are missing in `rest`; dividing by 1 - rate_now corrects for them. */
static noreturn void count_and_fail(const building *b, feed *f, size_t from) {
    full_cause cause = full_because(b->filter, f->before + from + 1);
    if (cause != FULL_OVERFLOW)
        fail_no_overflow("the filter", b->filter, cause);
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_status status = kith_filter_stats_of(b->filter, &stats);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    digests *rest = digests_new(digests_share(b->a), false);
    do {
        for (size_t i = from; i < f->n; i++)
            if (kith_filter_has_many(b->filter, &f->digests[i], 1, NULL) == 0)
                digests_add_many(rest, &f->digests[i], 1);
        from = 0;
    } while (feed_next(f));
    feed_close(f);
    fail_too_many(b, full_keys(b->filter) + (double)digests_finish(rest) / (1 - stats.rate_now), false);
}

static void build_directly(building *b) {
    const arguments *a = b->a;
    create(b, a->capacity, 0);
    feed *f = feed_open("building", a->operands, a->operand_count, a, b->filter, NULL);
    while (feed_next(f)) {
        size_t done;
        if (!add(b, f->digests, f->n, &done))
            count_and_fail(b, f, done);
    }
    feed_close(f);
}

/* Returns how many digests were added: all of them, or fewer if the filter became full. */
static uint64_t add_all(building *b, digests *d, uint64_t keys) {
    enum { BATCH = 4096 };
    uint64_t batch[BATCH];
    size_t n;
    uint64_t total = 0;
    b->copies_left_out = 0;
    progress_begin("building", keys);
    while ((n = digests_next(d, batch, BATCH)) > 0) {
        size_t done;
        bool fits = add(b, batch, n, &done);
        total += done;
        if (!fits)
            break;
        progress(total, total);
    }
    progress_end();
    return total;
}

/* The capacity of a plan is for distinct keys. Copies of one key share its few slots, so a multiset may need a larger
 * filter than its number of keys suggests. If the user did not fix the size, larger filters are tried. */
static bool may_be_larger(const arguments *a) {
    return a->multiset && a->capacity == 0 && a->like == NULL;
}

/* Builds a filter of a kind that needs all keys at once. */
static void build_at_once(building *b, digests *d, uint64_t keys, uint64_t held_bytes) {
    const arguments *a = b->a;
    value_text came, room, given;
    if (a->capacity != 0 && keys > a->capacity)
        fail("%s distinct keys, but the capacity is %s (-n %s). Use a larger -n.", text_of_integer(keys, came),
             text_of_integer(a->capacity, room), text_of_count_exact(a->capacity, given));
    memory_check(a, 2 * held_bytes + keys * sizeof(uint64_t), "the digests of the keys");
    uint64_t *all = malloc((size_t)(keys + 1) * sizeof *all);
    if (all == NULL)
        fail("%s", kith_status_text(KITH_E_MEMORY));
    for (size_t n, at = 0; (n = digests_next(d, all + at, (size_t)keys + 1 - at)) > 0;)
        at += n;
    kith_status status = kith_filter_build(&b->choice.spec, all, (size_t)keys, KITH_BUILD_SET, 1, &b->filter);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    free(all);
}

static void build_from_digests(building *b) {
    const arguments *a = b->a;
    value_text size, size_of_all;
    if (a->verbose)
        note("up to %s of memory for digests of keys, then temporary files", text_of_size(digests_share(a), size));
    digests *d = digests_new(digests_share(a), a->multiset);
    feed *f = feed_open("reading", a->operands, a->operand_count, a, b->like, &b->choice.spec.hash);
    while (feed_next(f))
        digests_add_many(d, f->digests, f->n);
    feed_close(f);

    uint64_t keys = digests_finish(d);
    if (keys == 0 && a->capacity == 0 && b->like == NULL)
        fail("the input has no keys; to build an empty filter, give -n");
    uint64_t held = keys < digests_share(a) / sizeof(uint64_t) ? keys * sizeof(uint64_t) : digests_share(a);
    uint64_t capacity = a->capacity != 0 ? a->capacity : keys;
    for (;;) {
        create(b, capacity, held);
        if (b->filter == NULL) {
            build_at_once(b, d, keys, held);
            break;
        }
        if (keys > kith_filter_capacity(b->filter) && (kith_filter_capabilities(b->filter) & KITH_CAN_GROW) == 0)
            fail_too_many(b, (double)keys, true);
        uint64_t done = add_all(b, d, keys);
        if (done == keys)
            break;
        capacity += capacity / 4 + 1;
        if (a->multiset && (!may_be_larger(a) || capacity / COPIES_CAPACITY_MAX > keys))
            fail("only %s of %s keys fit, because copies of the same key share few slots. Use a larger -n, or -k "
                 "counting.",
                 text_of_integer(done, size), text_of_integer(keys, size_of_all));
        if (!may_be_larger(a))
            fail_no_overflow("the filter", b->filter, full_because(b->filter, keys));
        kith_filter_free(b->filter);
        (void)digests_finish(d);
    }
    digests_free(d);
}

static void finish(building *b) {
    const arguments *a = b->a;
    value_text count, size;
    if (b->copies_left_out > 0)
        note("left out %s cop%s, because the filter cannot store more copies of one key",
             text_of_integer(b->copies_left_out, count), b->copies_left_out > 1 ? "ies" : "y");
    kith_plan plan = KITH_PLAN_INIT;
    bool planned = kith_filter_plan_of(b->filter, &plan) == KITH_OK;
    value_text most;
    if (planned && a->bytes != 0 && plan.file_bytes > a->bytes)
        fail("%s: the filter grew to %s, more than --bytes %s. Use a larger --bytes, or fewer keys.", a->output,
             text_of_size(plan.file_bytes, size), text_of_size(a->bytes, most));
    /* build does not read the file that it replaces, so it locks the file only now, and other commands need not wait
     * while it reads keys. */
    if (b->lock < 0)
        b->lock = lock_acquire_for_save(a->output, a);
    filter_save(b->filter, a->output);
    lock_release(b->lock);
    if (a->verbose && planned)
        note("%s in %s", text_of_keys(kith_filter_count(b->filter), count), text_of_size(plan.file_bytes, size));
    kith_filter_free(b->filter);
    kith_filter_free(b->like);
}

int command_build(const arguments *a) {
    building b;
    arguments by_recipe = *a;
    begin(&b, &by_recipe);
    bool keeps_copies, adds = true;
    if (b.like != NULL) {
        keeps_copies = (kith_filter_capabilities(b.like) & KITH_CAN_COPIES) != 0;
    } else {
        kith_plan plan = plan_first(&b);
        keeps_copies = (plan.capabilities & KITH_CAN_COPIES) != 0;
        adds = (plan.capabilities & KITH_CAN_ADD) != 0;
    }
    bool size_known = a->capacity != 0 || b.like != NULL;
    if (size_known && !keeps_copies && adds)
        build_directly(&b);
    else
        build_from_digests(&b);
    finish(&b);
    return EXIT_FOUND;
}
