/* build.c: `kith build`.
 *
 *     keys -> digests -> sorted, equal ones dropped -> filter of just that capacity -> file
 *     keys -> digests -> filter of -n keys -> file
 *
 * The second way is for kinds that ignore a key that is in already: it needs no memory but the filter's. The others
 * would store a second copy, so they take the first way with -n as well, and know the exact number of keys before
 * they begin. Sorted digests fall into a filter from its beginning to its end, which is as cache-friendly as adding
 * can be. */
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
#define COPIES_ROOM_MAX 4 /* times the keys of a multiset: past that a kind with more places a key is the answer */

typedef struct building {
    const arguments *a; /* with the recipe of --like */
    recipe_notes notes;
    kith_filter *like; /* NULL: none */
    choice choice;
    kith_filter *filter;
    int lock; /* of the output; -1: not yet */
    uint64_t copies_left_out;
} building;

/* Of the memory limit, what digests may take: the other half is the filter's. A filter takes 2 bytes a key or so, a digest
 * 8, so a filter past its half has digests past theirs, which are on disk. */
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
        {a->can_remove, "--delete"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            fail("%s and --like: the kind, size and hash are those of %s", others[i].name, a->like);
}

/* A list that its own filter replaced would be lost. */
static void check_output(const arguments *a) {
    struct stat target, source;
    if (a->output == NULL)
        fail("-o FILE is missing: where the filter goes");
    filter_check_output(a->output);
    if (stat(a->output, &target) != 0)
        return;
    for (size_t i = 0; i < a->operand_count; i++)
        if (stat(a->operands[i], &source) == 0 && source.st_dev == target.st_dev && source.st_ino == target.st_ino &&
            S_ISREG(source.st_mode))
            fail("%s: is an input, too: give another -o FILE", a->output);
}

static void begin(building *b, arguments *a) {
    *b = (building){.a = a, .lock = -1};
    check_output(a);
    recipe_notes_of(a, &b->notes);
    if (a->like != NULL) {
        check_like(a);
        filter_check_input(a->like);
        if (access(a->output, F_OK) == 0)
            b->lock = lock_take(a->output, a); /* FILE may be the output, too */
        b->like = filter_open(a->like, KITH_OPEN_DEFAULT, a);
        recipe_apply(a->like, b->like, a);
        if (a->multiset && (kith_filter_capabilities(b->like) & KITH_CAN_COPIES) == 0)
            fail("--multiset: filters of kind %s keep no copies", kith_filter_kind_name(b->like));
        return;
    }
    uint32_t needs =
        (a->grow ? KITH_CAN_GROW : 0u) | (a->multiset ? KITH_CAN_COPIES : 0u) | (a->can_remove ? KITH_CAN_REMOVE : 0u);
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

/* What -n, or else a million keys, would make: tells mistakes before the input is read. */
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
    fail("%s: an empty filter like this one does not fit; the limit is %s of memory: raise --memory", a->like,
         text_of_size(a->memory, limit));
}

static void create(building *b, uint64_t capacity, uint64_t held_bytes) {
    const arguments *a = b->a;
    kith_status status;
    if (b->like != NULL) {
        kith_plan plan = KITH_PLAN_INIT;
        status = kith_filter_plan_of(b->like, &plan);
        if (status == KITH_OK) {
            /* One that grows begins with its first layer, whatever the size of the file: the limit decides. */
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
    /* What limit would do: digests that are on disk leave the filter one half of any limit. */
    bool halves = held_bytes == digests_share(a) && plan.file_bytes > held_bytes;
    memory_check(a, halves ? 2 * plan.file_bytes : plan.file_bytes + held_bytes,
                 held_bytes > 0 ? "the filter, with the digests," : "the filter");
    value_text size, rate;
    if (a->verbose)
        note("kind %s, %.2f bits a key, %s of memory and file, rate %s", plan.kind, plan.bits_per_key,
             text_of_size(plan.file_bytes, size), text_of_rate(plan.rate, rate));
    status = kith_filter_create(&b->choice.spec, &b->filter);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    filter_limit(b->filter, a, held_bytes);
}

/* Adds all of them, but for copies past what the filter keeps. False: the filter is full, and *done are in. */
static bool add(building *b, const uint64_t *values, size_t n, size_t *done) {
    *done = 0;
    while (*done < n) {
        size_t went_in;
        kith_status status = kith_filter_add_many(b->filter, values + *done, n - *done, NULL, &went_in);
        *done += went_in;
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

/* `keys` is the number of distinct keys that came, exact or an estimate. An estimate that is hardly above the capacity
 * could be below it when it is rounded, and then only the capacity is told. */
static noreturn void fail_too_many(const building *b, double keys, bool exact) {
    static const double ESTIMATE_LEAST = 1.02; /* times the capacity */
    value_text came, room, given;
    uint64_t capacity = kith_filter_capacity(b->filter);
    text_of_integer(capacity, room);
    if (exact)
        text_of_integer((uint64_t)keys, came);
    else
        text_of_count((uint64_t)llround(keys), came);
    bool told = exact || keys > ESTIMATE_LEAST * (double)capacity;
    const char *about = exact ? "" : "about ";
    if (b->like != NULL && told)
        fail("%s%s distinct keys, but the capacity of %s is %s. Build both filters with a larger -n.", about, came,
             b->a->like, room);
    if (b->like != NULL)
        fail("more than %s distinct key%s, the capacity of %s. Build both filters with a larger -n.", room,
             capacity == 1 ? "" : "s", b->a->like);
    text_of_count_exact(capacity, given);
    if (told)
        fail("%s%s distinct keys, but the capacity is %s (-n %s). Use a larger -n, or --grow.", about, came, room,
             given);
    fail("more than %s distinct key%s (-n %s). Use a larger -n, or --grow.", room, capacity == 1 ? "" : "s", given);
}

/* The filter is full and keys are left: how many there are. The filter matches some of those that are not in, at the
 * rate that it has now, and those are missing among `rest`. */
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

static void build_at_once(building *b) {
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

/* How many went in: all of them, or as many as there was room for. */
static uint64_t add_all(building *b, digests *d, uint64_t keys) {
    enum { BATCH = 4096 };
    uint64_t batch[BATCH];
    size_t n;
    uint64_t total = 0;
    b->copies_left_out = 0;
    progress_begin("building", keys);
    while ((n = digests_next(d, batch, BATCH)) > 0) {
        size_t done;
        bool room = add(b, batch, n, &done);
        total += done;
        if (!room)
            break;
        progress(total, total);
    }
    progress_end();
    return total;
}

/* A plan promises room for distinct keys. Copies of one key crowd in its few places, so a multiset may need a larger
 * filter than its number of keys says; where the size is ours to choose, larger ones are tried. */
static bool may_be_larger(const arguments *a) {
    return a->multiset && a->capacity == 0 && a->like == NULL;
}

static void build_from_digests(building *b) {
    const arguments *a = b->a;
    value_text size, size_of_all;
    if (a->verbose)
        note("up to %s of memory for digests, then temporary files", text_of_size(digests_share(a), size));
    digests *d = digests_new(digests_share(a), a->multiset);
    feed *f = feed_open("reading", a->operands, a->operand_count, a, b->like, &b->choice.spec.hash);
    while (feed_next(f))
        digests_add_many(d, f->digests, f->n);
    feed_close(f);

    uint64_t keys = digests_finish(d);
    if (keys == 0 && a->capacity == 0 && b->like == NULL)
        fail("no keys came: there is nothing to build (an empty filter needs -n)");
    uint64_t held = keys < digests_share(a) / sizeof(uint64_t) ? keys * sizeof(uint64_t) : digests_share(a);
    uint64_t capacity = a->capacity != 0 ? a->capacity : keys;
    for (;;) {
        create(b, capacity, held);
        if (keys > kith_filter_capacity(b->filter) && (kith_filter_capabilities(b->filter) & KITH_CAN_GROW) == 0)
            fail_too_many(b, (double)keys, true);
        uint64_t done = add_all(b, d, keys);
        if (done == keys)
            break;
        capacity += capacity / 4 + 1;
        if (a->multiset && (!may_be_larger(a) || capacity / COPIES_ROOM_MAX > keys))
            fail("%s of %s keys went in, then there was no room: copies of few keys crowd; give a larger -n, or -k "
                 "counting",
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
        note("%s cop%s past what the filter keeps of one key left out", text_of_integer(b->copies_left_out, count),
             b->copies_left_out > 1 ? "ies" : "y");
    kith_plan plan = KITH_PLAN_INIT;
    bool planned = kith_filter_plan_of(b->filter, &plan) == KITH_OK;
    value_text most;
    if (planned && a->bytes != 0 && plan.file_bytes > a->bytes)
        fail("%s: the filter grew to %s, more than --bytes %s: give a larger --bytes, or fewer keys", a->output,
             text_of_size(plan.file_bytes, size), text_of_size(a->bytes, most));
    /* What a build replaces it has not read, so others need not wait while it reads keys. */
    if (b->lock < 0)
        b->lock = lock_take_for_save(a->output, a);
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
    bool keeps_copies;
    if (b.like != NULL) {
        keeps_copies = (kith_filter_capabilities(b.like) & KITH_CAN_COPIES) != 0;
    } else {
        kith_plan plan = plan_first(&b);
        keeps_copies = (plan.capabilities & KITH_CAN_COPIES) != 0;
    }
    bool size_known = a->capacity != 0 || b.like != NULL;
    if (size_known && !keeps_copies)
        build_at_once(&b);
    else
        build_from_digests(&b);
    finish(&b);
    return EXIT_FOUND;
}
