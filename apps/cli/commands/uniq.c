/* uniq.c: `kith uniq`. Each batch of lines is hashed and looked up together; lines are printed in the order of the
 * input.
 *
 *     exact      seen.h: keeps every distinct key in memory; no line is ever lost
 *     -p RATE    a filter: a line is dropped if its key is found, which is wrong with probability RATE at most
 *
 *                printed             exact                             -p RATE
 *     (none)     first occurrence    key is new in the set             key is new in the filter
 *     -d         second occurrence   flag in the word of the entry     key is new in a second filter, of repeated keys
 *     -c         all, at the end     counter in the word of the entry  refused: a filter does not count
 *
 * -d prints one line of each group, as uniq -d does, at its second occurrence. -c prints at the end, in the order of
 * the first occurrences; together with -d only lines that occur more than once. -D looks up each key in another filter
 * first; lines that are found there are neither printed nor remembered.
 *
 * The kind of filter. With -n, it is the smallest kind that reads one cache line per key and ignores repeats, or, if
 * that does not fit into --memory, the kind that kith plan recommends. The smallest kinds, which store copies, are ten
 * times slower near their capacity: 20 million keys at a rate of 1e-6 took 3.5 s instead of 0.35 s, which made uniq -p
 * slower than exact uniq. Without -n, it is a kind that grows, starting with a capacity of 2^20 keys (2 MiB at a rate
 * of 0.1%). A filter in --state may be of any kind; for kinds that would store repeats as copies, see add_unknown. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/choose.h"
#include "cli/commands.h"
#include "cli/input/feed.h"
#include "cli/files/filters.h"
#include "cli/files/opened.h"
#include "cli/commands/full.h"
#include "cli/input/key.h"
#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/commands/seen.h"
#include "cli/commands/state.h"
#include "cli/commands/syncs.h"
#include "cli/system.h"
#include "cli/values.h"

#define FIRST_LAYER_KEYS ((uint64_t)1 << 20)
#define BITMAP_WORDS (INPUT_BATCH / 64)

/* A filter that keys are added to: in a file, or only in memory. */
typedef struct target {
    kith_file *file;  /* NULL: in memory */
    bool has_journal; /* adds of known keys would only make it longer */
    kith_filter *own;
} target;

typedef struct work {
    const arguments *a;
    filter_file drop; /* -D */
    uint64_t lines_in, lines_out;

    seen_budget budget; /* exact */
    seen *seen;
    seen *readers; /* the part of the set that the reader thread keeps; NULL: one thread keeps it all */
    atomic_bool readers_full;
    uint64_t readers_marked; /* records processed before it was full; valid once readers_full is set */

    target filter, again; /* -p */
    filter_file state;    /* where the filter is kept */
    bool is_first;        /* there was no earlier run */
    bool is_changed;      /* the filter is not as it was saved */
    kith_filter *hasher;  /* NULL, or an empty filter that computes the digests: see begin_digests() */
    kith_hash hash;       /* of a new filter, or of the exact set */
    const char *filter_name;
} work;

/* ---- the hash ----
 *
 * Anyone who knows the hash can choose lines that cause a filter to drop other lines, or that all collide in the exact
 * set. So each run uses a new random hash, unless the user gives a seed or a key, or a state needs the same hash every
 * day. */

static bool hash_given(const arguments *a) {
    return a->seed_given || a->untrusted || a->key_file != NULL;
}

/* The hash for a filter. Its results depend on the hash, so it gets a secret key. */
static kith_hash secret_hash(const arguments *a) {
    if (hash_given(a))
        return hash_asked(a);
    kith_hash hash;
    kith_status status = kith_hash_untrusted(&hash);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    return hash;
}

/* The hash for the exact set. It affects only the speed, so a random seed of the faster hash is enough. */
static kith_hash random_hash(const arguments *a) {
    kith_hash hash = hash_asked(a);
    if (!hash_given(a) && !random_fully(&hash.seed, sizeof hash.seed))
        fail("cannot read random bytes from the system");
    return hash;
}

static void put_line(work *w, const char *line, size_t line_bytes) {
    const input_shape *shape = &w->a->shape;
    out(line, line_bytes);
    if (shape->fixed_bytes == 0)
        out(&shape->end, 1);
    w->lines_out++;
}

/* ---- -D ---- */

/* The pointer is valid until the filter is saved. */
static const kith_filter *in(const target *t) {
    return t->file != NULL ? kith_file_filter(t->file) : t->own;
}

/* Copies the records whose keys are not found in the -D filter to `records` and `digests`. Returns how many. */
static size_t drop_known(const work *w, const input_record *from, const uint64_t *from_digests, size_t n,
                         input_record *records, uint64_t *digests) {
    uint64_t asked[INPUT_BATCH], known[BITMAP_WORDS];
    const kith_filter *drop = filter_of(&w->drop);
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        asked[i] = kith_filter_digest(drop, from[i].key, from[i].key_bytes);
    kith_filter_has_many(drop, asked, n, known);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kith_bitmap_get(known, i))
            continue;
        records[kept] = from[i];
        digests[kept++] = from_digests[i];
    }
    return kept;
}

/* ---- exact ---- */

static uint64_t add_to_word(char *word, uint64_t more) {
    uint64_t count;
    memcpy(&count, word, sizeof count);
    count += more;
    memcpy(word, &count, sizeof count);
    return count;
}

/* Sets wanted[i] if record i is to be printed now. Returns false if the set is out of memory. */
static bool want_exact(const work *w, seen *set, const input_record *records, const uint64_t *digests, size_t n,
                       bool *wanted) {
    char *words[INPUT_BATCH];
    bool plain = !w->a->duplicates && !w->a->count;
    if (!seen_add_many(set, records, digests, n, wanted, plain ? NULL : words))
        return false;
    for (size_t i = 0; i < n && !plain; i++) {
        bool is_new = wanted[i];
        wanted[i] = !w->a->count && !is_new && *words[i] == 0;
        if (w->a->count)
            add_to_word(words[i], 1);
        else
            *words[i] |= !is_new;
    }
    return true;
}

static void pass_exact(work *w, const input_record *records, const uint64_t *digests, size_t n) {
    bool wanted[INPUT_BATCH];
    if (!want_exact(w, w->seen, records, digests, n, wanted))
        seen_fail(w->seen);
    for (size_t i = 0; i < n; i++)
        if (wanted[i])
            put_line(w, records[i].line, records[i].line_bytes);
}

/* ---- exact, in two threads ----
 *
 * After splitting and hashing lines, the reader thread has time left. So it keeps a part of the set itself: the digest
 * of a key decides which of the two threads keeps it, and neither ever waits for the other. READERS_SHARE of 256 was
 * the fastest of several values tried; with it both threads work about equally long. */

#define READERS_SHARE 96

static inline bool is_readers(uint64_t digest) {
    return (digest & 0xff) < READERS_SHARE;
}

/* Like want_exact(), for the records whose keys belong to this part of the set. */
static bool want_part(const work *w, seen *set, bool readers, const input_record *records, const uint64_t *digests,
                      size_t n, bool *wanted) {
    input_record part[INPUT_BATCH];
    uint64_t part_digests[INPUT_BATCH];
    uint16_t places[INPUT_BATCH];
    bool part_wanted[INPUT_BATCH];
    size_t count = 0;
    if (n == 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        part[count] = records[i];
        part_digests[count] = digests[i];
        places[count] = (uint16_t)i;
        count += is_readers(digests[i]) == readers;
    }
    if (!want_exact(w, set, part, part_digests, count, part_wanted))
        return false;
    for (size_t i = 0; i < count; i++)
        wanted[places[i]] = part_wanted[i];
    return true;
}

/* Runs in the reader thread. */
static void mark_readers(void *context, const input_record *records, const uint64_t *digests, size_t n, bool *marks) {
    work *w = context;
    for (size_t first = 0; first < n; first += INPUT_BATCH) {
        size_t batch = n - first < INPUT_BATCH ? n - first : INPUT_BATCH;
        if (!want_part(w, w->readers, true, records + first, digests + first, batch, marks + first)) {
            atomic_store(&w->readers_full, true);
            return;
        }
        w->readers_marked += batch;
    }
}

static void pass_shared(work *w, const feed *f) {
    bool wanted[INPUT_BATCH];
    if (atomic_load(&w->readers_full) && f->before + f->n > w->readers_marked)
        seen_fail(w->readers);
    memcpy(wanted, f->marks, f->n * sizeof *wanted);
    if (!want_part(w, w->seen, false, f->records, f->digests, f->n, wanted))
        seen_fail(w->seen);
    for (size_t i = 0; i < f->n; i++)
        if (wanted[i])
            put_line(w, f->records[i].line, f->records[i].line_bytes);
}

static void put_counts(work *w) {
    uint64_t cursor = 0;
    const char *line, *word;
    size_t line_bytes;
    while (seen_next(w->seen, &cursor, &line, &line_bytes, &word)) {
        uint64_t count;
        memcpy(&count, word, sizeof count);
        if (w->a->duplicates && count < 2)
            continue;
        out_text("%7" PRIu64 " ", count);
        put_line(w, line, line_bytes);
    }
}

static void begin_exact(work *w, arguments *a) {
    feed_limit(a, feed_share(a), NULL);
    size_t word_bytes = a->count ? sizeof(uint64_t) : a->duplicates ? 1 : 0;
    w->budget.limit = a->memory - feed_share(a);
    w->seen = seen_new(&w->budget, word_bytes, a->count && !key_is_line(&a->shape));
    if (a->threads > 1 && !a->count && a->drop == NULL) /* counts are printed in the order of one set */
        w->readers = seen_new(&w->budget, word_bytes, false);
}

/* ---- a filter ---- */

static noreturn void fail_too_many(const work *w, const kith_filter *filter) {
    fail_full(w->filter_name, filter, w->is_first ? w->lines_in : UINT64_MAX);
    value_text limit, given;
    uint64_t capacity = kith_filter_capacity(filter);
    const char *keys = capacity == 1 ? "key" : "keys";
    text_of_integer(capacity, limit);
    if (!w->is_first)
        fail(
            "%s: more than %s distinct %s, its capacity. Start another state with a larger -n, or without -n to let it "
            "grow.",
            w->a->state, limit, keys);
    fail("more than %s distinct %s (-n %s). Use a larger -n, or omit -n to let the filter grow.", limit, keys,
         text_of_count_exact(w->a->capacity, given));
}

/* A hash table of the digests of one batch. A slot holds the index of a digest in `batch` plus 1; 0 means empty. */
typedef struct batch_set {
    uint16_t slots[2 * INPUT_BATCH];
} batch_set;

static bool is_repeat(batch_set *r, const uint64_t *batch, size_t place) {
    enum { SLOTS = sizeof r->slots / sizeof *r->slots };
    static_assert((SLOTS & (SLOTS - 1)) == 0 && INPUT_BATCH < UINT16_MAX,
                  "slots are found by a mask and hold any place");
    size_t at = (size_t)(batch[place] >> 32) & (SLOTS - 1);
    for (; r->slots[at] != 0; at = (at + 1) & (SLOTS - 1))
        if (batch[r->slots[at] - 1] == batch[place])
            return true;
    r->slots[at] = (uint16_t)(place + 1);
    return false;
}

static kith_status add_many(const target *t, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    return t->file != NULL ? kith_file_add_many(t->file, digests, n, was_new, done)
                           : kith_filter_add_many(t->own, digests, n, was_new, done);
}

static kith_status remove_many(const target *t, const uint64_t *digests, size_t n) {
    return t->file != NULL ? kith_file_remove_many(t->file, digests, n, NULL)
                           : kith_filter_remove_many(t->own, digests, n, NULL);
}

/* Adds the keys that are not in a filter with a journal, for kinds that ignore repeats. The others would only make the
 * journal longer. */
static kith_status add_to_journal(const target *t, const uint64_t *digests, size_t n, uint64_t *was_new) {
    uint64_t known[BITMAP_WORDS], added[BITMAP_WORDS], unknown[INPUT_BATCH];
    size_t places[INPUT_BATCH], count = 0, done;
    kith_filter_has_many(in(t), digests, n, known);
    memset(was_new, 0, (n + 63) / 64 * sizeof *was_new);
    for (size_t i = 0; i < n; i++) {
        unknown[count] = digests[i];
        places[count] = i;
        count += !kith_bitmap_get(known, i);
    }
    kith_status status = add_many(t, unknown, count, added, &done);
    for (size_t i = 0; i < done; i++)
        if (kith_bitmap_get(added, i))
            was_new[places[i] / 64] |= UINT64_C(1) << (places[i] % 64);
    return status;
}

/* Adds the keys that are not in the filter, for kinds that would store a repeat as another copy. Looking up and adding
 * one key at a time is five times slower than a batch, in which the memory latencies of many keys overlap. So the whole
 * batch is looked up, repeats within it are left out, and the remaining keys are added with one call. One of these may
 * still be found when it is added, as a false positive caused by an earlier key of the batch; the copy that was then
 * stored is removed again. The result is the same as for adding one key at a time. */
static kith_status add_unknown(const target *t, const uint64_t *digests, size_t n, uint64_t *was_new) {
    uint64_t known[BITMAP_WORDS], added[BITMAP_WORDS], unknown[INPUT_BATCH], copies[INPUT_BATCH];
    size_t places[INPUT_BATCH], count = 0;
    batch_set seen_here = {{0}};
    kith_filter_has_many(in(t), digests, n, known);
    memset(was_new, 0, (n + 63) / 64 * sizeof *was_new);
    for (size_t i = 0; i < n; i++) {
        if (kith_bitmap_get(known, i))
            continue;
        unknown[count] = digests[i];
        places[count] = i;
        count += !is_repeat(&seen_here, unknown, count);
    }
    for (size_t at = 0; at < count;) {
        size_t done, copy_count = 0;
        kith_status status = add_many(t, unknown + at, count - at, added, &done);
        for (size_t i = 0; i < done; i++) {
            size_t place = places[at + i];
            if (kith_bitmap_get(added, i))
                was_new[place / 64] |= UINT64_C(1) << (place % 64);
            else
                copies[copy_count++] = unknown[at + i];
        }
        at += done;
        kith_status removed = remove_many(t, copies, copy_count);
        if (removed != KITH_OK)
            return removed;
        if (status == KITH_E_COPIES)
            at++; /* it is already stored as often as possible */
        else if (status == KITH_E_FULL && copy_count > 0)
            continue; /* the copies, now removed, may have occupied its slot */
        else if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

/* Adds one by one: for layers of a kind that stores copies, from which a copy cannot always be removed again. */
static kith_status add_each(const target *t, const uint64_t *digests, size_t n, uint64_t *was_new) {
    memset(was_new, 0, (n + 63) / 64 * sizeof *was_new);
    for (size_t i = 0; i < n; i++) {
        if (kith_filter_has_many(in(t), &digests[i], 1, NULL) != 0)
            continue;
        kith_status status = add_many(t, &digests[i], 1, NULL, NULL);
        if (status != KITH_OK)
            return status;
        was_new[i / 64] |= UINT64_C(1) << (i % 64);
    }
    return KITH_OK;
}

static void add_new(const work *w, const target *t, const uint64_t *digests, size_t n, uint64_t *was_new) {
    uint32_t can = kith_filter_capabilities(in(t));
    kith_status status = (can & KITH_CAN_COPIES) != 0 && (can & KITH_CAN_GROW) != 0 ? add_each(t, digests, n, was_new)
                         : (can & KITH_CAN_COPIES) != 0 ? add_unknown(t, digests, n, was_new)
                         : t->has_journal               ? add_to_journal(t, digests, n, was_new)
                                                        : add_many(t, digests, n, was_new, NULL);
    if (status == KITH_E_FULL)
        fail_too_many(w, in(t));
    if (status == KITH_E_TOO_LARGE)
        fail_growth(w->a, w->filter_name);
    if (status != KITH_OK && t->file != NULL)
        filter_file_must(&w->state, status);
    if (status != KITH_OK)
        fail_status(w->filter_name, status);
}

static void pass_filter(work *w, const input_record *records, const uint64_t *digests, size_t n) {
    uint64_t was_new[BITMAP_WORDS];
    add_new(w, &w->filter, digests, n, was_new);
    for (size_t i = 0; i < (n + 63) / 64; i++)
        w->is_changed |= was_new[i] != 0;
    if (w->again.own == NULL) {
        for (size_t i = 0; i < n; i++)
            if (kith_bitmap_get(was_new, i))
                put_line(w, records[i].line, records[i].line_bytes);
        return;
    }
    uint64_t repeats[INPUT_BATCH];
    size_t places[INPUT_BATCH], repeat_count = 0;
    for (size_t i = 0; i < n; i++) {
        places[repeat_count] = i;
        repeats[repeat_count] = digests[i];
        repeat_count += !kith_bitmap_get(was_new, i);
    }
    add_new(w, &w->again, repeats, repeat_count, was_new);
    for (size_t i = 0; i < repeat_count; i++)
        if (kith_bitmap_get(was_new, i))
            put_line(w, records[places[i]].line, records[places[i]].line_bytes);
}

/* Returns the smallest kind that reads one cache line per key, ignores repeats and fits into --memory, or NULL. A
 * filter must not be slower than the exact set. */
static const char *fast_kind(const arguments *a, const kith_filter_spec *spec) {
    uint64_t filters = a->duplicates ? 2 : 1, least = UINT64_MAX;
    const char *best = NULL;
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        kith_filter_spec tried = *spec;
        tried.kind = kith_filter_kind_at(i)->name;
        kith_plan plan = KITH_PLAN_INIT;
        if (kith_filter_plan(&tried, &plan) != KITH_OK || plan.lines > 1 || (plan.capabilities & KITH_CAN_ADD) == 0 ||
            (plan.capabilities & (KITH_CAN_COPIES | KITH_CAN_GROW)) != 0 || plan.file_bytes > a->memory / filters ||
            plan.file_bytes >= least)
            continue;
        least = plan.file_bytes;
        best = plan.kind;
    }
    return best;
}

static kith_filter *new_filter(const arguments *a, const kith_hash *hash) {
    choice c;
    choose_begin(a, a->capacity != 0 ? 0 : KITH_CAN_GROW, &c);
    c.spec.capacity = a->capacity != 0 ? a->capacity : FIRST_LAYER_KEYS;
    c.spec.rate = a->rate;
    c.spec.hash = *hash;
    recipe_notes notes;
    recipe_notes_of(a, &notes);
    c.spec.recipe = recipe_of(&a->shape);
    c.spec.notes = notes.notes;
    c.spec.note_count = notes.count;
    if (a->capacity != 0)
        c.spec.kind = fast_kind(a, &c.spec);
    kith_plan plan;
    kith_status status = choose_plan(&c, &plan);
    if (status != KITH_OK)
        choose_fail(a, &c, status);
    memory_check(a, plan.file_bytes, "the filter");
    kith_filter *filter;
    status = kith_filter_create(&c.spec, &filter);
    if (status != KITH_OK)
        fail("%s", kith_status_text(status));
    return filter;
}

/* The reader thread computes digests while a sync may map the filter anew. So it uses the hash or, since the secret key
 * of an existing state cannot be read, an empty filter with the same hash. Its pages are never touched, so it needs no
 * memory. */
static void begin_digests(work *w) {
    kith_status status = w->is_first ? KITH_OK : kith_filter_create_like(in(&w->filter), NULL, &w->hasher);
    if (status != KITH_OK)
        fail_status(w->a->state, status);
}

/* Flushes the lines first: a line that was printed and not remembered is printed again by the next run; one that was
 * remembered and not printed would be lost. */
static void sync_state(void *context) {
    work *w = context;
    out_sync();
    if (!w->is_changed)
        return;
    filter_file_commit(&w->state);
    w->filter.has_journal = filter_file_info(&w->state).has_journal;
    w->is_changed = false;
}

static void begin_filter(work *w, arguments *a) {
    if (a->state != NULL)
        syncs_begin(a);
    w->filter_name = a->state != NULL ? a->state : "the filter";
    if (a->state != NULL)
        w->state = state_open(a);
    w->filter.file = w->state.file;
    w->is_first = w->state.file == NULL || filter_of(&w->state) == NULL;
    if (w->is_first) {
        w->hash = a->state != NULL ? hash_asked(a) : secret_hash(a);
        w->filter.own = new_filter(a, &w->hash);
    }
    if (w->is_first && a->state != NULL)
        state_begin(&w->state, w->filter.own);
    kith_plan plan = plan_must(w->filter_name, in(&w->filter));
    memory_check(a, plan.file_bytes * (1 + a->duplicates), w->filter_name);
    bool grows = (kith_filter_capabilities(in(&w->filter)) & KITH_CAN_GROW) != 0;
    uint64_t share = grows ? feed_share(a) : feed_left(a, plan.file_bytes * (1 + a->duplicates));
    uint64_t beside = a->duplicates ? a->memory / 2 + share / 2 : grows ? share : 0;
    feed_limit(a, share, NULL);
    if (a->state != NULL) {
        begin_digests(w); /* before the limit, because the filter for digests takes no memory */
        filter_file_limit(&w->state, beside);
        w->filter.has_journal = filter_file_info(&w->state).has_journal;
        w->is_changed = true; /* the first sync always writes: a new state, or other notes */
        syncs_use(sync_state, w);
        a->shape.attend = syncs_attend;
    } else {
        filter_limit(w->filter.own, a, beside);
    }
    if (a->duplicates) { /* the second filter inherits the limit */
        kith_status status = kith_filter_create_like(in(&w->filter), NULL, &w->again.own);
        if (status != KITH_OK)
            fail("%s", kith_status_text(status));
    }
    value_text rate, size;
    if (a->verbose)
        note("%s of memory for the filter%s%s", text_of_size(plan.file_bytes * (1 + a->duplicates), size),
             a->duplicates ? " and a second one for repeated lines" : "", grows ? ", more as it grows" : "");
    text_of_rate(plan.rate, rate);
    if (a->duplicates)
        note("a line that occurs once may be printed, and a repeated line may be left out, each with probability %s at "
             "most",
             rate);
    else
        note("a new line may be dropped, with probability %s at most", rate);
}

/* ---- the command ---- */

/* Checks for options that contradict each other. With --verbose, reports the memory limit. */
static void check(const arguments *a) {
    bool filter = a->rate != 0 || a->state != NULL;
    if (a->field_changed && a->state == NULL)
        fail("--field-changed needs --state FILE");
    if ((a->sync.lines != 0 || a->sync.milliseconds != 0) && a->state == NULL)
        fail("--sync needs --state FILE");
    if (a->sync_fd != 0 && a->state == NULL)
        fail("--sync-fd needs --state FILE");
    if (a->exact && a->rate != 0)
        fail("--exact and -p contradict each other: give only one");
    if (a->exact && a->state != NULL)
        fail("--exact and --state contradict each other: a state is a filter, which is not exact. Use -p RATE.");
    if (a->count && filter)
        fail("-c cannot be combined with -p or --state: a filter does not count");
    if (a->capacity != 0 && !filter)
        fail("-n is the capacity of a filter: give -p RATE as well");
    if (a->shape.fixed_bytes != 0 && out_is_terminal())
        fail("--fixed: binary records are not printed to a terminal");
    value_text limit;
    if (a->verbose && !filter)
        note("up to %s of memory for keys", text_of_size(a->memory - feed_share(a), limit));
}

static void begin_drop(work *w) {
    w->drop = filter_file_read(w->a->drop, w->a);
    recipe_require(w->a->drop, filter_of(&w->drop), &w->a->shape);
    value_text rate;
    note("a line whose key is not in %s may be dropped, with probability %s at most", w->a->drop,
         text_of_rate(plan_must(w->a->drop, filter_of(&w->drop)).rate, rate));
}

static void pass(work *w, const input_record *records, const uint64_t *digests, size_t n) {
    input_record kept[INPUT_BATCH];
    uint64_t kept_digests[INPUT_BATCH];
    if (w->drop.file != NULL) {
        n = drop_known(w, records, digests, n, kept, kept_digests);
        records = kept;
        digests = kept_digests;
    }
    if (w->seen != NULL)
        pass_exact(w, records, digests, n);
    else
        pass_filter(w, records, digests, n);
}

/* Passes the records of the feed, in parts if a sync is due in between. */
static void pass_feed(work *w, const feed *f) {
    if (w->readers != NULL) {
        w->lines_in += f->n;
        pass_shared(w, f);
        return;
    }
    for (size_t at = 0, n; at < f->n; at += n) {
        n = w->a->state != NULL ? syncs_take(f->n - at) : f->n;
        w->lines_in += n;
        pass(w, f->records + at, f->digests + at, n);
        if (w->a->state != NULL)
            (void)syncs_attend(NULL, false);
    }
}

int command_uniq(const arguments *given) {
    check(given);
    arguments by_recipe = *given, *a = &by_recipe;
    work w = {.a = a};
    bool exact = a->rate == 0 && a->state == NULL;
    if (exact)
        begin_exact(&w, a);
    else
        begin_filter(&w, a);
    if (a->drop != NULL)
        begin_drop(&w);
    if (exact)
        w.hash = random_hash(a);
    const kith_filter *hasher = a->state != NULL ? w.hasher : w.filter.own;
    feed *f = w.readers != NULL ? feed_open_marked("reading", a, &w.hash, mark_readers, &w)
                                : feed_open("reading", a->operands, a->operand_count, a, hasher, &w.hash);
    while (feed_next(f))
        pass_feed(&w, f);
    if (a->count)
        put_counts(&w);
    feed_close(f);
    out_flush();
    if (w.seen != NULL)
        seen_free(w.seen);
    if (w.readers != NULL)
        seen_free(w.readers);
    filter_file_close(&w.drop);
    if (a->state != NULL) {
        syncs_end();
        full_note_rate(a->state, in(&w.filter), w.filter.has_journal);
        filter_file_close(&w.state);
    } else {
        kith_filter_free(w.filter.own);
    }
    kith_filter_free(w.hasher);
    kith_filter_free(w.again.own);
    return w.lines_out > 0 ? EXIT_FOUND : EXIT_NONE;
}
