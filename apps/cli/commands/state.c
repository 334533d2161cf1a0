/* state.c: the state file of `kith uniq --state`; see state.h. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "cli/commands/state.h"

#include <errno.h>
#include <string.h>

#include "cli/files/filters.h"
#include "cli/files/found.h"
#include "cli/files/leftovers.h"
#include "cli/files/lock.h"
#include "cli/input/recipe.h"
#include "cli/output/report.h"
#include "cli/files/stores.h"
#include "cli/values.h"

/* ---- the options of this run and of the first one ---- */

static void check_capacity(const arguments *a, const kith_filter *state) {
    uint64_t capacity = kith_filter_capacity(state);
    value_text made, given;
    if (a->capacity == 0)
        return;
    text_of_count_exact(a->capacity, given);
    if (kith_filter_capabilities(state) & KITH_CAN_GROW)
        fail("%s: it was created without -n, and grows; omit -n %s, or use another file", a->state, given);
    if (capacity == a->capacity)
        return;
    text_of_count_exact(capacity, made);
    fail("%s: it was created with -n %s, not -n %s; use -n %s or omit it, or use another file", a->state, made, given,
         made);
}

static void check_rate(const arguments *a, const kith_filter *state) {
    kith_plan plan = KITH_PLAN_INIT;
    kith_status status = kith_filter_plan_of(state, &plan);
    if (status != KITH_OK)
        fail_status(a->state, status);
    value_text has, wanted;
    if (a->rate != 0 && plan.rate > a->rate * (1 + 1e-9))
        fail("%s: it was created with a rate of %s, not %s; use another file for a lower rate", a->state,
             text_of_rate(plan.rate, has), text_of_rate(a->rate, wanted));
}

/* The secret key of a filter cannot be read. But two keys that give equal digests of two texts (128 bits in all) are
 * equal. */
static bool has_key(const kith_filter *state, const kith_hash *hash) {
    static const char *const texts[] = {"kith", "state"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t bytes = strlen(texts[i]);
        if (kith_filter_digest(state, texts[i], bytes) != kith_digest(hash, texts[i], bytes))
            return false;
    }
    return true;
}

static void check_hash(const arguments *a, const kith_filter *state) {
    kith_hash hash = kith_filter_hash(state);
    bool keyed = hash.id == KITH_HASH_SIPHASH;
    if (a->seed_given && keyed)
        fail("%s: it was created with a secret key, not with --seed %llu; omit --seed", a->state,
             (unsigned long long)a->seed);
    if (a->seed_given && hash.seed != a->seed)
        fail("%s: it was created with --seed %llu, not --seed %llu", a->state, (unsigned long long)hash.seed,
             (unsigned long long)a->seed);
    if (a->key_file != NULL) {
        kith_hash given = hash_asked(a);
        if (!keyed)
            fail("%s: it was created without a secret key, not with that of %s; omit --key-file, or use another file",
                 a->state, a->key_file);
        if (!has_key(state, &given))
            fail("%s: it was created with another secret key than that of %s", a->state, a->key_file);
    }
    if (a->untrusted && !keyed)
        fail("%s: it was created without --untrusted; omit it, or use another file", a->state);
}

static void check(const arguments *a, const kith_filter *state) {
    check_capacity(a, state);
    check_rate(a, state);
    check_hash(a, state);
}

/* ---- the file ---- */

/* Returns true in the first run, which needs -p to create the state. */
static bool is_absent(const arguments *a) {
    if (found_exists(found_before(a->state)))
        return false;
    if (a->rate == 0)
        fail("%s: no such file; give -p RATE to create it", a->state);
    return true;
}

static void begin(const uniq_state *s, const arguments *a) {
    kith_status status = kith_store_begin(s->store);
    if (status != KITH_OK)
        fail_status(a->state, status);
}

void state_open(uniq_state *s, arguments *a) {
    *s = (uniq_state){.lock = LOCK_NONE};
    if (strcmp(a->state, "-") == 0)
        fail("--state -: the state must be a file, not standard output");
    if (filter_is_stream(a->state))
        filter_check_input(a->state); /* ends the tool: a state must be readable later */
    filter_check_output(a->state);
    (void)is_absent(a); /* checked before locking: no lock file is created if the run cannot start */
    s->lock = lock_acquire(a->state, a);
    s->exists = !is_absent(a);
    if (!s->exists)
        return;
    s->store = a->field_changed ? NULL : store_held(a->state); /* notes are not written to a journal */
    if (s->store != NULL)
        s->filter = (kith_filter *)(uintptr_t)kith_store_filter(s->store);
    else
        s->filter = filter_open(a->state, KITH_OPEN_COPY, a);
    filter_check_adds(a->state, s->filter);
    recipe_apply(a->state, s->filter, a);
    recipe_same_place(a->state, s->filter, a);
    check(a, s->filter);
    s->is_saved = true;
    if (s->store != NULL)
        begin(s, a);
}

/* From now on the state is in a store. */
static void move_to_store(uniq_state *s, kith_store *store, const arguments *a) {
    kith_filter_free(s->filter);
    s->store = store;
    s->filter = (kith_filter *)(uintptr_t)kith_store_filter(store);
    filter_limit(s->filter, a, s->beside);
}

static void create(uniq_state *s, const arguments *a) {
    if (found_exists(found_before(a->state))) /* other commands create a new file without locking it */
        fail("%s: another program created it in the meantime; it is left unchanged, without the lines of this run",
             a->state);
    if (a->no_lock) {
        filter_save(s->filter, a->state);
    } else {
        kith_store *store = store_create_held(a->state, s->filter, a, s->lock);
        s->lock = LOCK_OF_STORE;
        move_to_store(s, store, a);
    }
    s->is_saved = true;
}

static void commit(const uniq_state *s, const arguments *a) {
    hold_signals();
    errno = 0;
    kith_status status = kith_store_commit(s->store);
    if (status != KITH_OK)
        fail_status(a->state, status);
}

void state_sync(uniq_state *s, const arguments *a, bool is_last) {
    if (!s->is_saved) {
        create(s, a);
    } else if (s->store != NULL) {
        commit(s, a);
    } else {
        filter_save(s->filter, a->state);
        if (store_held(a->state) != NULL) /* --field-changed: the notes have been written */
            move_to_store(s, store_held(a->state), a);
    }
    leftovers_check();
    if (s->store != NULL && !is_last)
        begin(s, a);
}

void state_close(uniq_state *s) {
    lock_release(s->lock);
    if (s->store == NULL)
        kith_filter_free(s->filter);
}
